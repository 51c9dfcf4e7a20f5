"""Integer expressions: random ones against what gcc makes of the same in C, and the sharp edges by hand."""

import random
import subprocess

import pytest

from pydtrace.program import d_types as t
from pydtrace.program import program as p
from tests.support.compiler.bpf_machine import Fault, Machine
from tests.support.compiler.integer_expressions import Generator, c_program
from tests.support.compiler.typed_trees import (
    assign,
    binary,
    builtin,
    cast,
    clause,
    compiled,
    do,
    num,
    ternary,
    trace,
    unary,
    var,
    variable,
)

CLAUSES = 150


def run(expressions, variables):
    """What each expression gives in a clause of its own: an int, or "fault"."""
    setup = clause([do(assign(var(symbol), num(value, t.LONG))) for symbol, value in variables])
    clauses = [clause(trace(cast(e, t.LONG))) for e in expressions]
    machine = Machine(compiled(setup, *clauses))
    records = dict(machine.fire())
    return [
        "fault" if isinstance(records[i], Fault) else records[i][0]
        for i in range(1, len(clauses) + 1)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_random_expressions_are_what_c_computes(seed, tmp_path):
    generator = Generator(random.Random(seed), "this" if seed % 2 else "global")
    expressions = [generator.make(1 + i % 6) for i in range(CLAUSES)]
    source, binary_path = tmp_path / "e.c", tmp_path / "e"
    source.write_text(c_program(generator.variables, expressions))
    subprocess.run(["gcc", "-w", "-O0", "-fwrapv", "-o", binary_path, source], check=True)
    expected = subprocess.run(
        [binary_path], check=True, capture_output=True, text=True
    ).stdout.split()
    setup = [do(assign(var(symbol), num(value, t.LONG))) for symbol, value in generator.variables]
    # this-> variables live for one firing, which all clauses share
    machine = Machine(
        compiled(clause(setup), *[clause(trace(cast(e.tree, t.LONG))) for e in expressions])
    )
    got = ["fault" if isinstance(data, Fault) else str(data[0]) for _, data in machine.fire()]
    assert len(got) == len(expected) == CLAUSES
    for e, g, x in zip(expressions, got, expected):
        assert g == x, f"{e.d} with {[(str(s), v) for s, v in generator.variables]}"


LMIN = binary("-", num(-(1 << 63) + 1, t.LONG), num(1))


@pytest.mark.parametrize(
    "tree, expected",
    [
        (binary("/", LMIN, num(-1)), -(1 << 63)),
        (binary("%", LMIN, num(-1)), 0),
        (binary("/", num(-7), num(2)), -3),
        (binary("%", num(-7), num(2)), -1),
        (binary("/", num(-7, t.LONG), builtin("arg0")), "fault"),
        (binary(">>", num(-8), num(1)), -4),
        (binary("<<", num(1), num(-1)), -(1 << 63)),
        (binary("+", num(0x7FFFFFFF), num(1)), 1 << 31),  # as dtrace: not cut to int
        (cast(num(300), t.CHAR), 44),
        (cast(num(-1), t.UINT), 0xFFFFFFFF),
        (cast(cast(num(-1), t.UINT), t.INT), -1),
        (binary("<", num(-1, t.LONG), num(0xFFFFFFFF, t.UINT)), 1),
        (binary("<", num(-1), num(0xFFFFFFFF, t.UINT)), 0),
        (ternary(builtin("arg0"), binary("/", num(1), builtin("arg0")), num(9)), 9),
        (binary("&&", builtin("arg0"), binary("/", num(1), builtin("arg0"))), 0),
        (binary("||", num(2), binary("/", num(1), builtin("arg0"))), 1),
        (unary("!", unary("!", num(5), t.INT), t.INT), 1),
    ],
)
def test_edges(tree, expected):
    assert run([tree], []) == [expected]


def test_a_fault_tells_its_kind_and_place_and_nothing_else_is_emitted():
    machine = Machine(compiled(clause(trace(num(1), binary("%", num(5), builtin("arg0"))))))
    [(index, fault)] = machine.fire()
    assert (index, fault[:2]) == (0, (p.FAULT_DIVZERO, 0))


def nested(depth, right):
    """1 + (1 + (1 + …)), or ((1 + 1) + 1) + …"""
    tree = builtin("arg0")
    for _ in range(depth):
        tree = binary("+", builtin("arg1"), tree) if right else binary("+", tree, builtin("arg1"))
    return tree


@pytest.mark.parametrize("depth, right", [(2000, False), (140, True)])
def test_deep_expressions_spill(depth, right):
    tree = nested(depth, right) if not right else binary("-", nested(depth, True), nested(3, True))
    machine = Machine(compiled(clause(trace(tree))))
    expected = 5 + depth if not right else depth - 3
    assert machine.fire(args=[5, 1]) == [(0, [expected])]


def test_an_expression_that_is_too_deep_is_a_located_error():
    from pydtrace.dlang.compile_errors import CompileError

    with pytest.raises(CompileError) as error:
        compiled(clause(trace(nested(200, True))))
    assert error.value.tag == "D_UNSUPPORTED" and "too deeply" in error.value.message


@pytest.mark.parametrize("scope", ["global", "this", "self"])
@pytest.mark.parametrize(
    "type, value, read", [(t.CHAR, 200, -56), (t.UINT, -1, 0xFFFFFFFF), (t.SHORT, -5, -5)]
)
def test_a_store_cuts_to_the_variable(scope, type, value, read):
    v = variable(scope, "v", type)
    machine = Machine(
        compiled(clause([do(assign(var(v), num(value))), trace(cast(var(v), t.LONG))]))
    )
    assert machine.fire() == [(0, [read])]
