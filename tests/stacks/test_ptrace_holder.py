"""Nobody stays stopped: not by a tracer that is stopped, frozen or killed, nor by the process that holds threads for it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pydtrace import _tracer
from pydtrace.process import proc_threads
from pydtrace.process.command import Command
from pydtrace.unwind.thread_capture import ThreadCapture
from tests.support import stacks_harness as harness

FREEZERS = (
    ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
    ("/sys/fs/cgroup", "cgroup.freeze", "1", "0"),
    ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"),
)
OF_GLIBC = (
    3 << 31
)  # signals 32 and 33, whose handlers glibc lets nobody change: they do something only for the process's own threads


class Tracer:
    """A forked process that stops a thread, tells its holder's id, and when it is told to says which threads stood still until then.
    prepare: what it does first."""

    def __init__(self, tid: int, prepare=lambda: None):
        self._read, said = os.pipe()
        hears, self._write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                prepare()
                memory = _tracer.Memory(tid)
                while not _tracer.stop_threads(memory, [tid], False)[0]:
                    pass
                os.write(said, f"{_tracer.find_holder()}\n".encode())
                os.read(hears, 1)
                os.write(said, f"{sorted(_tracer.continue_threads([tid]))}\n".encode())
                os.read(hears, 1)
            finally:
                os._exit(0)
        os.close(said)
        os.close(hears)
        self.holder = int(self.hear())

    def hear(self) -> str:
        return os.read(self._read, 100).decode().strip()

    def let_go(self) -> str:
        os.write(self._write, b".")
        return self.hear()

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._read)
        os.close(self._write)


@contextlib.contextmanager
def tracer_of(tid: int, **options):
    tracer = Tracer(tid, **options)
    try:
        yield tracer
    finally:
        tracer.close()


@pytest.fixture
def spins():
    """The id of a process that always runs."""
    with harness.running(sys.executable, "fast_calls.py") as subject:
        yield subject.pid


def until(is_so) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def runs(tid: int) -> bool:
    return proc_threads.read_state_letter(tid, tid) == "R"


def is_gone(pid: int) -> bool:
    return (
        not os.path.exists(f"/proc/{pid}")
        or Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    )


# ---- the tracer ----


def test_a_tracer_that_is_stopped(spins):
    """What it reads then is of a thread that runs, and it is told so."""
    with tracer_of(spins) as tracer:
        os.kill(tracer.pid, signal.SIGSTOP)
        until(lambda: runs(spins))
        os.kill(tracer.pid, signal.SIGCONT)
        assert tracer.let_go() == "[]"


def test_a_tracer_that_is_killed(spins):
    with tracer_of(spins) as tracer:
        os.kill(tracer.pid, signal.SIGKILL)
        until(lambda: runs(spins))
        until(lambda: is_gone(tracer.holder))


@contextlib.contextmanager
def freezer(mount: str, name: str):
    """(folder of a control group, its file that freezes it)."""
    group = Path(mount) / f"pyusdt-test-{os.getpid()}"
    if not (Path(mount) / "cgroup.procs").exists():
        pytest.skip(f"host: no control groups at {mount}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"host: no control group can be made: {error}")
    try:
        if not (group / name).exists():
            pytest.skip(f"host: a control group at {mount} has no {name}")
        yield group, group / name
    finally:
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@pytest.mark.parametrize(
    ("mount", "name", "freezes", "thaws"), FREEZERS, ids=["v1", "v2", "v2 beside v1"]
)
def test_a_tracer_that_is_frozen(spins, mount, name, freezes, thaws):
    """Root's holder is in no control group of the tracer's."""

    def enter():
        (group / "cgroup.procs").write_text("0")

    with freezer(mount, name) as (group, file), tracer_of(spins, prepare=enter) as tracer:
        assert (group / "cgroup.procs").read_text().split() == [str(tracer.pid)]
        try:
            file.write_text(freezes)
            until(lambda: runs(spins))
        finally:
            file.write_text(thaws)
        assert tracer.let_go() == "[]"


def test_a_reading_that_takes_too_long(spins):
    """Native frames are of a thread that stood still, or there are none."""
    capture = ThreadCapture(_tracer.Memory(spins))
    copies, stood = capture.copy_threads([spins], False, lambda: time.sleep(2 * _tracer.HOLD_LIMIT))
    assert (copies, stood) == ({}, None)
    assert capture.read_stopped([spins], lambda: time.sleep(2 * _tracer.HOLD_LIMIT))[0] == set()
    until(lambda: capture.read_stopped([spins], lambda: None)[0] == {spins})
    capture.close()
    until(lambda: runs(spins))


def test_a_tracer_may_not_be_the_holder_s_own():
    """Who would let it go?"""
    with pytest.raises(PermissionError):
        _tracer.stop_threads(_tracer.Memory(os.getpid()), [os.getpid()], False)


# ---- the holder ----


def test_a_holder_that_is_stopped(spins):
    """With its tracer: a timer of the kernel's ends it."""
    with tracer_of(spins) as tracer:
        os.kill(tracer.pid, signal.SIGSTOP)
        os.kill(tracer.holder, signal.SIGSTOP)
        until(lambda: runs(spins))
        until(lambda: is_gone(tracer.holder))
        os.kill(tracer.pid, signal.SIGCONT)
        assert tracer.let_go() == "[]"


