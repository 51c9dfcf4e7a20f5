"""What profile-n sees on the embedded engine: the Python stacks of a process's threads, read from outside.

In: process ids, how many frames are wanted.  Out: for each thread that runs (or of all, with -x profilewall) its id and the words of
its stack (engine/frames.py).
Always: nothing is done in the process, which is neither stopped nor signalled; names are read at each look anew, so those of code that
was freed are right or absent; why a process can not be read is said once; a process of another user is not read, since it could make
the reader wait for ever.
"""

from __future__ import annotations

import os
import time

from ..data.profile import Place, marked
from ..engine.identity import alive
from ..stacks import snapshot
from ..stacks.code import Codes
from ..stacks.process import NoProcess, NoStacks, Python
from ..stacks.sampler import Threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRIES = 32
_AGAIN = 0.2  # seconds until a process that is no Python yet is looked at again


class _Process:
    def __init__(self, pid: int, frames: int) -> None:
        self._python = Python(pid)
        self._codes = Codes(self._python)
        self._walker = self._python.walker(max(1, frames), _TRIES)
        self._threads = Threads(self._python)

    def look(self, everywhere: bool) -> list[tuple[int, list[str]]]:
        """[(thread id as the process knows it, texts of its frames)].  Raises NoStacks."""
        self._codes.renew()
        raws = snapshot.raws(self._walker, self._python.pid)
        tasks = [(raw, self._threads.of(raw, len(raws) == 1)) for raw in raws]
        found = [(task.inner, self._texts(raw)) for raw, task in tasks if task and (everywhere or task.letter == "R")]
        if not self._python.memory.is_its():
            raise NoProcess.of(self._python.pid)
        return found

    def _texts(self, raw: Any) -> list[str]:
        if "lost" in raw.marks:
            return [marked("lost").text]
        texts = [Place((frame.name, frame.file, frame.line)).text for frame in raw.frames(self._codes)]
        return [marked("moving").text, *texts] if "torn" in raw.marks else texts


class Samples:
    """word: frames.Names.word; frames: of a stack; everywhere: threads that wait count, too."""

    def __init__(self, word: Any, frames: int, everywhere: bool) -> None:
        self._word, self._frames, self._everywhere = word, frames, everywhere
        self._processes: dict[int, _Process] = {}
        self._again: dict[int, float] = {}  # when those are looked at next that can not be read
        self._told: set[str] = set()
        self.troubles: list[str] = []  # for the user, each once

    def look(self, pid: int) -> list[tuple[int, list[int]]]:
        """[(thread id, words of its stack, the innermost frame first)] of a process, now."""
        if self._again.get(pid, 0) > time.monotonic():
            return []
        try:
            if pid not in self._processes:
                _refuse_strangers(pid)
                self._processes[pid] = _Process(pid, self._frames)
            found = self._processes[pid].look(self._everywhere)
        except NoStacks as error:
            self._fail(pid, error)
            return []
        self._again.pop(pid, None)
        return [(tid, [self._word(text) for text in texts]) for tid, texts in found]

    def _fail(self, pid: int, error: NoStacks) -> None:
        self._processes.pop(pid, None)
        first, why = pid not in self._again, str(error)
        self._again[pid] = time.monotonic() + _AGAIN
        if not isinstance(error, NoProcess) and alive(pid) and not first and why not in self._told:  # else it ends, or begins
            self._told.add(why)
            self.troubles.append(f"profile-n has no samples: {why}")


def _refuse_strangers(pid: int) -> None:
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        raise NoProcess.of(pid) from None
    if owner != os.geteuid():
        raise NoStacks(f"process {pid}: it is another user's, who could make the tracer wait for ever; use -x engine=kernel")
