"""count(), sum(), min(), max(), avg() and stddev(): aggregating functions whose value is a
number.
"""

from __future__ import annotations

from math import isqrt

from pydtrace.aggregation.int64 import HIGHEST, LOWEST, divide_toward_zero, unpack_words, wrap_int64
from pydtrace.bpf.insn import R0, R1, R2, alu, jump, jump_imm, load, mov, store
from pydtrace.bpf.program_builder import Label

from .aggregation_base import Aggregating, emit_count, weigh_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..code.emitter import Emitter, Temp
    from .aggregation_base import Params, Words


class Count(Aggregating):
    name, prototype, doc = "count", "void()", "number of calls of count()"
    value_count, size = 0, 1
    is_total = has_agghist = has_bulk_code = True
    metric_type = "counter"

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        emit_count(g)

    def compute_number(self, words: Words) -> Any:
        return words[0]

    def words_from_dtrace(self, value: int) -> list[int]:
        return [value]


class Sum(Aggregating):
    name, prototype, doc = "sum", "void(@)", "total of the values"
    is_total = can_decrease = has_agghist = has_bulk_code = True

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        emit_count(g)
        added = weigh_value(g, value)
        g.emit(load(8, R1, R0, 8), alu("add", R1, added), store(8, R0, 8, R1))


class Extreme(Aggregating):
    """keeps: the jump that is taken where the old value stays; choose: of two words; empty: what dtrace shows after clear()."""

    prototype = "void(@)"
    has_bulk_code = True
    keep_jump, empty_number = "", 0
    choose_word: Callable[..., int]
    extra_words = 1  # whether there is a value

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        first, done = Label(), Label()
        emit_count(g)
        new = g.in_register(value, R2)
        g.emit(
            jump_imm("jeq", R1, 0, first), load(8, R1, R0, 8), jump(self.keep_jump, R1, new, done)
        )
        g.place_label(first)
        g.emit(store(8, R0, 8, new))
        g.place_label(done)

    def merge_words(self, *several: Words) -> list[int]:
        return [sum(words[0] for words in several), self.choose_word(words[1] for words in several)]

    def subtract_words(self, old: Words, new: Words) -> None:
        """It is known of all only."""

    def mergeable_delta(self, old: Words, new: Words) -> list[int] | None:
        return None if old == new else [new[0] - old[0], new[1]]

    def decode(self, value: bytes, params: Params) -> Any:
        n, number = unpack_words(value)
        return number if n else self.empty_number

    def absent_value(self, params: Params) -> Any:
        return 0


class Min(Extreme):
    name, doc = "min", "smallest of the values"
    keep_jump, choose_word, empty_number = "jsle", staticmethod(min), HIGHEST


class Max(Extreme):
    name, doc = "max", "largest of the values"
    keep_jump, choose_word, empty_number = "jsge", staticmethod(max), LOWEST


class Mean(Aggregating):
    """What is computed of all its words whenever it is shown."""

    prototype = "void(@)"

    def decode(self, value: bytes, params: Params) -> Any:
        return unpack_words(value)

    def compute_number(self, words: Words) -> Any:
        return self.normalize_number(words, 1)

    def compute_mean(self, words: Words) -> float | None:
        return float(words[1] / words[0]) if words[0] else 0.0

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        """None where no value came, too: dtrace tells the value, and not how many there were."""
        return None if new[0] == old[0] else super().subtract_words(old, new)

    def sort_key(self, decoded: Any, params: Params) -> Any:
        return self.compute_number(decoded)


class Avg(Mean):
    name, doc = "avg", "arithmetic mean of the values"
    metric_type = "summary"
    has_bulk_code, emit = True, Sum.emit

    def normalize_number(self, decoded: Any, normal: int) -> int:
        n, total = decoded
        return divide_toward_zero(divide_toward_zero(total, wrap_int64(normal)), n) if n else 0

    def printf_number(self, decoded: Any, normal: int, is_signed: bool) -> int:
        """dtrace's printf computes it without signs, its table with them."""
        n, total = decoded
        return wrap_int64((total & 0xFFFFFFFFFFFFFFFF) // normal // n) if n else 0

    def exact_number(self, value: Any) -> float:
        return float(value.mean)

    def words_from_dtrace(self, value: int) -> list[int]:
        """A count of -1 can not be: is_from_dtrace()."""
        return [-1, -value] if value > LOWEST else [1, value]


class Stddev(Mean):
    name, doc = "stddev", "standard deviation of the values"
    size = 4

    def emit(self, g: Emitter, params: Params, value: Any, amount: Temp | None) -> None:
        g.emit(mov(R1, R0))
        g.load_temp(value, R2)
        g.call_routine("stddev_add")

    def merge_words(self, *several: Words) -> list[int]:
        return self._join_words([sum(each) for each in zip(*map(self._split_words, several))])

    def subtract_words(self, old: Words, new: Words) -> list[int] | None:
        if new[0] <= old[0]:
            return None
        return self.mergeable_delta(old, new)

    def mergeable_delta(self, old: Words, new: Words) -> list[int] | None:
        return (
            None
            if old == new
            else self._join_words(
                [b - a for a, b in zip(self._split_words(old), self._split_words(new))]
            )
        )

    @staticmethod
    def _split_words(words: Words) -> tuple[int, int, int]:
        """n, the sum, and the sum of squares, which has two words, the low one first."""
        n, total, low, high = words
        return n, total, low % 2**64 | high % 2**64 << 64

    @staticmethod
    def _join_words(parts: Iterable[int]) -> list[int]:
        n, total, squares = parts
        return [wrap_int64(n), wrap_int64(total), wrap_int64(squares), wrap_int64(squares >> 64)]

    def normalize_number(self, decoded: Any, normal: int) -> int:
        """The root of (the mean of the squares minus the square of the mean)."""
        n, total, squares = self._split_words(decoded)
        if not n:
            return 0
        mean = divide_toward_zero(divide_toward_zero(total, wrap_int64(normal)), n)
        return wrap_int64(isqrt(max(0, squares // normal // n - mean * mean)))

    def printf_number(self, decoded: Any, normal: int, is_signed: bool) -> int:
        return self.normalize_number(decoded, normal)

    def is_from_dtrace(self, words: Words) -> bool:
        return words[0] == 1 and self.compute_number(words) > 0

    def words_from_dtrace(self, value: int) -> list[int]:
        """A deviation of a single value can not be: is_from_dtrace()."""
        return [1, 0, wrap_int64(value * value), wrap_int64(value * value >> 64)]


ROWS = [Count(), Sum(), Min(), Max(), Avg(), Stddev()]
