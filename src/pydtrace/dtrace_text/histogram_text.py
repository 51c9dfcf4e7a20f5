"""Distributions as dtrace prints them: bars and counts.

normal is the divisor of normalize(), else 1; zoom is the option aggzoom.
"""

from __future__ import annotations

from pydtrace.aggregation.int64 import divide_like_dtrace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BARS = 40  # width of a distribution's bars
TITLE = b"------------- Distribution -------------"
_HEADING = b"\n%16s %41s %-9s\n" % (b"value", TITLE, b"count")


class Packing:
    """What the option aggpack shows of several distributions: the buckets from `first` to `last`; `left` and `right`: the columns
    of the first and last one's labels; low: the first one's label, in its columns; high: the last one's."""

    __slots__ = ("first", "high", "last", "left", "low", "right")

    def __init__(
        self, first: int, last: int, left: int, right: int, low: bytes, high: bytes
    ) -> None:
        self.first, self.last, self.left, self.right, self.low, self.high = (
            first,
            last,
            left,
            right,
            low,
            high,
        )


class Scale:
    """What a bar's length is relative to: all counts together; with the option aggzoom the largest one, of which the bar is 95 %
    of the width.  above, below: whether there are counts of that sign."""

    __slots__ = ("above", "below", "factor", "total")

    def __init__(self, counts: Sequence[int], zoom: bool = False) -> None:
        self.above, self.below = (
            any(count > 0 for count in counts),
            any(count < 0 for count in counts),
        )
        sizes = [abs(count) for count in counts]
        self.factor, self.total = (19, 20 * max(sizes, default=0)) if zoom else (1, sum(sizes))

    def scale_count(self, count: int, length: int, whole: bool = False) -> int:
        """The part of a length that stands for a count, rounded to the nearest, or, if it has to be whole, down."""
        if not self.total:
            return 0
        return (2 * length * abs(count) * self.factor + (0 if whole else self.total)) // (
            2 * self.total
        )


def format_bar(scale: Scale, count: int, number: int) -> bytes:
    """A count's bar and its number; where there are counts of both signs the line begins in the middle."""
    if not scale.below:
        return b"|%-40b %-9d\n" % (b"@" * scale.scale_count(count, BARS), number)
    if not scale.above:
        return b"%40b| %-9d\n" % (b"@" * scale.scale_count(count, BARS), number)
    bar = b"@" * scale.scale_count(count, BARS // 2)
    left, right = (bar, b"") if count < 0 else (b"", bar)
    return b"%20b|%-20b %-9d\n" % (left, right, number)


def format_table(
    counts: Sequence[int], labels: Sequence[bytes], first: int, last: int, normal: int, zoom: bool
) -> bytes:
    """The table of the buckets from first to last."""
    shown = counts[first : last + 1]
    scale = Scale(shown, zoom)
    lines = [
        b"%16b %b" % (label, format_bar(scale, count, divide_like_dtrace(count, normal)))
        for label, count in zip(labels, shown)
    ]
    return b"".join([_HEADING, *lines])


def find_printed_range(counts: Sequence[int], empty: tuple[int, int]) -> tuple[int, int]:
    """The first and the last bucket to print: one more than is filled at each end; `empty`: where none is."""
    filled = [bucket for bucket, count in enumerate(counts) if count]
    if not filled:
        return empty
    return max(filled[0] - 1, 0), min(filled[-1] + 1, len(counts) - 1)


def weigh_buckets(counts: Sequence[int], values: Iterable[int]) -> tuple[int, int]:
    """The rank of a distribution: the sum of its buckets' values, then how often zero was counted."""
    zeros = 0
    total = 0
    for count, value in zip(counts, values):
        if count:
            total += count * value
            zeros += count if value == 0 else 0
    return total, zeros
