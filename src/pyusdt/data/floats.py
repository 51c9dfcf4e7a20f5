"""Floating-point values: of records, and of aggregations that have them (dlang/builtins/float_aggregations.py).

In: the bytes of a float or double, or the words of a map's element.  Out: Python floats, FloatNumber, text; FUNCTIONS as in
distributions.py, by the rows' names.
Always: text is C's %g with as many digits as the float needs at most six of; a value object merges with others of its kind
as far as floating-point addition allows: up to the order of the sums.
"""

from __future__ import annotations

import struct
from math import inf, isfinite, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from .buckets import MergeError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SUFFIX = ".double"
_NOT_A_NUMBER = -(1 << 63)  # of what floats.ordered() makes
_DOUBLE, _WORD = struct.Struct("=d"), struct.Struct("=q")


def of_bits(word: int) -> float:
    return _DOUBLE.unpack(_WORD.pack(word))[0]  # type: ignore[no-any-return]


def bits_of(value: float) -> int:
    return _WORD.unpack(_DOUBLE.pack(value))[0]  # type: ignore[no-any-return]


def of_storage(storage: bytes) -> float:
    """The value of a field: 4 bytes, or 8."""
    return struct.unpack("=f" if len(storage) == 4 else "=d", storage)[0]  # type: ignore[no-any-return]


def of_order(word: int) -> float:
    """The double of which floats.ordered() made this integer."""
    if word == _NOT_A_NUMBER:
        return nan
    return of_bits(word ^ (word >> 63) & 0x7FFFFFFFFFFFFFFF)


def shown(value: float) -> bytes:
    """In the column of trace(), and of an aggregation."""
    return b" %16.6g" % value


# --- aggregations ---------------------------------------------------------------------------
def _mean(words: Any) -> float:
    return of_bits(words[1]) / words[0] if words[0] else 0.0


def _extreme(empty: float) -> Any:
    return lambda words: of_order(words[1]) if words[0] else empty


def _deviation(words: Any) -> float:
    return sqrt(max(0.0, of_bits(words[2]) / words[0])) if words[0] else 0.0


def _added(a: Any, b: Any) -> list[int]:
    return [a[0] + b[0], bits_of(of_bits(a[1]) + of_bits(b[1]))]


def _deviations(a: Any, b: Any) -> list[int]:
    """Of both together, by Chan's method."""
    n, distance = a[0] + b[0], of_bits(b[1]) - of_bits(a[1])
    mean = of_bits(a[1]) + distance * b[0] / n
    squares = of_bits(a[2]) + of_bits(b[2]) + distance * distance * a[0] * b[0] / n
    return [n, bits_of(mean), bits_of(squares)]


def _taken_off(now: Any, before: Any) -> list[int]:
    return [now[0] - before[0], bits_of(of_bits(now[1]) - of_bits(before[1]))]


def _deviations_off(now: Any, before: Any) -> list[int]:
    """What Chan's method would have added to `before`."""
    n = now[0] - before[0]
    mean = (of_bits(now[1]) * now[0] - of_bits(before[1]) * before[0]) / n
    distance = mean - of_bits(before[1])
    squares = of_bits(now[2]) - of_bits(before[2]) - distance * distance * before[0] * n / now[0]
    return [n, bits_of(mean), bits_of(max(0.0, squares))]


def since(function: str, before: Sequence[int], now: Sequence[int]) -> list[int]:
    """The words of what came between two looks at a sum, avg or stddev (named as its row is), the second with more values."""
    return (_deviations_off if function.removesuffix(_SUFFIX) == "stddev" else _taken_off)(now, before)


_VALUES = {  # function: (the words' value, the words of two merged)
    "sum": (lambda w: of_bits(w[1]), _added),
    "avg": (_mean, _added),
    "stddev": (_deviation, _deviations),
    "min": (_extreme(inf), lambda a, b: [a[0] + b[0], min(a[1], b[1])]),
    "max": (_extreme(-inf), lambda a, b: [a[0] + b[0], max(a[1], b[1])]),
}


class FloatNumber(float):
    """What sum, min, max, avg or stddev of floats gives: a float, with `words`, the data it was made of (the first is the
    number of values)."""

    function: str
    words: tuple[int, ...]
    params = ()

    def __new__(cls, function: str, words: Any) -> FloatNumber:  # noqa: PYI034
        name = function.removesuffix(_SUFFIX)
        self = super().__new__(cls, _VALUES[name][0](words))
        self.function, self.words = name, tuple(words)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatNumber, (self.function, self.words)

    @property
    def n(self) -> int:
        """How many values went in."""
        return self.words[0]

    @property
    def mean(self) -> float:
        """The mean of an avg or stddev."""
        if self.function not in ("avg", "stddev"):
            raise AttributeError(f"{self.function}() has no mean")
        return of_bits(self.words[1]) if self.function == "stddev" else float(self)

    def merge(self, other: Any) -> FloatNumber:
        if not isinstance(other, FloatNumber) or other.function != self.function:
            raise MergeError(f"{self!r} and {other!r} are of different kinds")
        if not self.n or not other.n:
            return self if self.n else other
        return FloatNumber(self.function, _VALUES[self.function][1](self.words, other.words))

    def to_dict(self) -> dict[str, Any]:
        return {"function": self.function, "value": finite(float(self)), "words": list(self.words)}


def finite(value: float) -> float | None:
    """A value that JSON has, else None."""
    return value if isfinite(value) else None


def of_json(value: Any) -> Any:
    """What print() shows, or a part of it, with finite() floats."""
    if isinstance(value, dict):
        return {name: of_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [of_json(part) for part in value]
    return finite(value) if isinstance(value, float) else value


def _decoder(name: str) -> Any:
    def decode(value: bytes, params: Any) -> float:
        return FloatNumber(name, struct.unpack(f"={len(value) // 8}q", value))
    return decode


def _rank(value: float, params: Any) -> tuple[bool, float]:
    return not isnan(value), float(value)  # what is no number comes first


def _show(value: float, normal: int, params: Any) -> bytes:
    return shown(value / normal)


FUNCTIONS = {name + _SUFFIX: (_decoder(name), _rank, _show) for name in _VALUES}
