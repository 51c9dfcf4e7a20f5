"""Floating-point values under -x pyusdt: random expressions against Python's own floats, storage, aggregations, refusals.

Run in the interpreter; the kernel's verifier sees what needs none of its helpers (tests/kernel/test_kernel_floats.py).
"""

import math
import random
import struct

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.options import Options
from pydtrace.results.aggregations import Aggregation
from tests.support.compiler.bpf_machine import Machine

SHOP = "provider shop { probe order(int64_t n, double price, float rate); };\n"


def compiled(text, **options):
    return compile_program(text, "x.d", Options(options), macros={"target": 1}, arguments=["x.d"])


def real(data):
    return struct.unpack(
        "=d", struct.pack("=Q", data & (1 << 64) - 1) if isinstance(data, int) else data
    )[0]


def values(body, args=()):
    """What the trace()s of a body record; 64-bit floats as bytes."""
    machine = Machine(compiled(f"{SHOP}shop*:::order {{ {body} }}", pyusdt=True))
    return machine.fire([0], args=list(args))[0][1]


# --- expressions -----------------------------------------------------------------------------
class Term:
    """A random expression: its D text, and its value by Python."""

    def __init__(self, random, depth):
        kind = random.randrange(7) if depth else random.randrange(2)
        if kind == 0:
            self.value = random.choice(
                [0.0, 1.0, -2.5, 1e300, 1e-300, 0.1, 3.0, random.uniform(-9, 9)]
            )
            self.text = f"({self.value!r})" if "." in repr(self.value) else f"({self.value:.1e})"
        elif kind == 1:
            self.value = random.choice([0, 1, -3, 1 << 40, random.randrange(-99, 99)])
            self.text, self.value = f"((double)({self.value}))", float(self.value)
        elif kind == 2:
            part = Term(random, depth - 1)
            self.text, self.value = f"(-{part.text})", -part.value
        elif kind == 3:
            a, b, c = (Term(random, depth - 1) for _ in range(3))
            self.text, self.value = (
                f"({a.text} < {b.text} ? {b.text} : {c.text})",
                b.value if a.value < b.value else c.value,
            )
        else:
            a, b, sign = Term(random, depth - 1), Term(random, depth - 1), random.choice("+-*/")
            self.text, self.value = (
                f"({a.text} {sign} {b.text})",
                self.computed(a.value, b.value, sign),
            )

    @staticmethod
    def computed(a, b, sign):
        if sign == "/" and b == 0:
            nan = a == 0 or math.isnan(a)
            return math.nan if nan else math.copysign(math.inf, a) * math.copysign(1, b)
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[
            sign
        ]()


def test_random_expressions_are_what_ieee_754_says():
    source = random.Random(7)
    terms = [Term(source, 3) for _ in range(150)]
    numbers = [term for term in terms if not math.isnan(term.value)]
    assert len(numbers) > 100
    for at in range(0, len(numbers), 30):
        some = numbers[at : at + 30]
        found = values("".join(f"trace({term.text});" for term in some))
        for term, value in zip(some, found):
            assert struct.pack("=d", real(value)) == struct.pack("=d", term.value), term.text


@pytest.mark.parametrize("a", [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf])
@pytest.mark.parametrize("b", [-math.inf, -2.25, 0.0, 1.5, math.inf])
def test_comparisons(a, b):
    bits = [struct.unpack("=Q", struct.pack("=d", x))[0] for x in (a, b)]
    text = "double a; double b; " + SHOP.replace("double price, float rate", "double a, double b")
    machine = Machine(
        compiled(
            text
            + "shop*:::order { trace(args[1] < args[2]); trace(args[1] <= args[2]); trace(args[1] == args[2]); "
            "trace(args[1] != args[2]); trace(args[1] > args[2]); trace(args[1] >= args[2]); trace(!args[1]); "
            "trace(args[1] && args[2]); }",
            pyusdt=True,
        )
    )
    assert machine.fire([0], args=[0, *bits])[0][1] == [
        a < b,
        a <= b,
        a == b,
        a != b,
        a > b,
        a >= b,
        not a,
        bool(a and b),
    ]


def test_no_number_is_the_smallest_and_equals_itself():
    assert values(
        "x = 0.0 / 0.0; trace(x < -1e300); trace(x == x); trace((int)x); trace(x ? 1 : 0);"
    ) == [1, 1, 0, 1]


def test_conversions_and_variables():
    rate = struct.unpack("=I", struct.pack("=f", 0.5))[0]
    price = struct.unpack("=Q", struct.pack("=d", 2.5))[0]
    found = values(
        """this->f = (float)0.1; self->d = args[1]; self->d += args[2]; all[args[0]] = self->d * 2; all[args[0]] -= 1;
        trace(this->f); trace(all[7]); trace((int)-2.75); trace((char)300.5); trace((uint64_t)-1.0); n = 3; n = 3.99; trace(n);
        trace(args[0] + args[2]); this->u = (uint64_t)-1; trace((double)this->u);""",
        [7, price, rate],
    )
    assert [real(found[0]), real(found[1])] == [struct.unpack("=f", struct.pack("=f", 0.1))[0], 5.0]
    assert found[2:6] == [-2, 44, (1 << 64) - 1, 3]
    assert [real(value) for value in found[6:]] == [7.5, 2.0**64]


