"""The time of a tracing in nanoseconds: now, or the place in a recording.

- now() never goes back.
"""

from __future__ import annotations

import time


class Clock:
    """Of a tracing of what goes on.  span: (begin, end) of a recording."""

    span: tuple[int, int] | None = None

    def now(self) -> int:
        """The monotonic clock, in ns."""
        return time.monotonic_ns()

    def wall(self) -> float:
        """The same moment, in seconds since 1970."""
        return time.time()
