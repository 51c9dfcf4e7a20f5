"""Load the places of code of processes, and the unwind tables of its files, for programs in the
kernel that walk native stacks.

The maps of these programs have the layout of unwind/unwind_rows.py.

- A thread reads processes and files, each file's tables once. What makes it wait is not read
  again.
- The number of rows and files is bounded: users other than root have at most half of the rows
  together, and each of them half of what the others leave. A file counts for its owner; root's
  counts for the first who runs it.
- What is left out is walked by frame pointers, and reported.
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
from pydtrace.untrusted.io_worker import IoWorker, QuotaWorker, read_process_user
from pydtrace.untrusted.safe_open import open_regular
from pydtrace.untrusted.user_quota import ROOT, UserQuota, canonical_uid
from pydtrace.unwind import unwind_rows, unwind_table
from pydtrace.unwind.native_unwinder import mapped_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_MAX_ROWS = 4 << 20  # of all files, 8 bytes each
_IDLE_TIMEOUT = 3.0  # seconds that tracing begins later for tables
_FIRST_DELAY, _MAX_DELAY = (
    20_000_000,
    5_000_000_000,
)  # ns until unknown code of a process is looked for again
_MAX_QUEUED = 4096  # files whose tables are not read yet
_MAX_FILES = 1 << 14  # that are remembered
_FREQUENT = re.compile(
    r"(?:lib(?:c|python[\d.]*|pthread|beam)[-.].*|ld-.*)"
)  # what is in most stacks
_Key = tuple[int, int, int, int]  # of a file: device, inode, size, time of change


class _LoadedFile:
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


class _PendingFile(namedtuple("_File", "strange rare order user owner path key")):
    """One that is to be read; in the order in which they are.  order: a number that no other has; user: who pays for it; owner: whose it is."""

    @property
    def name(self) -> str:
        return str(os.path.basename(self.path))


class _Abandoned(Exception):
    """The thread was left alone."""


class _OverQuota(_Abandoned):
    """Its user has no time left."""


class UnwindTableLoader(QuotaWorker):
    """room: for how many processes there is; of the engine: store_value() takes the map's values, remove_value() takes one out, add_table() takes a table."""

    QUOTA_MESSAGE = (
        "code that was not known yet: what is read of processes and files takes too long"
    )
    TIME_SHARE = 0.5
    max_processes = 0
    store_value: Callable[[int, bytes], None]
    remove_value: Callable[[int], None]
    add_table: Callable[[bytes], int]

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[_Key, _LoadedFile | None] = {}  # None: it is waited for
        self._mapped: dict[tuple[str, int, str], _Key | None] = {}
        self._processes: OrderedDict[int, tuple[int, int, list[Any]]] = (
            OrderedDict()
        )  # pid: stamp, delay, parts
        self._waiting_pids: dict[_Key, set[int]] = {}
        self._heap: list[_PendingFile] = []
        self._sequence = 0
        self._all_files, self._queued = UserQuota(_MAX_FILES), UserQuota(_MAX_QUEUED)
        self._row_count, self._untrusted_rows = 0, UserQuota(_MAX_ROWS // 2)
        self._reading: _PendingFile | None = None  # what is read
        self._failed: set[tuple[str, _Key]] = set()  # paths that led to no file

    # --- from the engine --------------------------------------------------------------------------

    def locate_code(self, pid: int, stamp: int) -> None:
        """Find out where its code is, and answer."""
        self._submit_job(pid, self._read_process, stamp)

    def preload_files(self, paths: Iterable[str]) -> None:
        """Files that a process will have mapped."""
        for path in paths:
            self._submit_job(0, self._preload_file, path)

    def wait_until_idle(self) -> None:
        """Wait until all that was asked for is there, or it takes too long."""
        until = time.monotonic() + _IDLE_TIMEOUT
        while (
            self._worker
            and self._worker.open
            and not self._worker.is_hung
            and time.monotonic() < until
        ):
            time.sleep(0.002)

    # --- the thread -------------------------------------------------------------------------------

    def _handle_hang(self, reader: IoWorker) -> None:
        """Alone with what keeps it waiting; what else there is goes on."""
        file, self._reading, self._worker = self._reading, None, IoWorker(self._run_job)
        if file is None:
            self._slow_processes.add(reader.pid)
            self._add_message(f"process {reader.pid}: its mappings cannot be read in time")
        else:
            self._add_message(f"{file.name}: it cannot be read in time")
            self._worker.add_job(ROOT, 0, self._finish_file, file, None)
        self._worker.add_job(ROOT, 0, self._load_next)

    def _do_work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(pid, *arguments)
        except (OSError, _Abandoned):
            pass  # the process, the file or the engine's map is gone

    def _check_active(self) -> None:
        """It goes on.  Raises _Left where nobody waits for it any more, _Over where nobody may."""
        reader = self._worker
        if reader is None or not reader.is_current_thread:
            raise _Abandoned
        self._charge_time(reader)
        if not self._has_quota(reader.user):
            raise _OverQuota

    def _charge_to_user(self, user: int) -> None:
        """For what is done from now on.  Raises as _check_active()."""
        reader = self._worker
        if reader is not None and reader.is_current_thread:
            self._charge_time(reader)
            reader.user = user
        self._check_active()

    def _read_process(self, pid: int, stamp: int) -> None:
        parts = mapped_code(pid)
        before = self._processes.pop(pid, (stamp, 0, None))
        same = (
            before[2] == [(each.address_range, each.file_key) for each, _ in parts]
            and before[0] == stamp
        )
        delay = min(2 * before[1], _MAX_DELAY) if same else _FIRST_DELAY
        is_whole = all(of_file or mapping.path.startswith("[") for mapping, of_file in parts)
        if not is_whole:
            note(pid)  # names of what is made at run time
        found = [self._describe_part(pid, mapping, of_file) for mapping, of_file in parts]
        if len(found) > unwind_rows.MOST:
            self._add_message(f"process {pid} has its code in more than {unwind_rows.MOST} places")
            is_whole = False
            found = sorted(sorted(found, key=lambda each: not each[3])[: unwind_rows.MOST])
        if len(self._processes) >= self.max_processes:
            self.remove_value(self._processes.popitem(last=False)[0])
        self._processes[pid] = (
            stamp,
            delay,
            [(each.address_range, each.file_key) for each, _ in parts],
        )
        self.store_value(
            pid,
            unwind_rows.parts(
                stamp,
                delay,
                is_whole and all(part[3] != unwind_rows.LATER for part in found),
                found,
            ),
        )

    def _describe_part(
        self, pid: int, mapping: maps.Mapping, of_file: bool
    ) -> tuple[int, int, int, int, int]:
        """A part of its code, with the table if there is one."""
        start, size = mapping.start, mapping.end - mapping.start
        known = self._find_loaded(pid, mapping) if of_file else None
        if known is None and of_file and self._mapped.get(mapping.file_key) in self._waiting_pids:
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

    def _find_loaded(self, pid: int, mapping: maps.Mapping) -> _LoadedFile | None:
        """Of a mapping's file; None where it is not read yet, or can not be."""
        if mapping.file_key not in self._mapped:
            self._check_active()
            found = maps.find_mapped_file(pid, mapping)
            self._check_active()
            key = self._queue_file(pid, *found, mapping.module_name) if found else None
            if len(self._mapped) >= _MAX_FILES:
                self._mapped.clear()
            if key is not None or not found:  # else it may be another time, or by another process
                self._mapped[mapping.file_key] = key
        key = self._mapped.get(mapping.file_key)
        if key is None:
            return None
        known = self._files.get(key)
        if known is None and key in self._waiting_pids:
            self._waiting_pids[key].add(pid)
        return known

    def _preload_file(self, _: int, path: str) -> None:
        self._queue_file(0, path, os.stat(path), os.path.basename(path))

    def _queue_file(self, pid: int, path: str, status: os.stat_result, name: str) -> _Key | None:
        """The key of a file, which is read by and by; None where it is not."""
        key = _file_key(status)
        if key in self._files:
            return key
        owner = canonical_uid(status.st_uid)
        user = owner if owner != ROOT else read_process_user(pid) if pid else ROOT
        if (path, key) in self._failed or not self._has_quota(user):
            return None
        if self._queued.find_available(user) <= 0 or self._all_files.find_available(user) <= 0:
            self._add_message(f"{name}: there are too many files")
            return None
        self._files[key], self._waiting_pids[key] = None, {pid}
        self._queued.used[user] += 1
        self._all_files.used[user] += 1
        self._sequence += 1
        heapq.heappush(
            self._heap,
            _PendingFile(
                owner != ROOT, not _FREQUENT.fullmatch(name), self._sequence, user, owner, path, key
            ),
        )
        if len(self._heap) == 1:
            self._submit_job(0, self._load_next)
        return key

    def _load_next(self, _: int) -> None:
        """Read one file, for all that wait for it, and the next after what was asked meanwhile."""
        if not self._heap:
            return
        file = heapq.heappop(self._heap)
        self._queued.used[file.user] -= 1
        if self._heap:
            self._submit_job(0, self._load_next)
        self._reading = file
        try:
            self._charge_to_user(file.user)
            known = self._load_table(file)
        except _OverQuota:
            known = None
        self._finish_file(0, file, known)

    def _finish_file(self, _: int, file: _PendingFile, known: _LoadedFile | None) -> None:
        """What is known of a file; None: where it was found it can not be read, or not now: whoever else has it is asked."""
        self._charge_to_user(ROOT)
        self._reading, waiting = None, self._waiting_pids.pop(file.key)
        if known is None:
            self._forget_file(file)
        else:
            self._files[file.key] = known
        for pid in waiting & self._processes.keys():
            self._reread_process(pid)

    def _forget_file(self, file: _PendingFile) -> None:
        del self._files[file.key]
        self._all_files.used[file.user] -= 1
        self._mapped = {mapping: key for mapping, key in self._mapped.items() if key != file.key}
        if len(self._failed) >= _MAX_FILES:
            self._failed.clear()
        if self._has_quota(file.user):
            self._failed.add((file.path, file.key))

    def _reread_process(self, pid: int) -> None:
        """There is more known of a process."""
        try:
            self._charge_to_user(read_process_user(pid))
            self._read_process(pid, self._processes[pid][0])
        except (OSError, _OverQuota):
            self._processes.pop(pid, None)
        self._charge_to_user(ROOT)

    def _load_table(self, file: _PendingFile) -> _LoadedFile | None:
        room = (
            _MAX_ROWS - self._row_count
            if file.owner == ROOT
            else self._untrusted_rows.find_available(file.owner)
        )
        try:
            found = _compile_table(file, min(room, unwind_rows.ROWS), self._check_active)
        except OSError:
            return None
        except elf.BadFile as error:
            self._add_message(f"{file.name}: {error}")
            return _LoadedFile()
        except unwind_table.NoTable as error:
            self._add_message(f"{file.name}: {error}")
            return _LoadedFile()
        try:
            number = self.add_table(found.rows)
        except OSError as error:
            self._add_message(f"{file.name}: {error}")
            return _LoadedFile()
        self._row_count += len(found)
        self._untrusted_rows.used[file.owner] += len(found) * (file.owner != ROOT)
        return _LoadedFile(number, found)


def _file_key(status: os.stat_result) -> _Key:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _compile_table(
    file: _PendingFile, most: int, beat: Callable[[], None]
) -> unwind_table.UnwindTable:
    """Of the very file that was found.  Raises OSError where it is not there, table.Left, elf.BadFile."""
    fd = open_regular(file.path)
    try:
        if _file_key(os.fstat(fd)) != file.key:
            raise FileNotFoundError(errno.ENOENT, "another file is in its place")
        program = elf.ElfFile(f"/proc/self/fd/{fd}")
        try:
            return unwind_table.build_table(program, most, beat)
        finally:
            program.close()
    finally:
        os.close(fd)
