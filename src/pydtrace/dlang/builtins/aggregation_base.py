"""An aggregating function: the words of its value, and how they are updated, merged, read and
printed.

A subclass of Aggregating has everything about one function; aggregations.py lists the instances.
Other folders use the attributes of the row (program.AggDef.row) and never compare names. A class
has no state, so a value, which refers to its row, can be pickled.

Every value starts with a u64 count of data points; 0 means that nothing was aggregated, as after
clear(). All words are u64 or s64 in the host's byte order. After word 0:

- count: nothing
- sum: s64 sum
- min, max: s64 value
- avg: s64 sum
- stddev: s64 sum, u128 sum of squares
- quantize: s64 bucket[127]; bucket 63 is the value 0, 63 + k the values 2^(k-1) … 2^k - 1, 63 -
  k their negatives
- lquantize: values below the base, the levels, values above
- llquantize: see results/buckets.py
"""

from __future__ import annotations

from pydtrace.aggregation.int64 import (
    add_words,
    divide_like_dtrace,
    divide_toward_zero,
    unpack_words,
)
from pydtrace.bpf.insn import R0, R1, R2, R3, R6, alu, alu_imm, load, mov, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...results.aggregation_values import FloatNumber, Histogram, Number
    from ..ast import Call
    from ..code.emitter import Emitter, Temp
    from ..types.context import TypingContext

    Params = tuple[
        Any, ...
    ]  # the constants of @ = f(value, …): integers, as many as constant_count
    Words = Sequence[int]  # of a value


