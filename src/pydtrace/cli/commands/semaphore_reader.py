"""How many tracers listen to the probes of a process: the semaphores in its memory.

- A process can make the reader of its memory wait. So a caller waits for a limited time, and the
  memory of a user other than root who did this is not read any more.
"""

from __future__ import annotations

import threading

from pydtrace._tracer import Memory
from pydtrace.untrusted.io_worker import JOB_TIMEOUT, QuotaWorker, read_process_user
from pydtrace.untrusted.user_quota import ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class SemaphoreReader(QuotaWorker):
    """messages: which processes do not let their memory be read."""

    QUOTA_MESSAGE = "who listens to the probes of its processes is not known: reading their memory takes too long"

    def count_tracers(self, pid: int, addresses: Iterable[int]) -> dict[int, int]:
        """{address: how many tracers the semaphore there counts}; what can not be known is not in it."""
        found: dict[int, int] = {}
        done, user = threading.Event(), read_process_user(pid)
        if pid in self._slow_processes or (user != ROOT and self._hung_threads.get(user)):
            return {}
        self._submit_job(pid, _read_semaphores, pid, list(addresses), found, done)
        reader = self._worker
        if reader is None or done.wait(JOB_TIMEOUT):
            return found
        self._abandon_worker(reader)
        return {}

    def _do_work(self, pid: int, work: Any, *arguments: Any) -> None:
        work(*arguments)

    def _handle_hang(self, reader: Any) -> None:
        self._slow_processes.add(reader.pid)
        self._add_message(
            f"process {reader.pid} does not let its memory be read: who listens to its probes is not known"
        )
        self._worker = None


def _read_semaphores(
    pid: int, addresses: list[int], found: dict[int, int], done: threading.Event
) -> None:
    try:
        memory = Memory(pid)
        for address in addresses:
            try:
                found[address] = int.from_bytes(memory.read(address, 2), "little")
            except OSError:  # it is not there, or this user may not look at it
                continue
    except OSError:
        pass
    done.set()


LISTENERS = SemaphoreReader()
