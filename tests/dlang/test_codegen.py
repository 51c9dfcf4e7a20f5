"""Clauses as a whole: predicates, records, variables by thread and key, aggregations, drops, demand."""

import pytest

from pydtrace.dlang import ast, builtins
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import d_types as t
from pydtrace.program import program as p
from tests.support.compiler.bpf_machine import Fault, Machine
from tests.support.compiler.typed_trees import (
    LOC,
    aggregate,
    aggregation,
    assign,
    binary,
    builtin,
    clause,
    compiled,
    copyinstr,
    do,
    num,
    text,
    trace,
    typed,
    var,
    variable,
)


# --- records -----------------------------------------------------------------------
def test_the_default_action_has_a_record_without_data_and_a_computing_clause_none():
    x = variable("global", "x", t.INT)
    program = compiled(
        clause([]),
        clause([do(assign(var(x), num(1)))]),
        clause([aggregate(aggregation("a", "count"))]),
    )
    assert [c.record_size for c in program.clauses] == [p.RECORD_DATA, 0, 0]
    assert Machine(program).fire() == [(0, [])]


def test_a_predicate_decides_and_only_that():
    machine = Machine(
        compiled(clause(trace(num(1)), binary(">", builtin("arg0"), num(3))), clause(trace(num(2))))
    )
    assert machine.fire(args=[3]) == [(1, [2])]
    assert machine.fire(args=[4]) == [(0, [1]), (1, [2])]


def test_a_record_tells_the_event():
    machine = Machine(compiled(clause([])))
    machine.fire(probe=7, tid=12, pid=11, time=99)
    assert p_header(machine.raw[0]) == (32, 0, 7, 3, 99, 11, 12)


def p_header(data):
    import struct

    return struct.unpack_from("=4IQ2I", data)


def test_data_lie_aligned_in_the_order_of_the_source():
    program = compiled(
        clause(
            trace(
                typed(num(1), t.CHAR), num(2), text(b"abc"), typed(num(3), t.SHORT), num(4, t.LONG)
            )
        )
    )
    data = [a.data[0] for a in program.clauses[0].actions]
    assert [(d.offset, d.size) for d in data] == [(32, 1), (36, 4), (40, 8), (48, 2), (56, 8)]
    assert Machine(program).fire() == [(0, [1, 2, b"abc", 3, 4])]


def test_exit_records_its_status_as_an_int():
    call = typed(
        ast.Call(LOC, "exit", builtins.ACTIONS["exit"], [binary("+", builtin("arg0"), num(1))]),
        t.VOID,
    )
    machine = Machine(compiled(clause([do(call), trace(num(5))])))
    assert machine.fire(args=[2]) == [(0, [3, 5])]


def test_a_record_that_finds_no_room_is_counted():
    machine = Machine(
        compiled(clause([]), clause(trace(binary("/", num(1), builtin("arg0"))))), room=1
    )
    machine.fire()
    assert machine.drops() == (1, 0, 0)
    machine.fire(args=[1])
    assert machine.drops() == (3, 0, 0)


# --- variables ------------------------------------------------------------------------
def test_this_is_zero_in_every_firing_global_stays_and_self_belongs_to_the_thread():
    def bump(v):
        return do(assign(var(v), binary("+", var(v), num(1))))

    a, b, c = (variable(scope, "v", t.INT) for scope in ("this", "global", "self"))
    machine = Machine(compiled(clause([bump(a), bump(b), bump(c), trace(var(a), var(b), var(c))])))
    assert machine.fire(tid=1) == [(0, [1, 1, 1])]
    assert machine.fire(tid=2) == [(0, [1, 2, 1])]
    assert machine.fire(tid=1) == [(0, [1, 3, 2])]
    assert machine.fire(tid=1, pid=5) == [(0, [1, 4, 1])]


