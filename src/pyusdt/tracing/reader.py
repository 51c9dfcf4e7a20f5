"""A thread that reads what strangers may make slow: processes' memory, files.

In: what is to be done, one after the other.  Out: how much is open, whether it hangs.
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
