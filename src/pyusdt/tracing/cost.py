"""What tracing costs this process, against what its user allows (-x maxcpu).

In: the times at which it is asked.  Out: whether the bound was passed, and by what.  Always: judged over whole windows, so that a
start or a burst alone ends nothing.  The traced programs' part is not in it: they pay for each event themselves; but what the kernel
engine's programs take there is, where a policy bounds the run.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 5.0  # s


class Cost:
    """most: percent of one processor; elsewhere(): seconds that are taken outside of this process."""

    def __init__(self, most: int, elsewhere: Callable[[], float] = float) -> None:
        self._most, self._elsewhere = most, elsewhere
        self._began, self._used = time.monotonic(), self._taken()

    def _taken(self) -> float:
        return time.process_time() + self._elsewhere()

    def passed(self) -> str:
        """What is told to the user when the last window took more than is allowed, else ""."""
        now = time.monotonic()
        if now - self._began < WINDOW:
            return ""
        used, took = self._taken() - self._used, now - self._began
        self._began, self._used = now, self._used + used
        percent = 100 * used / took
        return (f"tracing stops: it has taken {percent:.0f} % of a processor for {took:.0f} s, and -x maxcpu={self._most} is what it may take"
                if percent > self._most else "")
