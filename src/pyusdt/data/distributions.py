"""The values of aggregations: from the bytes of a map's element to numbers, ranks and text.

In: a row of dlang/builtins/aggregations.py with its parameters, value bytes.  Out: FUNCTIONS: for each
aggregating function (decode, rank, show): decode(value, params) -> what the other two take; rank(it,
params) -> for sorting; show(it, normal, params) -> bytes, that of a distribution with zoom as well (the option aggzoom).
Always: the text is dtrace's.  normal: what normalize() said, else 1; as in dtrace the values of all
functions but avg and stddev are divided without their sign.
"""

from __future__ import annotations

import struct
from math import isqrt

from . import buckets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

BARS = 40  # width of a distribution's bars
TITLE = b"------------- Distribution -------------"
_HEADING = b"\n%16s %41s %-9s\n" % (b"value", TITLE, b"count")
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


def signed(value: int) -> int:
    """A 64-bit register's value, read as signed."""
    return (value & 0xFFFFFFFFFFFFFFFF ^ 1 << 63) - (1 << 63)


def divided(number: int, normal: int) -> int:
    """number / normal as dtrace computes it: without sign, shown with it."""
    return number if normal == 1 else signed((number & 0xFFFFFFFFFFFFFFFF) // normal)


def _toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# --- numbers ---------------------------------------------------------------------------
def _decode_count(value: bytes, params: Any) -> Any:
    return struct.unpack_from("=q", value)[0]


def _decode_one(value: bytes, params: Any) -> Any:
    return struct.unpack_from("=q", value, 8)[0]


def _decode_extreme(empty: int) -> Callable[[bytes, Any], int]:
    """min or max; `empty` is what dtrace shows after clear()."""
    def decode(value: bytes, params: Any) -> int:
        count, number = struct.unpack_from("=qq", value)
        return number if count else empty
    return decode


def _decode_average(value: bytes, params: Any) -> tuple[int, ...]:
    return struct.unpack_from("=qq", value)


def _decode_stddev(value: bytes, params: Any) -> tuple[int, ...]:
    count, total, low, high = struct.unpack_from("=qqQQ", value)
    return count, total, high << 64 | low


def _average(decoded: Sequence[int], normal: int = 1) -> int:
    count, total = decoded
    return _toward_zero(_toward_zero(total, signed(normal)), count) if count else 0


def _deviation(decoded: Sequence[int], normal: int = 1) -> int:
    """The root of (the mean of the squares minus the square of the mean)."""
    count, total, squares = decoded
    if not count:
        return 0
    mean = _toward_zero(_toward_zero(total, signed(normal)), count)
    return signed(isqrt(max(0, squares // normal // count - mean * mean)))


def number_of(name: str, decoded: Any, normal: int, is_signed: bool) -> int:
    """The number that %@ prints, for a function that has one; is_signed: of the conversion."""
    if name == "avg":  # dtrace's printf computes it without signs, its table with them
        count, total = decoded
        return signed((total & 0xFFFFFFFFFFFFFFFF) // normal // count) if count else 0
    if name == "stddev":
        return _deviation(decoded, normal)
    return _toward_zero(decoded, normal) if is_signed else divided(decoded, normal)


def _rank_number(number: int, params: Any) -> int:
    return number


def _rank_average(decoded: Any, params: Any) -> int:
    return _average(decoded)


def _rank_deviation(decoded: Any, params: Any) -> int:
    return _deviation(decoded)


def _show_number(number: int, normal: int, params: Any) -> bytes:
    return b" %16d" % divided(number, normal)


def _show_average(decoded: Any, normal: int, params: Any) -> bytes:
    return b" %16d" % _average(decoded, normal)


def _show_deviation(decoded: Any, normal: int, params: Any) -> bytes:
    return b" %16d" % _deviation(decoded, normal)


# --- distributions -----------------------------------------------------------------------
def _decode_buckets(value: bytes, params: Any) -> tuple[int, ...]:
    return struct.unpack_from(f"={len(value) // 8 - 1}q", value, 8)


class Scale:
    """What a bar's length is told by: all counts together; with the option aggzoom the largest one, of which the bar is 95 %
    of the width.  above, below: whether there are counts of that sign."""

    __slots__ = ("above", "below", "factor", "total")

    def __init__(self, counts: Sequence[int], zoom: bool = False) -> None:
        self.above, self.below = any(count > 0 for count in counts), any(count < 0 for count in counts)
        sizes = [abs(count) for count in counts]
        self.factor, self.total = (19, 20 * max(sizes, default=0)) if zoom else (1, sum(sizes))

    def of(self, count: int, length: int, whole: bool = False) -> int:
        """The part of a length that stands for a count, rounded to the nearest, or, if it has to be whole, down."""
        if not self.total:
            return 0
        return (2 * length * abs(count) * self.factor + (0 if whole else self.total)) // (2 * self.total)


def line(scale: Scale, count: int, number: int) -> bytes:
    """A count's bar and its number; where there are counts of both signs the line begins in the middle."""
    if not scale.below:
        return b"|%-40b %-9d\n" % (b"@" * scale.of(count, BARS), number)
    if not scale.above:
        return b"%40b| %-9d\n" % (b"@" * scale.of(count, BARS), number)
    bar = b"@" * scale.of(count, BARS // 2)
    left, right = (bar, b"") if count < 0 else (b"", bar)
    return b"%20b|%-20b %-9d\n" % (left, right, number)


def _rows(counts: Sequence[int], labels: Sequence[bytes], first: int, last: int, normal: int, zoom: bool) -> bytes:
    """The table of the buckets from first to last."""
    shown = counts[first : last + 1]
    scale = Scale(shown, zoom)
    lines = [b"%16b %b" % (label, line(scale, count, divided(count, normal))) for label, count in zip(labels, shown)]
    return b"".join([_HEADING, *lines])


def _span(counts: Sequence[int], empty: tuple[int, int]) -> tuple[int, int]:
    """The first and the last bucket to print: one more than is filled at each end; `empty`: where none is."""
    filled = [bucket for bucket, count in enumerate(counts) if count]
    if not filled:
        return empty
    return max(filled[0] - 1, 0), min(filled[-1] + 1, len(counts) - 1)


def _weigh(counts: Sequence[int], values: Iterable[int]) -> tuple[int, int]:
    """The rank of a distribution: the sum of its buckets' values, then how often zero was counted."""
    zeros = 0
    total = 0
    for count, value in zip(counts, values):
        if count:
            total += count * value
            zeros += count if value == 0 else 0
    return total, zeros


def _show_quantize(counts: Sequence[int], normal: int, params: Any, zoom: bool = False) -> bytes:
    zero = buckets.QUANTIZE_ZERO
    first, last = _span(counts, (zero - 1, zero + 1))
    labels = [b"%d" % buckets.quantize_value(bucket) for bucket in range(first, last + 1)]
    return _rows(counts, labels, first, last, normal, zoom)


def _rank_quantize(counts: Sequence[int], params: Any) -> tuple[int, int]:
    return _weigh(counts, map(buckets.quantize_value, range(len(counts))))


def _show_linear(counts: Sequence[int], normal: int, params: Any, zoom: bool = False) -> bytes:
    base, _, step = params
    first, last = _span(counts, (0, 2))
    labels = [b"%d" % (base + (bucket - 1) * step) for bucket in range(first, last + 1)]
    if first == 0:
        labels[0] = b"< %d" % base
    if last == len(counts) - 1:
        labels[-1] = b">= " + labels[-1]
    return _rows(counts, labels, first, last, normal, zoom)


def _rank_linear(counts: Sequence[int], params: Any) -> tuple[int, int]:
    base, _, step = params
    values = [base - 1, *(base + i * step for i in range(len(counts) - 2)), base + 1 + (len(counts) - 2) * step]
    return _weigh(counts, values)


def _show_log_linear(counts: Sequence[int], normal: int, params: Any, zoom: bool = False) -> bytes:
    edges = buckets.log_linear_edges(*params)
    middle = len(edges)
    first, last = _span(counts, (middle, middle + 2))
    labels = [b"%d" % (-edges[middle - 1 - bucket] if bucket < middle else edges[bucket - middle - 1])
              for bucket in range(first, last + 1)]
    if first == 0:
        labels[0] = b"<= " + labels[0]
    if last == len(counts) - 1:
        labels[-1] = b">= " + labels[-1]
    if first <= middle <= last:
        least = edges[0]
        name = b"< %d" if first == middle else b"> -%d" if last == middle else b"abs() < %d"
        labels[middle - first] = b"0" if least == 1 else name % least
    return _rows(counts, labels, first, last, normal, zoom)


def _rank_log_linear(counts: Sequence[int], params: Any) -> tuple[int, int]:
    edges = buckets.log_linear_edges(*params)
    return _weigh(counts, [*(-edge for edge in reversed(edges)), 0, *edges])


class _Functions(dict):  # type: ignore[type-arg]
    """Those of floating-point values are read when a program has such."""

    def __missing__(self, name: str) -> Any:
        from . import floats

        self.update(floats.FUNCTIONS)
        return floats.FUNCTIONS[name]


FUNCTIONS = _Functions({
    "count": (_decode_count, _rank_number, _show_number),
    "sum": (_decode_one, _rank_number, _show_number),
    "min": (_decode_extreme(_HIGHEST), _rank_number, _show_number),
    "max": (_decode_extreme(_LOWEST), _rank_number, _show_number),
    "avg": (_decode_average, _rank_average, _show_average),
    "stddev": (_decode_stddev, _rank_deviation, _show_deviation),
    "quantize": (_decode_buckets, _rank_quantize, _show_quantize),
    "lquantize": (_decode_buckets, _rank_linear, _show_linear),
    "llquantize": (_decode_buckets, _rank_log_linear, _show_log_linear),
})
