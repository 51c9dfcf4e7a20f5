# mypy: ignore-errors
"""count(), sum(), min(), max(), avg() and stddev(): aggregating functions whose value is a number."""

from math import isqrt

from pydtrace.aggregation.int64 import HIGHEST, LOWEST, divide_toward_zero, unpack_words, wrap_int64
from pydtrace.bpf.insn import R0, R1, R2, alu, jump, jump_imm, load, mov, store
from pydtrace.bpf.program_builder import Label

from .aggregation_base import Aggregating, count, total


class Count(Aggregating):
    name, prototype, doc = "count", "void()", "number of times it was called"
    params, size = 0, 1
    is_total = has_bars = weighs = True
    metric = "counter"

    def emit(self, g, params, value, amount):
        count(g)

    def number(self, words):
        return words[0]

    def told(self, value):
        return [value]


class Sum(Aggregating):
    name, prototype, doc = "sum", "void(@)", "total of the values"
    is_total = falls = has_bars = weighs = True

    def emit(self, g, params, value, amount):
        count(g)
        added = total(g, value)
        g.emit(load(8, R1, R0, 8), alu("add", R1, added), store(8, R0, 8, R1))


class Extreme(Aggregating):
    """keeps: the jump that is taken where the old value stays; choose: of two words; empty: what dtrace shows after clear()."""

    prototype = "void(@)"
    weighs = True
    keeps, choose, empty = "", None, 0
    own_words = 1  # whether there is a value

    def emit(self, g, params, value, amount):
        first, done = Label(), Label()
        count(g)
        new = g.use(value, R2)
        g.emit(jump_imm("jeq", R1, 0, first), load(8, R1, R0, 8), jump(self.keeps, R1, new, done))
        g.place(first)
        g.emit(store(8, R0, 8, new))
        g.place(done)

    def merged(self, *several):
        return [sum(words[0] for words in several), self.choose(words[1] for words in several)]

    def since(self, old, new):
        """It is known of all only."""

    def came(self, old, new):
        return None if old == new else [new[0] - old[0], new[1]]

    def decode(self, value, params):
        n, number = unpack_words(value)
        return number if n else self.empty

    def zero(self, params):
        return 0


class Min(Extreme):
    name, doc = "min", "smallest of the values"
    keeps, choose, empty = "jsle", staticmethod(min), HIGHEST


class Max(Extreme):
    name, doc = "max", "largest of the values"
    keeps, choose, empty = "jsge", staticmethod(max), LOWEST


class Mean(Aggregating):
    """What is computed of all its words whenever it is shown."""

    prototype = "void(@)"

    def decode(self, value, params):
        return unpack_words(value)

    def number(self, words):
        return self.divided(words, 1)

    def mean(self, words):
        return words[1] / words[0] if words[0] else 0.0

    def since(self, old, new):
        """None where no value came, too: dtrace tells the value, and not how many there were."""
        return None if new[0] == old[0] else super().since(old, new)

    def rank(self, decoded, params):
        return self.number(decoded)


class Avg(Mean):
    name, doc = "avg", "arithmetic mean of the values"
    metric = "summary"
    weighs, emit = True, Sum.emit

    def divided(self, decoded, normal):
        n, total = decoded
        return divide_toward_zero(divide_toward_zero(total, wrap_int64(normal)), n) if n else 0

    def printed(self, decoded, normal, is_signed):
        """dtrace's printf computes it without signs, its table with them."""
        n, total = decoded
        return wrap_int64((total & 0xFFFFFFFFFFFFFFFF) // normal // n) if n else 0

    def exact(self, value):
        return value.mean

    def told(self, value):
        """A count of -1 can not be: is_told()."""
        return [-1, -value] if value > LOWEST else [1, value]


class Stddev(Mean):
    name, doc = "stddev", "standard deviation of the values"
    size = 4

    def emit(self, g, params, value, amount):
        g.emit(mov(R1, R0))
        g.get(value, R2)
        g.routine("stddev_add")

    def merged(self, *several):
        return self._words([sum(each) for each in zip(*map(self._parts, several))])

    def since(self, old, new):
        if new[0] <= old[0]:
            return None
        return self.came(old, new)

    def came(self, old, new):
        return (
            None
            if old == new
            else self._words([b - a for a, b in zip(self._parts(old), self._parts(new))])
        )

    @staticmethod
    def _parts(words):
        """n, the sum, and the sum of squares, which has two words, the low one first."""
        n, total, low, high = words
        return n, total, low % 2**64 | high % 2**64 << 64

    @staticmethod
    def _words(parts):
        n, total, squares = parts
        return [wrap_int64(n), wrap_int64(total), wrap_int64(squares), wrap_int64(squares >> 64)]

    def divided(self, decoded, normal):
        """The root of (the mean of the squares minus the square of the mean)."""
        n, total, squares = self._parts(decoded)
        if not n:
            return 0
        mean = divide_toward_zero(divide_toward_zero(total, wrap_int64(normal)), n)
        return wrap_int64(isqrt(max(0, squares // normal // n - mean * mean)))

    def printed(self, decoded, normal, is_signed):
        return self.divided(decoded, normal)

    def is_told(self, words):
        return words[0] == 1 and self.number(words) > 0

    def told(self, value):
        """A deviation of a single value can not be: is_told()."""
        return [1, 0, wrap_int64(value * value), wrap_int64(value * value >> 64)]


ROWS = [Count(), Sum(), Min(), Max(), Avg(), Stddev()]
