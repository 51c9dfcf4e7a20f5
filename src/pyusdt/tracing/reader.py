"""A thread that reads what strangers may make slow: processes' memory, files.

In: what is to be done, one after the other, each for a process.  Out: how much is open, whether it hangs; what is to be told.
Always: nobody but the thread waits; who sees that it hangs leaves it alone with what it is at.
"""

from __future__ import annotations

import queue
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PATIENCE = 2.0  # seconds that one look may take
TOLD = 20  # lines


class Reader:
    """The thread that reads; `since`: when it began with what it is at, or None."""

    def __init__(self, work: Callable[..., None]) -> None:
        self._work = work
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.since: float | None = None
        self.pid = 0
        self.open = 0  # jobs that are not done
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True, name="pyusdt-reader")
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Whether it is its thread that asks."""
        return threading.current_thread() is self._thread

    def put(self, pid: int, *job: Any) -> None:
        with self._lock:
            self.open += 1
        self._jobs.put((pid, *job))

    def end(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while job := self._jobs.get():
            self.pid, self.since = job[0], time.monotonic()
            self._work(*job)
            self.since = None
            with self._lock:
                self.open -= 1

    @property
    def hangs(self) -> bool:
        since = self.since
        return since is not None and time.monotonic() - since > PATIENCE


class Looks:
    """Work for a Reader, which is made when there is some.  told: what the user is to know, each once; any number of processes may be
    strange.  Who inherits has _work(), which the thread calls, and _leave(), for what hangs."""

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._hostile: set[int] = set()  # processes that have made a reader wait
        self.told: list[str] = []
        self._given = 0

    def _put(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        if self._reader and self._reader.hangs:
            self._leave(self._reader)
        if self._is_read(pid):
            self._reader = self._reader or Reader(self._work)
            self._reader.put(pid, work, *arguments)

    def _is_read(self, pid: int) -> bool:
        return pid not in self._hostile

    def _work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        raise NotImplementedError

    def _leave(self, reader: Reader) -> None:
        raise NotImplementedError

    def _tell(self, text: str) -> None:
        if text not in self.told and len(self.told) < TOLD:
            self.told.append(text)

    def news(self) -> list[str]:
        """What has been told since the last call."""
        found = self.told[self._given :]
        self._given += len(found)
        return found

    def close(self) -> None:
        if self._reader:
            self._reader.end()
            self._reader = None
