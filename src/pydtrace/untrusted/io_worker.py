"""A thread that reads what strangers may make slow: processes' memory, files.

In: what is to be done, one after the other, each for a process.  Out: how much is open, whether it hangs; what is to be told.
Always: nobody but the thread waits; who sees that it hangs leaves it alone with what it is at.  A user's processes and files take so much
time and so many threads, then they are read no more: what a user does harms his own.
"""

from __future__ import annotations

import contextlib
import time

from pydtrace.unpatched_threads import Empty, SimpleQueue, make_lock, start_thread, thread_id

from .user_quota import ROOT, canonical_uid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PATIENCE = 2.0  # seconds that one look may take
TOLD = 20  # lines
_GIVEN = 30.0  # seconds of the thread that a user has in the beginning
_LEFT, _LEFT_BY_ROOT = 8, 64  # threads that may wait for a user's for ever


def user_of(pid: int) -> int:
    """Who started a process, whatever it may do since and whoever may look at it; -1 where it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next(line for line in file if line.startswith(b"Uid:"))
    except (OSError, StopIteration):
        return -1
    return canonical_uid(int(line.split()[1]))


class Reader:
    """The thread that reads; `since`: when it began with what it is at, or None."""

    def __init__(self, work: Callable[..., None]) -> None:
        self._work = work
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self.since: float | None = None
        self.pid = 0
        self.user = ROOT  # who pays for it
        self.open = 0  # jobs that are not done
        self._lock = make_lock()
        self._thread = 0  # until it runs
        start_thread(self._run)

    @property
    def is_here(self) -> bool:
        """Whether it is its thread that asks."""
        return thread_id() == self._thread

    def put(self, user: int, pid: int, *job: Any) -> None:
        with self._lock:
            self.open += 1
        self._jobs.put((user, pid, *job))

    def end(self) -> None:
        self._jobs.put(None)

    def rest(self) -> list[Any]:
        """What it has not begun, which it does no more."""
        found = []
        with contextlib.suppress(Empty):
            while True:
                found.append(self._jobs.get_nowait())
        return [job for job in found if job]

    def _run(self) -> None:
        self._thread = thread_id()
        while job := self._jobs.get():
            self.user, self.pid, self.since = job[0], job[1], time.monotonic()
            self._work(*job[1:])
            self.since = None
            with self._lock:
                self.open -= 1

    @property
    def hangs(self) -> bool:
        since = self.since
        return since is not None and time.monotonic() - since > PATIENCE


class Looks:
    """Work for a Reader, which is made when there is some.  told: what is to be known, each once; any number of processes may be
    strange.  Who inherits has _work(), which the thread calls; _leave(), for what hangs; LEFT_OUT, what is told of a user who has no time
    left; and SHARE, how much of each second of the thread a user other than root may have."""

    LEFT_OUT = ""
    SHARE = 1.0

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._hostile: set[int] = set()  # processes that have made a reader wait
        self.told: list[str] = []
        self._given = 0
        self._began = time.monotonic()
        self._spent: dict[int, float] = {}  # by user: seconds
        self._waiting: dict[int, int] = {}  # by user: threads that were left

    def _put(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        if self._reader and self._reader.hangs:
            self._abandon(self._reader)
        self._give(user_of(pid) if pid else ROOT, pid, work, *arguments)

    def _give(self, user: int, pid: int, *job: Any) -> None:
        if pid not in self._hostile and self._may(user):
            self._reader = self._reader or Reader(self._job)
            self._reader.put(user, pid, *job)

    def _abandon(self, reader: Reader) -> None:
        """It hangs.  What it was to do for others is done all the same."""
        self._waiting[reader.user] = self._waiting.get(reader.user, 0) + 1
        rest = reader.rest()
        self._leave(reader)
        for user, pid, *job in rest:
            self._give(user, pid, *job)

    def _may(self, user: int) -> bool:
        """Whether there is time left for a user."""
        left = self._waiting.get(user, 0) < (_LEFT_BY_ROOT if user == ROOT else _LEFT)
        in_time = user == ROOT or self._spent.get(user, 0.0) < _GIVEN + self.SHARE * (
            time.monotonic() - self._began
        )
        if not (left and in_time):
            self._tell(f"user {user}: {self.LEFT_OUT}")
        return left and in_time

    def _job(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        reader = self._reader
        if reader is not None and reader.is_here and self._may(reader.user):
            self._work(pid, work, *arguments)
            self._pay(reader)

    def _pay(self, reader: Reader) -> None:
        """What was done since it began, or was paid for last."""
        now = time.monotonic()
        if reader is self._reader and reader.since is not None:
            self._spent[reader.user] = self._spent.get(reader.user, 0.0) + now - reader.since
            reader.since = now

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
