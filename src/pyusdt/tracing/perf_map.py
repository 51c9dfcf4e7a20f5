"""Names of code that is made while a program runs: /tmp/perf-PID.map, as perf reads it.

In: a process id, an address that lies in no file.  Out: the name, or None.
Always: the file is read again where it has grown; a line that is none is passed over.  /tmp is everybody's: a file of another
user than the process's, root and ours is none, nor is a link or what is no regular file, and no more than 64 MiB of one are read.
CPython writes such a file with -X perf (3.12), Erlang with +JPperf true (OTP 24), node with --perf-basic-prof.
Source: Linux tools/perf/Documentation/jit-interface.txt.
"""

from __future__ import annotations

import io
import os
import re
import stat
from bisect import bisect_right

_LINE = re.compile(r"(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (.+)")
_LIMIT = 64 << 20  # bytes


class PerfMaps:
    """A frame resolver (tracing/symbols.py): called with a process id and an address."""

    def __init__(self) -> None:
        # pid: (size of the file, starts, [(start, end, name)])
        self._known: dict[int, tuple[int, list[int], list[tuple[int, int, str]]]] = {}

    def __call__(self, pid: int, address: int) -> str | None:
        inner, user = _who(pid)
        path = f"/proc/{pid}/root/tmp/perf-{inner}.map"
        try:
            size = os.lstat(path).st_size
        except OSError:
            size = 0  # it has ended: what was read stays
        known = self._known.get(pid, (0, [], []))
        if size > known[0]:
            rows = _read(path, user)
            known = self._known[pid] = (size, [row[0] for row in rows], rows)
        _, starts, rows = known
        at = bisect_right(starts, address) - 1
        return rows[at][2] if at >= 0 and address < rows[at][1] else None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _read(path: str, user: int) -> list[tuple[int, int, str]]:
    """[(start, end, name)] ascending; of what was made at one address twice the later."""
    found = {}
    try:
        with open(path, "rb", opener=_open) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_uid not in (user, 0, os.geteuid()):
                return []
            lines = io.StringIO(file.read(_LIMIT).decode("utf-8", "replace"))
    except OSError:
        return []
    for line in lines:
        if match := _LINE.match(line):
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
