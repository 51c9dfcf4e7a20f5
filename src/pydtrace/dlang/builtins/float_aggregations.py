# mypy: ignore-errors
"""Aggregating functions of floating-point values: what the map's value is, how it is updated, merged, read and shown.

As in aggregation_base.py every value starts with the number of data points.  After it:  sum, avg: the bits of a double, the
sum.  min, max: s64, an integer that sorts as the double does (floats.ordered), so that these two run on any engine.
stddev: the bits of two doubles, the mean and the sum of the squared distances from it, kept by Welford's method.
"""

from functools import reduce
from math import inf, isnan, sqrt

from pydtrace.aggregation.int64 import unpack_words
from pydtrace.bpf.insn import R0, R1, R2, R3, alu_imm, load, mov, mov_imm, store
from pydtrace.dlang import ast
from pydtrace.dlang.float_nodes import op, ordered
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


class Real(Aggregating):
    """The values are doubles."""

    prototype = "void(@)"
    is_float = True

    @staticmethod
    def operand(node):
        """What is made of the value, a typed node, before it is aggregated."""
        return node

    def value(self, params, words):
        from pydtrace.results.aggregation_values import FloatNumber

        return FloatNumber(self, words)

    def is_told(self, words):
        """dtrace has no doubles."""
        return False

    def exact(self, value):
        return float(value)

    def decode(self, value, params):
        return self.value(params, unpack_words(value))

    def zero(self, params):
        return 0.0

    def rank(self, decoded, params):
        return not isnan(decoded), float(decoded)  # what is no number comes first

    def show(self, decoded, normal, params, zoom=False):
        return format_float(decoded / normal)


class Sum(Real):
    name, doc = "sum.double", number_aggregations.Sum.doc
    is_total = falls = True

    def emit(self, g, params, value, amount):
        found = g.push()
        g.emit(load(8, R1, R0, 0), alu_imm("add", R1, 1), store(8, R0, 0, R1), load(8, R2, R0, 8))
        g.get(value, R3)
        g.emit(mov_imm(R1, p.FLOAT_ADD))
        g.helper("float_compute")
        g.pop(found, R1)
        g.emit(store(8, R1, 8, R0))

    def number(self, words):
        return float_from_bits(words[1])

    def merged(self, *several):
        return reduce(_added, several)

    def since(self, old, new):
        return (
            None
            if new[0] < old[0]
            else [new[0] - old[0], float_to_bits(float_from_bits(new[1]) - float_from_bits(old[1]))]
        )


class Avg(Sum):
    name, doc, metric = "avg.double", number_aggregations.Avg.doc, number_aggregations.Avg.metric
    is_total = falls = False

    def number(self, words):
        return float_from_bits(words[1]) / words[0] if words[0] else 0.0

    mean = number

    def since(self, old, new):
        return None if new[0] == old[0] else super().since(old, new)


class Stddev(Real):
    name, doc = "stddev.double", number_aggregations.Stddev.doc
    size = 3

    def emit(self, g, params, value, amount):
        g.emit(mov(R1, R0), mov_imm(R2, 24))
        g.get(value, R3)
        g.helper("float_deviate")

    def number(self, words):
        return sqrt(_not_below_0(float_from_bits(words[2]) / words[0])) if words[0] else 0.0

    def mean(self, words):
        return float_from_bits(words[1])

    def merged(self, *several):
        return reduce(_together, several)

    def since(self, old, new):
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
        return [n, float_to_bits(mean), float_to_bits(_not_below_0(squares))]


def _not_below_0(number):
    """What is not a number stays that: max(0.0, nan) is 0.0."""
    return 0.0 if number < 0 else number


def _added(a, b):
    return [a[0] + b[0], float_to_bits(float_from_bits(a[1]) + float_from_bits(b[1]))]


def _together(a, b):
    """The words of both deviations, by Chan's method."""
    n, distance = a[0] + b[0], float_from_bits(b[1]) - float_from_bits(a[1])
    mean = float_from_bits(a[1]) + distance * b[0] / n
    squares = float_from_bits(a[2]) + float_from_bits(b[2]) + distance * distance * a[0] * b[0] / n
    return [n, float_to_bits(mean), float_to_bits(squares)]


def _ordered_nan_last(node):
    """As ordered(), but what is not a number is the greatest: the order of the negative number, upside down."""
    upside_down = ast.Unary(node.loc, "~", ordered(op(node.loc, "-", node)))
    upside_down.type = t.INT64
    return upside_down


class Extreme(Real):
    """Words, code and merging are those of integers."""

    unbounded = 0.0  # after clear()
    operand = staticmethod(ordered)
    emit, merged, since = (
        number_aggregations.Extreme.emit,
        number_aggregations.Extreme.merged,
        number_aggregations.Extreme.since,
    )
    came = number_aggregations.Extreme.came

    def number(self, words):
        return float_from_order(words[1]) if words[0] else self.unbounded


class Min(Extreme):
    name, doc = "min.double", number_aggregations.Min.doc
    keeps, choose, unbounded = number_aggregations.Min.keeps, staticmethod(min), inf


class Max(Extreme):
    """What is not a number is the greatest here, and the smallest for min(): both are nan where it came, as sum() and avg() are."""

    name, doc = "max.double", number_aggregations.Max.doc
    operand = staticmethod(_ordered_nan_last)
    keeps, choose, unbounded = number_aggregations.Max.keeps, staticmethod(max), -inf


ROWS = {row.called: row for row in (Sum(), Avg(), Stddev(), Min(), Max())}
