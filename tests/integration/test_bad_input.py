"""What pydtrace says to wrong scripts, wrong processes and wrong commands.

bad/*.d are scripts that do not compile. The first line said is the real dtrace's, whatever the mistake.
"""

import glob
import os
import re
import sys

import pytest

from tests.support import harness

pytestmark = pytest.mark.xdist_group("own_tree")

BAD = sorted(glob.glob(os.path.join(harness.INTEGRATION, "bad", "*.d")))
NAMES = [os.path.basename(path).removesuffix(".d") for path in BAD]
PLACED = [path for path in BAD if "no-such-probe" not in path]


@pytest.fixture(params=BAD, ids=NAMES)
def script(request) -> str:
    return request.param


def test_first_line_is_dtraces(script, pydtrace, oracle):
    """With -xerrtags the tag stands in it, otherwise it is the same without the tag."""
    want = oracle.dtrace("-xerrtags", "-s", script)
    tagged, plain = pydtrace("-xerrtags", "-s", script), pydtrace("-s", script)
    assert tagged.stderr.splitlines()[0] == want.stderr.splitlines()[0]
    assert plain.stderr.splitlines()[0] == re.sub(r"\[D_\w+\] ", "", want.stderr.splitlines()[0])
    for got in (tagged, plain):
        assert (got.status, got.stdout.strip()) == (want.status, want.stdout.strip()) == (1, "")


def test_command_is_not_started(script, pydtrace, tmp_path):
    started = tmp_path / "started"
    got = pydtrace("-s", script, "-c", f"touch {started}")
    assert got.status == 1, got
    assert not started.exists()


@pytest.mark.parametrize("script", PLACED, ids=[os.path.basename(path) for path in PLACED])
def test_place_is_shown(script, pydtrace):
    """After dtrace's line: file and place, the source line, an underline below what is wrong."""
    got = pydtrace("-s", script)
    place = re.search(rf"{re.escape(script)}:(\d+):(\d+)", got.stderr)
    assert place, got
    with open(script) as file:
        source = file.read().splitlines()[int(place[1]) - 1]
    lines = got.stderr.splitlines()
    at = next((i for i, line in enumerate(lines) if line.strip() == source.strip()), None)
    assert at, got
    assert re.fullmatch(r"\s*\^+", lines[at + 1]), got


def test_hint_names_what_was_meant(pydtrace):
    got = pydtrace("-s", os.path.join(harness.INTEGRATION, "bad", "unknown-identifier.d"))
    assert re.search(r"^hint: .*arg0", got.stderr, re.MULTILINE), got


def test_error_on_the_command_line(pydtrace, oracle):
    bad = "BEGIN { trace(1) trace(2); }"
    want, got = oracle.dtrace("-n", bad), pydtrace("-n", bad)
    assert got.stderr.splitlines()[0] == want.stderr.splitlines()[0]
    assert got.status == want.status == 1


@pytest.mark.parametrize("way", ["-Zs", "-Z -n"])
def test_zero_probes_may_be_allowed(way, pydtrace, tmp_path):
    text = "nosuch*:::probe { } BEGIN { exit(2); }"
    file = tmp_path / "zero.d"
    file.write_text(text)
    arguments = ["-Z", "-s", str(file)] if way == "-Zs" else ["-Z", "-n", text]
    assert pydtrace("-q", *arguments).status == 2


@pytest.mark.parametrize(
    "arguments",
    [["-s", "/proc/nonexistent.d"], ["-x", "nosuch", "-n", "BEGIN"], ["-y"], ["-q"]],
    ids=str,
)
def test_wrong_options(arguments, pydtrace, oracle):
    want, got = oracle.dtrace(*arguments), pydtrace(*arguments)
    assert got.status == want.status, got
    assert got.stderr.splitlines()[0] == want.stderr.splitlines()[0]


TRACE = ["-n", "pyusdt$target:::user_trace-i4s4 { }"]


def messages(pydtrace, nobody, dead: int, other: int, foreign: int) -> dict[str, harness.Run]:
    """What is said to each kind of process that can not be traced."""
    return {
        "dead": pydtrace(*TRACE, "-p", str(dead)),
        "without pyusdt": pydtrace(*TRACE, "-p", str(other)),
        "another user's": nobody.run(nobody.pydtrace, *TRACE, "-p", str(foreign)),
    }


