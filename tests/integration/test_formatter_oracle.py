"""The consumer against the real dtrace on random values: the same script's text, byte for byte.

Needs no engine: the records are made from the values that the script names (tests/support/formatter/formatter_cases.py).
PYUSDT_TEST_SEED repeats a run.
"""

import os
import random

import pytest

from tests.support.formatter import formatter_process
from tests.support.formatter.dtrace_output import ask_oracle
from tests.support.formatter.formatter_cases import (
    INTEGERS,
    NAMES,
    Aggregate,
    Case,
    Printf,
    Trace,
    type_of,
)

pytestmark = pytest.mark.xdist_group("integration/test_formatter_oracle")

SEED = int(os.environ.get("PYUSDT_TEST_SEED", random.randrange(10**6)))
PLAIN = [b"d", b"i", b"u", b"o", b"x", b"X", b"p"]


def integer(rng, name):
    bits = 8 * type_of(name).size
    value = rng.choice([0, 1, 255, rng.randrange(1 << rng.randrange(1, bits + 1))]) % (1 << bits)
    if rng.random() < 0.4:
        value = -value % (1 << bits)
    return value - (1 << bits) if type_of(name).signed and value >= 1 << bits - 1 else value


def text(rng, printable=False):
    alphabet = b"abc /.-_0189" if printable else bytes(range(1, 256))
    return bytes(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 3, 10, 40])))


def layout(rng):
    flags = b"".join(rng.sample([b"#", b"0", b"-", b"+", b" ", b"'"], rng.choice([0, 0, 1, 2])))
    width = rng.choice([b"", b"", b"%d" % rng.randrange(1, 40), b"*"])
    precision = rng.choice([b"", b"", b".", b".%d" % rng.randrange(12), b".*"])
    return flags + width + precision


def printf(rng):
    fmt, arguments = b"", []
    for _ in range(rng.randrange(1, 4)):
        how = layout(rng)
        arguments += [("int", rng.randrange(-30, 30)) for _ in range(how.count(b"*"))]
        kind = rng.randrange(5)
        if kind == 0:
            letter, argument = rng.choice([b"s", b"S"]), ("string", text(rng))
        elif kind == 1:
            name = rng.choice(["char", "short", "int"])
            letter, argument = rng.choice([b"c", b"C"]), (name, integer(rng, name))
        elif kind == 2:
            letter, argument = rng.choice([b"Y", b"T"]), ("long", rng.randrange(2**62))
        else:
            name = rng.choice(INTEGERS)
            letter, argument = rng.choice(PLAIN), (name, integer(rng, name))
        fmt += rng.choice([b"", b"<", b"%%", b"text "]) + b"%" + how + letter
        arguments.append(argument)
    return Printf(fmt + b"|", *arguments)


def trace(rng):
    if rng.random() < 0.3:
        return Trace("string", text(rng, printable=rng.random() < 0.9))
    name = rng.choice(INTEGERS)
    return Trace(name, integer(rng, name))


def prints(rng):
    return [[rng.choice([printf, printf, trace])(rng) for _ in range(12)] for _ in range(20)]


def aggregations(rng):
    statements = []
    for number in range(12):
        function = rng.choice(["count", "sum", "min", "max", "avg", "quantize", "quantize"])
        keys = [rng.choice(["string", *INTEGERS]) for _ in range(rng.randrange(4))]
        pool = [
            [(k, text(rng, True) if k == "string" else integer(rng, k)) for k in keys]
            for _ in range(6)
        ]
        for _ in range(12):
            value = (
                None
                if function == "count"
                else rng.choice([0, rng.randrange(-9, 9), integer(rng, "long") >> 6])
            )
            statements.append(Aggregate(f"a{number}", rng.choice(pool), function, value))
    return [statements[at : at + 12] for at in range(0, len(statements), 12)]


@pytest.fixture(scope="session")
def formatter(tmp_path_factory):
    return formatter_process.build(tmp_path_factory.mktemp("format"))


@pytest.mark.parametrize("options", [(), ("-q",)], ids=["columns", "quiet"])
@pytest.mark.parametrize("make", [prints, aggregations])
def test_random_values_print_the_same(oracle, formatter, tmp_path, make, options):
    case = Case(f"random-{SEED}", make(random.Random(f"{SEED} {options}")), *options)
    script = tmp_path / "random.d"
    script.write_text(case.source(), encoding="ascii")
    expected = ask_oracle(str(script), options)
    assert formatter_process.print_case(formatter, case, NAMES) == expected, (
        f"PYUSDT_TEST_SEED={SEED}"
    )
