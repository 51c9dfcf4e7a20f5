"""Names of code that is made while a program runs: /tmp/perf-PID.map, as perf reads it.

In: a process id, an address that lies in no file.  Out: the name, or None.
Always: the file is read again where it has grown, for a second of work at once, then for a twentieth of the time, though it may
grow with every look; a line that is none is passed over.  /tmp is everybody's: a file of another user than the process's, root and ours is none,
nor is a link or what is no regular file; of one no more than 64 MiB, half a million names and a kilobyte of each are taken.
CPython writes such a file with -X perf (3.12), Erlang with +JPperf true (OTP 24), node with --perf-basic-prof.
Source: Linux tools/perf/Documentation/jit-interface.txt.
"""

from __future__ import annotations

import io
import os
import re
from bisect import bisect_right

from ..data.allowance import Allowance
from ..data.files import open_regular

_LINE = re.compile(r"(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (.{1,1024})")
_LIMIT = 64 << 20  # bytes
_ROWS = 1 << 19
_AT_ONCE, _SHARE = 1.0, 20  # s


class _Map:
    """What was read of one process's file.  size: the file's then; rows: [(start, end, name)]."""

    def __init__(self) -> None:
        self.size, self.time = 0, Allowance(_AT_ONCE, _SHARE)
        self.rows: list[tuple[int, int, str]] = []
        self.starts: list[int] = []

    def read(self, path: str, user: int, size: int) -> None:
        with self.time.spent():
            self.size, self.rows = size, _read(path, user)
            self.starts = [row[0] for row in self.rows]


class PerfMaps:
    """A frame resolver (tracing/symbols.py): called with a process id and an address."""

    def __init__(self) -> None:
        self._known: dict[int, _Map] = {}  # by pid

    def __call__(self, pid: int, address: int) -> str | None:
        known = self._current(pid)
        at = bisect_right(known.starts, address) - 1
        return known.rows[at][2] if at >= 0 and address < known.rows[at][1] else None

    def _current(self, pid: int) -> _Map:
        known = self._known.setdefault(pid, _Map())
        if known.time.left:
            inner, user = _who(pid)
            path = f"/proc/{pid}/root/tmp/perf-{inner}.map"
            try:
                size = os.lstat(path).st_size
            except OSError:
                size = 0  # it has ended: what was read stays
            if size > known.size:
                known.read(path, user, size)
        return known


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
