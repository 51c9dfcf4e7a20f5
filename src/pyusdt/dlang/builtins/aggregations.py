"""Aggregating functions: what the map's value is, how it is updated and printed.

Every value starts with a u64 number of data points; 0 means that nothing was aggregated
(also what clear() leaves).  All fields are u64 or s64, little- or big-endian as the host.

Code: `prepare(g, params)`, where a row has it, changes the value in r0 before the key is built;
`emit(g, params, value, amount)` updates the map's value, whose address is in r0, with the Temps
`value` (None where the function takes none) and `amount` (None: by one).
"""

from ...bpf.code import Label
from ...bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    alu,
    alu_imm,
    const,
    ja,
    jump,
    jump_imm,
    load,
    mov,
    mov_imm,
    neg,
    store,
)
from ...data import buckets


class AggregationRow:
    """name; params: number of values it takes in @ = f(value, …); constants: how many constant
    parameters follow; increments: True where a last value may follow, by which the bucket grows;
    words(params): number of 8-byte words of its map value; doc: one line; emit, prepare: see above.

    Values, after word 0 (n):  count: none.  sum: s64 sum.  min, max: s64 value.
    avg: s64 sum.  stddev: s64 sum, u128 sum of squares.  quantize: s64 bucket[127], bucket 63 is the
    value 0, 63 + k the values 2^(k-1) … 2^k - 1, 63 - k their negatives.  lquantize: what is below the
    base, the levels, what is above.  llquantize: see buckets.py.
    """

    __slots__ = ("name", "params", "constants", "increments", "words", "doc", "emit", "prepare")
    is_float = False  # float_aggregations.FloatRow

    def __init__(self, name, params, constants, words, doc, emit, prepare=None, increments=False):
        self.name, self.params, self.constants, self.increments = name, params, constants, increments
        self.words, self.doc = words, doc
        self.emit, self.prepare = emit, prepare


def _count(g, params=(), value=None, amount=None):
    """One data point more; r1 = their number before."""
    g.emit(load(8, R1, R0, 0), mov(R2, R1), alu_imm("add", R2, 1), store(8, R0, 0, R2))


def _sum(g, params, value, amount):
    _count(g)
    g.emit(load(8, R1, R0, 8), alu("add", R1, g.use(value, R2)), store(8, R0, 8, R1))


def _extreme(keeps):
    """min or max: `keeps` is the jump that is taken where the old value stays."""
    def emit(g, params, value, amount):
        first, done = Label(), Label()
        _count(g)
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


# --- distributions ------------------------------------------------------------------
def _grow_bucket(count):
    """emit() of a distribution of count(params) buckets: `value` is the offset of one from the first.
    The comparison never holds: it shows the verifier that the bucket lies in the value."""
    def emit(g, params, value, amount):
        outside = Label()
        _count(g)
        g.get(value, R1)
        g.emit(jump_imm("jgt", R1, 8 * (count(params) - 1), outside), alu("add", R0, R1), load(8, R1, R0, 8))
        g.emit(alu_imm("add", R1, 1) if amount is None else alu("add", R1, g.use(amount, R2)), store(8, R0, 8, R1))
        g.place(outside)
    return emit


def _quantize_bucket(g, params):
    """r0 = the offset of the value's bucket from bucket 0; so do the others."""
    g.emit(mov(R1, R0))
    g.routine("quantize_bucket")
    g.emit(alu_imm("lsh", R0, 3))


def _quantize_count(params):
    return buckets.QUANTIZE_BUCKETS


def _linear_bucket(g, params):
    base, limit, step = params
    levels = buckets.linear_levels(base, limit, step)
    below, above, end = Label(), Label(), Label()
    g.emit(jump_imm("jslt", R0, base, below), alu_imm("sub", R0, base), alu_imm("div", R0, step),
           jump_imm("jge", R0, levels, above), alu_imm("add", R0, 1), ja(end))
    g.place(below)
    g.emit(mov_imm(R0, 0), ja(end))
    g.place(above)
    g.emit(mov_imm(R0, levels + 1))
    g.place(end)
    g.emit(alu_imm("lsh", R0, 3))


def _linear_count(params):
    return buckets.linear_levels(*params) + 2


def _log_linear_bucket(g, params):
    """The bucket's distance from the middle one is found from the absolute value; r2 keeps the sign."""
    orders = buckets.log_linear_orders(*params)
    positive, found, above = Label(), Label(), Label()
    g.emit(mov(R2, R0), mov(R1, R0), jump_imm("jsge", R0, 0, positive), neg(R1))
    g.place(positive)
    g.emit(mov_imm(R0, 0), const(R3, orders[0][0]), jump("jlt", R1, R3, found))
    distance = 1
    for first, step, count in orders:
        higher = Label()
        end = (first // step + count) * step
        g.emit(const(R3, end), jump("jge", R1, R3, higher), const(R3, step), mov(R0, R1),
               alu("div", R0, R3), alu_imm("add", R0, distance - first // step), ja(found))
        g.place(higher)
        distance += count
    g.emit(mov_imm(R0, distance))
    g.place(found)
    g.emit(jump_imm("jsge", R2, 0, above), neg(R0))
    g.place(above)
    g.emit(alu_imm("add", R0, distance), alu_imm("lsh", R0, 3))


def _log_linear_count(params):
    return 2 * len(buckets.log_linear_edges(*params)) + 1


def _fixed(words):
    return lambda params: words


def _distribution(name, constants, doc, count, prepare):
    return AggregationRow(name, 1, constants, lambda params: 1 + count(params), doc, _grow_bucket(count), prepare, True)


_rows = [
    AggregationRow("count", 0, 0, _fixed(1), "number of times it was called", _count),
    AggregationRow("sum", 1, 0, _fixed(2), "total of the values", _sum),
    AggregationRow("min", 1, 0, _fixed(2), "smallest of the values", _extreme("jsle")),
    AggregationRow("max", 1, 0, _fixed(2), "largest of the values", _extreme("jsge")),
    AggregationRow("avg", 1, 0, _fixed(2), "arithmetic mean of the values", _sum),
    AggregationRow("stddev", 1, 0, _fixed(4), "standard deviation of the values", _stddev),
    _distribution("quantize", 0, "power-of-two frequency distribution of the values", _quantize_count, _quantize_bucket),
    _distribution("lquantize", 3, "linear frequency distribution of the values", _linear_count, _linear_bucket),
    _distribution("llquantize", 4, "log-linear frequency distribution of the values", _log_linear_count, _log_linear_bucket),
]

AGGREGATIONS = {row.name: row for row in _rows}
