"""Strings: literals, variables, copyinstr, comparison, NULL, padding."""

import pytest

from pydtrace.dlang import ast
from pydtrace.program import d_types as t
from pydtrace.program import program as p
from tests.support.compiler.bpf_machine import USER_BASE, Fault, Machine
from tests.support.compiler.typed_trees import (
    LOC,
    assign,
    binary,
    builtin,
    cast,
    clause,
    compiled,
    copyinstr,
    do,
    num,
    ternary,
    text,
    trace,
    typed,
    var,
    variable,
)

LENGTHS = [0, 1, 6, 7, 8, 9, 15, 16, 17, 63, 64, 65, 254, 255, 256, 300]


def values(machine, **event):
    """The values of all records of one event, in one list; a fault as (kind, value)."""
    out = []
    for _, data in machine.fire(**event):
        out += [data[:2]] if isinstance(data, Fault) else data
    return out


def word(n):
    return bytes(97 + i % 26 for i in range(n))


@pytest.mark.parametrize("n", LENGTHS)
def test_every_way_of_a_string_into_a_record(n):
    """Cut at strsize - 1 bytes, as dtrace does, and padded (machine.value_of checks that)."""
    s, g, e, k = (variable(scope, "s", t.STRING) for scope in ("this", "global", "self", "global"))
    k.keys = [t.STRING]
    key = text(word(n))
    machine = Machine(
        compiled(
            clause(
                [
                    do(assign(var(s), text(word(n)))),
                    do(assign(var(g), var(s))),
                    do(assign(var(e), var(g))),
                    do(assign(var(k, key), var(e))),
                    trace(
                        text(word(n)),
                        copyinstr(builtin("arg0")),
                        var(s),
                        var(g),
                        var(e),
                        var(k, key),
                    ),
                ]
            )
        )
    )
    assert values(machine, args=[word(n)]) == [word(n)[:255]] * 6


@pytest.mark.parametrize("strsize", [8, 12, 16, 20, 64])
def test_strsize(strsize):
    s = variable("global", "s", t.STRING)
    machine = Machine(
        compiled(
            clause(
                [
                    do(assign(var(s), builtin("probefunc"))),
                    trace(
                        text(word(100)),
                        copyinstr(builtin("arg0")),
                        builtin("execname"),
                        builtin("probefunc"),
                        var(s),
                    ),
                ]
            ),
            strsize=strsize,
        )
    )
    n = strsize - 1
    assert values(machine, args=[word(100)], names=("", "", word(90).decode(), "")) == [
        word(100)[:n],
        word(100)[:n],
        b"python3"[:n],
        word(90)[:n],
        word(90)[:n],
    ]


def test_built_in_strings():
    machine = Machine(
        compiled(clause(trace(*[builtin("probe" + n) for n in ("prov", "mod", "func", "name")])))
    )
    assert values(machine, names=("pyusdt42", "core.so", "f", "user_trace-n1")) == [
        b"pyusdt42",
        b"core.so",
        b"f",
        b"user_trace-n1",
    ]


