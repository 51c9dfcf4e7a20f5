"""How much there is of each stack, as read from a file.

- An amount is in the file's own unit. sample_amount is that of one sample, or None: the amounts
  are then no samples, and chance cannot be computed.
"""

from __future__ import annotations

import math
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .frame_key import FrameKey

    Stack = tuple[FrameKey, ...]

MAX_FRAMES = 1 << 24  # of all stacks of a file together


class UnreadableProfile(Exception):
    """A file that is no profile; the message names the file and the place."""


class StackAmounts:
    """stacks: {stack from the outermost frame on: amount}."""

    __slots__ = ("sample_amount", "stacks", "unit")

    def __init__(self, unit: str, sample_amount: float | None) -> None:
        self.unit, self.sample_amount = unit, sample_amount
        self.stacks: Counter[Stack] = Counter()

    @property
    def total(self) -> float:
        return math.fsum(self.stacks.values())

    @property
    def samples(self) -> int | None:
        return None if self.sample_amount is None else round(self.total / self.sample_amount)

    def sum_functions(self) -> tuple[Counter[FrameKey], Counter[FrameKey]]:
        """(self, total) of each function; in a recursion a function is counted once."""
        own: Counter[FrameKey] = Counter()
        total: Counter[FrameKey] = Counter()
        for stack, amount in self.stacks.items():
            own[stack[-1]] += amount
            for place in set(stack):
                total[place] += amount
        return own, total


class FrameCount:
    """How many frames there may still be."""

    def __init__(self) -> None:
        self._left = MAX_FRAMES

    def take(self, n: int) -> None:
        self._left -= n
        if self._left < 0:
            raise UnreadableProfile(f"more than {MAX_FRAMES} frames")
