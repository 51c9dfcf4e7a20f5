"""Aggregating functions: what the map's value is, how it is updated and printed.

Every value starts with a u64 number of data points; 0 means that nothing was aggregated
(also what clear() leaves).  All fields are u64 or s64, little- or big-endian as the host.

Code: `prepare(g)`, where a row has it, changes the value in r0 before the key is built;
`emit(g, value)` updates the map's value, whose address is in r0, with the Temp `value`
(None where the function takes none).
"""

from ...bpf.code import Label
from ...bpf.insn import R0, R1, R2, alu, alu_imm, jump, jump_imm, load, mov, store


class AggregationRow:
    """name; params: number of values it takes in @ = f(value, …); constants: number of further
    constant parameters; words: number of 8-byte words of its map value; doc: one line;
    emit, prepare: see above.

    Values, after word 0 (n):  count: none.  sum: s64 sum.  min, max: s64 value.
    avg: s64 sum.  quantize: u64 bucket[127], bucket 63 is the value 0, 63 + k the
    values 2^(k-1) … 2^k - 1, 63 - k their negatives.
    """

    __slots__ = ("name", "params", "constants", "words", "doc", "emit", "prepare")

    def __init__(self, name, params, constants, words, doc, emit, prepare=None):
        self.name, self.params, self.constants = name, params, constants
        self.words, self.doc = words, doc
        self.emit, self.prepare = emit, prepare


def _count(g, value=None):
    """One data point more; r1 = their number before."""
    g.emit(load(8, R1, R0, 0), mov(R2, R1), alu_imm("add", R2, 1), store(8, R0, 0, R2))


def _sum(g, value):
    _count(g)
    g.emit(load(8, R1, R0, 8), alu("add", R1, g.use(value, R2)), store(8, R0, 8, R1))


def _extreme(keeps):
    """min or max: `keeps` is the jump that is taken where the old value stays."""
    def emit(g, value):
        first, done = Label(), Label()
        _count(g)
        new = g.use(value, R2)
        g.emit(jump_imm("jeq", R1, 0, first), load(8, R1, R0, 8), jump(keeps, R1, new, done))
        g.place(first)
        g.emit(store(8, R0, 8, new))
        g.place(done)
    return emit


def _to_bucket(g):
    """r0 = the offset of the value's bucket from bucket 0."""
    g.emit(mov(R1, R0))
    g.routine("quantize_bucket")
    g.emit(alu_imm("lsh", R0, 3))


def _quantize(g, value):
    """The mask changes nothing: it shows the verifier that the bucket lies in the value."""
    _count(g)
    g.get(value, R1)
    g.emit(alu_imm("add", R1, 8), alu_imm("and", R1, 8 * 127), alu("add", R0, R1),
           load(8, R1, R0, 0), alu_imm("add", R1, 1), store(8, R0, 0, R1))


_rows = [
    AggregationRow("count", 0, 0, 1, "number of times it was called", _count),
    AggregationRow("sum", 1, 0, 2, "total of the values", _sum),
    AggregationRow("min", 1, 0, 2, "smallest of the values", _extreme("jsle")),
    AggregationRow("max", 1, 0, 2, "largest of the values", _extreme("jsge")),
    AggregationRow("avg", 1, 0, 2, "arithmetic mean of the values", _sum),
    AggregationRow("quantize", 1, 0, 128, "power-of-two frequency distribution of the values", _quantize, _to_bucket),
]

AGGREGATIONS = {row.name: row for row in _rows}
