"""How tracing ends: Ctrl-C, a killed tracer, a killed program. Nothing is lost that was emitted, nothing stays on."""

import os
import re
import signal
import sys
import time

import harness

COUNT = "pyusdt*:::user_trace-i4s4 { @events = count(); }"
# the command, from when Python itself has started
STARTS = "import pyusdt.cli.start as start; print('up', flush=True); start.pydtrace()"
PRINT = 'pyusdt*:::user_trace-i4s4 { printf("%d\\n", arg2); }'


def interrupted(tracer: list[str], arguments: list[str], seconds: float) -> harness.Run:
    with (
        harness.running_program("steady.py") as program,
        harness.running([*tracer, *arguments, "-p", str(program.pid)]) as process,
    ):
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        return harness.finish(process, 30)


def test_ctrl_c_ends_as_in_dtrace(oracle):
    arguments = ["-q", "-n", COUNT.replace("*", "$target"), "-n", 'END { printf("over\\n"); }']
    want = interrupted([harness.ORACLE, "dtrace"], arguments, 6)
    got = interrupted([harness.PYDTRACE], arguments, 2)
    assert got.status == want.status, got
    assert re.sub(r" *\d+", " N", got.stdout) == re.sub(r" *\d+", " N", want.stdout)
    assert int(got.stdout.split()[-1]) > 0


def test_ctrl_c_while_it_starts():
    """At any time: as a program that does not handle it, or, once it traces, with what END prints."""
    for seconds in (0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2):
        with harness.running([sys.executable, "-c", STARTS, "-qn", 'END { printf("over"); }']) as process:
            assert process.stdout.readline() == "up\n"
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            got = harness.finish(process, 30)
        assert (got.status, got.stdout.strip()) in ((-signal.SIGINT, ""), (0, "over")) and got.stderr == "", got


def test_a_killed_tracer_costs_nothing_after_a_second(tmp_path):
    """SIGKILL: the program goes on, and within a second its probes are off again."""
    log = tmp_path / "log"
    with harness.running_program("steady.py", log) as program:
        with harness.running([harness.PYDTRACE, "-q", "-n", COUNT, "-p", str(program.pid)]) as tracer:
            harness.wait_until(lambda: log.exists() and log.read_text().endswith("on\n"))
            tracer.kill()
            killed = time.monotonic()
            harness.wait_until(lambda: log.read_text().endswith("off\n"), 5)
            assert time.monotonic() - killed < 1.2
        assert program.poll() is None


def test_a_new_tracer_after_a_killed_one(pydtrace):
    with harness.running_program("steady.py") as program:
        with harness.running([harness.PYDTRACE, "-q", "-n", COUNT, "-p", str(program.pid)]) as tracer:
            time.sleep(0.5)
            tracer.kill()
        script = 'pyusdt*:::user_trace-i4s4 { printf("again\\n"); exit(0); }'
        got = pydtrace("-q", "-n", script, "-p", str(program.pid))
    assert got.stdout.splitlines()[0] == "again", got


def test_a_killed_program_loses_nothing_that_it_emitted(pydtrace):
    """The program fires 1, 2, … 5000 and kills itself; every one is printed, in order."""
    got = pydtrace("-q", "-n", PRINT, "-c", harness.program("kills_itself.py", 5000))
    assert [line for line in got.stdout.splitlines() if line] == [str(i) for i in range(1, 5001)], got.stderr
    assert got.status == 0


def test_exit_leaves_no_files(pydtrace, tmp_path):
    rundir = tmp_path / "run"
    rundir.mkdir(mode=0o700)
    environment = {**os.environ, "PYUSDT_RUNDIR": str(rundir)}
    got = pydtrace("-q", "-n", PRINT, "-c", harness.program("events.py"), env=environment)
    assert got.stdout.strip(), got
    assert list(rundir.iterdir()) == []
