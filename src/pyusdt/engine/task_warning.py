"""A warning where `self->` variables meet asyncio: they belong to a thread, which runs many tasks by turns.

In: the program, process ids as they become known.  Out: one line, once.  Always: looks at most once a second, and no more
once it has warned; a process is known to run asyncio by its accelerator module among the mapped files.
"""

import time

_EVERY = 1.0  # s


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
        if not self._wanted or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + _EVERY
        found = next((pid for pid in pids() if runs_asyncio(pid)), None)
        if found is None:
            return []
        self._wanted = False
        return [f"self-> variables belong to a thread, and process {found} runs asyncio: task->name belongs to a task"]
