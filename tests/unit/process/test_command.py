"""process.command: the traced command waits for start(), and never outlives what it was told."""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from pydtrace.process.command import Command
from pydtrace.process.identity import is_alive

PYTHONS = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)


def ignored(text):
    """The set of signals of a line `SigIgn: …`."""
    return int(text.split()[1], 16)


def test_nothing_runs_before_go(tmp_path):
    proof = tmp_path / "ran"
    command = Command(["touch", str(proof)])
    time.sleep(0.1)
    assert not proof.exists()
    assert not command.poll()
    command.start()
    command.wait()
    assert proof.exists()
    assert command.status == 0


def test_the_command_keeps_its_pid(tmp_path):
    out = tmp_path / "pid"
    command = Command(["sh", "-c", f"echo $$ > {out}"])
    command.start()
    command.wait()
    assert int(out.read_text()) == command.pid


def test_it_ignores_no_signal_that_python_ignores_for_itself(tmp_path):
    out = tmp_path / "status"
    command = Command(["sh", "-c", f"grep SigIgn /proc/self/status > {out}"])
    command.start()
    command.wait()
    assert ignored(out.read_text()) & PYTHONS == 0


def test_what_can_not_be_started_says_why():
    command = Command(["/proc/nonexistent/command"])
    with pytest.raises(OSError) as error:
        command.start()
    assert error.value.errno == errno.ENOENT


def test_stop_before_go_runs_nothing(tmp_path):
    proof = tmp_path / "ran"
    command = Command(["touch", str(proof)])
    command.stop()
    assert not proof.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(command.pid, 0)


def test_stop_ends_a_command_that_ignores_sigterm():
    command = Command(["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"])
    command.start()
    time.sleep(0.1)
    command.stop(SimpleNamespace(interrupted=False, aborting=False, command_timeout=0.1))
    assert os.WTERMSIG(command.status) == 9


def test_a_dead_tracer_leaves_no_command_behind(tmp_path):
    proof = tmp_path / "ran"
    code = (
        "import os, sys; from pydtrace.process.command import Command; "
        f"c = Command(['touch', {str(proof)!r}]); print(c.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    stat = pathlib.Path(f"/proc/{int(out.stdout)}/stat")
    deadline = time.monotonic() + 10
    while stat.exists() and stat.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not proof.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="host: /proc")
def test_alive_without_its_first_thread():
    """It is a zombie by its state; so is one that has ended and that was not waited for."""
    code = (
        "import ctypes, sys, threading; "
        "threading.Thread(target=lambda: (print(flush=True), sys.stdin.read(), ctypes.CDLL(None)._exit(0))).start(); "
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        status = pathlib.Path(f"/proc/{process.pid}/status")
        deadline = time.monotonic() + 10
        while "State:\tZ" not in status.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_alive(process.pid)
        process.stdin.close()
        while is_alive(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "State:\tZ" in status.read_text() and not is_alive(process.pid)
