"""Names of processes: the ids that a name behind -p may mean, and names for lists of processes.

In: the argument of -p; an id.  Out: a hint; a name.  Always: reads only /proc; without it no process has a name.
"""

from __future__ import annotations

import os

_SHOWN = 10  # ids, at most


def name(pid: int | str) -> str:
    """What the kernel calls a process: at most 15 bytes; "" where there is none."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().rstrip("\n")
    except OSError:  # it has ended, or this is no Linux
        return ""


def named() -> list[tuple[int, str]]:
    """(id, name) of each process but this one."""
    try:
        found = [int(entry) for entry in os.listdir("/proc") if entry.isascii() and entry.isdigit()]
    except OSError:
        return []
    return [(pid, called) for pid in sorted(found) if pid != os.getpid() and (called := name(pid))]


def ids(part: str) -> list[int]:
    """The ids of the processes whose names contain this, as pgrep(1) finds them: without this process."""
    return [pid for pid, called in named() if part in called]


def hint(text: str) -> str | None:
    """The hint for a text that is no id; None if it can be no name either."""
    if not text[:1].isalpha():
        return None
    found = ids(text[:15])  # the kernel keeps no more of a name
    if not found:
        return f"-p takes a process's id, and no process is called {text}; --wait waits for one"
    more = " …" if len(found) > _SHOWN else ""
    return f"-p takes a process's id; called {text}: {', '.join(map(str, found[:_SHOWN]))}{more}"