@pytest.mark.parametrize("scope", ["global", "self"])
def test_associative_arrays_of_mixed_keys(scope):
    x = variable(scope, "x", t.LONG, [t.CHAR, t.STRING, t.INT, t.LONG])

    def at(i, s):
        return var(x, typed(num(i), t.CHAR), text(s), num(-i), num(i, t.LONG))

    machine = Machine(
        compiled(
            clause(
                [
                    do(assign(at(1, b"a"), num(11))),
                    do(assign(at(2, b"a"), num(22))),
                    do(assign(at(1, b"b"), num(33))),
                ]
            ),
            clause(trace(at(1, b"a"), at(2, b"a"), at(1, b"b"), at(9, b"a"))),
            clause([do(assign(at(1, b"a"), builtin("arg0"))), trace(at(1, b"a"), at(1, b"b"))]),
        )
    )
    assert machine.fire() == [(1, [11, 22, 33, 0]), (2, [0, 33])]


def test_an_element_may_be_the_key_of_another_and_its_own_value():
    x, y = variable("global", "x", t.INT, [t.INT]), variable("global", "y", t.INT, [t.INT, t.INT])
    machine = Machine(
        compiled(
            clause(
                [
                    do(assign(var(x, num(1)), num(2))),
                    do(
                        assign(
                            var(y, var(x, num(1)), var(x, var(x, num(1)))),
                            binary("+", var(x, num(1)), num(40)),
                        )
                    ),
                    trace(var(y, num(2), num(0))),
                ]
            )
        )
    )
    assert machine.fire() == [(0, [42])]


def test_assigning_0_gives_room_back_and_want_of_room_is_counted():
    x = variable("global", "x", t.LONG, [t.LONG])
    machine = Machine(
        compiled(
            clause(
                [
                    do(assign(var(x, builtin("arg0")), builtin("arg1"))),
                    trace(var(x, builtin("arg0"))),
                ]
            ),
            dynvarsize=128,
        )
    )  # room for 4
    for i in range(4):
        assert machine.fire(args=[i, 5]) == [(0, [5])]
    assert machine.drops() == (0, 0, 0)
    assert machine.fire(args=[9, 5]) == []  # as in dtrace the clause ends there
    assert machine.drops() == (0, 0, 1)
    machine.fire(args=[2, 0])
    assert machine.fire(args=[9, 6]) == [(0, [6])]
    assert machine.drops() == (0, 0, 1)


# --- aggregations -------------------------------------------------------------------------
VALUES = [0, 1, -1, -(1 << 63), (1 << 63) - 1]
VALUES += [
    sign * ((1 << k) + step) for k in range(1, 63) for step in (-1, 0, 1) for sign in (1, -1)
]


def bucket(value):
    return 63 + min(value.bit_length(), 63) if value >= 0 else 63 - min((-value).bit_length(), 63)


