"""quantize(), lquantize() and llquantize(): aggregating functions whose value is a distribution.

`prepare` turns a value into the offset of its bucket. The checks of constants and their messages
are dtrace's.
"""

from __future__ import annotations

from itertools import pairwise

from pydtrace.aggregation import buckets
from pydtrace.aggregation.int64 import LOWEST, unpack_words
from pydtrace.bpf.insn import (
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
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast, constants
from pydtrace.dlang.compile_errors import refuse
from pydtrace.dtrace_text import histogram_text as d

from .aggregation_base import Aggregating
from .aggregation_base import emit_count as count_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

    from ...results.aggregation_values import FloatNumber, Histogram, Number
    from ..code.emitter import Emitter, Temp
    from .aggregation_base import Params, Words

    Bounds = tuple[
        int | None, int | None
    ]  # the lowest and the highest value of a bucket; None: unbounded


class Distribution(Aggregating):
    """A function whose value is a distribution over buckets."""

    is_distribution = takes_increment = True
    metric_type = "histogram"
    shown_percentiles: tuple[tuple[str, float], ...] = (("p50 <=", 50), ("p99 <=", 99))

    def count_buckets(self, params: Params) -> int:
        """How many buckets there are."""
        raise NotImplementedError

    def bucket_bounds(self, params: Params) -> Sequence[Bounds]:
        """Of each bucket, in the order of their counts."""
        raise NotImplementedError

    def bucket_values(self, params: Params) -> Iterable[int]:
        """What stands for a value of each bucket in the rank."""
        raise NotImplementedError

    def count_words(self, params: Params) -> int:
        return self.header_words + self.count_buckets(params)

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        """`value` is the offset of a bucket from the first.  The comparison never holds: it shows the verifier that the
        bucket lies in the value."""
        outside = Label()
        count_one(g)
        g.load_temp(value, R1)
        g.emit(
            jump_imm("jgt", R1, 8 * (self.count_buckets(params) - 1), outside),
            alu("add", R0, R1),
            load(8, R1, R0, 8 * self.header_words),
        )
        g.emit(
            alu_imm("add", R1, 1) if amount is None else alu("add", R1, g.in_register(amount, R2)),
            store(8, R0, 8 * self.header_words, R1),
        )
        g.place_label(outside)

    def display_edges(self, params: Params) -> Sequence[Bounds] | None:
        """The bounds of the rows that a picture has, where those are not its buckets."""

    def display_counts(self, counts: Sequence[int]) -> Sequence[int]:
        """The counts of these rows."""
        return counts

    def make_value(self, params: Params, words: Words) -> Number | FloatNumber | Histogram:
        from pydtrace.results.aggregation_values import Histogram

        return Histogram(self, params, words)

    def decode(self, value: bytes, params: Params) -> Any:
        return unpack_words(value)[1:]

    def sort_key(self, decoded: Any, params: Params) -> Any:
        return d.weigh_buckets(decoded, self.bucket_values(params))

    def dtrace_labels(self, bounds: Sequence[Bounds]) -> list[int | None]:
        """What dtrace calls each bucket in its table: those below zero by their upper end, the middle one 0."""
        middle = len(bounds) // 2
        return [
            0 if i == middle else low if i > middle else high
            for i, (low, high) in enumerate(bounds)
        ]


def _negate_bounds(above: Sequence[Bounds]) -> list[Bounds]:
    """The bounds of the buckets below zero."""
    return [
        (None if high is None else -high, None if low is None else -low)
        for low, high in reversed(above)
    ]


# --- constants ------------------------------------------------------------------------
_U16 = 1 << 16


class _ConstantReader:
    """Reads the constants of one call, one after the other."""

    def __init__(self, call: ast.Call) -> None:
        self.call = call

    def refuse(self, tag: str, message: str, spelled: str = "( )") -> NoReturn:
        refuse(tag, self.call.loc, f"{self.call.name}{spelled} {message}")

    def read_integer(
        self, arg: ast.Expr, tag: str, number: int, what: str = "an integer constant"
    ) -> int:
        """The value of a constant."""
        if type(arg) is not ast.IntLit:
            self.refuse(tag, f"argument #{number} must be {what}")
        return constants.to_signed(arg.value)


def _read_linear_params(call: ast.Call, args: list[ast.IntLit]) -> tuple[int, int, int]:
    read = _ConstantReader(call)
    base = read.read_integer(args[0], "D_LQUANT_BASETYPE", 1)
    limit = read.read_integer(args[1], "D_LQUANT_LIMTYPE", 2)
    for value, tag, number in ((base, "D_LQUANT_BASEVAL", 1), (limit, "D_LQUANT_LIMVAL", 2)):
        if not -(1 << 31) <= value < 1 << 31:
            read.refuse(tag, f"argument #{number} must be a 32-bit quantity")
    if base >= limit:
        read.refuse("D_LQUANT_MISMATCH", "base (argument #1) must be less than limit (argument #2)")
    step = 1
    if len(args) > 2:
        what = "a non-zero positive integer constant"
        step = read.read_integer(args[2], "D_LQUANT_STEPTYPE", 3, what)
        if step <= 0:
            read.refuse("D_LQUANT_STEPTYPE", f"argument #3 must be {what}")
        if step >= _U16:
            read.refuse("D_LQUANT_STEPVAL", "argument #3 must be a 16-bit quantity")
    levels = (limit - base) // step
    if levels == 0:
        read.refuse(
            "D_LQUANT_STEPLARGE",
            "step (argument #3) too large: must have at least one quantization level",
        )
    if levels >= _U16:
        message = (
            "step (argument #3) too small: number of quantization levels must be a 16-bit quantity"
        )
        read.refuse("D_LQUANT_STEPSMALL", message)
    return base, limit, step


def _read_log_linear_params(call: ast.Call, args: list[ast.IntLit]) -> tuple[int, int, int, int]:
    read = _ConstantReader(call)
    factor = read.read_integer(args[0], "D_LLQUANT_FACTORTYPE", 1)
    if not 2 <= factor < _U16:
        message = "argument #1 must be an unsigned 16-bit quantity greater than or equal to 2"
        read.refuse("D_LLQUANT_FACTORVAL", message)
    low = read.read_integer(args[1], "D_LLQUANT_LMAGTYPE", 2)
    if not 0 <= low < _U16:
        read.refuse("D_LLQUANT_LMAGVAL", "argument #2 must be an unsigned 16-bit quantity")
    high = read.read_integer(args[2], "D_LLQUANT_HMAGTYPE", 3)
    if not 0 <= high < _U16:
        read.refuse("D_LLQUANT_HMAGVAL", "argument #3 must be an unsigned 16-bit quantity")
    if high < low:
        read.refuse(
            "D_LLQUANT_HMAGVAL",
            "argument #3 (high magnitude) must be at least argument #2 (low magnitude)",
        )
    if factor ** min(high + 1, 65) >= 1 << 63:
        read.refuse(
            "D_LLQUANT_HMAGVAL", "argument #3 (high magnitude) will cause overflow of 64 bits"
        )
    what = "a non-zero positive integer constant"
    steps = read.read_integer(args[3], "D_LLQUANT_STEPTYPE", 4, what)
    if steps <= 0:
        read.refuse("D_LLQUANT_STEPTYPE", f"argument #4 must be {what}")
    _check_steps(read, factor, low, steps)
    return factor, low, high, steps


def _check_steps(read: _ConstantReader, factor: int, low: int, steps: int) -> None:
    """The steps must divide each order of magnitude evenly."""
    if steps >= _U16:
        read.refuse("D_LLQUANT_STEPVAL", "argument #4 must be an unsigned 16-bit quantity")
    if steps < factor:
        if factor % steps:
            message = (
                "argument #4 (steps) must evenly divide argument #1 (factor) when steps<factor"
            )
            read.refuse("D_LLQUANT_STEPVAL", message, "()")
        return
    if steps % factor:
        message = "argument #4 (steps) must be a multiple of argument #1 (factor) when steps>factor"
        read.refuse("D_LLQUANT_STEPVAL", message, "()")
    power = factor ** (low + 1)
    if low > 0 and steps > factor and power % steps:
        message = (
            "argument #4 (steps) must evenly divide pow(argument #1 (factor), lmag (argument #2) + 1) "
            "when steps>factor and lmag>0"
        )
        read.refuse("D_LLQUANT_STEPVAL", message, "()")
    if low == 0 and steps > factor and power * power % steps:
        message = "argument #4 (steps) must evenly divide the square of argument #1 (factor) when steps>factor and lmag==0"
        read.refuse("D_LLQUANT_STEPVAL", message, "()")


# --- the functions --------------------------------------------------------------------
class Quantize(Distribution):
    name, prototype, doc = (
        "quantize",
        "void(@, ...)",
        "power-of-two frequency distribution of the values",
    )

    def prepare(self, g: Emitter, params: Params) -> None:
        """r0 = the offset of the value's bucket from bucket 0; so do the others."""
        g.emit(mov(R1, R0))
        g.call_routine("quantize_bucket")
        g.emit(alu_imm("lsh", R0, 3))

    def count_buckets(self, params: Params) -> int:
        return buckets.QUANTIZE_BUCKETS

    def bucket_bounds(self, params: Params) -> Sequence[Bounds]:
        above = [(1 << k, (2 << k) - 1) for k in range(buckets.QUANTIZE_ZERO)]
        (_, lowest), *below = _negate_bounds(above)
        return [(LOWEST, lowest), *below, (0, 0), *above]  # there is one more number below 0

    def bucket_values(self, params: Params) -> Iterable[int]:
        return map(buckets.quantize_value, range(buckets.QUANTIZE_BUCKETS))

    def format_value(self, decoded: Any, normal: int, params: Params, zoom: bool = False) -> bytes:
        zero = buckets.QUANTIZE_ZERO
        first, last = d.find_printed_range(decoded, (zero - 1, zero + 1))
        labels = [b"%d" % buckets.quantize_value(bucket) for bucket in range(first, last + 1)]
        return d.format_table(decoded, labels, first, last, normal, zoom)

    def make_packing(self, params: Params, several: Sequence[Sequence[int]]) -> d.Packing:
        """From one bucket before those that any has filled to one after them."""
        zero = buckets.QUANTIZE_ZERO
        filled = [bucket for counts in several for bucket, count in enumerate(counts) if count] or [
            zero
        ]
        first, last = min(filled), min(max(filled) + 1, buckets.QUANTIZE_BUCKETS - 1)
        first -= first not in (0, zero)
        low, high = (b"%d" % buckets.quantize_value(bucket) for bucket in (first, last))
        left = max(4, len(low))
        return d.Packing(first, last, left, max(4, len(high)), b" %*b" % (left, low), high)


class Linear(Distribution):
    name, prototype, doc = (
        "lquantize",
        "void(@, int32_t, int32_t, ...)",
        "linear frequency distribution of the values",
    )
    constant_count = 3
    constant_errors = (
        ("D_LQUANT_MATCHBASE", "base"),
        ("D_LQUANT_MATCHLIM", "limit"),
        ("D_LQUANT_MATCHSTEP", "step"),
    )

    def read_constants(self, call: ast.Call, args: list[Any]) -> Params:
        return _read_linear_params(call, args)

    def prepare(self, g: Emitter, params: Params) -> None:
        base, limit, step = params
        levels = buckets.linear_levels(base, limit, step)
        below, above, end = Label(), Label(), Label()
        g.emit(
            jump_imm("jslt", R0, base, below),
            alu_imm("sub", R0, base),
            alu_imm("div", R0, step),
            jump_imm("jge", R0, levels, above),
            alu_imm("add", R0, 1),
            ja(end),
        )
        g.place_label(below)
        g.emit(mov_imm(R0, 0), ja(end))
        g.place_label(above)
        g.emit(mov_imm(R0, levels + 1))
        g.place_label(end)
        g.emit(alu_imm("lsh", R0, 3))

    def count_buckets(self, params: Params) -> int:
        return buckets.linear_levels(*params) + 2

    def bucket_bounds(self, params: Params) -> Sequence[Bounds]:
        base, _, step = params
        levels = buckets.linear_levels(*params)
        return [
            (None, base - 1),
            *((base + i * step, base + (i + 1) * step - 1) for i in range(levels)),
            (base + levels * step, None),
        ]

    def bucket_values(self, params: Params) -> Iterable[int]:
        base, _, step = params
        levels = buckets.linear_levels(*params)
        return [base - 1, *(base + i * step for i in range(levels)), base + 1 + levels * step]

    def format_value(
        self,
        decoded: Any,
        normal: int,
        params: Params,
        zoom: bool = False,
    ) -> bytes:
        base, _, step = params
        first, last = d.find_printed_range(decoded, (0, 2))
        labels = [b"%d" % (base + (bucket - 1) * step) for bucket in range(first, last + 1)]
        if first == 0:
            labels[0] = b"< %d" % base
        if last == len(decoded) - 1:
            labels[-1] = b">= " + labels[-1]
        return d.format_table(decoded, labels, first, last, normal, zoom)

    def make_packing(self, params: Params, several: Sequence[Sequence[int]]) -> d.Packing:
        """All buckets."""
        base, _, step = params
        last = self.count_buckets(params) - 1
        return d.Packing(
            0, last, 7, 8, b"%8b" % (b"< %d" % base), b">= %d" % (base + (last - 1) * step)
        )

    def dtrace_labels(self, bounds: Sequence[Bounds]) -> list[int | None]:
        return [low for low, _ in bounds]


class LogLinear(Distribution):
    name, prototype = "llquantize", "void(@, int32_t, int32_t, int32_t, int32_t, ...)"
    doc = "log-linear frequency distribution of the values"
    constant_count, message_suffix = 4, "()"
    constant_errors = (
        ("D_LLQUANT_MATCHFACTOR", "factor"),
        ("D_LLQUANT_MATCHLMAG", "lmag"),
        ("D_LLQUANT_MATCHHMAG", "hmag"),
        ("D_LLQUANT_MATCHSTEPS", "steps"),
    )

    def read_constants(self, call: ast.Call, args: list[Any]) -> Params:
        return _read_log_linear_params(call, args)

    def prepare(self, g: Emitter, params: Params) -> None:
        """The bucket's distance from the middle one is found from the absolute value; r2 keeps the sign."""
        orders = buckets.log_linear_orders(*params)
        positive, found, above = Label(), Label(), Label()
        g.emit(mov(R2, R0), mov(R1, R0), jump_imm("jsge", R0, 0, positive), neg(R1))
        g.place_label(positive)
        g.emit(mov_imm(R0, 0), const(R3, orders[0][0]), jump("jlt", R1, R3, found))
        distance = 1
        for first, step, count in orders:
            higher = Label()
            end = (first // step + count) * step
            g.emit(
                const(R3, end),
                jump("jge", R1, R3, higher),
                const(R3, step),
                mov(R0, R1),
                alu("div", R0, R3),
                alu_imm("add", R0, distance - first // step),
                ja(found),
            )
            g.place_label(higher)
            distance += count
        g.emit(mov_imm(R0, distance))
        g.place_label(found)
        g.emit(jump_imm("jsge", R2, 0, above), neg(R0))
        g.place_label(above)
        g.emit(alu_imm("add", R0, distance), alu_imm("lsh", R0, 3))

    def count_buckets(self, params: Params) -> int:
        return 2 * len(buckets.log_linear_edges(*params)) + 1

    def bucket_bounds(self, params: Params) -> Sequence[Bounds]:
        edges = buckets.log_linear_edges(*params)
        above = [*((low, high - 1) for low, high in pairwise(edges)), (edges[-1], None)]
        return [*_negate_bounds(above), (1 - edges[0], edges[0] - 1), *above]

    def bucket_values(self, params: Params) -> Iterable[int]:
        edges = buckets.log_linear_edges(*params)
        return [*(-edge for edge in reversed(edges)), 0, *edges]

    def format_value(
        self,
        decoded: Any,
        normal: int,
        params: Params,
        zoom: bool = False,
    ) -> bytes:
        edges = buckets.log_linear_edges(*params)
        middle = len(edges)
        first, last = d.find_printed_range(decoded, (middle, middle + 2))
        labels = [
            b"%d" % (-edges[middle - 1 - bucket] if bucket < middle else edges[bucket - middle - 1])
            for bucket in range(first, last + 1)
        ]
        if first == 0:
            labels[0] = b"<= " + labels[0]
        if last == len(decoded) - 1:
            labels[-1] = b">= " + labels[-1]
        if first <= middle <= last:
            least = edges[0]
            name = b"< %d" if first == middle else b"abs() < %d"
            labels[middle - first] = b"0" if least == 1 else name % least
        return d.format_table(decoded, labels, first, last, normal, zoom)


ROWS = [Quantize(), Linear(), LogLinear()]