def test_each_wrong_process_has_its_message(pydtrace, root, unprivileged):
    with harness.running(["true"]) as ended:
        ended.wait()
    with harness.running(["sleep", "60"]) as sleeper, harness.running_program("idle.py") as program:
        said = messages(pydtrace, unprivileged, ended.pid, sleeper.pid, program.pid)
    assert all(run.status == 1 and run.stderr.startswith("dtrace: ") for run in said.values()), said
    texts = {kind: re.sub(r"\d+", "N", run.stderr) for kind, run in said.items()}
    assert len(set(texts.values())) == 3, texts
    assert re.search(r"no such process", texts["dead"], re.IGNORECASE)
    assert "pyusdt" in texts["without pyusdt"]
    assert re.search(
        r"permi|allowed|another user|not yours|root", texts["another user's"], re.IGNORECASE
    )


def test_a_kernel_engine_that_can_not_be_used(root):
    """Root without capabilities, as in a container: what stands in the way is said, not that root is needed."""
    got = harness.run(
        [
            "setpriv",
            "--bounding-set=-all",
            "--inh-caps=-all",
            harness.PYDTRACE,
            "-n",
            "syscall::read:entry { }",
        ]
    )
    assert got.status == 1, got
    assert re.search(
        r"^hint: this probe needs another engine, which does not work: kernel engine: .*CAP_BPF",
        got.stderr,
        re.MULTILINE,
    ), got


@pytest.mark.parametrize(
    "command, reason",
    [
        ("/proc/nonexistent/command", "No such file or directory"),
        ("/etc/passwd", "Permission denied"),
    ],
)
def test_command_that_can_not_be_started(command, reason, pydtrace):
    got = pydtrace("-n", "BEGIN { }", "-c", command)
    assert got.status == 1, got
    assert command in got.stderr and reason in got.stderr, got


def test_nobody_to_trace(pydtrace, tmp_path):
    """No process at all, and a description that could match later: waits, and ends at Ctrl-C."""
    command = [harness.PYDTRACE, "-qn", 'BEGIN { printf("begun\\n"); } END { printf("over\\n"); }']
    with harness.running(command, env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)}) as tracer:
        assert tracer.stdout.readline() == "begun\n"
        with pytest.raises(harness.subprocess.TimeoutExpired):
            tracer.wait(1)
        tracer.send_signal(harness.signal.SIGINT)
        got = harness.finish(tracer, 10)
    assert (got.status, got.stdout.strip()) == (0, "over"), got


LACK = "a Python program has probes after `import pyusdt`"


def test_a_command_without_pyusdt_is_told(pydtrace):
    """Its probes match, since it might load pyusdt; that it did not is known at the end."""
    got = pydtrace(
        "-qn", "pyusdt$target:::user_trace-i4s4 { @ = count(); }", "-c", f"{sys.executable} -c pass"
    )
    assert got.status == 0 and f"no pyusdt was seen in {sys.executable}: {LACK}" in got.stderr, got
    loads = pydtrace(
        "-qn",
        "pyusdt$target:::user_trace-i4s4 { @ = count(); }",
        "-c",
        harness.program("events.py"),
    )
    assert (
        LACK not in loads.stderr
        and pydtrace("-qn", "BEGIN { exit(0); }", "-c", "true").stderr == ""
    ), loads


@pytest.mark.parametrize("probe", ["pyusdt$target:::user_trace-i4s4", "pyusdt$target:::"])
def test_a_process_without_pyusdt_is_told(pydtrace, probe):
    """By the engine that needs pyusdt, and by the kernel's, which root gets then."""
    with harness.running(["sleep", "60"]) as process:
        for arguments in ["-qx", "engine=embedded"], ["-q"]:
            got = pydtrace(*arguments, "-n", probe, "-p", str(process.pid))
            assert got.status == 1 and re.search(
                f"process {process.pid} has no pyusdt in it(: |\nhint: ){LACK}", got.stderr
            ), got
        other = pydtrace("-qn", "nosuch$target:::x", "-p", str(process.pid))
    assert other.status == 1 and (LACK not in other.stderr or os.geteuid() != 0), other