@pytest.mark.parametrize(
    "n, expected",
    [
        (0, (p.FAULT_BADADDR, USER_BASE)),
        (1, b""),
        (3, b"he"),
        (5, b"hell"),
        (6, b"hello"),
        (300, b"hello"),
        (-1, b"hello"),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_copyinstr_with_a_bound_that_counts_the_nul(n, expected, constant):
    bound = num(n) if constant else builtin("arg1")
    machine = Machine(compiled(clause(trace(copyinstr(builtin("arg0"), bound)))))
    assert values(machine, args=[b"hello", n]) == [expected]


def test_copyinstr_of_a_bad_address_is_a_fault_and_leaves_the_variable():
    s = variable("global", "s", t.STRING)
    machine = Machine(
        compiled(
            clause([do(assign(var(s), text(b"keep")))]),
            clause([do(assign(var(s), copyinstr(builtin("arg0"))))]),
            clause(trace(var(s))),
        )
    )
    assert values(machine, args=[0x1234]) == [(p.FAULT_BADADDR, 0x1234), b"keep"]


def test_copyinstr_in_a_deep_expression_tells_the_address_of_its_own_fault():
    tree = ternary(binary("==", copyinstr(builtin("arg1")), text(b"x")), num(1), num(2))
    for _ in range(60):
        tree = binary("+", builtin("arg2"), tree)
    machine = Machine(compiled(clause(trace(tree))))
    assert values(machine, args=[0, 77, 1]) == [(p.FAULT_BADADDR, 77)]
    assert values(machine, args=[0, b"x", 1]) == [61]


PAIRS = [
    (b"abc", b"abc"),
    (b"abc", b"abd"),
    (b"b", b"abc"),
    (b"", b""),
    (b"", b"a"),
    (word(8), word(8)),
    (word(7), word(8)),
    (word(16), word(16) + b"x"),
    (word(255), word(255)),
    (word(254) + b"1", word(254) + b"2"),
    (b"\xff", b"\x01"),
    (b"a\xff", b"a\x01"),
    (b"abcdefg\x80", b"abcdefg\x7f"),
    (b"123456789", b"12345678"),
]
OPERATORS = {
    "==": bytes.__eq__,
    "!=": bytes.__ne__,
    "<": bytes.__lt__,
    "<=": bytes.__le__,
    ">": bytes.__gt__,
    ">=": bytes.__ge__,
}


@pytest.mark.parametrize("op", OPERATORS)
def test_comparison_wherever_the_strings_are(op):
    """As predicate and as value, of literals, variables, elements and the event's strings."""
    s, g, e = (
        variable("this", "s", t.STRING),
        variable("global", "g", t.STRING),
        variable("self", "e", t.STRING),
    )
    for left, right in PAIRS:
        ways = [
            (text(left), text(right)),
            (copyinstr(builtin("arg0")), text(right)),
            (text(left), copyinstr(builtin("arg1"))),
            (var(s), var(g)),
            (var(g), var(s)),
            (var(e), text(right)),
            (var(e), var(g)),
            (var(s), text(right)),
            (text(left), var(g)),
            (var(e), copyinstr(builtin("arg1"))),
        ]
        machine = Machine(
            compiled(
                clause(
                    [
                        do(assign(var(s), text(left))),
                        do(assign(var(g), text(right))),
                        do(assign(var(e), text(left))),
                    ]
                ),
                clause(trace(*[binary(op, a, b) for a, b in ways])),
                clause([trace(num(5))], binary(op, var(s), var(g))),
            )
        )
        truth = OPERATORS[op](left, right)
        # (var(g), var(s)) is the pair the other way round
        expected = [
            int(OPERATORS[op](right, left)) if i == 4 else int(truth) for i in range(len(ways))
        ]
        assert values(machine, args=[left, right]) == expected + [5] * truth, (left, right)


def test_execname_against_literals_longer_and_shorter_than_itself():
    machine = Machine(
        compiled(
            clause(
                trace(
                    *[
                        binary("==", builtin("execname"), text(b))
                        for b in (b"python3", b"python", b"python3.11", b"python3" + word(30))
                    ]
                )
            )
        )
    )
    assert values(machine) == [1, 0, 0, 0]


def test_ternary_and_comma():
    chosen = ternary(builtin("arg0"), text(b"yes"), copyinstr(builtin("arg1")))
    comma = typed(ast.Comma(LOC, [num(1), chosen]), t.STRING)
    machine = Machine(compiled(clause(trace(chosen, comma))))
    assert values(machine, args=[0, b"no"]) == [b"no", b"no"]
    assert values(machine, args=[1, 5]) == [b"yes", b"yes"]


def test_the_value_of_an_assignment():
    s, g = variable("this", "s", t.STRING), variable("global", "g", t.STRING)
    machine = Machine(
        compiled(clause(trace(assign(var(s), assign(var(g), text(b"v")))) + trace(var(g))))
    )
    assert values(machine) == [b"v", b"v"]


def test_an_element_never_assigned_is_null():
    """As dtrace: equal to nothing but NULL, and a fault where it is used."""
    e = variable("self", "e", t.STRING)
    g = variable("global", "g", t.STRING)
    compare = [
        binary("==", var(e), text(b"a")),
        binary("==", var(e), text(b"")),
        binary("!=", var(e), text(b"a")),
        binary("==", var(e), var(g)),
        null("==", var(e)),
        null("!=", var(e)),
        null("==", var(g)),
    ]
    machine = Machine(
        compiled(
            clause(trace(*compare)),
            clause(trace(var(e))),
            clause([do(assign(var(g), var(e))), trace(null("==", var(g)))]),
        )
    )
    assert values(machine) == [0, 0, 1, 0, 1, 0, 0, (p.FAULT_BADADDR, 0), 1]


def null(op, expr):
    """expr == NULL, expr != NULL"""
    node = ast.Binary(LOC, op, expr, num(0))
    node.common = t.STRING
    return typed(node, t.INT)


@pytest.mark.parametrize("scope", ["global", "this", "self"])
def test_a_string_to_which_0_was_assigned_is_null(scope):
    s = variable(scope, "s", t.STRING)
    machine = Machine(
        compiled(
            clause([do(assign(var(s), text(b"v"))), trace(null("==", var(s)))]),
            clause(
                [
                    do(assign(var(s), num(0))),
                    trace(null("==", var(s)), binary("==", var(s), text(b""))),
                ]
            ),
            clause(trace(var(s))),
            clause([do(assign(var(s), text(b"w"))), trace(var(s), null("!=", var(s)))]),
        )
    )
    assert values(machine) == [0, 1, 0, (p.FAULT_BADADDR, 0), b"w", 1]


def test_a_cast_to_string_changes_nothing():
    machine = Machine(compiled(clause(trace(cast(builtin("execname"), t.STRING)))))
    assert values(machine) == [b"python3"]
