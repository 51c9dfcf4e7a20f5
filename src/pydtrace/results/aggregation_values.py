"""The values of aggregations: numbers that know what they were made of, and histograms.

- Values are immutable.
- merge() is exact: the values of two sessions, merged, are the value of one session that saw
  both, f(f(x0) ∪ f(x1)) = f(x0 ∪ x1).
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from pydtrace.aggregation.buckets import MergeError
from pydtrace.aggregation.int64 import pack_words, unpack_words
from pydtrace.aggregation.merge_values import merge_words
from pydtrace.program.float_values import finite_or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.program.program import AggDef

_BOUNDS: dict[tuple[str, tuple[int, ...]], Sequence[tuple[int | None, int | None]]] = {}


class _AggregatedValue:
    """What a number keeps of where it comes from.  row: the aggregating function, a class of dlang/builtins/aggregation_base.py; words:
    the data that it was made of, the first of which is the number of values."""

    row: Any
    words: tuple[int, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row, self.words)

    @property
    def function(self) -> str:
        return self.row.function_name  # type: ignore[no-any-return]

    @property
    def n(self) -> int:
        """How many values went in."""
        return self.words[0]

    @property
    def mean(self) -> float:
        """The mean of an avg or stddev, not cut to an integer."""
        mean: float | None = self.row.compute_mean(self.words)
        if mean is None:
            raise AttributeError(f"{self.function}() has no mean")
        return mean

    def merge(self, other: Any) -> Any:
        """What one session would have made that had seen the values of both.  Raises MergeError."""
        _check_same_kind(self, other)
        return self.row.make_value((), merge_words(self.row, (self.words, other.words)))

    def _make_dict(self, value: Any) -> dict[str, Any]:
        return {"function": self.function, "value": value, "words": list(self.words)}


class Number(_AggregatedValue, int):
    """The value of count, sum, min, max, avg or stddev: an int that can be merged with others of its kind."""

    def __new__(cls, row: Any, words: Sequence[int]) -> Number:  # noqa: PYI034
        self = super().__new__(cls, row.compute_number(words))
        self.row, self.words = row, tuple(words)
        return self

    def to_dict(self) -> dict[str, Any]:
        return self._make_dict(int(self))


class FloatNumber(_AggregatedValue, float):
    """The value of sum, min, max, avg or stddev of floating-point numbers: a float that can be merged with others of its kind.

    Merged sums depend on the order of addition in their last digits, as all sums of floats do.
    """

    def __new__(cls, row: Any, words: Sequence[int]) -> FloatNumber:  # noqa: PYI034
        self = super().__new__(cls, row.compute_number(words))
        self.row, self.words = row, tuple(words)
        return self

    def to_dict(self) -> dict[str, Any]:
        return self._make_dict(finite_or_none(float(self)))


class Bucket(tuple):  # type: ignore[type-arg]
    """A bucket that is not empty: a tuple (low, high, count). Both bounds belong to it; None means unbounded."""

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
    """The value of quantize, lquantize or llquantize: a distribution.

    - function: the function's name; params: its constants (low, high, step …).
    - counts: the counts of all buckets, in ascending order; n: the number of values.
    """

    __slots__ = ("row", "params", "counts", "n")

    row: Any
    params: tuple[int, ...]
    counts: tuple[int, ...]
    n: int

    def __init__(self, row: Any, params: Sequence[int], words: Sequence[int]) -> None:
        values = {
            "row": row,
            "params": tuple(params),
            "counts": tuple(words[row.header_words :]),
            "n": words[0],
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if len(self.counts) != len(bucket_bounds(row, self.params)):
            raise ValueError(
                f"{self.function}{self.params} has {len(bucket_bounds(row, self.params))} buckets"
            )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Histogram cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row, self.params, self.words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return (self.function, self.params, self.words[1:]) == (
            other.function,
            other.params,
            other.words[1:],
        )

    def __hash__(self) -> int:
        return hash((self.function, self.params, self.words[1:]))

    def __repr__(self) -> str:
        return f"<{self.function} of {self.n} values: {self.buckets}>"

    @property
    def function(self) -> str:
        return self.row.function_name  # type: ignore[no-any-return]

    @property
    def words(self) -> tuple[int, ...]:
        return (self.n, *self.counts)

    @property
    def total(self) -> int:
        """The sum of the buckets: more than n if the script gave an increment."""
        return sum(self.counts)

    @property
    def rows(self) -> Sequence[int]:
        """The counts of the rows that a picture has: display_edges()."""
        return self.row.display_counts(self.counts)  # type: ignore[no-any-return]

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets that are not empty, in ascending order."""
        counts = self.counts  # most are 0
        return [
            Bucket(*edge, count)
            for edge, count in zip(
                compress(bucket_bounds(self.row, self.params), counts), filter(None, counts)
            )
        ]

    @property
    def pictured(self) -> list[Bucket]:
        """The rows of a picture that are not empty, ascending: the buckets, of percentiles() many of them in one."""
        return [
            Bucket(*edge, count)
            for edge, count in zip(display_edges(self.row, self.params), self.rows)
            if count
        ]

    def percentile(self, percent: float) -> int | None:
        """Return a bound that `percent` (0 to 100) of the values do not exceed, or None for an empty histogram.

        The bound is the upper end of the bucket with the percentile, or its lower end if the bucket has no upper end. Raises ValueError
        if `percent` is out of range.
        """
        found = self.percentile_bounds(percent)
        return found and (found[0] if found[1] is None else found[1])

    def percentile_bounds(self, percent: float) -> tuple[int | None, int | None] | None:
        """Return (lowest, highest), the bounds of the bucket with the percentile, or None for an empty histogram.

        A bound of None means unbounded. The percentile is the least value that `percent` (0 to 100) of the values do not exceed. Raises
        ValueError if `percent` is out of range.
        """
        if not 0 <= percent <= 100:
            raise ValueError("a percentile lies between 0 and 100")
        wanted = self.total * (
            int(percent) if percent == int(percent) else percent
        )  # a float does not hold every sum
        seen, found = 0, None
        for bucket in self.buckets:
            found = bucket.low, bucket.high
            seen += bucket.count
            if seen * 100 >= wanted:
                break
        return found

    def merge(self, other: Histogram) -> Histogram:
        """Return the distribution that one session would have if it had seen all values of both. Raises ValueError (MergeError) if the
        functions or their parameters differ."""
        _check_same_kind(self, other)
        return type(self)(self.row, self.params, merge_words(self.row, (self.words, other.words)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for example for JSON: function, params, n, buckets."""
        return {
            "function": self.function,
            "params": list(self.params),
            "n": self.n,
            "buckets": [list(bucket) for bucket in self.buckets],
        }

    def text(self) -> str:
        """Return the picture that dtrace prints."""
        from pydtrace.dtrace_text.aggregation_text import render_aggregations
        from pydtrace.program.program import AggDef

        definition = AggDef("", 1, self.row, self.params, [], 0)
        return render_aggregations([(definition, [(b"", pack_value(self))])]).decode()

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from .notebook_svg import draw_histogram

        return draw_histogram(self)


class Percentiles(Histogram):
    """The value of percentiles(): a Histogram that knows each percentile to 1 %.

    max: the greatest value, exact; None if there is no value.
    """

    __slots__ = ("max",)

    max: int | None

    def __init__(self, row: Any, params: Sequence[int], words: Sequence[int]) -> None:
        super().__init__(row, params, words)
        object.__setattr__(self, "max", words[1] if words[0] else None)

    @property
    def words(self) -> tuple[int, ...]:
        return (self.n, self.max or 0, *self.counts)

    def percentile(self, percent: float) -> int | None:
        """Return the least value that `percent` of the values do not exceed, to 1 %; 100 is exact. None if there is no value."""
        found = self.percentile_bounds(percent)
        if found is None or self.max is None:
            return None
        low, high = found
        assert low is not None and high is not None
        middle = (low + high) // 2 if low >= 0 else -((-low - high) // 2)
        return self.max if percent == 100 else min(self.max, middle)

    def percentiles(self) -> dict[str, int | None]:
        """Return {"p50": …, "p90": …, "p99": …, "p99.9": …, "max": …}."""
        return {name: self.percentile(percent) for name, percent in self.row.shown_percentiles}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "percentiles": self.percentiles()}

    def __repr__(self) -> str:
        return f"<percentiles of {self.n} values: {', '.join(f'{name}={value}' for name, value in self.percentiles().items())}>"


Value = Number | FloatNumber | Histogram


def _check_same_kind(a: Any, b: Any) -> None:
    if (
        type(b) is not type(a)
        or b.row.name != a.row.name
        or getattr(a, "params", ()) != getattr(b, "params", ())
    ):
        raise MergeError(f"{a!r} and {b!r} are of different kinds")


def bucket_bounds(row: Any, params: tuple[int, ...]) -> Sequence[tuple[int | None, int | None]]:
    """(lowest, highest value) of each bucket, in the order of their counts; None: unbounded."""
    key = row.name, params
    if key not in _BOUNDS:
        _BOUNDS[key] = row.bucket_bounds(params)
    return _BOUNDS[key]


def display_edges(row: Any, params: tuple[int, ...]) -> Sequence[tuple[int | None, int | None]]:
    """The same of the rows that a picture has: Histogram.rows."""
    return row.display_edges(params) or bucket_bounds(row, params)


def unpack_value(definition: AggDef, value: bytes) -> Value:
    """The value object of what a map holds."""
    return definition.row.make_value(definition.params, unpack_words(value))  # type: ignore[no-any-return]


def pack_value(value: Value) -> bytes:
    """What a map holds of a value object."""
    return pack_words(value.words)
