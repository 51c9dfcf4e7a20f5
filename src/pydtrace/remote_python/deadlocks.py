"""Deadlocks: which thread waits for a lock that another thread holds.

- Only locks of threading (Lock, RLock) that a thread holds by `with` are found, since only the
  frame of such a block knows the holder of a Lock.
- Only live values of a frame count, by its exception table (before 3.11 by its blocks).
- A thread waits only if it waits at the same futex before and after everything was read.
"""

from __future__ import annotations

from pydtrace.process.proc_threads import read_futex_address

from .remote_objects import RemoteObjects
from .remote_python import unpack_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .code_objects import CodeObjects
    from .python_threads import ThreadStack
    from .remote_python import RemotePython

_KINDS = ("_thread.lock", "_thread.RLock")
_FRAMES = 1 << 15  # of all threads, at most
_TABLE = 1 << 16  # bytes of a table of exceptions
_VALUES = 64  # that are alive in a frame, at most
_BEFORE_11 = {
    9: (64, 112, 120),
    10: (64, 104, 112),
}  # f_valuestack, f_iblock, f_blockstack in a frame
_BLOCK = 12  # bytes; the last four: how many values are below it
_TAGGED = 14  # from 3.14 on the lowest bits of a frame's values are no part of them
_WRONG = (OSError, LookupError, ValueError)


class LockReader:
    """codes: code_objects.CodeObjects."""

    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._python, self._layout, self._memory = python, python.layout, python.memory
        self._objects = RemoteObjects(python, codes)
        self.word = python.read_word
        self._head = self._layout["object_type"] + 8
        self._left = _FRAMES

    def find_waiting(self, threads: Iterable[ThreadStack]) -> dict[int, int]:
        """{thread id: id of the thread that holds what it waits for}; threads: [python_threads.ThreadStack]."""
        known = [
            (thread.kernel_thread.tid, thread.address)
            for thread in threads
            if thread.kernel_thread and thread.address
        ]
        pid = self._python.pid
        before = {tid: read_futex_address(pid, tid) for tid, _ in known}
        holders = {}
        for tid, address in known:
            for lock in self._held_lock_keys(address):
                holders[lock] = tid
        wanted = {
            tid: self._lock_keys(futex)
            for tid, futex in before.items()
            if futex and futex == read_futex_address(pid, tid)
        }
        return {
            tid: holders[lock] for tid, locks in wanted.items() for lock in locks if lock in holders
        }

    def _lock_keys(self, futex: int) -> tuple[int, ...]:
        """The keys of a lock: its semaphore, or the lock itself, which from 3.13 on a waiting thread stores before a semaphore
        of its own."""
        try:
            return futex, self.word(futex - 8)
        except OSError:
            return (futex,)

    def _held_lock_keys(self, thread: int) -> Iterator[int]:
        """The same of each lock that a thread holds by `with`."""
        for frame in self._iter_frames(thread):
            try:
                for value in self._live_values(frame):
                    lock = self._find_lock(value)
                    if lock:
                        yield from (lock + self._head, self.word(lock + self._head))
            except _WRONG:
                continue

    def _iter_frames(self, thread: int) -> Iterator[int]:
        layout = self._layout
        try:
            at = thread + layout["thread_frame"]
            if layout["thread_cframe"]:
                at = self.word(thread + layout["thread_cframe"]) + layout["cframe_frame"]
            at = self.word(at)
            while at and self._left > 0:
                self._left -= 1
                yield at
                at = self.word(at + layout["frame_previous"])
        except OSError:
            return

    # --- values -----------------------------------------------------------------------

    def _live_values(self, frame: int) -> list[int]:
        """Those of a frame's values that the handler of the place where it is would find."""
        minor = self._layout["minor"]
        if minor in _BEFORE_11:
            values, depth = self._find_by_blocks(frame, *_BEFORE_11[minor])
        else:
            values, depth = self._find_by_table(frame)
        data = self._memory.read(values, 8 * min(depth, _VALUES)) if depth > 0 else b""
        return [
            unpack_word(data, at) & ~(3 if minor >= _TAGGED else 0) for at in range(0, len(data), 8)
        ]

    def _find_by_blocks(self, frame: int, values: int, count: int, blocks: int) -> tuple[int, int]:
        n = self._objects.read_int(frame + count, 4)
        if not 0 < n <= 20:
            return 0, 0
        return self.word(frame + values), self._objects.read_int(frame + blocks + n * _BLOCK - 4, 4)

    def _find_by_table(self, frame: int) -> tuple[int, int]:
        layout = self._layout
        code = self.word(frame + layout["frame_code"]) & ~(3 if layout["minor"] >= _TAGGED else 0)
        table = self.word(code + layout["bytes_size"] + 24)  # co_exceptiontable
        size = self.word(table + layout["bytes_size"])
        if size > _TABLE:
            raise ValueError("too long")
        at = self.word(frame + layout["frame_instr"]) - code - layout["code_instructions"]
        locals_ = self._objects.read_int(code + layout["code_firstlineno"] + 4, 4)  # co_nlocalsplus
        return frame + layout["frame_locals"] + 8 * locals_, find_depth(
            self._memory.read(table + layout["bytes_data"], size), at // 2
        )

    def _find_lock(self, value: int) -> int | None:
        """The lock, if a value is one or the __exit__ of one, else None."""
        try:
            name = self._objects.read_type_name(value)
            if (
                name == "builtin_function_or_method"
                and self._read_name(self.word(self.word(value + self._head))) == b"__exit__"
            ):
                value = self.word(value + self._head + 8)
                name = self._objects.read_type_name(value)
            elif self._layout["minor"] < _TAGGED:
                return None
            return value if name in _KINDS else None
        except _WRONG:
            return None

    def _read_name(self, address: int) -> bytes:
        text: bytes = self._memory.read(address, 9)
        return text.rstrip(b"\0")


def find_depth(table: bytes, unit: int) -> int:
    """How many values an exception at this unit of code would leave, by a table of CPython's (Objects/exception_handling_notes.txt)."""
    numbers, data = [], iter(table)
    for byte in data:
        value = byte & 63
        while byte & 64:
            byte = next(data, 0)
            value = value << 6 | byte & 63
        numbers.append(value)
        if len(numbers) == 4:
            start, size, _, depth = numbers
            if start <= unit < start + size:
                return depth >> 1
            numbers.clear()
    return 0


def find_cycles(waiting: Mapping[int, int]) -> list[list[int]]:
    """[[thread, the one that it waits for, …]] of those that wait for each other, each once."""
    found, done = [], set()
    for first in waiting:
        path = []
        while first in waiting and first not in done:
            done.add(first)
            path.append(first)
            first = waiting[first]
        if first in path:
            found.append(path[path.index(first) :])
    return found
