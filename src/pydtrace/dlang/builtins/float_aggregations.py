"""Aggregating functions of floating-point values.

As in aggregation_base.py, every value starts with the count of data points. After it:

- sum, avg: the bits of a double, the sum
- min, max: s64, an integer that sorts as the double does (float_nodes.to_sortable), so these two
  run on every engine
- stddev: the bits of two doubles, the mean and the sum of squared distances from it (Welford's
  method)
"""

from __future__ import annotations

from functools import reduce
from math import inf, isnan, sqrt

from pydtrace.aggregation.int64 import unpack_words
from pydtrace.bpf.insn import R0, R1, R2, R3, alu_imm, load, mov, mov_imm, store
from pydtrace.dlang import ast
from pydtrace.dlang.float_nodes import make_float_op, to_sortable
from pydtrace.program import d_types as t
from pydtrace.program import program as p
from pydtrace.program.float_values import (
    float_from_bits,
    float_from_order,
    float_to_bits,
    format_float,
)

from . import number_aggregations
from .aggregation_base import Aggregating

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...results.aggregation_values import FloatNumber, Histogram, Number
    from ..code.emitter import Emitter, Temp
    from .aggregation_base import Params, Words


class FloatAggregating(Aggregating):
    """The values are doubles."""

    prototype = "void(@)"
    is_float = True

    @staticmethod
    def convert_operand(node: ast.Expr) -> ast.Expr:
        """What is made of the value, a typed node, before it is aggregated."""
        return node

    def make_value(self, params: Params, words: Words) -> Number | FloatNumber | Histogram:
        from pydtrace.results.aggregation_values import FloatNumber

        return FloatNumber(self, words)

    def is_from_dtrace(self, words: Words) -> bool:
        """dtrace has no doubles."""
        return False

    def exact_number(self, value: Any) -> float:
        return float(value)

    def decode(self, value: bytes, params: Params) -> Any:
        return self.make_value(params, unpack_words(value))

    def absent_value(self, params: Params) -> Any:
        return 0.0

    def sort_key(self, decoded: Any, params: Params) -> Any:
        return not isnan(decoded), float(decoded)  # what is no number comes first

    def format_value(
        self,
        decoded: Any,
        normal: int,
        params: Params,
        zoom: bool = False,
    ) -> bytes:
        return format_float(decoded / normal)


class Sum(FloatAggregating):
    name, doc = "sum.double", number_aggregations.Sum.doc
    is_total = can_decrease = True

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        found = g.push_r0()
        g.emit(load(8, R1, R0, 0), alu_imm("add", R1, 1), store(8, R0, 0, R1), load(8, R2, R0, 8))
        g.load_temp(value, R3)
        g.emit(mov_imm(R1, p.FLOAT_ADD))
        g.call_helper("float_compute")
        g.pop_temp(found, R1)
        g.emit(store(8, R1, 8, R0))

    def compute_number(self, words: Words) -> float:
        return float_from_bits(words[1])

    def merge_words(self, *several: Words) -> list[int]:
        total: Words = reduce(_add_sums, several)
        return list(total)

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        return (
            None
            if new[0] < old[0]
            else [new[0] - old[0], float_to_bits(float_from_bits(new[1]) - float_from_bits(old[1]))]
        )


class Avg(Sum):
    name, doc, metric_type = (
        "avg.double",
        number_aggregations.Avg.doc,
        number_aggregations.Avg.metric_type,
    )
    is_total = can_decrease = False

    def compute_number(self, words: Words) -> float:
        return float_from_bits(words[1]) / words[0] if words[0] else 0.0

    compute_mean = compute_number

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        return None if new[0] == old[0] else super().subtract_words(old, new)


class Stddev(FloatAggregating):
    name, doc = "stddev.double", number_aggregations.Stddev.doc
    size = 3

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        g.emit(mov(R1, R0), mov_imm(R2, 24))
        g.load_temp(value, R3)
        g.call_helper("float_deviate")

    def compute_number(self, words: Words) -> float:
        return sqrt(_clamp_to_zero(float_from_bits(words[2]) / words[0])) if words[0] else 0.0

    def compute_mean(self, words: Words) -> float | None:
        return float_from_bits(words[1])

    def merge_words(self, *several: Words) -> list[int]:
        merged: Words = reduce(_merge_deviations, several)
        return list(merged)

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        """What Chan's method would have added to `old`."""
        n = new[0] - old[0]
        if n <= 0:
            return None
        mean = (float_from_bits(new[1]) * new[0] - float_from_bits(old[1]) * old[0]) / n
        distance = mean - float_from_bits(old[1])
        squares = (
            float_from_bits(new[2])
            - float_from_bits(old[2])
            - distance * distance * old[0] * n / new[0]
        )
        return [n, float_to_bits(mean), float_to_bits(_clamp_to_zero(squares))]


def _clamp_to_zero(number: float) -> float:
    """What is not a number stays that: max(0.0, nan) is 0.0."""
    return 0.0 if number < 0 else number


def _add_sums(a: Words, b: Words) -> Words:
    return [a[0] + b[0], float_to_bits(float_from_bits(a[1]) + float_from_bits(b[1]))]


def _merge_deviations(a: Words, b: Words) -> Words:
    """The words of both deviations, by Chan's method."""
    n, distance = a[0] + b[0], float_from_bits(b[1]) - float_from_bits(a[1])
    mean = float_from_bits(a[1]) + distance * b[0] / n
    squares = float_from_bits(a[2]) + float_from_bits(b[2]) + distance * distance * a[0] * b[0] / n
    return [n, float_to_bits(mean), float_to_bits(squares)]


def _sortable_nan_last(node: ast.Expr) -> ast.Expr:
    """As to_sortable(), but what is not a number is the greatest: the order of the negative number, upside down."""
    upside_down = ast.Unary(node.loc, "~", to_sortable(make_float_op(node.loc, "-", node)))
    upside_down.type = t.INT64
    return upside_down


class Extreme(FloatAggregating):
    """Words, code and merging are those of integers."""

    cleared_number = 0.0  # after clear()
    convert_operand = staticmethod(to_sortable)
    emit, merge_words, subtract_words = (
        number_aggregations.Extreme.emit,
        number_aggregations.Extreme.merge_words,
        number_aggregations.Extreme.subtract_words,
    )
    mergeable_delta = number_aggregations.Extreme.mergeable_delta

    def compute_number(self, words: Words) -> float:
        return float_from_order(words[1]) if words[0] else self.cleared_number


class Min(Extreme):
    name, doc = "min.double", number_aggregations.Min.doc
    keep_jump, choose_word, cleared_number = (
        number_aggregations.Min.keep_jump,
        staticmethod(min),
        inf,
    )


class Max(Extreme):
    """What is not a number is the greatest here, and the smallest for min(): both are nan where it came, as sum() and avg() are."""

    name, doc = "max.double", number_aggregations.Max.doc
    convert_operand = staticmethod(_sortable_nan_last)
    keep_jump, choose_word, cleared_number = (
        number_aggregations.Max.keep_jump,
        staticmethod(max),
        -inf,
    )


ROWS = {row.function_name: row for row in (Sum(), Avg(), Stddev(), Min(), Max())}
