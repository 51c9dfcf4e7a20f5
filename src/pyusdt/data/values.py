"""The values of aggregations: numbers that know what they were made of, and histograms.

In: the words that an engine keeps for a key (dlang/builtins/aggregations.py).  Out: value objects.
Always: values are immutable; merge() is exact: what two sessions counted, merged, is what one session would
have counted that saw both, f(f(x0) ∪ f(x1)) = f(x0 ∪ x1).  Sums wrap at 64 bits, as everywhere in D.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any, Union

from . import buckets
from .buckets import MergeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .floats import FloatNumber

_BOUNDS: dict[tuple[str, tuple[int, ...]], list[tuple[int | None, int | None]]] = {}


def wrap(value: int) -> int:
    """A 64-bit register's signed value."""
    return (value + 2**63) % 2**64 - 2**63


def _towards_zero(total: int, n: int) -> int:
    return total // n if total >= 0 else -(-total // n)


class Number(int):
    """What count, sum, min, max, avg or stddev gives: an int, with `words`, the data it was made of (the first is
    the number of values)."""

    function: str
    words: tuple[int, ...]

    def __new__(cls, function: str, words: Sequence[int]) -> Number:  # noqa: PYI034
        self = super().__new__(cls, _NUMBERS[function][0](words))
        self.function, self.words = function, tuple(words)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Number, (self.function, self.words)

    @property
    def n(self) -> int:
        """How many values went in."""
        return self.words[0]

    @property
    def _is_told(self) -> bool:
        """Only the value is known (engine/dtrace/frames.py): an avg of -1 values, a stddev of one value that deviates."""
        return self.words[0] < 0 or (self.function == "stddev" and self.words[0] == 1 and int(self) > 0)

    @property
    def mean(self) -> float:
        """The mean of an avg or stddev, not cut to an integer."""
        if self.function not in ("avg", "stddev"):
            raise AttributeError(f"{self.function}() has no mean")
        return self.words[1] / self.words[0] if self.words[0] else 0.0

    def merge(self, other: Number) -> Number:
        _same(self, other)
        if not self.n or not other.n:
            return self if self.n else other
        if self._is_told or other._is_told:
            raise MergeError(f"of {self.function}() dtrace tells the value, not what it was made of: it can not be merged "
                             "exactly")
        return Number(self.function, _NUMBERS[self.function][1](self.words, other.words))

    def to_dict(self) -> dict[str, Any]:
        return {"function": self.function, "value": int(self), "words": list(self.words)}


