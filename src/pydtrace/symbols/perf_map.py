"""Names of JIT code from /tmp/perf-PID.map, the files that perf reads.

- A file is read again if it has grown. Each user's files share a budget: two seconds at once, then a
  twentieth of the time.
- /tmp is untrusted: links, irregular files, and files of users other than the process's, root and
  this one are ignored, and so are bad lines.
- Of a file at most 64 MiB, half a million names and a kilobyte of each are kept.
- The file of an ended process is read if note() saw the process with JIT code and the file is not
  older than the process.

CPython writes such a file with -X perf (3.12), Erlang with +JPperf true (OTP 24), node with
--perf-basic-prof. Source: Linux tools/perf/Documentation/jit-interface.txt.
"""

from __future__ import annotations

import io
import os
import re
import time
from bisect import bisect_right
from collections import OrderedDict

from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget
from pydtrace.untrusted.responsive_fs import RESPONSIVE_FS
from pydtrace.untrusted.safe_open import open_regular
from pydtrace.untrusted.user_quota import canonical_uid

_LINE = re.compile(r"(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (.{1,1024})")
_LIMIT = 64 << 20  # bytes
_ROWS = 1 << 19
_ROOM, _LEAST, _ROW = (
    256 << 20,
    512,
    200,
)  # bytes of all maps, of one that has nothing, of a row without its name
_MOST = 1 << 12  # processes that were seen alive
_OLDER = 1.0  # s by which the times of files and of processes may differ
_AT_ONCE, _SHARE = 2.0, 20  # s, of each user's


class _Seen:
    """A process that was seen alive.  path: of its file, in this process's file system, None where it has another; user."""

    __slots__ = ("_begun", "path", "user")

    def __init__(self, pid: int) -> None:
        inner, self.user = _who(pid)
        here, there = (os.stat(f"/proc/{each}/root/tmp") for each in ("self", pid))
        same = (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
        self.path = f"/tmp/perf-{inner}.map" if same else None
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        self._begun = (
            time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
        )

    @property
    def size(self) -> int:
        """Of the file, 0: it is not its."""
        try:
            status = os.lstat(self.path or "")
        except OSError:
            return 0
        return status.st_size if status.st_mtime >= self._begun - _OLDER else 0


_seen: OrderedDict[int, _Seen] = OrderedDict()  # by pid


def note(pid: int) -> None:
    """A process that runs has code that lies in no file."""
    try:
        _seen[pid] = _Seen(pid)
    except (OSError, LookupError, ValueError):
        return  # it has ended
    _seen.move_to_end(pid)
    if len(_seen) > _MOST:
        _seen.popitem(last=False)


class _Map:
    """What was read of one process's file.  user: the process's; size: the file's then; rows: [(start, end, name)]; room: bytes that it takes."""

    def __init__(self, user: int) -> None:
        self.user, self.size, self.room = user, 0, _LEAST
        self.rows: list[tuple[int, int, str]] = []
        self.starts: list[int] = []

    def read(self, path: str, size: int) -> None:
        self.size, self.rows = size, _read(path, self.user)
        self.starts = [row[0] for row in self.rows]
        self.room = _LEAST + min(size, _LIMIT) + _ROW * len(self.rows)


class PerfMaps:
    """A frame resolver (driver/address_symbolizer.py): called with a process id and an address.  late: users for whose names there was no time left."""

    def __init__(self) -> None:
        self.late: set[int] = set()
        self._known: OrderedDict[int, _Map] = (
            OrderedDict()
        )  # by pid, the one that was asked for last behind all others
        self._room = _ROOM
        self._time: dict[int, CpuTimeBudget] = {}  # by user

    def __call__(self, pid: int, address: int) -> str | None:
        known, is_late = self._current(pid)
        at = bisect_right(known.starts, address) - 1
        if at >= 0 and address < known.rows[at][1]:
            return known.rows[at][2]
        if is_late:
            self.late.add(canonical_uid(known.user))
        return None

    def _current(self, pid: int) -> tuple[_Map, bool]:
        """(what was read of its file, whether there was no time to look whether it has grown)."""
        known = self._known.get(pid)
        if known is None:
            known = self._known[pid] = _Map(_who(pid)[1])
            self._room -= known.room
        self._known.move_to_end(pid)
        time = self._time.setdefault(canonical_uid(known.user), CpuTimeBudget(_AT_ONCE, _SHARE))
        is_late = not time.is_available
        if not is_late:
            with time.charge_time():
                self._look(pid, known)
        while self._room < 0 and len(self._known) > 1:
            self._room += self._known.popitem(last=False)[1].room
        return known, is_late

    def _look(self, pid: int, known: _Map) -> None:
        inner, user = _who(pid)
        path = f"/proc/{pid}/root/tmp/perf-{inner}.map"
        if not RESPONSIVE_FS(path, pid):
            return
        try:
            size = os.lstat(path).st_size
        except OSError:  # it has ended, or has none
            seen = _seen.get(pid)
            if seen is None or seen.path is None:
                return  # what was read stays
            path, user, size = seen.path, seen.user, seen.size
        if size > known.size:
            known.user = user
            self._room += known.room
            known.read(path, size)
            self._room -= known.room


def _read(path: str, user: int) -> list[tuple[int, int, str]]:
    """[(start, end, name)] ascending; of what was made at one address twice the later."""
    found: dict[int, tuple[int, int, str]] = {}
    try:
        with open(open_regular(path, os.O_NOFOLLOW), "rb") as file:
            if os.fstat(file.fileno()).st_uid not in (user, 0, os.geteuid()):
                return []
            lines = io.StringIO(file.read(_LIMIT).decode("utf-8", "replace"))
    except OSError:
        return []
    for line in lines:
        if len(found) < _ROWS and (match := _LINE.match(line)):
            start = int(match[1], 16)
            found[start] = (start, start + int(match[2], 16), match[3])
    return sorted(found.values())


def _who(pid: int) -> tuple[int, int]:
    """(the process's id in its own pid namespace, which is in the file's name, and its user's)."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            said = {words[0]: words for words in map(bytes.split, file) if words}
        return int(said[b"NSpid:"][-1]), int(said[b"Uid:"][2])
    except (OSError, LookupError, ValueError):
        return pid, -1
