"""The tick-n probes: their periods, and which of several are due.

Source: the DTrace guide, "profile Provider".
"""

from __future__ import annotations

import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NANOSECONDS = {
    "ns": 1,
    "nsec": 1,
    "us": 10**3,
    "usec": 10**3,
    "ms": 10**6,
    "msec": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "hour": 3600 * 10**9,
    "d": 86400 * 10**9,
    "day": 86400 * 10**9,
}
MAX_OWED = 1000  # ticks of one probe
_NAME = re.compile(r"tick-(\d+)([a-z]*)\Z")
SHORTEST_PERIOD = 200_000  # ns; dtrace refuses what is faster


def tick_period(name: str) -> int | None:
    """Nanoseconds between two firings, or None where `name` is no tick probe."""
    match = _NAME.match(name)
    if not match:
        return None
    count, unit = int(match[1]), match[2]
    if count == 0:
        return None
    if unit in ("", "hz"):
        nanoseconds = 10**9 // count
    elif unit in _NANOSECONDS:
        nanoseconds = count * _NANOSECONDS[unit]
    else:
        return None
    return nanoseconds if nanoseconds >= SHORTEST_PERIOD else None


def profile_period(name: str) -> int | None:
    """The same of a profile probe."""
    return (
        tick_period("tick-" + name.removeprefix("profile-"))
        if name.startswith("profile-")
        else None
    )


class MissedTicks:
    """count: ticks that were owed, and left out as too many."""

    def __init__(self) -> None:
        self.count = self._reported = 0
        self._reported_at = 0.0

    def drain_warnings(self, ended: bool) -> list[str]:
        """Words of those that came, once a second, since there is no end to them; and when it has ended."""
        now, ticks = time.monotonic(), self.count - self._reported
        if not ticks or (now < self._reported_at + 1 and not ended):
            return []
        self._reported, self._reported_at = self.count, now
        return [
            f"{ticks} tick{'' if ticks == 1 else 's'} left out: their clauses take longer than there is time between them"
        ]


class TickTimers:
    """Several tick probes: {probe id: period in ns}.  A tracer that was late makes up for what it missed, up to OWED of each, since
    dtrace's timers interrupt whatever runs; or it skips that."""

    def __init__(self, periods: Mapping[int, int], now: int) -> None:
        self._due = {probe: [now + each, each] for probe, each in periods.items()}

    def next_due(self) -> tuple[int, int] | None:
        """(time, probe id) of the one that is due first, or None."""
        return min((due[0], probe) for probe, due in self._due.items()) if self._due else None

    def is_overdue(self, probe: int, now: int) -> bool:
        """Is it late by a period, or more?"""
        due, each = self._due[probe]
        return now - due >= each

    def advance(self, probe: int, now: int) -> None:
        due = self._due[probe]
        due[0] += due[1] * max(1, (now - due[0]) // due[1] + 1)

    def catch_up(self, probe: int, when: int, now: int) -> int:
        """It fired for a time that may be over; the next is the one after that.  Returns how many were left out, as too many were
        owed."""
        self.advance(probe, when)
        due = self._due[probe]
        left_out = max(0, (now - due[0]) // due[1] - MAX_OWED)
        due[0] += due[1] * left_out
        return left_out