def test_members_and_inlines():
    text = """struct s { float f; double d; } s; inline double TAX = 1.25;
        BEGIN { s.f = 1.5; s.d = s.f * TAX; s.f *= 2; trace(s.d); trace(s.f + 0.0); }"""
    machine = Machine(compiled(text, pyusdt=True))
    assert [real(value) for value in machine.fire([0])[0][1]] == [1.875, 3.0]


def test_predicates():
    machine = Machine(
        compiled(
            f"{SHOP}shop*:::order /args[1] > 1.25/ {{ trace(1); }} shop*:::order /args[1]/ {{ trace(2); }}",
            pyusdt=True,
        )
    )
    for price, expected in ((0.0, []), (-0.0, []), (1.0, [2]), (2.0, [1, 2])):
        bits = struct.unpack("=Q", struct.pack("=d", price))[0]
        assert [value for _, (value,) in machine.fire([0, 1], args=[0, bits, 0])] == expected


# --- aggregations ------------------------------------------------------------------------------
def test_aggregations_of_floats():
    data = [1.5, -2.25, 0.1, 1e6, 3.0, 0.1]
    body = "".join(f"@{name} = {name}({{0}});" for name in ("sum", "avg", "min", "max", "stddev"))
    text = (
        "BEGIN { "
        + "".join(body.format(repr(x)) for x in data)
        + "@sum = sum(2); @q = quantize(5.9); @q = quantize(-1.5); }"
    )
    machine = Machine(compiled(text, pyusdt=True))
    machine.fire([0])
    found = {
        a.name: Aggregation.from_items(a, machine.items(a), 256, None).value
        for a in machine.program.aggregations
    }
    assert (
        found["sum"] == sum([*data, 2.0]) and found["sum"].n == 7 and found["sum"].function == "sum"
    )
    assert found["avg"] == sum(data) / 6 and (found["min"], found["max"]) == (-2.25, 1e6)
    mean = sum(data) / 6
    assert math.isclose(
        found["stddev"], math.sqrt(sum((x - mean) ** 2 for x in data) / 6), rel_tol=1e-12
    )
    assert [bucket[:2] for bucket in found["q"].buckets] == [(-1, -1), (4, 7)]


def test_two_sessions_merge_to_what_one_would_have_seen():
    def values_of(data):
        machine = Machine(
            compiled(
                "BEGIN { "
                + "".join(f"@ = stddev({x!r}); @m = min({x!r}); @s = sum({x!r});" for x in data)
                + " }",
                pyusdt=True,
            )
        )
        machine.fire([0])
        return [
            Aggregation.from_items(a, machine.items(a), 256, None).value
            for a in machine.program.aggregations
        ]

    parts, whole = (
        zip(values_of([1.0, 2.5]), values_of([-4.0, 8.0, 0.5])),
        values_of([1.0, 2.5, -4.0, 8.0, 0.5]),
    )
    for (a, b), both in zip(parts, whole):
        assert math.isclose(a.merge(b), both, rel_tol=1e-12) and a.merge(b).n == 5


# --- refusals -----------------------------------------------------------------------------------
@pytest.mark.parametrize("text, tag", [
    ("BEGIN { trace(1.5); }", "D_SYNTAX"),
    ("double x; BEGIN { trace(x + 1); }", "D_UNSUPPORTED"),
    ("struct s { double d; } *p; BEGIN { trace(p->d + 1); }", "D_OP_INCOMPAT"),
    ("struct s { double d; } *p; BEGIN { @ = sum(p->d); }", "D_AGG_SCALAR"),
])  # fmt: skip
def test_without_the_option_d_refuses_them(text, tag):
    with pytest.raises(CompileError) as error:
        compiled(text)
    assert error.value.tag == tag


@pytest.mark.parametrize("text, tag", [
    ("trace(1.5 % 2);", "D_OP_INT"),
    ("trace(1.5 & 1);", "D_OP_INT"),
    ("trace(1 << 1.5);", "D_OP_INT"),
    ("trace(~1.5);", "D_OP_INT"),
    ("x = 1.5; x++;", "D_OP_SCALAR"),
    ("@[1.5] = count();", "D_KEY_TYPE"),
    ("a[1.5] = 1;", "D_KEY_TYPE"),
    ('printf("%d", 1.5);', "D_PRINTF_ARG_TYPE"),
    ("exit(1.5);", "D_PROTO_ARG"),
    ('x = 1.5; x = "a";', "D_OP_INCOMPAT"),
    ("n = 1; n += 1.5;", "D_OP_INCOMPAT"),
    ('@a = sum(1.5); printa("%@d", @a);', "D_PRINTF_ARG_TYPE"),
    ("@a = sum(1); @a = sum(1.5);", "D_UNSUPPORTED"),
    ("@a = sum(1.5); @a = max(1);", "D_AGG_REDEF"),
    ("@ = lquantize(1.5, 0.5, 10);", "D_PROTO_ARG"),
])  # fmt: skip
def test_what_floats_do_not_have(text, tag):
    with pytest.raises(CompileError) as error:
        compiled(f"BEGIN {{ {text} }}", pyusdt=True)
    assert error.value.tag == tag
