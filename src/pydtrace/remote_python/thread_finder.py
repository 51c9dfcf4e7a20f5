"""Which thread of the kernel's a thread of Python's is, and whether it runs, by the kernel's word.

- A pair that was found once stays until its thread has ended; the files of the states stay open.
- States are those of the last read_states() or set_letters(): of before the stacks are read, so that
  threads that wait need not be read at all.
"""

from __future__ import annotations

import time

from pydtrace import _tracer
from pydtrace.process import proc_threads

from . import python_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.process.proc_threads import KernelThread

    from .python_threads import RawThread
    from .remote_python import RemotePython

_REST = 20  # the pause between two reads of the kernel's list of threads, in durations of one
_OPEN_FILES = 128  # of a process's threads
_KEPT = 1 << 13  # pairs: a process may show new threads all the time


class ThreadFinder:
    """Of one process."""

    def __init__(self, python: RemotePython) -> None:
        self._python = python
        self._tasks: dict[int, KernelThread] = {}
        self.found: dict[tuple[int, int, int], KernelThread] = {}  # sorted by (address, id, native)
        self.states = _tracer.ThreadStates(python.pid, _OPEN_FILES)
        self._letters = b""  # of found, in its order
        self._tids: list[int] = []
        self.waiting: Sequence[int] = ()  # sorted addresses of the PyThreadStates that do not run
        self._next = 0.0  # when the list may be read again: it may be long, and a process may show new threads all the time

    def read_states(self) -> None:
        """What each known thread does now."""
        self.set_letters(self.states.read(self._tids))

    def set_letters(self, letters: bytes) -> None:
        """What each of `found` does, in its order; 0: it has ended."""
        if letters == self._letters:
            return
        self._letters = letters
        for task, letter in zip(self.found.values(), letters, strict=True):
            task.state_letter = chr(letter)
        if 0 in letters:
            self._keep({key: task for key, task in self.found.items() if task.state_letter > "\0"})
        self.waiting = sorted(
            key[0] for key, task in self.found.items() if task.state_letter != "R"
        )

    def find_thread(self, raw: RawThread, alone: bool) -> KernelThread | None:
        """Its proc_threads.KernelThread with its state, or None.  alone: Python has no other thread."""
        key = raw.key
        task = self.found.get(key) or self._find_listed(raw, alone)
        if task is None and time.monotonic() >= self._next:
            self._read_threads()
            task = self._find_listed(raw, alone)
        if task is not None and key not in self.found:
            kept = self.found if len(self.found) < _KEPT else {}
            self._keep({**kept, key: task})
        return task

    def _keep(self, found: dict[tuple[int, int, int], KernelThread]) -> None:
        self.found = dict(sorted(found.items()))
        self._tids = [task.tid for task in self.found.values()]
        self._letters = b""

    def _find_listed(self, raw: RawThread, alone: bool) -> KernelThread | None:
        tid = python_threads.find_tid(self._python, raw, self._tasks, alone)
        task = self._tasks.get(tid) if tid is not None else None
        letter = (
            proc_threads.read_state_letter(self._python.pid, task.tid) if task is not None else None
        )
        if task is None or not letter:
            return None
        task.state_letter = letter
        return task

    def _read_threads(self) -> None:
        began = time.monotonic()
        try:
            self._tasks = proc_threads.read_kernel_threads(self._python.pid)
        except OSError:  # it ends: the walk says so
            self._tasks = {}
        now = time.monotonic()
        self._next = now + _REST * (now - began)