def expected_words(function):
    total = (sum(VALUES) + (1 << 63)) % (1 << 64) - (1 << 63)
    if function == "quantize":
        counts = [0] * 127
        for value in VALUES:
            counts[bucket(value)] += 1
        return (len(VALUES), *counts)
    if function == "lquantize":
        counts = [0] * 12
        for value in VALUES:
            counts[0 if value < -20 else min(11, (value + 20) // 5 + 1)] += 1
        return (len(VALUES), *counts)
    if function == "llquantize":
        edges = [
            10,
            20,
            30,
            40,
            50,
            60,
            70,
            80,
            90,
            100,
            200,
            300,
            400,
            500,
            600,
            700,
            800,
            900,
            1000,
        ]
        counts = [0] * (2 * len(edges) + 1)
        for value in VALUES:
            distance = sum(edge <= abs(value) for edge in edges)
            counts[len(edges) + (distance if value > 0 else -distance)] += 1
        return (len(VALUES), *counts)
    if function == "stddev":
        squares = sum(value * value for value in VALUES)
        return (len(VALUES), total, signed64(squares), signed64(squares >> 64))
    return {
        "count": (len(VALUES),),
        "sum": (len(VALUES), total),
        "avg": (len(VALUES), total),
        "min": (len(VALUES), min(VALUES)),
        "max": (len(VALUES), max(VALUES)),
    }[function]


PARAMS = {"lquantize": (-20, 30, 5), "llquantize": (10, 1, 2, 10)}


def signed64(value):
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


@pytest.mark.parametrize(
    "function", sorted({*builtins.AGGREGATIONS} - {"percentiles"})
)  # which test_percentiles.py has
@pytest.mark.parametrize("keyed", [False, True])
def test_aggregating_functions(function, keyed):
    agg = aggregation("a", function, [t.STRING, t.INT] if keyed else [])
    agg.params = PARAMS.get(function, ())
    args = [builtin("arg0")] if function != "count" else []
    machine = Machine(
        compiled(clause([aggregate(agg, [builtin("execname"), num(7)] if keyed else [], args)]))
    )
    for value in VALUES:
        machine.fire(args=[value])
    assert machine.aggregation("a") == {(b"python3", 7) if keyed else (): expected_words(function)}


def test_keys_are_told_apart_by_all_their_bytes():
    agg = aggregation("a", "sum", [t.STRING, t.CHAR, t.LONG])
    keys = [
        copyinstr(builtin("arg0")),
        typed(ast.Cast(LOC, builtin("arg1"), None), t.CHAR),
        builtin("arg2"),
    ]
    machine = Machine(compiled(clause([aggregate(agg, keys, [builtin("arg3")])])))
    for i, event in enumerate(
        [(b"a", 1, 2), (b"b", 1, 2), (b"a", 2, 2), (b"a", 1, 3), (b"a" * 255, 1, 2), (b"a", 257, 2)]
    ):
        machine.fire(args=[*event, 1 << i])
    assert {k: v[1] for k, v in machine.aggregation("a").items()} == {
        (b"a", 1, 2): 0b100001,
        (b"b", 1, 2): 2,
        (b"a", 2, 2): 4,
        (b"a", 1, 3): 8,
        (b"a" * 255, 1, 2): 16,
    }


def test_an_aggregation_without_room_counts_what_it_loses():
    agg = aggregation("a", "count", [t.LONG])
    machine = Machine(
        compiled(clause([aggregate(agg, [builtin("arg0")])]), aggsize=48)
    )  # room for 3
    for i in range(10):
        machine.fire(args=[i])
    assert len(machine.aggregation("a")) == 3
    assert machine.drops() == (0, 7, 0)


def test_a_fault_in_a_key_changes_no_value():
    agg = aggregation("a", "count", [t.STRING])
    machine = Machine(compiled(clause([aggregate(agg, [copyinstr(builtin("arg0"))])])))
    [(_, fault)] = machine.fire(args=[3])
    assert isinstance(fault, Fault) and machine.aggregation("a") == {}


# --- demand and uses ---------------------------------------------------------------------------
STRINGS_OF_ALL = dict.fromkeys(range(12), 1023)


@pytest.mark.parametrize(
    "exprs, demand",
    [
        ([builtin("arg2")], {2: 0}),
        ([copyinstr(builtin("arg6"))], {6: 256}),
        ([copyinstr(builtin("arg6"), num(10)), builtin("arg6")], {6: 10}),
        ([copyinstr(builtin("arg6"), builtin("arg1"))], {1: 0, 6: 256}),
        ([copyinstr(binary("+", builtin("arg6"), num(1)))], {6: 1023}),
        ([copyinstr(var(variable("self", "p", t.LONG)))], STRINGS_OF_ALL),
        ([builtin("timestamp")], {}),
    ],
)
def test_demand(exprs, demand):
    assert compiled(clause(trace(*exprs))).clauses[0].demand == demand


def test_uses():
    program = compiled(
        clause(trace(builtin("execname"))),
        clause([trace(num(1))], binary("==", builtin("probefunc"), text(b"f"))),
    )
    assert program.uses == {"execname", "names"}
    assert compiled(clause(trace(builtin("timestamp"), builtin("walltimestamp")))).uses == {"wall"}


# --- limits ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "build",
    [
        lambda: compiled(
            clause(
                [
                    do(assign(var(variable("this", f"s{i}", t.STRING)), text(b"a")))
                    for i in range(40)
                ]
            ),
            strsize=65536,
        ),
        lambda: compiled(
            clause(trace(*[copyinstr(builtin("arg0")) for _ in range(200)])), strsize=8192
        ),
        lambda: compiled(
            clause([aggregate(aggregation("a", "count", [t.STRING] * 40), [text(b"a")] * 40)]),
            strsize=8192,
        ),
        lambda: compiled(
            clause(trace(*[binary("/", builtin("arg0"), builtin("arg1")) for _ in range(3000)]))
        ),
    ],
)
def test_what_is_too_large_is_a_located_error(build):
    with pytest.raises(CompileError) as error:
        build()
    assert error.value.tag == "D_UNSUPPORTED" and error.value.loc is not None
