"""count(), sum(), min(), max(), avg() and stddev(): aggregating functions whose value is a number."""

from ...bpf.code import Label
from ...bpf.insn import R0, R1, R2, alu, jump, jump_imm, load, mov, store
from .aggregation import AggregationRow, count


def _sum(g, params, value, amount):
    count(g)
    g.emit(load(8, R1, R0, 8), alu("add", R1, g.use(value, R2)), store(8, R0, 8, R1))


def _extreme(keeps):
    """min or max: `keeps` is the jump that is taken where the old value stays."""
    def emit(g, params, value, amount):
        first, done = Label(), Label()
        count(g)
        new = g.use(value, R2)
        g.emit(jump_imm("jeq", R1, 0, first), load(8, R1, R0, 8), jump(keeps, R1, new, done))
        g.place(first)
        g.emit(store(8, R0, 8, new))
        g.place(done)
    return emit


def _stddev(g, params, value, amount):
    g.emit(mov(R1, R0))
    g.get(value, R2)
    g.routine("stddev_add")


def _fixed(words):
    return lambda params: words


ROWS = [
    AggregationRow("count", "void()", 0, 0, _fixed(1), "number of times it was called", count),
    AggregationRow("sum", "void(@)", 1, 0, _fixed(2), "total of the values", _sum),
    AggregationRow("min", "void(@)", 1, 0, _fixed(2), "smallest of the values", _extreme("jsle")),
    AggregationRow("max", "void(@)", 1, 0, _fixed(2), "largest of the values", _extreme("jsge")),
    AggregationRow("avg", "void(@)", 1, 0, _fixed(2), "arithmetic mean of the values", _sum),
    AggregationRow("stddev", "void(@)", 1, 0, _fixed(4), "standard deviation of the values", _stddev),
]
