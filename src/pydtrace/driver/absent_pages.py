"""Pages that were not in memory when a probe of the kernel engine read them: reading them from outside brings them in.

In: the process and the address of a fault.  Out: nothing; later firings find the page.
Always: a page is read once; whoever makes its reader wait (untrusted/io_worker.py) is left alone; one byte is read, and forgotten.
"""

from __future__ import annotations

from pydtrace._tracer import Memory
from pydtrace.untrusted.io_worker import Looks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAGE, _MOST = 4096, 1 << 14  # bytes; pages that are remembered


class AbsentPages(Looks):
    LEFT_OUT = "pages of its processes are brought into memory no more: that takes too long"

    def __init__(self) -> None:
        super().__init__()
        self._known: set[tuple[int, int]] = set()

    def bring(self, pid: int, address: int) -> None:
        page = pid, address // _PAGE
        if page in self._known or len(self._known) >= _MOST:
            return
        self._known.add(page)
        self._put(pid, _read, address)

    def _work(self, pid: int, work: Any, *arguments: Any) -> None:
        work(pid, *arguments)

    def _leave(self, reader: Any) -> None:
        self._hostile.add(reader.pid)
        self._reader = None


def _read(pid: int, address: int) -> None:
    try:
        Memory(pid).read(address, 1)
    except (OSError, OverflowError):  # it has ended, or nothing is there
        pass
