"""percentiles(), an extension of D: a distribution fine enough for any percentile to 1 %, on
every pyusdt engine.

- A value: u64 count of data points, s64 the greatest of them, s64 bucket[] (results/buckets.py,
  percentile_bounds()). The buckets never vary, so merging adds them and is exact.
- The kernel limits the value of one CPU, so a map keeps it in two halves: the buckets below 0 by
  their magnitudes, and the others. Values without negatives have no first half.
"""

from __future__ import annotations

from itertools import compress

from pydtrace.aggregation import buckets
from pydtrace.aggregation.int64 import add_words, divide_like_dtrace, unpack_words
from pydtrace.bpf.insn import R0, R1, R2, R3, mov, mov_imm

from .distribution_aggregations import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...results.aggregation_values import FloatNumber, Histogram, Number
    from ..code.emitter import Emitter, Temp
    from .aggregation_base import Params, Words
    from .distribution_aggregations import Bounds


class Percentiles(Distribution):
    name, prototype, doc = (
        "percentiles",
        "void(@, ...)",
        "p50, p90, p99, p99.9 with 1 % error; exact maximum",
    )
    is_extension, is_split, header_words, metric_type = True, True, 2, "summary"
    shown_percentiles = (("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9), ("max", 100))

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        g.emit(mov(R1, R0))
        g.load_temp(value, R2)
        g.emit(mov_imm(R3, 1)) if amount is None else g.load_temp(amount, R3)
        g.call_routine("percentiles_add")

    def count_stored_words(self, params: Params) -> int:
        return self.header_words + len(buckets.percentile_magnitudes())

    def join_halves(self, below: Words, above: Words) -> list[int]:
        filled = [words for words in (below, above) if any(words)]
        return [
            below[0] + above[0],
            max((words[1] for words in filled), default=0),
            *below[:2:-1],
            *above[2:-1],
        ]

    def count_buckets(self, params: Params) -> int:
        return len(buckets.percentile_bounds())

    def bucket_bounds(self, params: Params) -> Sequence[Bounds]:
        return buckets.percentile_bounds()

    def display_edges(self, params: Params) -> Sequence[Bounds] | None:
        return buckets.percentile_display_rows()[0]

    def display_counts(self, counts: Sequence[int]) -> Sequence[int]:
        edges, of_bucket = buckets.percentile_display_rows()
        found = [0] * len(edges)
        for row, count in zip(compress(of_bucket, counts), filter(None, counts)):
            found[row] += count
        return found

    # --- words, of CPUs and of sessions -------------------------------------------------------------
    def merge_words(self, *several: Words) -> list[int]:
        words = add_words(*several)
        words[1] = max(each[1] for each in several if any(each))
        return words

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        """The greatest of what came is not known exactly where it is not that of all: it is the end of its bucket, to 1 %."""
        came = super().subtract_words(old, new)
        if came is None or new[1] != old[1] or not old[0]:
            return came and [came[0], new[1], *came[2:]]
        used = [high for (_, high), count in zip(buckets.percentile_bounds(), came[2:]) if count]
        return [came[0], min(new[1], max(used, default=new[1])), *came[2:]]

    def mergeable_delta(self, old: Words, new: Words) -> list[int] | None:
        words = super().mergeable_delta(old, new)
        return words and [words[0], new[1], *words[2:]]

    # --- in value objects and in text ---------------------------------------------------------------
    def make_value(self, params: Params, words: Words) -> Number | FloatNumber | Histogram:
        from pydtrace.results.aggregation_values import Percentiles as Value

        return Value(self, params, words)

    def decode(self, value: bytes, params: Params) -> Any:
        return self.make_value(params, unpack_words(value))

    def sort_key(self, decoded: Any, params: Params) -> Any:
        """By the 99th percentile, then by the others from the highest down."""
        return [decoded.percentile(percent) or 0 for percent in (99, 100, 99.9, 90, 50)]

    def format_value(
        self,
        decoded: Any,
        normal: int,
        params: Params,
        zoom: bool = False,
    ) -> bytes:
        return b"".join(
            b" %18b"
            % (
                b"%b=%b"
                % (
                    name.encode(),
                    b"%d" % divide_like_dtrace(value, normal) if value is not None else b"-",
                )
            )
            for name, value in decoded.percentiles().items()
        )


ROWS = [Percentiles()]
