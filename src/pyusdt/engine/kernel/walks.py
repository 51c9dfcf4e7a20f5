"""What the walks of interpreters' stacks (walk.py) and the tracer say to each other.

In: the engine's maps, whoever knows interpreters (tracing/interpreters.py).  Out: the map of processes filled as it is asked for, and each
stack shown to who can name it, while its process lives.
Always: nothing here reads a process; what a process makes last costs the tracer no time.
"""

from __future__ import annotations

import struct

from ... import _tracer
from ...bpf import kernel
from ...data import program as p
from ...data import walked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROCESSES, _STACKS, _RING = 4096, 1 << 16, 1 << 19
MAPS = [p.MapDef("processes", "lru_hash", 4, walked.SIZE, _PROCESSES), p.MapDef("sent", "lru_hash", 8, 8, _STACKS),
        p.MapDef("walked", "ringbuf", 0, 0, _RING)]


def task(raw_kernel: Any) -> tuple[int, int, int | None]:
    """(offset of a task's mm, of the number of its execs, of pthread_self()) in the kernel's task.  Raises EngineError where this kernel
    does not tell."""
    member = raw_kernel.member
    mm, execs = member("task_struct", "mm"), member("task_struct", "self_exec_id")
    if raw_kernel.machine != "x86_64":
        return mm, execs, None
    return mm, execs, member("task_struct", "thread") + member("thread_struct", "fsbase")


class Walks:
    """fds: of all maps; first: the index of the first of MAPS; interpreters: tracing.interpreters.Interpreters."""

    def __init__(self, fds: list[int], first: int, interpreters: Any) -> None:
        self._processes, self.fd = fds[first], fds[first + 2]
        self._ring = _tracer.KernelRing(self.fd, _RING)
        self._interpreters = interpreters
        interpreters.answer, interpreters.hear = self._answer, self.take

    def _answer(self, pid: int, value: bytes) -> None:
        kernel.map_update(self._processes, struct.pack("=I", pid), value)

    def take(self) -> None:
        """Pass on what the programs have said."""
        data, at = self._ring.take(), 0
        while at < len(data):
            depth, pid, first = struct.unpack_from("=IIQ", data, at)
            if depth:
                self._interpreters.see(pid, struct.unpack_from(f"={depth}Q", data, at + 8))
                at += 8 + 8 * depth
            else:
                self._interpreters.ask(pid, first)
                at += 24
