"""A process that resumes stopped processes if the tracer that stopped them does not.

It watches a map {process id: a value that begins with HELD or another u32} and writes RESUMED
instead of HELD.

- No process waits for a tracer that has ended.
- No process waits longer than HOLD_LIMIT for a tracer that is stopped, frozen or busy.
- A guard of root runs outside the tracer's control groups, and the scheduler prefers it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time

from pydtrace import _tracer
from pydtrace.bpf import syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

HELD, RESUMED = 1, 2
HOLD_LIMIT = 5.0  # seconds
_HEARTBEAT_INTERVAL = 1.0  # seconds


class ResumeGuard:
    """fd: of the map; value_size: of its values, in bytes.  Raises OSError."""

    def __init__(self, fd: int, value_size: int) -> None:
        self._beaten = 0.0
        reading, self._gate = os.pipe()
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _run_guard(reading, fd, value_size)
        except OSError:
            os.close(self._gate)
            raise
        finally:
            os.close(reading)
        os.set_blocking(self._gate, False)

    def send_heartbeat(self) -> None:
        """The tracer looks at who waits."""
        now = time.monotonic()
        if now - self._beaten >= _HEARTBEAT_INTERVAL:
            self._beaten = now
            with contextlib.suppress(OSError):  # full, or the guard was killed
                os.write(self._gate, b".")

    def end(self) -> None:
        """Who waits goes on."""
        os.close(self._gate)
        os.waitpid(self.pid, 0)


def _run_guard(reading: int, fd: int, value_size: int) -> NoReturn:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        kept = sorted((0, 1, 2, reading, fd))
        for low, high in zip(kept, [*kept[1:], 1 << 20]):
            os.closerange(low + 1, high)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        _tracer.leave_control_groups()
        _watch_tracer(reading, fd, value_size)
    finally:
        os._exit(0)


def _watch_tracer(reading: int, fd: int, value_size: int) -> None:
    """Until the tracer has ended."""
    waited: set[bytes] = (
        set()
    )  # who waited already half of LIMIT ago, with no look of the tracer's since
    while True:
        beats = b""
        if select.select([reading], [], [], HOLD_LIMIT / 2)[0]:
            beats = os.read(reading, 1 << 16)
            if not beats:
                break
        held = _held_keys(fd, value_size) if not beats else set()
        for key in held & waited:
            _resume_process(fd, key, value_size)
        waited = held
    for key in _held_keys(fd, value_size):
        _resume_process(fd, key, value_size)


def _held_keys(fd: int, value_size: int) -> set[bytes]:
    return {
        key
        for key, value in syscalls.map_items(fd, 4, value_size)
        if value[:4] == struct.pack("=I", HELD)
    }


def _resume_process(fd: int, key: bytes, value_size: int) -> None:
    with contextlib.suppress(OSError):  # it was killed
        syscalls.map_update(
            fd, key, struct.pack("=I", RESUMED) + syscalls.map_lookup(fd, key, value_size)[4:]
        )
        os.kill(int.from_bytes(key, "little"), signal.SIGCONT)
