"""Mistakes on the command line of pydtrace and pyusdt: each message says what is wrong and what to do."""

import os
import pty
import socket
import subprocess
import sys

import pytest

from pydtrace.engine.embedded.young_processes import is_young
from tests.support import harness

PYUSDT = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
HELLO = f"{sys.executable} {harness.ROOT}/examples/hello.py"
DEFAULT = ["-x", "engine=embedded"]


@pytest.fixture(autouse=True)
def no_other_program(monkeypatch, tmp_path):
    """A run directory without the providers that tests before these have made in this process."""
    monkeypatch.setenv("PYUSDT_RUNDIR", str(tmp_path))


def last_line(run: harness.Run) -> str:
    return run.stderr.splitlines()[-1]


@pytest.mark.own_processes
@pytest.mark.parametrize(
    ("clause", "hint"),
    [
        (
            "pyusdt:::user_trace-i4s4",
            "did you mean pyusdt$target:::user_trace-i4s4? In double quotes the shell removes $target: write the script in single quotes",
        ),
        (
            "shop:::order-placed",
            "did you mean shop$target:::order-placed? In double quotes the shell removes $target: write the script in single quotes",
        ),
        ("pyusdt$target:::user_trace-i4s3", "did you mean pyusdt$target:::user_trace-i4s4?"),
        ("python$target:::functionentry", "did you mean python$target:::function-entry?"),
        ("shop$target:::order-placed", "a program makes its own probes when it runs: add -Z"),
        (
            "db*:::query-done",
            "start the program with `pyusdt run`, and add -Z: -Z -c 'pyusdt run …'",
        ),
    ],
)
def test_description_that_a_command_does_not_match(pydtrace, clause, hint):
    run = pydtrace(*DEFAULT, "-n", clause, "-c", HELLO)
    assert (run.status, last_line(run)) == (1, f"hint: {hint}"), run


@pytest.mark.own_processes
def test_framework_of_a_command_that_pyusdt_run_starts(pydtrace):
    run = pydtrace(*DEFAULT, "-n", "db*:::query-done", "-c", f"{PYUSDT} run {HELLO}")
    assert last_line(run) == "hint: the program makes this probe when it runs: add -Z", run


@pytest.mark.own_processes
def test_framework_that_a_program_under_pyusdt_run_has_not_imported(pydtrace):
    waits = [PYUSDT, "run", sys.executable, "-c", "print(1, flush=True); input()"]
    with harness.running(waits, stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        runs = [
            pydtrace(*DEFAULT, "-n", "db*:::query-done"),
            pydtrace(*DEFAULT, "-n", "db$target:::query-done", "-p", str(process.pid)),
        ]
        harness.wait_until(lambda: not is_young(process.pid))
        runs.append(harness.run([PYUSDT, "trace", "queries", "-p", str(process.pid)]))
    for run in runs:
        assert run.status == 1, run
        assert last_line(run).endswith(
            f"process {process.pid} runs under `pyusdt run`, and has not imported a library with this probe: add -Z to wait for the import"
        ), run


def test_trace_accepts_probes_that_a_command_makes():
    """Its scripts name frameworks' probes rightly, so that -Z hides no mistake."""
    run = harness.run([PYUSDT, "trace", "queries", "-c", f"{PYUSDT} run {HELLO}"])
    assert run.status == 0 and "D_PDESC_ZERO" not in run.stderr, run


@pytest.mark.parametrize(
    ("command", "operators"),
    [
        ("true > out.txt; echo finished", "'>', 'out.txt;'"),
        ("true && echo done", "'&&'"),
        ("true 2>&1 | cat", "'2>&1', '|'"),
        ("true '>' \"a;\"", None),
        ("true a=>b -Dx>y", None),
    ],
)
def test_command_is_no_shell_s(pydtrace, command, operators):
    run = pydtrace("-qn", "BEGIN { exit(0); }", "-c", command)
    message = f"dtrace: -c runs no shell: true gets {operators} as arguments; for a shell: -c 'sh -c \"…\"'\n"
    assert run.stderr == (message if operators else ""), run


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            ["-qn", 'BEGIN { x = 1; system("ls"); }'],
            [
                "dtrace: could not enable tracing: Destructive actions not allowed",
                "hint: system() at -n:1:16 needs -w",
            ],
        ),
        (
            ["-qb", "100g", "-n", "BEGIN { exit(0); }"],
            [
                "dtrace: could not enable tracing: Memory allocation failure",
                "hint: -b takes 1g at most",
            ],
        ),
        (
            ["-q", "BEGIN { exit(0); }"],
            ["dtrace: no probes specified", "hint: a clause follows -n: -n 'BEGIN { exit(0); }'"],
        ),
        (
            ["-s", "slow-calls.d"],
            [
                "dtrace: failed to open slow-calls.d: No such file or directory",
                "hint: `pyusdt trace slow-calls` runs the installed script slow-calls",
            ],
        ),
        (
            ["-qn", "BEGIN { exit(0); }", "--alert", "foo"],
            ["dtrace: --alert 'foo': expected CLAUSE=RECEIVER, such as 1=exec:./notify.sh"],
        ),
        (
            ["-qn", "BEGIN { exit(0); }", "--alert", "nosuch=exec:true"],
            [
                "dtrace: --alert 'nosuch=exec:true': no clause is called 'nosuch'; this script has: 1 (BEGIN)"
            ],
        ),
    ],
)
def test_error_and_what_to_do(pydtrace, arguments, lines, tmp_path):
    run = pydtrace(*arguments, cwd=tmp_path)
    assert (run.status, run.stderr.splitlines()) == (1, lines), run