def _deviation(words: Sequence[int]) -> int:
    """dtrace's: the root of the mean square less the square of the mean, in integers."""
    n, total = words[0], words[1]
    if n == 0:
        return 0
    squares = words[2] % 2**64 + (words[3] % 2**64 << 64)
    return wrap(isqrt(max(0, squares // n - _towards_zero(total, n) ** 2)))


def _merge_deviation(a: Sequence[int], b: Sequence[int]) -> list[int]:
    squares = sum(w[2] % 2**64 + (w[3] % 2**64 << 64) for w in (a, b)) % 2**128
    return [a[0] + b[0], wrap(a[1] + b[1]), wrap(squares), wrap(squares >> 64)]


def _added(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [wrap(x + y) for x, y in zip(a, b)]


_NUMBERS: dict[str, tuple[Any, Any]] = {  # function: (the words' value, the words of two merged)
    "count": (lambda w: w[0], _added),
    "sum": (lambda w: w[1], _added),
    "min": (lambda w: w[1], lambda a, b: [a[0] + b[0], min(a[1], b[1])]),
    "max": (lambda w: w[1], lambda a, b: [a[0] + b[0], max(a[1], b[1])]),
    "avg": (lambda w: _towards_zero(w[1], w[0]) if w[0] else 0, _added),
    "stddev": (_deviation, _merge_deviation),
}


class Bucket(tuple):  # type: ignore[type-arg]
    """One bucket that is not empty: (low, high, count); both bounds belong to it, None: unbounded."""

    __slots__ = ()

    def __new__(cls, low: int | None, high: int | None, count: int) -> Bucket:  # noqa: PYI034
        return tuple.__new__(cls, (low, high, count))

    @property
    def low(self) -> int | None:
        return self[0]  # type: ignore[no-any-return]

    @property
    def high(self) -> int | None:
        return self[1]  # type: ignore[no-any-return]

    @property
    def count(self) -> int:  # type: ignore[override]
        return self[2]  # type: ignore[no-any-return]

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Bucket(low={self.low}, high={self.high}, count={self.count})"


class Histogram:
    """A distribution: of quantize, lquantize or llquantize.

    function; params: the constants it was given (low, high, step …); counts: of all its buckets, in ascending order;
    n: how many values went in.
    """

    __slots__ = ("function", "params", "counts", "n")

    function: str
    params: tuple[int, ...]
    counts: tuple[int, ...]
    n: int

    def __init__(self, function: str, params: Sequence[int], words: Sequence[int]) -> None:
        values = {"function": function, "params": tuple(params), "counts": tuple(words[1:]), "n": words[0]}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if len(self.counts) != len(bounds(function, self.params)):
            raise ValueError(f"{function}{self.params} has {len(bounds(function, self.params))} buckets")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Histogram can not be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return Histogram, (self.function, self.params, self.words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return (self.function, self.params, self.counts) == (other.function, other.params, other.counts)

    def __hash__(self) -> int:
        return hash((self.function, self.params, self.counts))

    def __repr__(self) -> str:
        return f"<{self.function} of {self.n} values: {self.buckets}>"

    @property
    def words(self) -> tuple[int, ...]:
        return (self.n, *self.counts)

    @property
    def total(self) -> int:
        """The sum of the buckets; more than n where an increment was given."""
        return sum(self.counts)

    @property
    def buckets(self) -> list[Bucket]:
        """Those that are not empty, ascending."""
        return [Bucket(*edge, count) for edge, count in zip(bounds(self.function, self.params), self.counts) if count]

    def percentile(self, percent: float) -> int | None:
        """A bound that `percent` of the values do not exceed: the upper end of the bucket that the percentile lies
        in; where that is unbounded its lower end.  None for an empty histogram."""
        if not 0 <= percent <= 100:
            raise ValueError("a percentile lies between 0 and 100")
        wanted = self.total * (int(percent) if percent == int(percent) else percent)  # a float does not hold every sum
        seen, found = 0, None
        for bucket in self.buckets:
            found = bucket.low if bucket.high is None else bucket.high
            seen += bucket.count
            if seen * 100 >= wanted:
                break
        return found

    def merge(self, other: Histogram) -> Histogram:
        _same(self, other)
        return Histogram(self.function, self.params, [wrap(a + b) for a, b in zip(self.words, other.words)])

    def to_dict(self) -> dict[str, Any]:
        return {"function": self.function, "params": list(self.params), "n": self.n,
                "buckets": [list(bucket) for bucket in self.buckets]}

    def text(self) -> str:
        """As dtrace prints it."""
        from .aggregations import render
        from .program import AggDef

        definition = AggDef("", 1, Function(self.function), self.params, [], 0)
        return render([(definition, [(b"", pack(self))])]).decode()

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from .svg import histogram

        return histogram(self)


Value = Union[Number, Histogram, "FloatNumber"]  # (those of floats are imported where there are some)


def _same(a: Value, b: Value) -> None:
    if getattr(b, "function", None) != a.function or getattr(a, "params", ()) != getattr(b, "params", ()):
        raise MergeError(f"{a!r} and {b!r} are of different kinds")


def bounds(function: str, params: tuple[int, ...]) -> list[tuple[int | None, int | None]]:
    """(lowest, highest value) of each bucket, in the order of their counts; None: unbounded."""
    key = function, params
    if key not in _BOUNDS:
        _BOUNDS[key] = _MAKERS[function](*params)
    return _BOUNDS[key]


def _quantize() -> list[tuple[int | None, int | None]]:
    above: list[tuple[int | None, int | None]] = [(1 << k, (2 << k) - 1) for k in range(buckets.QUANTIZE_ZERO)]
    (_, lowest), *below = _negated(above)
    return [(-(1 << 63), lowest), *below, (0, 0), *above]  # there is one more number below 0


def _negated(above: list[tuple[int | None, int | None]]) -> list[tuple[int | None, int | None]]:
    return [(None if high is None else -high, None if low is None else -low) for low, high in reversed(above)]


def _linear(base: int, limit: int, step: int) -> list[tuple[int | None, int | None]]:
    levels = buckets.linear_levels(base, limit, step)
    inner: list[tuple[int | None, int | None]] = [(base + i * step, base + (i + 1) * step - 1) for i in range(levels)]
    return [(None, base - 1), *inner, (base + levels * step, None)]


def _log_linear(*params: int) -> list[tuple[int | None, int | None]]:
    edges = buckets.log_linear_edges(*params)
    above: list[tuple[int | None, int | None]] = [(low, high - 1) for low, high in pairwise(edges)]
    above.append((edges[-1], None))
    return [*_negated(above), (1 - edges[0], edges[0] - 1), *above]


_MAKERS: dict[str, Any] = {"quantize": _quantize, "lquantize": _linear, "llquantize": _log_linear}
FLOATS = ".double"  # ends the names of functions of floating-point values
_WORDS = {"count": 1, "stddev": 4, "stddev" + FLOATS: 3}  # the others that are no histograms have two
HISTOGRAMS = tuple(_MAKERS)  # functions whose values are histograms


class Function:
    """The row of a definition that no compiler made: what the compiler's own (dlang/builtins/) says of reading and showing
    the values.  name: as AggregationRow's."""

    __slots__ = ("is_float", "name")

    def __init__(self, name: str) -> None:
        self.name, self.is_float = name, name.endswith(FLOATS)

    def words(self, params: tuple[int, ...]) -> int:
        """How many 64-bit words a value has."""
        if self.name in HISTOGRAMS:
            return 1 + len(bounds(self.name, params))
        return _WORDS.get(self.name, 2)


def unpack(function: str, params: Sequence[int], value: bytes) -> Value:
    """The value object of what a map holds."""
    words = struct.unpack(f"={len(value) // 8}q", value)
    if function.endswith(FLOATS):
        from .floats import FloatNumber

        return FloatNumber(function, words)
    return Number(function, words) if function in _NUMBERS else Histogram(function, params, words)


def pack(value: Value) -> bytes:
    """What a map holds of a value object."""
    return struct.pack(f"={len(value.words)}q", *value.words)
