"""The row of an aggregating function: what the map's value is and how it is updated; aggregations.py lists them.

Every value starts with a u64 number of data points; 0 means that nothing was aggregated
(also what clear() leaves).  All fields are u64 or s64, little- or big-endian as the host.
How a value is read, ordered and shown says data/distributions.py, by the function's name.

Code: `prepare(g, params)`, where a row has it, changes the value in r0 before the key is built;
`emit(g, params, value, amount)` updates the map's value, whose address is in r0, with the Temps
`value` (None where the function takes none) and `amount` (None: by one).
"""

from ...bpf.insn import R0, R1, R2, alu_imm, load, mov, store


class AggregationRow:
    """name; prototype: as dtrace prints it (prototypes.py); params: number of values it takes in @ = f(value, …);
    constants: how many constant parameters follow; increments: True where a last value may follow, by which the bucket grows;
    words(params): number of 8-byte words of its map value; doc: one line; emit, prepare: see above; read(call, args): the
    parameters that the constants among its arguments give; spelled, differences: how dtrace says that they are others than
    before: "( )" or "()", [(tag, name)].

    Values, after word 0 (n):  count: none.  sum: s64 sum.  min, max: s64 value.
    avg: s64 sum.  stddev: s64 sum, u128 sum of squares.  quantize: s64 bucket[127], bucket 63 is the
    value 0, 63 + k the values 2^(k-1) … 2^k - 1, 63 - k their negatives.  lquantize: what is below the
    base, the levels, what is above.  llquantize: see buckets.py.
    """

    __slots__ = ("name", "params", "constants", "increments", "words", "doc", "emit", "prepare", "prototype", "read",
                 "spelled", "differences")
    is_float = is_operand = is_key = takes_text = takes_floats = False
    usage = None

    def __init__(self, name, prototype, params, constants, words, doc, emit, prepare=None, increments=False,
                 read=lambda call, args: (), spelled="( )", differences=()):
        self.name, self.prototype, self.params, self.constants, self.increments = name, prototype, params, constants, increments
        self.words, self.doc = words, doc
        self.emit, self.prepare = emit, prepare
        self.read, self.spelled, self.differences = read, spelled, differences

    def accept(self, call):
        """The constants: types/check_aggregations.py."""

    def typed(self, c, call):
        """A call has no value."""


def count(g, params=(), value=None, amount=None):
    """One data point more; r1 = their number before."""
    g.emit(load(8, R1, R0, 0), mov(R2, R1), alu_imm("add", R2, 1), store(8, R0, 0, R2))