def test_file_behind_n(pydtrace, tmp_path):
    (tmp_path / "lat.d").write_text("BEGIN { exit(0); }")
    run = pydtrace("-n", "./lat.d", cwd=tmp_path)
    assert last_line(run) == "hint: ./lat.d is a file: -s ./lat.d", run


def test_option_that_a_script_does_not_have():
    run = harness.run([PYUSDT, "trace", "slow-calls", "--msec", "20", "-p", "1"])
    assert (run.status, run.stderr.splitlines()[-2:]) == (
        2,
        ["pyusdt trace slow-calls: error: there is no option --msec", "hint: did you mean --ms?"],
    ), run


def test_program_without_two_dashes():
    run = harness.run([PYUSDT, "profile", "python", "app.py"])
    assert run.status == 2 and "argument PID: expected a process id, got 'python'" in run.stderr
    assert last_line(run) == "hint: to start a program: pyusdt profile -- python app.py", run


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--web={}", "choose another port; --web without a port takes a free one"),
        ("--metrics={}", "choose another port, or 0 for any free port"),
    ],
)
def test_port_in_use(pydtrace, option, hint):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = pydtrace("-qn", "tick-1s { exit(0); }", option.format(taken.getsockname()[1]))
    assert run.status == 1 and run.stderr.splitlines()[-2].endswith("Address already in use"), run
    assert last_line(run) == f"hint: {hint}", run


def test_drops_have_a_total(pydtrace):
    """dtrace's lines say how many were dropped since the last line."""
    script = 'pyusdt$target:::user_trace-n1 { printf("%d %s\\n", arg2, probename); }'
    program = f"{sys.executable} -c 'import pyusdt\nfor i in range(1000000): pyusdt.pn(1, i)'"
    run = pydtrace(*DEFAULT, "-qb", "4k", "-x", "switchrate=100ms", "-n", script, "-c", program)
    dropped = harness.count_drops(run.stderr)
    assert dropped > 0, run
    assert last_line(run) == (
        f"dtrace: {dropped:,} drops in all: aggregate (@ = count()), name fewer probes, or raise -b"
    ), run


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        (
            {"PYUSDT_FLIGHT": "foo"},
            "no flight recorder (PYUSDT_FLIGHT): 'foo' is not a size (64k, 4m), nor exceptions, nor 64k,exceptions; see `pyusdt help recording`",
        ),
        (
            {"PYUSDT_FLIGHT": "64k", "PYUSDT_RUNDIR": "{0}"},
            "no flight recorder (PYUSDT_FLIGHT): the run directory is not on a tmpfs; set PYUSDT_RUNDIR to one that is, below /dev/shm",
        ),
        (
            {"PYUSDT_RUNDIR": "{0}/open"},
            "tracers cannot find this process: PYUSDT_RUNDIR={0}/open has mode 0755; run: chmod 700 {0}/open",
        ),
    ],
)
def test_settings_of_a_program(variables, text, tmp_path):
    if "FLIGHT': '64k" in str(variables) and _is_in_memory(tmp_path):
        pytest.skip("host: the folder for temporary files is a tmpfs")
    tmp_path.chmod(0o700)
    (tmp_path / "open").mkdir(mode=0o755)
    environment = {name: value.format(tmp_path) for name, value in variables.items()}
    run = harness.run([sys.executable, "-c", "import pyusdt"], env={**os.environ, **environment})
    assert run.status == 0 and f"RuntimeWarning: {text.format(tmp_path)}" in run.stderr, run


def _is_in_memory(path) -> bool:
    found = subprocess.run(
        ["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() == "tmpfs"


def test_long_clause_is_shortened_on_a_terminal():
    """dtrace repeats all of it in front of the message; elsewhere pydtrace does so, too."""
    clause = f"BEGIN {{ {'trace(1); ' * 30} x = ; }}"
    words = [harness.PYDTRACE, "-n", clause]
    assert clause in harness.run(words).stderr
    master, slave = pty.openpty()
    done = subprocess.run(words, stderr=slave, env={**os.environ, "NO_COLOR": "1"}, check=False)
    os.close(slave)
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert done.returncode == 1
    assert shown.startswith(f"dtrace: invalid probe specifier {clause[:59]}…: syntax error"), shown
