"""Time for work that a stranger can make last as long as he likes.

In: how many seconds at once, and one of how many after that.  Out: whether there is time left.
Always: who has waited has no more than the first seconds again.  What is spent is the thread's time on a processor, so that a machine that
is busy with other things takes nobody's.
"""

from __future__ import annotations

import contextlib
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class CpuTimeBudget:
    def __init__(self, burst: float, share: int) -> None:
        self._burst, self._share = burst, share
        self._due = time.monotonic() - burst * share  # when there is some left

    @property
    def is_available(self) -> bool:
        return time.monotonic() >= self._due

    @contextlib.contextmanager
    def charge_time(self) -> Iterator[None]:
        begun = time.thread_time()
        try:
            yield
        finally:
            earliest = time.monotonic() - self._burst * self._share
            self._due = max(self._due, earliest) + self._share * (time.thread_time() - begun)