def test_a_holder_that_is_killed(spins):
    """What it held goes on at once; another one takes its place."""
    memory = _tracer.Memory(spins)
    until(lambda: _tracer.stop_threads(memory, [spins], False)[0])
    first = _tracer.find_holder()
    os.kill(first, signal.SIGKILL)
    assert _tracer.continue_threads([spins]) == set()
    until(lambda: runs(spins))
    until(lambda: _tracer.stop_threads(memory, [spins], False)[0])
    assert _tracer.continue_threads([spins]) == {spins}
    assert first != _tracer.find_holder() > 0


def test_a_holder_that_does_not_answer(spins):
    """The tracer ends it, and goes on."""
    memory = _tracer.Memory(spins)
    until(lambda: _tracer.stop_threads(memory, [spins], False)[0])
    first = _tracer.find_holder()
    _tracer.continue_threads([spins])
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(OSError, match=r"timed out"):
        _tracer.stop_threads(memory, [spins], False)
    assert _tracer.find_holder() == 0 and is_gone(first)
    until(lambda: runs(spins))


def test_a_holder_keeps_nothing_of_its_tracer(spins):
    """No descriptor but two of its own, no terminal, no signal but SIGKILL ends it before its tracer does."""
    with tracer_of(spins) as tracer:
        assert tracer.let_go() in ("[]", f"[{spins}]")
        assert len(os.listdir(f"/proc/{tracer.holder}/fd")) == 2
        assert os.getsid(tracer.holder) == tracer.holder
        assert Path(f"/proc/{tracer.holder}/comm").read_text() == "pyusdt-hold\n"
        os.kill(tracer.holder, signal.SIGTERM)
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{tracer.holder}/status").read_text().splitlines()
        )
        assert int(status["ShdPnd"], 16) & 1 << signal.SIGTERM - 1
        assert int(status["SigCgt"], 16) & ~OF_GLIBC == 0


def test_the_end_of_a_command_is_its_parent_s():
    """A thread that was stopped ends: who waits for the command hears of it, though a holder is its ptracer."""
    command = Command([sys.executable, os.path.join(harness.STACKS, "programs", "fast_calls.py")])
    command.start()
    until(lambda: runs(command.pid))
    capture = ThreadCapture(_tracer.Memory(command.pid), child=True)
    capture.read_stopped([command.pid], lambda: os.kill(command.pid, signal.SIGKILL))
    until(command.poll)
    assert os.WTERMSIG(command.status) == signal.SIGKILL
    capture.close()


# ---- where only the tracer itself may stop a thread ----


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_what_the_holder_may_not_stop_the_tracer_stops(spins):
    """As with kernel.yama.ptrace_scope 1; here the holder has another user's rights."""

    def prepare():
        os.setresuid(65534, 65534, 0)
        assert _tracer.stop_threads(_tracer.Memory(spins), [spins], False)[0] == {}
        os.setresuid(0, 0, 0)

    with tracer_of(spins, prepare=prepare) as tracer:
        assert f"TracerPid:\t{tracer.pid}\n" in Path(f"/proc/{spins}/status").read_text()
        assert tracer.let_go() == f"[{spins}]"
        until(lambda: runs(spins))
    with tracer_of(spins, prepare=prepare) as tracer:
        os.kill(tracer.pid, signal.SIGKILL)
        until(lambda: runs(spins))
