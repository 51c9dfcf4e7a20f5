"""Where the code of processes is, and the tables of its files, for programs in the kernel that walk native stacks.

In: process ids, paths of files.  Out: what the programs' maps say of them (data/unwound.py).
Always: processes and files are read by a thread of its own, each file's tables once; what makes its reader wait is left alone; how many rows
there are together is bounded, and strangers' files have at most half of them.  What is left out is walked by frame pointers, and can be told.
"""

from __future__ import annotations

import heapq
import os
import re
import time
from collections import OrderedDict

from ..data import unwound
from ..engine import elf, mapped
from ..stacks import table
from ..stacks.native import mapped_code
from ..stacks.process import moved
from .reader import Looks, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_ROWS = 4 << 20  # of all files, 8 bytes each
_SETTLES = 3.0  # seconds that tracing begins later for tables
_FIRST, _LONGEST = 20_000_000, 5_000_000_000  # ns until unknown code of a process is looked for again
_WAITING = 4096  # files whose tables are not read yet
_FILES = 1 << 14  # that are remembered
_HOSTILE = 64  # processes that may make a reader wait: each costs a thread
_FREQUENT = re.compile(r"(?:lib(?:c|python[\d.]*|pthread|beam)[-.].*|ld-.*)")  # what is in most stacks
_Key = tuple[int, int, int, int]  # of a file: device, inode, size, time of change


class _Known:
    """Of a file.  number: of its table, unwound.NONE where it has none."""

    def __init__(self, number: int = unwound.NONE, found: table.Table | None = None) -> None:
        self.number, self.rows, self.base = number, len(found) if found else 0, found.base if found else 0
        self.segments: list[tuple[int, int, int]] = found.segments if found else []


class _Left(Exception):
    """The thread was left alone."""


