"""Bring in pages that were not in memory when a probe of the kernel engine read them, so that later
firings find them.

- A page is read once: one byte, which is discarded.
- A process that makes its reader wait is not read again (untrusted/io_worker.py).
"""

from __future__ import annotations

from pydtrace._tracer import Memory
from pydtrace.untrusted.io_worker import QuotaWorker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAGE, _MAX_PAGES = 4096, 1 << 14  # bytes; pages that are remembered


class AbsentPages(QuotaWorker):
    QUOTA_MESSAGE = "pages of its processes are brought into memory no more: that takes too long"

    def __init__(self) -> None:
        super().__init__()
        self._requested: set[tuple[int, int]] = set()

    def load_page(self, pid: int, address: int) -> None:
        page = pid, address // _PAGE
        if page in self._requested or len(self._requested) >= _MAX_PAGES:
            return
        self._requested.add(page)
        self._submit_job(pid, _touch_page, address)

    def _do_work(self, pid: int, work: Any, *arguments: Any) -> None:
        work(pid, *arguments)

    def _handle_hang(self, reader: Any) -> None:
        self._slow_processes.add(reader.pid)
        self._worker = None


def _touch_page(pid: int, address: int) -> None:
    try:
        Memory(pid).read(address, 1)
    except (OSError, OverflowError):  # it has ended, or nothing is there
        pass
