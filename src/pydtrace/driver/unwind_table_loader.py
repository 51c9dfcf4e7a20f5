# mypy: ignore-errors
"""Where the code of processes is, and the tables of its files, for programs in the kernel that walk native stacks.

In: process ids, paths of files.  Out: what the programs' maps say of them (unwind/unwind_rows.py).
Always: processes and files are read by a thread of its own, each file's tables once; what makes its reader wait is left alone; how many rows
and files there are together is bounded, strangers' have at most half of the rows, and each stranger half of what the others have left.  A
file is its owner's, root's that of whoever runs it first.  What is left out is walked by frame pointers, and can be told.
"""

from __future__ import annotations

import errno
import heapq
import os
import re
import time
from collections import OrderedDict, namedtuple

from pydtrace.process import maps
from pydtrace.symbols import elf
from pydtrace.symbols.perf_map import note
from pydtrace.untrusted.io_worker import Looks, Reader, user_of
from pydtrace.untrusted.safe_open import open_regular
from pydtrace.untrusted.user_quota import ROOT, UserQuota, canonical_uid
from pydtrace.unwind import unwind_rows, unwind_table
from pydtrace.unwind.native_unwinder import mapped_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_ROWS = 4 << 20  # of all files, 8 bytes each
_SETTLES = 3.0  # seconds that tracing begins later for tables
_FIRST, _LONGEST = (
    20_000_000,
    5_000_000_000,
)  # ns until unknown code of a process is looked for again
_WAITING = 4096  # files whose tables are not read yet
_FILES = 1 << 14  # that are remembered
_FREQUENT = re.compile(
    r"(?:lib(?:c|python[\d.]*|pthread|beam)[-.].*|ld-.*)"
)  # what is in most stacks
_Key = tuple[int, int, int, int]  # of a file: device, inode, size, time of change


class _Known:
    """Of a file.  number: of its table, unwound.NONE where it has none."""

    def __init__(
        self, number: int = unwind_rows.NONE, found: unwind_table.UnwindTable | None = None
    ) -> None:
        self.number, self.rows, self.base = (
            number,
            len(found) if found else 0,
            found.base if found else 0,
        )
        self.segments: list[elf.Segment] = found.segments if found else []


class _File(namedtuple("_File", "strange rare order user owner path key")):
    """One that is to be read; in the order in which they are.  order: a number that no other has; user: who pays for it; owner: whose it is."""

    @property
    def name(self) -> str:
        return str(os.path.basename(self.path))


class _Left(Exception):
    """The thread was left alone."""


class _Over(_Left):
    """Its user has no time left."""