class Natives(Looks):
    """room: for how many processes there is; of the engine: answer() takes the map's values, forget() takes one out, keep() takes a table."""

    room = 0
    answer: Callable[[int, bytes], None]
    forget: Callable[[int], None]
    keep: Callable[[bytes], int]

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[_Key, _Known | None] = {}  # None: it is waited for
        self._mapped: dict[tuple[str, int, str], _Key | None] = {}
        self._processes: OrderedDict[int, tuple[int, int, list[Any]]] = OrderedDict()  # pid: stamp, delay, parts
        self._waits: dict[_Key, set[int]] = {}
        self._heap: list[tuple[bool, bool, int, str, _Key]] = []
        self._rows = {True: 0, False: 0}  # strangers', root's
        self._reads: str | None = None  # the file that is read

    # --- from the engine --------------------------------------------------------------------------

    def ask(self, pid: int, stamp: int) -> None:
        """Find out where its code is, and answer."""
        self._put(pid, self._look, stamp)

    def expect(self, paths: Iterable[str]) -> None:
        """Files that a process will have mapped."""
        for path in paths:
            self._put(0, self._expect, path)

    def settle(self) -> None:
        """Wait until all that was asked for is there, or it takes too long."""
        until = time.monotonic() + _SETTLES
        while self._reader and self._reader.open and not self._reader.hangs and time.monotonic() < until:
            time.sleep(0.002)

    # --- the thread -------------------------------------------------------------------------------

    def _is_read(self, pid: int) -> bool:
        return super()._is_read(pid) and len(self._hostile) < _HOSTILE

    def _leave(self, reader: Reader) -> None:
        """Alone with what keeps it waiting; what else there is goes on."""
        if self._reads is None:
            self._hostile.add(reader.pid)
            self._tell(f"process {reader.pid}: where its code is can not be read in time")
            if len(self._hostile) == _HOSTILE:
                self.told.append(f"all code that was not known yet: {_HOSTILE} processes made their reader wait")
        else:
            self._tell(f"{self._reads}: it can not be read in time")
        self._reader, self._reads = Reader(self._work), None
        self._reader.put(0, self._next)

    def _work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        try:
            self._beat()
            work(pid, *arguments)
        except (OSError, _Left):
            pass  # the process, the file or the engine's map is gone

    def _beat(self) -> None:
        """It goes on.  Raises _Left where nobody waits for it any more."""
        reader = self._reader
        if reader is None or not reader.is_here:
            raise _Left
        reader.since = time.monotonic()

    def _look(self, pid: int, stamp: int) -> None:
        parts = mapped_code(pid)
        before = self._processes.pop(pid, (stamp, 0, None))
        same = before[2] == [(each.where, each.file) for each, _ in parts] and before[0] == stamp
        delay = min(2 * before[1], _LONGEST) if same else _FIRST
        found = [self._part(pid, mapping, of_file) for mapping, of_file in parts]
        if len(found) > unwound.MOST:
            self._tell(f"process {pid} has its code in more than {unwound.MOST} places")
            found = sorted(sorted(found, key=lambda each: not each[3])[: unwound.MOST])
        if len(self._processes) >= self.room:
            self.forget(self._processes.popitem(last=False)[0])
        self._processes[pid] = stamp, delay, [(each.where, each.file) for each, _ in parts]
        self.answer(pid, unwound.parts(stamp, delay, found))

    def _part(self, pid: int, mapping: mapped.Mapping, of_file: bool) -> tuple[int, int, int, int, int]:
        """A part of its code, with the table if there is one."""
        start, size = mapping.start, mapping.end - mapping.start
        known = self._known(pid, mapping) if of_file else None
        if known is not None and known.number != unwound.NONE:
            try:
                return start, known.base + moved(known, mapping), size, known.number, known.rows
            except elf.BadFile:
                pass  # it is mapped in a way of its own
        return start, 0, size, unwound.NONE, 0

    def _known(self, pid: int, mapping: mapped.Mapping) -> _Known | None:
        """Of a mapping's file; None where it is not read yet, or can not be."""
        if mapping.file not in self._mapped:
            self._beat()
            found = mapped.find(pid, mapping)
            self._beat()
            if len(self._mapped) >= _FILES:
                self._mapped.clear()
            self._mapped[mapping.file] = self._await(pid, *found, mapping.name) if found else None
        key = self._mapped[mapping.file]
        if key is None:
            return None
        known = self._files.get(key)
        if known is None and key in self._waits:
            self._waits[key].add(pid)
        return known

    def _expect(self, _: int, path: str) -> None:
        self._await(0, path, os.stat(path), os.path.basename(path))

    def _await(self, pid: int, path: str, status: os.stat_result, name: str) -> _Key | None:
        """The key of a file, which is read by and by."""
        key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        if key in self._files:
            return key
        if len(self._heap) >= _WAITING or len(self._files) >= _FILES:
            self._tell(f"{name}: there are too many files")
            return None
        self._files[key], self._waits[key] = None, set()
        strange = status.st_uid != 0
        heapq.heappush(self._heap, (strange, not _FREQUENT.fullmatch(name), len(self._files), path, key))
        if len(self._heap) == 1:
            self._put(0, self._next)
        return key

    def _next(self, _: int) -> None:
        """Read one file, for all that wait for it, and the next after what was asked meanwhile."""
        if not self._heap:
            return
        strange, _rare, _, path, key = heapq.heappop(self._heap)
        if self._heap:
            self._put(0, self._next)
        self._reads = os.path.basename(path)
        known = self._read(path, key, strange)
        self._beat()
        self._reads, self._files[key] = None, known
        waiting = self._waits.pop(key)
        if known.number != unwound.NONE:
            for pid in waiting:
                if pid in self._processes:
                    self._again(pid)

    def _again(self, pid: int) -> None:
        """There is more known of a process."""
        try:
            self._look(pid, self._processes[pid][0])
        except OSError:
            self._processes.pop(pid, None)

    def _read(self, path: str, key: _Key, strange: bool) -> _Known:
        room = (_ROWS // 2 if strange else _ROWS - self._rows[True]) - self._rows[strange]
        try:
            file = elf.File(path, key[1])
            try:
                found = table.compiled(file, min(room, unwound.ROWS), self._beat)
            finally:
                file.close()
            number = self.keep(found.rows)
        except elf.BadFile:
            return _Known()  # it has none, or is no program
        except (OSError, table.Left) as error:
            self._tell(f"{os.path.basename(path)}: {error}")
            return _Known()
        self._rows[strange] += len(found)
        return _Known(number, found)
