"""A process's name where its id is needed: which ids it may mean; and what else calls processes by their names.

In: what stood behind -p.  Out: a hint.  Always: reads /proc only; where that is missing there is no process of any name.
"""

import os

_SHOWN = 10  # ids, at most


def name(pid):
    """What the kernel calls a process: at most 15 bytes; "" where there is none."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().rstrip("\n")
    except OSError:  # it has ended, or this is no Linux
        return ""


def named():
    """(id, name) of each process but one's own."""
    try:
        found = [int(entry) for entry in os.listdir("/proc") if entry.isascii() and entry.isdigit()]
    except OSError:
        return []
    return [(pid, called) for pid in sorted(found) if pid != os.getpid() and (called := name(pid))]


def ids(part):
    """Those of the processes whose names have this in them, as pgrep(1) finds them: not one's own."""
    return [pid for pid, called in named() if part in called]


def hint(text):
    """For a name that is no id; None for what can be no name."""
    if not text[:1].isalpha():
        return None
    found = ids(text[:15])  # the kernel keeps no more of a name
    if not found:
        return f"-p takes a process's id, and no process is called {text}; --wait waits for one"
    more = " …" if len(found) > _SHOWN else ""
    return f"-p takes a process's id; called {text}: {', '.join(map(str, found[:_SHOWN]))}{more}"
