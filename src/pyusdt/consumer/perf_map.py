"""Names of code that is made while a program runs: /tmp/perf-PID.map, as perf reads it.

In: a process id, an address that lies in no file.  Out: the name, or None.
Always: the file is read again where it has grown; a line that is none is passed over.
CPython writes such a file with -X perf (3.12), Erlang with +JPperf true (OTP 24), node with --perf-basic-prof.
Source: Linux tools/perf/Documentation/jit-interface.txt.
"""

import os
import re
from bisect import bisect_right

_LINE = re.compile(r"(?:0x)?([0-9a-f]+) (?:0x)?([0-9a-f]+) (.+)")


class PerfMaps:
    """A frame resolver (consumer/symbols.py): called with a process id and an address."""

    def __init__(self):
        self._known = {}  # pid: (size of the file, starts, [(start, end, name)])

    def __call__(self, pid, address):
        path = f"/proc/{pid}/root/tmp/perf-{_inner(pid)}.map"
        try:
            size = os.stat(path).st_size
        except OSError:
            size = 0  # it has ended: what was read stays
        known = self._known.get(pid, (0, [], []))
        if size > known[0]:
            rows = _read(path)
            known = self._known[pid] = (size, [row[0] for row in rows], rows)
        _, starts, rows = known
        at = bisect_right(starts, address) - 1
        return rows[at][2] if at >= 0 and address < rows[at][1] else None


def _read(path):
    """[(start, end, name)] ascending; of what was made at one address twice the later."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                match = _LINE.match(line)
                if match:
                    start = int(match[1], 16)
                    found[start] = (start, start + int(match[2], 16), match[3])
    except OSError:
        pass
    return sorted(found.values())


def _inner(pid):
    """The process's id in its own pid namespace, which is in the file's name."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next(line.split()[-1] for line in file if line.startswith("NSpid:"))
    except (OSError, StopIteration):
        return pid
