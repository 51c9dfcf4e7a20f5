# mypy: ignore-errors
"""An aggregating function: what the map's value is, how it is updated, merged, read and shown.

Everything about one is in its class, a subclass of Aggregating in a file of this folder; aggregations.py lists them.  What a
class does not say is as it is here.  Other rooms ask the row (program.AggDef.row) and compare no names:

- the types pass (types/): prototype, params, constants, increments, read, spelled, differences;
- code generation (code/): stored, halved, prepare, emit, weighs;
- the kernel engine (engine/kernel/kernel_maps.py): merged, of what the CPUs have;
- what reads maps (aggregation/split_values.py): halved, whole, stored;
- the value objects (results/aggregation_values.py): called, value, number, mean, is_told, bounds;
- merging (aggregation/merge_values.py): merged, is_told, head;  what a host sends of it (driver/aggregation_deltas.py): came;
- text (dtrace_text/aggregation_text.py, dtrace_text/aggpack_text.py, driver/formatted_text.py): decode, rank, zero, show, printed, has_bars, packing;
- Erlang's terms (sinks/erlang_terms_sink.py): exact, since;  the live view (sinks/live/live_model.py): is_total, falls;
- metrics (sinks/metrics/prometheus_model.py, sinks/metrics/metric_config.py): metric, is_told, falls;
- the dtrace engine (engine/dtrace/framing.py): is_distribution, told, labels.

A class has no state, so that a value, which names its row, can be pickled.

Every value starts with a u64 number of data points; 0 means that nothing was aggregated (also what clear() leaves).  All
words are u64 or s64, little- or big-endian as the host.  Values, after word 0 (n):  count: none.  sum: s64 sum.  min, max: s64
value.  avg: s64 sum.  stddev: s64 sum, u128 sum of squares.  quantize: s64 bucket[127], bucket 63 is the value 0, 63 + k the
values 2^(k-1) … 2^k - 1, 63 - k their negatives.  lquantize: what is below the base, the levels, what is above.  llquantize:
see aggregation/buckets.py.
"""

from pydtrace.aggregation.int64 import (
    add_words,
    divide_like_dtrace,
    divide_toward_zero,
    unpack_words,
)
from pydtrace.bpf.insn import R0, R1, R2, R3, R6, alu, alu_imm, load, mov, store


class Aggregating:
    """name: the row's own; prototype: as dtrace prints it (prototypes.py); doc: one line."""

    name = prototype = doc = ""
    is_float = is_operand = is_key = takes_text = takes_floats = False
    usage = None
    is_own = False  # D does not have it: it needs -x pyusdt

    # --- in the types pass -----------------------------------------------------------------------
    params = 1  # how many values it takes in @ = f(value, …)
    constants = 0  # how many constant parameters follow
    increments = False  # a last value may follow, by which the bucket grows
    spelled = "( )"  # how dtrace says that the constants are others than before:
    differences = ()  # [(tag, name)]

    def accept(self, call):
        """The constants: types/aggregation_parameters.py."""

    def typed(self, c, call):
        """A call has no value."""

    def read(self, call, args):
        """The parameters that the constants among its arguments give."""
        return ()

    # --- in code generation ------------------------------------------------------------------------
    size = 2
    weighs = False  # emit() also makes the code for many firings at once (Emitter.many)
    prepare = None  # prepare(g, params) changes the value in r0 before the key is built

    own_words = 0  # of these that dtrace does without

    def words(self, params):
        """How many 64-bit words a value has."""
        return self.size

    halved = False  # a map has a value in two elements, of what is below 0 and of the rest, each of

    def stored(self, params):
        """so many words."""
        return self.words(params)

    def whole(self, below, above):
        """The words of a value that has these halves."""
        raise NotImplementedError

    def emit(self, g, params, value, amount):
        """Update the map's value, whose address is in r0, with the Temps `value` (None where the function takes none) and
        `amount` (None: by one)."""

    # --- words, of CPUs and of sessions -------------------------------------------------------------
    def merged(self, *several):
        """The words of all that went into several values, each of which has something."""
        return add_words(*several)

    def since(self, old, new):
        """The words of what came between two looks at a value; None: it is not known, or the value was cleared."""
        return None if new[0] < old[0] else add_words(new, [-word for word in old])

    def came(self, old, new):
        """What merged() makes the words `new` of, with `old`, an earlier look at a value that nobody clears; None: nothing."""
        return None if old == new else add_words(new, [-word for word in old])

    # --- in value objects -----------------------------------------------------------------------------
    is_distribution = False  # its value is a values.Histogram
    head = 1  # words before the counts of its buckets
    percents = ()  # of a distribution: (what it is called, the percentile) of those that live views and texts show
    is_total = False  # its value grows by what comes; of the others the number of values does
    falls = False  # the value may become smaller without being cleared
    metric = "gauge"  # what Prometheus calls its kind

    @property
    def called(self):
        """The function's name in D."""
        return self.name.partition(".")[0]

    def value(self, params, words):
        """The value object."""
        from pydtrace.results.aggregation_values import Number

        return Number(self, words)

    def number(self, words):
        """What a values.Number is as an int."""
        return words[1]

    def mean(self, words):
        """The mean, not cut to an integer; None for a function without one."""
        return

    def is_told(self, words):
        """Only the value is known: these are words that told() made."""
        return words[0] < 0

    def exact(self, value):
        """A number, as good as there is one."""
        return int(value)

    # --- in text -----------------------------------------------------------------------------------------
    has_bars = False  # the option agghist has a table of it
    packing = None  # packing(params, [counts]) -> packed.Packing, for the table that the option aggpack has of it

    def decode(self, value, params):
        """What the next four take, of a map's element."""
        return self.number(unpack_words(value))

    def zero(self, params):
        """What stands for a key that the aggregation does not have: as in dtrace, not what an empty one shows."""
        return self.decode(bytes(8 * self.words(params)), params)

    def rank(self, decoded, params):
        """What it is sorted by."""
        return decoded

    def divided(self, decoded, normal):
        """The number in dtrace's table.  normal: what normalize() said, else 1."""
        return divide_like_dtrace(decoded, normal)

    def show(self, decoded, normal, params, zoom=False):
        """The bytes in dtrace's table; zoom: the option aggzoom."""
        return b" %16d" % self.divided(decoded, normal)

    def printed(self, decoded, normal, is_signed):
        """The number that %@ prints; is_signed: of the conversion."""
        return (
            divide_toward_zero(decoded, normal)
            if is_signed
            else divide_like_dtrace(decoded, normal)
        )

    # --- in the dtrace engine ------------------------------------------------------------------------------
    def told(self, value):
        """The words of a value that dtrace printed.  How many values went in it does not say: they count as one."""
        return [1, value]


def count(g):
    """A data point more for each firing that the code is for; r1 = their number before."""
    g.emit(load(8, R1, R0, 0), mov(R2, R1))
    if g.many is None:
        g.emit(alu_imm("add", R2, 1))
    else:
        g.emit(load(8, R3, R6, g.many), alu("add", R2, R3))
    g.emit(store(8, R0, 0, R2))


def total(g, value):
    """A register with what the Temp `value` is in all of these firings together."""
    if g.many is None:
        return g.use(value, R2)
    g.get(value, R2)
    g.emit(load(8, R3, R6, g.many), alu("mul", R2, R3))
    return R2
