"""How tracing ends: Ctrl-C, a killed tracer, a killed program. Nothing is lost that was emitted, nothing stays on."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support import harness

COUNT = "pyusdt*:::user_trace-i4s4 { @events = count(); }"
# the command, from the script's first line on, which takes Ctrl-C from Python
STARTS = f"""import sys, signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
print('up', flush=True)
exec(compile(open({harness.PYDTRACE!r}).read(), {harness.PYDTRACE!r}, 'exec'))"""
PRINT = 'pyusdt*:::user_trace-i4s4 { printf("%d\\n", arg2); }'


def interrupted(tracer: list[str], arguments: list[str], log: Path) -> harness.Run:
    """Ctrl-C a second after the program has seen that its probe is on."""
    with (
        harness.running_program("steady.py", log) as program,
        harness.running([*tracer, *arguments, "-p", str(program.pid)]) as process,
    ):
        harness.wait_until(lambda: log.exists() and log.read_text().endswith("on\n"), 60)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        return harness.finish(process, 30)


def test_ctrl_c_ends_as_in_dtrace(oracle, tmp_path):
    arguments = ["-q", "-n", COUNT.replace("*", "$target"), "-n", 'END { printf("over\\n"); }']
    want = interrupted([harness.ORACLE, "dtrace"], arguments, tmp_path / "dtrace")
    got = interrupted([harness.PYDTRACE], arguments, tmp_path / "pydtrace")
    assert got.status == want.status, got
    assert re.sub(r" *\d+", " N", got.stdout) == re.sub(r" *\d+", " N", want.stdout)
    assert int(got.stdout.split()[-1]) > 0


def test_ctrl_c_while_it_starts():
    """At any time: as a program that does not handle it, or, once it traces, with what END prints."""
    for seconds in (0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2):
        with harness.running(
            [sys.executable, "-c", STARTS, "-qn", 'END { printf("over"); }']
        ) as process:
            assert process.stdout.readline() == "up\n"
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            got = harness.finish(process, 30)
        assert (got.status, got.stdout.strip()) in (
            (-signal.SIGINT, ""),
            (0, "over"),
        ) and got.stderr == "", got


@pytest.mark.parametrize(
    "command, arguments, status",
    [
        ("pydtrace", ["-qn", 'BEGIN { exit(0); } END { printf("over"); }'], 0),
        ("pydtrace", ["-V"], 0),
        ("pydtrace", ["-n", "BEGIN {"], 1),
        ("pydtrace", ["-lP", "dtrace"], 0),
        ("pydtrace", ["--json", "-n", "BEGIN { exit(7); }", "-c", "/bin/true"], 7),
        ("pydtrace", ["-X"], 2),
        ("pyusdt", ["list", "/bin/true"], 1),
    ],
)
def test_ctrl_c_is_no_exception_anywhere(command, arguments, status, tmp_path):
    """A KeyboardInterrupt would be shown with a traceback somewhere: in an import's callback, in Python's own end.  It can come
    where Python's own handler is the signal's, which is so in the lines of the script that change it, and then no more."""
    script = os.path.join(os.path.dirname(sys.executable), command)
    got = harness.run(
        [
            sys.executable,
            os.path.join(harness.PROGRAMS, "interruptible.py"),
            str(tmp_path / "lines"),
            script,
            *arguments,
        ]
    )
    assert got.status == status, got
    with open(script) as file:
        changes = next(number for number, line in enumerate(file, 1) if "SIG_DFL" in line)
    lines = [line.rpartition(":") for line in (tmp_path / "lines").read_text().split()]
    assert {path for path, _, _ in lines} == {script} and {
        int(line) for _, _, line in lines
    } <= set(range(changes + 1)), lines


def test_the_third_ctrl_c_ends_it():
    """However long it takes to undo what was begun."""
    slow = (
        "import time, signal; from pydtrace.cli.pydtrace import main as pydtrace; from pydtrace.driver.driver import Driver\n"
        "Driver.finish = lambda self: (print('undoing', flush=True), time.sleep(60))\n"
        "pydtrace.main(['-qn', 'BEGIN { trace(\"up\"); }'])"
    )
    with harness.running([sys.executable, "-c", slow]) as process:
        assert process.stdout.read(2) == "up"
        process.send_signal(signal.SIGINT)
        harness.wait_until(lambda: "undoing" in process.stdout.readline())
        for _ in range(2):
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert process.wait(timeout=20) == -signal.SIGINT


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_ctrl_c_ends_more_ticks_than_there_is_time_for(engine):
    """Their clauses alone would keep it busy for ever."""
    ticks = "".join(f"tick-{hz}hz {{ @ = count(); }}" for hz in range(4700, 5000))
    with harness.running(
        [
            harness.PYDTRACE,
            "-x",
            f"engine={engine}",
            "-qn",
            f'{ticks} tick-1s {{ printf("up\\n"); }}',
        ]
    ) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        done = harness.finish(process, 60)
    assert done.status == 0 and int(done.stdout.split()[-1]) > 0, done
    assert set(re.findall("dtrace: (.*)", done.stderr)) <= {
        f"{n} ticks left out: their clauses take longer than there is time between them"
        for n in re.findall(r"\d+", done.stderr)
    }, done


def test_a_killed_tracer_costs_nothing_after_a_second(tmp_path):
    """SIGKILL: the program goes on, and within a second its probes are off again."""
    log = tmp_path / "log"
    with harness.running_program("steady.py", log) as program:
        with harness.running(
            [harness.PYDTRACE, "-q", "-n", COUNT, "-p", str(program.pid)]
        ) as tracer:
            harness.wait_until(lambda: log.exists() and log.read_text().endswith("on\n"))
            tracer.kill()
            killed = time.monotonic()
            harness.wait_until(lambda: log.read_text().endswith("off\n"), 5)
            assert time.monotonic() - killed < 1.2
        assert program.poll() is None


def test_a_new_tracer_after_a_killed_one(pydtrace):
    with harness.running_program("steady.py") as program:
        with harness.running(
            [harness.PYDTRACE, "-q", "-n", COUNT, "-p", str(program.pid)]
        ) as tracer:
            time.sleep(0.5)
            tracer.kill()
        script = 'pyusdt*:::user_trace-i4s4 { printf("again\\n"); exit(0); }'
        got = pydtrace("-q", "-n", script, "-p", str(program.pid))
    assert got.stdout.splitlines()[0] == "again", got


def test_a_killed_program_loses_nothing_that_it_emitted(pydtrace):
    """The program fires 1, 2, … 5000 and kills itself; every one is printed, in order."""
    got = pydtrace("-q", "-n", PRINT, "-c", harness.program("kills_itself.py", 5000))
    assert [line for line in got.stdout.splitlines() if line] == [str(i) for i in range(1, 5001)], (
        got.stderr
    )
    assert got.status == 0


def test_exit_leaves_no_files(pydtrace, tmp_path):
    rundir = tmp_path / "run"
    rundir.mkdir(mode=0o700)
    environment = {**os.environ, "PYUSDT_RUNDIR": str(rundir)}
    got = pydtrace("-q", "-n", PRINT, "-c", harness.program("events.py"), env=environment)
    assert got.stdout.strip(), got
    assert list(rundir.iterdir()) == []
