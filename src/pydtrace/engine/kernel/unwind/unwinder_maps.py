"""The maps between the unwinders in the kernel and the tracer: requests, answers, and stacks to
name.

- Nothing here reads a process.
- The resolvers (driver/python_frame_names.py, driver/unwind_table_loader.py) work in their own
  threads, so a slow process does not delay the tracer.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import threading

from pydtrace import _tracer
from pydtrace.bpf import syscalls
from pydtrace.engine.kernel.uprobe_attach import NO_PREALLOC_SINCE, kernel_version
from pydtrace.program import program as p
from pydtrace.unwind import python_frame_words, unwind_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # offsets in task_struct of mm, of self_exec_id, and of what pthread_self() is, None where threads are known by their ids
    TaskOffsets = tuple[int, int, int | None]
    from ..probes.raw_tracepoints import KernelInfo

_PROCESSES, _STACKS, _RING = 4096, 1 << 16, 1 << 19
MAPS = [
    p.MapDef("processes", "lru_hash", 4, python_frame_words.SIZE, _PROCESSES),
    p.MapDef("sent", "lru_hash", 8, 8, _STACKS),
    p.MapDef("walked", "ringbuf", 0, 0, _RING),
]
PARTS, ARRAY_OF_MAPS = "parts", "array_of_maps"
_TABLES = 4096  # files
_KNOWN, _KNOWN_AT_ONCE = (
    1024,
    128,
)  # processes whose code is known, where the kernel allocates as they come, and where it does not


def table_definitions() -> list[p.MapDef]:
    """The maps behind MAPS, of which processes have which tables; the last is of forked children (engine/kernel/fork_events.py), which leave the others their room."""
    known = _KNOWN if kernel_version() >= NO_PREALLOC_SINCE else _KNOWN_AT_ONCE
    return [
        p.MapDef(PARTS, "hash", 4, unwind_rows.VALUE_SIZE, known),
        p.MapDef("tables", ARRAY_OF_MAPS, 4, 4, _TABLES),
        p.MapDef(PARTS, "hash", 4, unwind_rows.VALUE_SIZE, known // 2),
    ]


def _create_table(rows: int) -> int:
    """A descriptor of an array for so many."""
    return syscalls.map_create(
        p.MapDef("table", "array", 4, unwind_rows.ROW.size, rows),
        syscalls.MMAPABLE | syscalls.INNER_MAP,
    )


def create_outer_table(definition: p.MapDef) -> int:
    """A descriptor; number unwound.NONE is a table that is none."""
    none = _create_table(1)
    try:
        return syscalls.create_map_of_maps([none], definition.entries)
    finally:
        os.close(none)


def find_task_offsets(raw_kernel: KernelInfo) -> TaskOffsets:
    """(offset of a task's mm, of the number of its execs, of pthread_self()) in the kernel's task.  Raises EngineError where this kernel
    does not tell."""
    member = raw_kernel.member_offset
    mm, execs = member("task_struct", "mm"), member("task_struct", "self_exec_id")
    if raw_kernel.machine != "x86_64":
        return mm, execs, None
    return mm, execs, member("task_struct", "thread") + member("thread_struct", "fsbase")


class TableMaps:
    """The maps of table_definitions().  fds: their descriptors; natives: driver.unwind_table_loader.UnwindTableLoader."""

    def __init__(self, fds: list[int], natives: Any) -> None:
        self._parts, self._tables = fds
        self._count, self._lock, self._open = 1, threading.Lock(), True
        natives.max_processes = (
            _KNOWN if kernel_version() >= NO_PREALLOC_SINCE else _KNOWN_AT_ONCE
        ) - 1
        natives.store_value, natives.remove_value, natives.add_table = (
            self._store_parts,
            self._remove_parts,
            self._store_table,
        )

    def _store_parts(self, pid: int, value: bytes) -> None:
        with self._lock:
            if self._open:
                syscalls.map_update(self._parts, struct.pack("=I", pid), value)

    def _remove_parts(self, pid: int) -> None:
        with (
            self._lock,
            contextlib.suppress(FileNotFoundError),
        ):  # it has ended (engine/kernel/fork_events.py)
            if self._open:
                syscalls.map_delete(self._parts, struct.pack("=I", pid))

    def _store_table(self, rows: bytes) -> int:
        """The number of the table; unwound.NONE: there is no room.  Raises OSError."""
        with self._lock:
            if not self._open or self._count == _TABLES:
                return unwind_rows.NONE
            fd = _create_table(len(rows) // unwind_rows.ROW.size)
            try:
                with mmap.mmap(fd, -(-len(rows) // mmap.PAGESIZE) * mmap.PAGESIZE) as memory:
                    memory[: len(rows)] = rows
                syscalls.map_update(
                    self._tables, struct.pack("=I", self._count), struct.pack("=I", fd)
                )
            finally:
                os.close(fd)
            self._count += 1
            return self._count - 1

    def close(self) -> None:
        """What is asked comes to an end: the descriptors may be another's then."""
        with self._lock:
            self._open = False


class UnwinderMaps:
    """fds: of all maps; first: the index of the first of MAPS; interpreters: driver.python_frame_names.PythonFrameNames; with_tables: those of table_definitions()
    are there, too; forked(child, parent): of processes that have the same code."""

    def __init__(
        self,
        fds: list[int],
        first: int,
        interpreters: Any,
        with_tables: bool,
        forked: Callable[[int, int], None],
    ) -> None:
        self._processes, self.fd = fds[first], fds[first + 2]
        self._ring = _tracer.KernelRing(self.fd, _RING)
        self._interpreters, self._forked = interpreters, forked
        interpreters.store_value, interpreters.read_messages = (
            self._store_process,
            self.drain_records,
        )
        behind = first + len(MAPS)
        self._tables = (
            TableMaps(fds[behind : behind + 2], interpreters.natives) if with_tables else None
        )
        self.parts = (fds[behind], fds[behind + 2]) if with_tables else None

    def _store_process(self, pid: int, value: bytes) -> None:
        syscalls.map_update(self._processes, struct.pack("=I", pid), value)

    def drain_records(self) -> None:
        """Pass on what the programs have said."""
        data, at = self._ring.read_records(), 0
        while at < len(data):
            depth, pid, first = struct.unpack_from("=IIQ", data, at)
            if depth == python_frame_words.ASK_CODE:
                self._interpreters.natives.locate_code(pid, first)
                at += 24
            elif depth == python_frame_words.FORKED:
                self._forked(pid, first)
                at += 24
            elif depth:
                self._interpreters.name_stack(pid, struct.unpack_from(f"={depth}Q", data, at + 8))
                at += 8 + 8 * depth
            else:
                self._interpreters.identify_process(pid, first)
                at += 24

    def close(self) -> None:
        if self._tables:
            self._tables.close()
