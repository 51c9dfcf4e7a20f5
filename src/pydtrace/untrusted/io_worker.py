"""A thread for reads that untrusted processes can slow down: their memory, and files.

- Only this thread waits. A caller that sees it hang leaves it alone.
- The processes and files of a user have a limited time and number of threads; after that they are
  not read any more, so that users harm themselves only.
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

JOB_TIMEOUT = 2.0  # seconds that one look may take
MAX_MESSAGES = 20  # lines
_INITIAL_SECONDS = 30.0  # seconds of the thread that a user has in the beginning
_MAX_HUNG, _MAX_HUNG_ROOT = 8, 64  # threads that may wait for a user's for ever


def read_process_user(pid: int) -> int:
    """Who started a process, whatever it may do since and whoever may look at it; -1 where it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next(line for line in file if line.startswith(b"Uid:"))
    except (OSError, StopIteration):
        return -1
    return canonical_uid(int(line.split()[1]))


class IoWorker:
    """The thread that reads; `since`: when it began with what it is at, or None."""

    def __init__(self, work: Callable[..., None]) -> None:
        self._work = work
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self.job_start: float | None = None
        self.pid = 0
        self.user = ROOT  # who pays for it
        self.open = 0  # jobs that are not done
        self._lock = make_lock()
        self._thread = 0  # until it runs
        start_thread(self._run_jobs)

    @property
    def is_current_thread(self) -> bool:
        """Whether it is its thread that asks."""
        return thread_id() == self._thread

    def add_job(self, user: int, pid: int, *job: Any) -> None:
        with self._lock:
            self.open += 1
        self._jobs.put((user, pid, *job))

    def stop(self) -> None:
        self._jobs.put(None)

    def remove_unstarted(self) -> list[Any]:
        """What it has not begun, which it does no more."""
        found = []
        with contextlib.suppress(Empty):
            while True:
                found.append(self._jobs.get_nowait())
        return [job for job in found if job]

    def _run_jobs(self) -> None:
        self._thread = thread_id()
        while job := self._jobs.get():
            self.user, self.pid, self.job_start = job[0], job[1], time.monotonic()
            self._work(*job[1:])
            self.job_start = None
            with self._lock:
                self.open -= 1

    @property
    def is_hung(self) -> bool:
        since = self.job_start
        return since is not None and time.monotonic() - since > JOB_TIMEOUT


class QuotaWorker:
    """Work for a Reader, which is made when there is some.  messages: for the user, each once; any number of processes may be
    strange.  Who inherits has _do_work(), which the thread calls; _handle_hang(), for what hangs; LEFT_OUT, the message about a user who has no time
    left; and SHARE, how much of each second of the thread a user other than root may have."""

    QUOTA_MESSAGE = ""
    TIME_SHARE = 1.0

    def __init__(self) -> None:
        self._worker: IoWorker | None = None
        self._slow_processes: set[int] = set()  # processes that have made a reader wait
        self.messages: list[str] = []
        self._delivered = 0
        self._began = time.monotonic()
        self._spent: dict[int, float] = {}  # by user: seconds
        self._hung_threads: dict[int, int] = {}  # by user: threads that were left

    def _submit_job(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        if self._worker and self._worker.is_hung:
            self._abandon_worker(self._worker)
        self._submit_for_user(read_process_user(pid) if pid else ROOT, pid, work, *arguments)

    def _submit_for_user(self, user: int, pid: int, *job: Any) -> None:
        if pid not in self._slow_processes and self._has_quota(user):
            self._worker = self._worker or IoWorker(self._run_job)
            self._worker.add_job(user, pid, *job)

    def _abandon_worker(self, reader: IoWorker) -> None:
        """It hangs.  What it was to do for others is done all the same."""
        self._hung_threads[reader.user] = self._hung_threads.get(reader.user, 0) + 1
        rest = reader.remove_unstarted()
        self._handle_hang(reader)
        for user, pid, *job in rest:
            self._submit_for_user(user, pid, *job)

    def _has_quota(self, user: int) -> bool:
        """Whether there is time left for a user."""
        left = self._hung_threads.get(user, 0) < (_MAX_HUNG_ROOT if user == ROOT else _MAX_HUNG)
        in_time = user == ROOT or self._spent.get(
            user, 0.0
        ) < _INITIAL_SECONDS + self.TIME_SHARE * (time.monotonic() - self._began)
        if not (left and in_time):
            self._add_message(f"user {user}: {self.QUOTA_MESSAGE}")
        return left and in_time

    def _run_job(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        reader = self._worker
        if reader is not None and reader.is_current_thread and self._has_quota(reader.user):
            self._do_work(pid, work, *arguments)
            self._charge_time(reader)

    def _charge_time(self, reader: IoWorker) -> None:
        """What was done since it began, or was paid for last."""
        now = time.monotonic()
        if reader is self._worker and reader.job_start is not None:
            self._spent[reader.user] = self._spent.get(reader.user, 0.0) + now - reader.job_start
            reader.job_start = now

    def _do_work(self, pid: int, work: Callable[..., None], *arguments: Any) -> None:
        raise NotImplementedError

    def _handle_hang(self, reader: IoWorker) -> None:
        raise NotImplementedError

    def _add_message(self, text: str) -> None:
        if text not in self.messages and len(self.messages) < MAX_MESSAGES:
            self.messages.append(text)

    def drain_messages(self) -> list[str]:
        """The messages since the last call."""
        found = self.messages[self._delivered :]
        self._delivered += len(found)
        return found

    def close(self) -> None:
        if self._worker:
            self._worker.stop()
            self._worker = None
