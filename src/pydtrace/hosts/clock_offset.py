"""What a host's clock says in the coordinator's time.

In: pings: when one was sent, what the host's clock said, when the answer came.  Out: (what is to be added to the host's times, error).
Always: the true difference lies within the error, but for drift of more than DRIFT between two pings: the answer was given between
sending and hearing, whatever either way took.
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
