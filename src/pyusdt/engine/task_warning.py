"""A warning where `self->` variables meet asyncio: they belong to a thread, which runs many tasks by turns.

In: the program, process ids as they become known.  Out: one line, once.  Always: looks five times a second at most, takes
less than a twentieth of the time for it, and looks no more once it has warned; a process is known to run asyncio by its
accelerator module among the mapped files (not where that is part of the interpreter, as in Debian's 3.15).
"""

import time

_EVERY = 0.2  # s
_SHARE = 20


def runs_asyncio(pid):
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return b"/_asyncio." in file.read()
    except OSError:  # it has ended, or is another user's
        return False


class TaskWarning:
    def __init__(self, program):
        self._wanted = any(map.name.startswith("self->") for map in program.maps)
        self._next = 0.0

    def lines(self, pids):
        """What is to be told now; pids: a function that gives the process ids."""
        begin = time.monotonic()
        if not self._wanted or begin < self._next:
            return []
        found = next((pid for pid in pids() if runs_asyncio(pid)), None)
        end = time.monotonic()
        self._next = end + max(_EVERY, _SHARE * (end - begin))
        if found is None:
            return []
        self._wanted = False
        return [f"self-> variables belong to a thread, and process {found} runs asyncio: task->name belongs to a task"]
