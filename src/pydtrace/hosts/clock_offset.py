"""Converts a host's times into the coordinator's clock, by pings.

The host answers between sending and hearing, however long either way took. The true offset
therefore lies within the error, except for a drift of more than DRIFT between two pings.
"""

from __future__ import annotations

DRIFT = 200e-6  # of two clocks that nobody sets right: s a s
_MAX_SAMPLES = 16
UNKNOWN_ERROR = 1 << 62  # ns: the error before the first answer


class ClockOffset:
    def __init__(self) -> None:
        self._samples: list[tuple[int, int, int]] = []  # (heard, offset, error)

    def add_sample(self, sent: int, there: int, heard: int) -> None:
        self._samples.append((heard, (sent + heard) // 2 - there, (heard - sent + 1) // 2))
        del self._samples[:-_MAX_SAMPLES]

    def estimate(self, now: int) -> tuple[int, int]:
        """The best that is known, where each ping is less sure the older it is."""
        found = [
            (error + int((now - heard) * DRIFT), offset) for heard, offset, error in self._samples
        ]
        error, offset = min(found, default=(UNKNOWN_ERROR, 0))
        return offset, error
