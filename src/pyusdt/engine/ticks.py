"""tick-n probes: when they are due.

In: the name of a probe, as dtrace takes it (tick-10ms, tick-1sec, tick-5000, tick-99hz).
Out: its period; and which of several are due now.
Source: the DTrace guide, "profile Provider".
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NANOSECONDS = {
    "ns": 1, "nsec": 1, "us": 10**3, "usec": 10**3, "ms": 10**6, "msec": 10**6, "s": 10**9, "sec": 10**9,
    "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "hour": 3600 * 10**9,
    "d": 86400 * 10**9, "day": 86400 * 10**9,
}
OWED = 1000  # ticks of one probe
_NAME = re.compile(r"tick-(\d+)([a-z]*)\Z")
SHORTEST = 200_000  # ns; dtrace refuses what is faster


def period(name: str) -> int | None:
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
    return nanoseconds if nanoseconds >= SHORTEST else None


def profile_period(name: str) -> int | None:
    """The same of a profile probe."""
    return period("tick-" + name.removeprefix("profile-")) if name.startswith("profile-") else None


class Ticks:
    """Several tick probes: {probe id: period in ns}.  A tracer that was late skips ticks, as dtrace does, whose timer interrupts do
    not queue; or it makes up for them, up to OWED of each, where each has its place among the events."""

    def __init__(self, periods: Mapping[int, int], now: int) -> None:
        self._due = {probe: [now + each, each] for probe, each in periods.items()}

    def next(self) -> tuple[int, int] | None:
        """(time, probe id) of the one that is due first, or None."""
        return min((due[0], probe) for probe, due in self._due.items()) if self._due else None

    def fired(self, probe: int, now: int) -> None:
        due = self._due[probe]
        due[0] += due[1] * max(1, (now - due[0]) // due[1] + 1)

    def made_up(self, probe: int, when: int, now: int) -> int:
        """It fired for a time that is over; the next is the one after that.  Returns how many were left out, as too many were owed."""
        self.fired(probe, when)
        due = self._due[probe]
        left_out = max(0, (now - due[0]) // due[1] - OWED)
        due[0] += due[1] * left_out
        return left_out
