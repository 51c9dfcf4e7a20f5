"""The processes that have mapped new code, from perf's records of executable mappings.

- A process that maps code all the time costs no more than its id.
- If the kernel has no such events, the engine scans at intervals.
"""

from __future__ import annotations

import mmap
import os
import struct

from pydtrace.bpf import syscalls

from .probes.profile_timers import online_cpus

_PAGES = 8  # of records, for a CPU
_HEAD, _TAIL = 1024, 1032  # in the first page
_MMAP, _LOST = 1, 2  # types of records
_RECORD = struct.Struct("=IHHII")  # type, misc, size; of a mapping: pid, tid


class MappingEvents:
    """fds: one for each CPU; none where the kernel, or the user's rights, do not allow it."""

    def __init__(self) -> None:
        self.fds, self._memory = [], []
        try:
            for cpu in online_cpus():
                self.fds.append(syscalls.open_perf_mappings(cpu))
                self._memory.append(mmap.mmap(self.fds[-1], (1 + _PAGES) * mmap.PAGESIZE))
        except (OSError, ValueError):
            self.close()

    def take_pids(self) -> set[int] | None:
        """The ids of the processes that have mapped code since this was called last; None: there were too many to tell."""
        found, lost = set(), False
        for memory in self._memory:
            head, tail = (int.from_bytes(memory[at : at + 8], "little") for at in (_HEAD, _TAIL))
            while tail < head:
                kind, _, size, pid, _ = _RECORD.unpack(self._read_ring(memory, tail, _RECORD.size))
                lost |= kind == _LOST
                if kind == _MMAP:
                    found.add(pid)
                tail += max(size, 8)
            memory[_TAIL : _TAIL + 8] = struct.pack("=Q", head)
        return None if lost else found

    @staticmethod
    def _read_ring(memory: mmap.mmap, at: int, size: int) -> bytes:
        """From a ring, which begins behind the first page."""
        room = _PAGES * mmap.PAGESIZE
        at %= room
        data = memory[mmap.PAGESIZE + at : mmap.PAGESIZE + min(at + size, room)]
        return data + memory[mmap.PAGESIZE : mmap.PAGESIZE + size - len(data)]

    def close(self) -> None:
        for memory in self._memory:
            memory.close()
        for fd in self.fds:
            os.close(fd)
        self.fds, self._memory = [], []
