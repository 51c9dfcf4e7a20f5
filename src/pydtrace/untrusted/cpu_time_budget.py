"""A budget of processor time for work that an untrusted process can prolong.

It has a number of seconds at once, and one second of a number of seconds after that.

- Waiting gives no more than the first seconds again.
- The thread's processor time counts, so that a busy machine takes nothing from the budget.
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
