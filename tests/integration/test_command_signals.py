"""How the command of `pydtrace -c` and `pyusdt profile --` ends: it gets one signal, once, and the time that it needs to clean up."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from tests.support import harness

PYUSDT = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
SCRIPT = 'BEGIN { n = 1; } END { printf("traced\\n"); }'


def tracer_of(which: str, *arguments: object, script: str = SCRIPT) -> list[str]:
    command = harness.program("ends_slowly.py", *arguments)
    return (
        [harness.PYDTRACE, "-qn", script, "-c", command]
        if which == "pydtrace"
        else [PYUSDT, "profile", "--rate", "20", "--", *command.split()]
    )


class Terminal:
    """A process in the foreground of a terminal of its own; said: what it has printed there."""

    def __init__(self, command: list[str]):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *command], stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.said = ""

    def read_until(self, text: str, seconds: float = 20) -> None:
        os.set_blocking(self.master, False)
        deadline = time.monotonic() + seconds
        while text not in self.said:
            assert time.monotonic() < deadline and self.process.poll() is None, self.said
            with contextlib.suppress(OSError):
                self.said += os.read(self.master, 4096).decode().replace("\r\n", "\n")
            time.sleep(0.01)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def finish(self) -> int:
        status = self.process.wait(30)
        with contextlib.suppress(OSError):
            while part := os.read(self.master, 4096):
                self.said += part.decode().replace("\r\n", "\n")
        return status

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


@contextlib.contextmanager
def terminal(command: list[str]):
    made = Terminal(command)
    try:
        made.read_until("up\n")
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("which", ["pydtrace", "profile"])
def test_ctrl_c_of_the_terminal_is_all_that_the_command_gets(which):
    with terminal(tracer_of(which, 1.2)) as screen:
        time.sleep(0.5)
        screen.type("\x03")
        assert screen.finish() == 0
    assert (
        screen.said.count("got ") == 1
        and "got SIGINT\n" in screen.said
        and "clean\n" in screen.said
    ), screen.said
    assert "waiting for process" in screen.said and "Ctrl-C ends it at once" in screen.said, (
        screen.said
    )
    assert which == "profile" or "traced\n" in screen.said


@pytest.mark.parametrize("which", ["pydtrace", "profile"])
def test_a_second_ctrl_c_hurries(which):
    with terminal(tracer_of(which, 0, "deaf")) as screen:
        screen.type("\x03")
        screen.read_until("Ctrl-C ends it at once")
        assert screen.process.poll() is None and screen.said.count("got ") == 1, screen.said
        began = time.monotonic()
        screen.type("\x03")
        status = screen.finish()
        assert status == 0 or (
            which == "profile" and "interrupted before a Python was seen" in screen.said
        ), screen.said
        assert time.monotonic() - began < 10
    assert "clean" not in screen.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("which", ["pydtrace", "profile"])
def test_a_signal_to_the_tracer_alone(which, number):
    """The command has got nothing: it gets SIGTERM, once, and the time that it needs."""
    with harness.running(tracer_of(which, 0.8)) as process:
        assert process.stdout.readline() == "up\n"
        time.sleep(0.3)
        process.send_signal(number)
        run = harness.finish(process, 30)
    assert (
        run.status == 0 and run.stdout.count("got ") == 1 and "got SIGTERM\nclean\n" in run.stdout
    ), run
    assert which == "profile" or "traced\n" in run.stdout


@pytest.mark.parametrize("name", ["INT", "TERM"])
@pytest.mark.parametrize("which", ["pydtrace", "profile"])
def test_by_timeout(which, name):
    """timeout(1) sends the tracer two signals, one by its number and one to the group: it is one, and the command gets no other."""
    run = harness.run(["timeout", "-s", name, "2", *tracer_of(which, 0.8)])
    assert (
        run.status == 124
        and run.stdout.count("got ") == 1
        and f"got SIG{name}\n" in run.stdout
        and "clean\n" in run.stdout
    ), run
    assert which == "profile" or "traced\n" in run.stdout


def test_by_timeout_without_a_command():
    """What was traced is shown."""
    for _ in range(3):
        run = harness.run(["timeout", "-s", "INT", "1", harness.PYDTRACE, "-qn", SCRIPT])
        assert run.stdout.split() == ["traced"], run


def test_exit_gives_it_time(pydtrace):
    run = pydtrace("-qn", "tick-600ms { exit(3); }", "-c", harness.program("ends_slowly.py", 0.8))
    assert (
        run.status == 3 and run.stdout.count("got ") == 1 and "got SIGTERM\nclean\n" in run.stdout
    ), run
    assert "dtrace: waiting 10 s at most for process" in run.stderr, run


def test_sighup_ends_it_as_exit_does(tmp_path):
    """END, whole files and the command's end, as at Ctrl-C."""
    command = harness.program("ends_slowly.py", 0)
    with harness.running(
        [harness.PYDTRACE, "-q", f"--html={tmp_path}/out.html", "-c", command, "-n", SCRIPT]
    ) as process:
        assert process.stdout.readline() == "up\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGHUP)
        run = harness.finish(process, 30)
    assert run.status == 0 and os.listdir(tmp_path) == ["out.html"], run
    assert "got SIGTERM\nclean\n" in run.stdout


def test_nothing_of_ours_is_left():
    """The process that sees which signals the group gets ends with a tracer that is killed, too."""

    def of_group(group: int) -> list[str]:
        return harness.run(["ps", "-o", "args=", "-g", str(group)]).stdout.split("\n")

    with terminal(tracer_of("pydtrace", 0)) as screen:
        assert "cat" in of_group(screen.process.pid)
        screen.process.kill()
        harness.wait_until(lambda: "cat" not in of_group(screen.process.pid))


API = f"""
import pyusdt, shlex
with pyusdt.trace("BEGIN {{ n = 1; }}", cmd=shlex.split({harness.program("ends_slowly.py", 1)!r})) as tracing:
    tracing.wait()
"""


def test_ctrl_c_of_a_program_that_traces():
    """pyusdt.trace(cmd=…): the block waits for the command, too."""
    with terminal([sys.executable, "-c", API]) as screen:
        time.sleep(0.3)
        screen.type("\x03")
        screen.finish()
    assert (
        screen.said.count("got ") == 1
        and "got SIGINT\n" in screen.said
        and "clean\n" in screen.said
    ), screen.said


@pytest.mark.parametrize(
    ("script", "silent"),
    [("BEGIN { @ = count(); }", True), ('BEGIN { printf("x"); exit(0); }', False)],
)
def test_a_terminal_hears_how_a_silent_tracing_ends(script, silent):
    """-q prints nothing until Ctrl-C: the message says so, on a terminal only."""
    terminal = Terminal([harness.PYDTRACE, "-qn", script])
    try:
        if silent:
            terminal.read_until("tracing; Ctrl-C ends it")
            terminal.type("\x03")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert silent or "Ctrl-C" not in terminal.said