class Natives(Looks):
    """room: for how many processes there is; of the engine: answer() takes the map's values, forget() takes one out, keep() takes a table."""

    LEFT_OUT = "code that was not known yet: what is read of processes and files takes too long"
    SHARE = 0.5
    room = 0
    answer: Callable[[int, bytes], None]
    forget: Callable[[int], None]
    keep: Callable[[bytes], int]

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[_Key, _Known | None] = {}  # None: it is waited for
        self._mapped: dict[tuple[str, int, str], _Key | None] = {}
        self._processes: OrderedDict[int, tuple[int, int, list[Any]]] = (
            OrderedDict()
        )  # pid: stamp, delay, parts
        self._waits: dict[_Key, set[int]] = {}
        self._heap: list[_File] = []
        self._order = 0
        self._all_files, self._queued = UserQuota(_FILES), UserQuota(_WAITING)
        self._rows, self._strangers_rows = 0, UserQuota(_ROWS // 2)
        self._reads: _File | None = None  # what is read
        self._failed: set[tuple[str, _Key]] = set()  # paths that led to no file

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
        while (
            self._reader
            and self._reader.open
            and not self._reader.hangs
            and time.monotonic() < until
        ):
            time.sleep(0.002)

    # --- the thread -------------------------------------------------------------------------------

    def _leave(self, reader: Reader) -> None:
        """Alone with what keeps it waiting; what else there is goes on."""
        file, self._reads, self._reader = self._reads, None, Reader(self._job)
        if file is None:
            self._hostile.add(reader.pid)
            self._tell(f"process {reader.pid}: where its code is can not be read in time")
        else:
            self._tell(f"{file.name}: it can not be read in time")
            self._reader.put(ROOT, 0, self._done, file, None)
        self._reader.put(ROOT, 0, self._next)

    def _work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(pid, *arguments)
        except (OSError, _Left):
            pass  # the process, the file or the engine's map is gone

    def _beat(self) -> None:
        """It goes on.  Raises _Left where nobody waits for it any more, _Over where nobody may."""
        reader = self._reader
        if reader is None or not reader.is_here:
            raise _Left
        self._pay(reader)
        if not self._may(reader.user):
            raise _Over

    def _pays(self, user: int) -> None:
        """For what is done from now on.  Raises as _beat()."""
        reader = self._reader
        if reader is not None and reader.is_here:
            self._pay(reader)
            reader.user = user
        self._beat()

    def _look(self, pid: int, stamp: int) -> None:
        parts = mapped_code(pid)
        before = self._processes.pop(pid, (stamp, 0, None))
        same = (
            before[2] == [(each.address_range, each.file_key) for each, _ in parts]
            and before[0] == stamp
        )
        delay = min(2 * before[1], _LONGEST) if same else _FIRST
        is_whole = all(of_file or mapping.path.startswith("[") for mapping, of_file in parts)
        if not is_whole:
            note(pid)  # names of what is made at run time
        found = [self._part(pid, mapping, of_file) for mapping, of_file in parts]
        if len(found) > unwind_rows.MOST:
            self._tell(f"process {pid} has its code in more than {unwind_rows.MOST} places")
            is_whole = False
            found = sorted(sorted(found, key=lambda each: not each[3])[: unwind_rows.MOST])
        if len(self._processes) >= self.room:
            self.forget(self._processes.popitem(last=False)[0])
        self._processes[pid] = (
            stamp,
            delay,
            [(each.address_range, each.file_key) for each, _ in parts],
        )
        self.answer(
            pid,
            unwind_rows.parts(
                stamp,
                delay,
                is_whole and all(part[3] != unwind_rows.LATER for part in found),
                found,
            ),
        )

    def _part(
        self, pid: int, mapping: maps.Mapping, of_file: bool
    ) -> tuple[int, int, int, int, int]:
        """A part of its code, with the table if there is one."""
        start, size = mapping.start, mapping.end - mapping.start
        known = self._known(pid, mapping) if of_file else None
        if known is None and of_file and self._mapped.get(mapping.file_key) in self._waits:
            return start, 0, size, unwind_rows.LATER, 0
        if known is not None and known.number != unwind_rows.NONE:
            try:
                return (
                    start,
                    known.base + elf.load_bias(known, mapping),
                    size,
                    known.number,
                    known.rows,
                )
            except elf.BadFile:
                pass  # it is mapped in a way of its own
        return start, 0, size, unwind_rows.NONE, 0

    def _known(self, pid: int, mapping: maps.Mapping) -> _Known | None:
        """Of a mapping's file; None where it is not read yet, or can not be."""
        if mapping.file_key not in self._mapped:
            self._beat()
            found = maps.find_mapped_file(pid, mapping)
            self._beat()
            key = self._await(pid, *found, mapping.module_name) if found else None
            if len(self._mapped) >= _FILES:
                self._mapped.clear()
            if key is not None or not found:  # else it may be another time, or by another process
                self._mapped[mapping.file_key] = key
        key = self._mapped.get(mapping.file_key)
        if key is None:
            return None
        known = self._files.get(key)
        if known is None and key in self._waits:
            self._waits[key].add(pid)
        return known

    def _expect(self, _: int, path: str) -> None:
        self._await(0, path, os.stat(path), os.path.basename(path))

    def _await(self, pid: int, path: str, status: os.stat_result, name: str) -> _Key | None:
        """The key of a file, which is read by and by; None where it is not."""
        key = _key(status)
        if key in self._files:
            return key
        owner = canonical_uid(status.st_uid)
        user = owner if owner != ROOT else user_of(pid) if pid else ROOT
        if (path, key) in self._failed or not self._may(user):
            return None
        if self._queued.find_available(user) <= 0 or self._all_files.find_available(user) <= 0:
            self._tell(f"{name}: there are too many files")
            return None
        self._files[key], self._waits[key] = None, {pid}
        self._queued.used[user] += 1
        self._all_files.used[user] += 1
        self._order += 1
        heapq.heappush(
            self._heap,
            _File(
                owner != ROOT, not _FREQUENT.fullmatch(name), self._order, user, owner, path, key
            ),
        )
        if len(self._heap) == 1:
            self._put(0, self._next)
        return key

    def _next(self, _: int) -> None:
        """Read one file, for all that wait for it, and the next after what was asked meanwhile."""
        if not self._heap:
            return
        file = heapq.heappop(self._heap)
        self._queued.used[file.user] -= 1
        if self._heap:
            self._put(0, self._next)
        self._reads = file
        try:
            self._pays(file.user)
            known = self._read(file)
        except _Over:
            known = None
        self._done(0, file, known)

    def _done(self, _: int, file: _File, known: _Known | None) -> None:
        """What is known of a file; None: where it was found it can not be read, or not now: whoever else has it is asked."""
        self._pays(ROOT)
        self._reads, waiting = None, self._waits.pop(file.key)
        if known is None:
            self._forget(file)
        else:
            self._files[file.key] = known
        for pid in waiting & self._processes.keys():
            self._again(pid)

    def _forget(self, file: _File) -> None:
        del self._files[file.key]
        self._all_files.used[file.user] -= 1
        self._mapped = {mapping: key for mapping, key in self._mapped.items() if key != file.key}
        if len(self._failed) >= _FILES:
            self._failed.clear()
        if self._may(file.user):
            self._failed.add((file.path, file.key))

    def _again(self, pid: int) -> None:
        """There is more known of a process."""
        try:
            self._pays(user_of(pid))
            self._look(pid, self._processes[pid][0])
        except (OSError, _Over):
            self._processes.pop(pid, None)
        self._pays(ROOT)

    def _read(self, file: _File) -> _Known | None:
        room = (
            _ROWS - self._rows
            if file.owner == ROOT
            else self._strangers_rows.find_available(file.owner)
        )
        try:
            found = _table(file, min(room, unwind_rows.ROWS), self._beat)
        except OSError:
            return None
        except elf.BadFile as error:
            self._tell(f"{file.name}: {error}")
            return _Known()
        except unwind_table.NoTable as error:
            self._tell(f"{file.name}: {error}")
            return _Known()
        try:
            number = self.keep(found.rows)
        except OSError as error:
            self._tell(f"{file.name}: {error}")
            return _Known()
        self._rows += len(found)
        self._strangers_rows.used[file.owner] += len(found) * (file.owner != ROOT)
        return _Known(number, found)


def _key(status: os.stat_result) -> _Key:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _table(file: _File, most: int, beat: Callable[[], None]) -> unwind_table.UnwindTable:
    """Of the very file that was found.  Raises OSError where it is not there, table.Left, elf.BadFile."""
    fd = open_regular(file.path)
    try:
        if _key(os.fstat(fd)) != file.key:
            raise FileNotFoundError(errno.ENOENT, "another file is in its place")
        program = elf.ElfFile(f"/proc/self/fd/{fd}")
        try:
            return unwind_table.build_table(program, most, beat)
        finally:
            program.close()
    finally:
        os.close(fd)
