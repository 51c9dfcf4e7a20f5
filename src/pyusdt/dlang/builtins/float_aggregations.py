"""Aggregating functions of floating-point values: what the map's value is, and how it is updated.

As in aggregation.py every value starts with the number of data points.  After it:  sum, avg: the bits of a double, the
sum.  min, max: s64, an integer that sorts as the double does (floats.ordered), so that these two run on any engine.
stddev: the bits of two doubles, the mean and the sum of the squared distances from it, kept by Welford's method.
"""

from ...bpf.insn import R0, R1, R2, R3, alu_imm, load, mov, mov_imm, store
from ...data import program as p
from ..floats import ordered
from .aggregation import AggregationRow
from .aggregations import AGGREGATIONS

SUFFIX = ".double"  # of the rows' names, by which the consumer finds how to read the value


class FloatRow(AggregationRow):
    """operand: what is made of the value, a typed node, before it is aggregated."""

    __slots__ = ("operand",)
    is_float = True

    def __init__(self, name, words, emit, operand=lambda node: node):
        known = AGGREGATIONS[name]
        super().__init__(name + SUFFIX, known.prototype, 1, 0, lambda params: words, known.doc, emit)
        self.operand = operand


def _sum(g, params, value, amount):
    found = g.push()
    g.emit(load(8, R1, R0, 0), alu_imm("add", R1, 1), store(8, R0, 0, R1), load(8, R2, R0, 8))
    g.get(value, R3)
    g.emit(mov_imm(R1, p.FLOAT_ADD))
    g.helper("float_compute")
    g.pop(found, R1)
    g.emit(store(8, R1, 8, R0))


def _deviate(g, params, value, amount):
    g.emit(mov(R1, R0), mov_imm(R2, 24))
    g.get(value, R3)
    g.helper("float_deviate")


ROWS = {
    "sum": FloatRow("sum", 2, _sum),
    "avg": FloatRow("avg", 2, _sum),
    "stddev": FloatRow("stddev", 3, _deviate),
    "min": FloatRow("min", 2, AGGREGATIONS["min"].emit, ordered),
    "max": FloatRow("max", 2, AGGREGATIONS["max"].emit, ordered),
}