class Aggregating:
    """name: the row's own; prototype: as dtrace prints it (prototypes.py); doc: one line."""

    name = prototype = doc = ""
    is_float = is_operand = is_key = takes_text = takes_floats = False
    usage: str | None = None
    is_extension = False  # D does not have it: it needs -x pyusdt

    # --- in the types pass -----------------------------------------------------------------------
    value_count = 1  # how many values it takes in @ = f(value, …)
    constant_count = 0  # how many constant parameters follow
    takes_increment = False  # a last value may follow, by which the bucket grows
    message_suffix = "( )"  # how dtrace says that the constants are others than before:
    constant_errors: tuple[tuple[str, str], ...] = ()  # (tag, name)

    def check_arguments(self, call: Call) -> None:
        """The constants: types/aggregation_parameters.py."""

    def set_type(self, c: TypingContext, call: Call) -> None:
        """A call has no value."""

    def read_constants(self, call: Call, args: list[Any]) -> tuple[Any, ...]:
        """The parameters that the constants among its arguments give."""
        return ()

    # --- in code generation ------------------------------------------------------------------------
    size = 2
    has_bulk_code = (
        False  # emit() also makes the code for many firings at once (Emitter.count_offset)
    )
    prepare: Callable[..., None] | None = (
        None  # prepare(g, params) changes the value in r0 before the key is built
    )

    extra_words = 0  # of these that dtrace does without

    def count_words(self, params: Params) -> int:
        """How many 64-bit words a value has."""
        return self.size

    is_split = (
        False  # a map has a value in two elements, of what is below 0 and of the rest, each of
    )

    def count_stored_words(self, params: Params) -> int:
        """so many words."""
        return self.count_words(params)

    def join_halves(self, below: Words, above: Words) -> list[int]:
        """The words of a value that has these halves."""
        raise NotImplementedError

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        """Update the map's value, whose address is in r0, with the Temps `value` (None where the function takes none) and
        `amount` (None: by one)."""

    # --- words, of CPUs and of sessions -------------------------------------------------------------
    def merge_words(self, *several: Words) -> list[int]:
        """The words of all that went into several values, each of which has something."""
        return add_words(*several)

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        """The words of what came between two looks at a value; None: it is not known, or the value was cleared."""
        return None if new[0] < old[0] else add_words(new, [-word for word in old])

    def mergeable_delta(self, old: Words, new: Words) -> list[int] | None:
        """What merge_words() makes the words `new` of, with `old`, an earlier look at a value that nobody clears; None: nothing."""
        return None if old == new else add_words(new, [-word for word in old])

    # --- in value objects -----------------------------------------------------------------------------
    is_distribution = False  # its value is a values.Histogram
    header_words = 1  # words before the counts of its buckets
    shown_percentiles: tuple[
        tuple[str, float], ...
    ] = ()  # of a distribution: (what it is called, the percentile) of those that live views and texts show
    is_total = False  # its value grows by what comes; of the others the number of values does
    can_decrease = False  # the value may become smaller without being cleared
    metric_type = "gauge"  # what Prometheus calls its kind

    @property
    def function_name(self) -> str:
        """The function's name in D."""
        return self.name.partition(".")[0]

    def make_value(self, params: Params, words: Words) -> Number | FloatNumber | Histogram:
        """The value object."""
        from pydtrace.results.aggregation_values import Number

        return Number(self, words)

    def compute_number(self, words: Words) -> Any:
        """What a values.Number is as an int."""
        return words[1]

    def compute_mean(self, words: Words) -> float | None:
        """The mean, not cut to an integer; None for a function without one."""
        return None

    def is_from_dtrace(self, words: Words) -> bool:
        """Only the value is known: these are words that words_from_dtrace() made."""
        return words[0] < 0

    def exact_number(self, value: Any) -> float:
        """A number, as good as there is one."""
        return int(value)

    # --- in text -----------------------------------------------------------------------------------------
    has_agghist = False  # the option agghist has a table of it
    make_packing: Callable[..., Any] | None = (
        None  # make_packing(params, [counts]) -> histogram_text.Packing, for the table that the option aggpack has of it
    )

    def decode(self, value: bytes, params: Params) -> Any:
        """What the next four take, of a map's element."""
        return self.compute_number(unpack_words(value))

    def absent_value(self, params: Params) -> Any:
        """What stands for a key that the aggregation does not have: as in dtrace, not what an empty one shows."""
        return self.decode(bytes(8 * self.count_words(params)), params)

    def sort_key(self, decoded: Any, params: Params) -> Any:
        """What it is sorted by."""
        return decoded

    def normalize_number(self, decoded: Any, normal: int) -> int:
        """The number in dtrace's table.  normal: what normalize() said, else 1."""
        return divide_like_dtrace(decoded, normal)

    def format_value(
        self,
        decoded: Any,
        normal: int,
        params: Params,
        zoom: bool = False,
    ) -> bytes:
        """The bytes in dtrace's table; zoom: the option aggzoom."""
        return b" %16d" % self.normalize_number(decoded, normal)

    def printf_number(self, decoded: Any, normal: int, is_signed: bool) -> int:
        """The number that %@ prints; is_signed: of the conversion."""
        return (
            divide_toward_zero(decoded, normal)
            if is_signed
            else divide_like_dtrace(decoded, normal)
        )

    # --- in the dtrace engine ------------------------------------------------------------------------------
    def words_from_dtrace(self, value: int) -> list[int]:
        """The words of a value that dtrace printed.  How many values went in it does not say: they count as one."""
        return [1, value]


def emit_count(g: Emitter) -> None:
    """A data point more for each firing that the code is for; r1 = their number before."""
    g.emit(load(8, R1, R0, 0), mov(R2, R1))
    if g.count_offset is None:
        g.emit(alu_imm("add", R2, 1))
    else:
        g.emit(load(8, R3, R6, g.count_offset), alu("add", R2, R3))
    g.emit(store(8, R0, 0, R2))


def weigh_value(g: Emitter, value: Temp) -> int:
    """A register with what the Temp `value` is in all of these firings together."""
    if g.count_offset is None:
        return g.in_register(value, R2)
    g.load_temp(value, R2)
    g.emit(load(8, R3, R6, g.count_offset), alu("mul", R2, R3))
    return R2
