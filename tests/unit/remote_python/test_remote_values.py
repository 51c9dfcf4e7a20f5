"""Values of another process in cases that chance does not make: this process is the other one."""

from __future__ import annotations

import enum
import gc
import os
import random
import time

import pytest

from pydtrace.cli.commands.dump_values import encode_value, format_value
from pydtrace.program.secret_names import SecretNames
from pydtrace.remote_python import value as values
from pydtrace.remote_python.remote_python import RemotePython
from pydtrace.remote_python.remote_values import RemoteValues, ValueBudget, ValueLimits

PYTHON = RemotePython(os.getpid())


def make_reader(limits: ValueLimits | None = None, budget: ValueBudget | None = None):
    return RemoteValues(
        PYTHON, SecretNames(), limits or ValueLimits(), budget or ValueBudget(seconds=60)
    )


def shown(made: object, **limits: int) -> str:
    return format_value(make_reader(ValueLimits(**limits)).read_named("made", lambda: id(made)))


class Node:
    def __init__(self, **named: object) -> None:
        self.__dict__.update(named)


class Empty:
    __slots__ = ()


class OwnDict(dict):
    pass


def test_what_contains_itself():
    listed: list = [1]
    listed.append(listed)
    mapped: dict = {}
    mapped["self"] = (mapped,)
    node = Node()
    node.next = Node(back=node)
    assert shown(listed) == "[1, <circular list>]"
    assert shown(mapped, depth=3) == "{'self': (<circular dict>,)}"
    assert shown(node, depth=3) == "Node(next=Node(back=<circular Node>))"
    twice = [1]
    assert shown([twice, twice]) == "[[1], [1]]"


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ((1,), "(1,)"),
        ((), "()"),
        (set(), "set()"),
        (frozenset(), "frozenset()"),
        (frozenset([1]), "frozenset({1})"),
        ({}, "{}"),
        (OwnDict(a=1), "OwnDict({'a': 1})"),
        (bytearray(b"a"), "bytearray(b'a')"),
        (range(1, 9, 2), "range(1, 9, 2)"),
        (Empty(), "<Empty object>"),
        (ValueError("no", 1), "ValueError('no', 1)"),
        (list(range(20)), "[0, 1, 2, … 17 more]"),
        ([[[1]], [[]]], "[[[… 1]], [[]]]"),
        (Node(a=1, b=2, c=3, d=4), "Node(a=1, b=2, c=3, …)"),
        (Node(a=Node(a=[1], b=Node(a=1))), "Node(a=Node(a=[… 1], b=Node(…)))"),
        ("x" * 100, f"'{'x' * 50}'… (100 characters)"),
        (b"x" * 100, f"b'{'x' * 50}'… (100 bytes)"),
        (1 << 1000, "0x8" + "0" * 49 + "… (1001 bits)"),
        (-(1 << 1000), "-0x8" + "0" * 49 + "… (1001 bits)"),
        ("\x1b[31m\u202e", "'\\x1b[31m\\u202e'"),
        (type("a\x1bb", (), {})(), "<a\\x1bb object>"),
        (
            {"password": 1, b"token": 2, "ok": 3},
            "{'password': <redacted>, b'token': <redacted>, 'ok': 3}",
        ),
        (
            [(b"authorization", b"Bearer 1"), ["password", "x"], ("ok", 3)],
            "[(b'authorization', <redacted>), ['password', <redacted>], ('ok', 3)]",
        ),
        (enum.Enum("Login", {"PASSWORD": "x"}).PASSWORD, "<Login.PASSWORD: <redacted>>"),
        (float("nan"), "nan"),
    ],
)
def test_text(made, wanted):
    assert shown(made, depth=2, items=3, characters=50) == wanted


def test_ints_of_many_digits():
    reader = make_reader(ValueLimits(characters=100_000))
    number = 7**40_000
    value = reader.read_named("made", lambda: id(number))
    assert value.plain == number and format_value(value) == hex(number)
    assert encode_value(value) == {"type": "int", "value": hex(number)}


def test_numpy():
    numpy = pytest.importorskip("numpy", reason="host: numpy is not among the tools")
    assert shown(numpy.float64(1.5)) == "numpy.float64(1.5)"
    assert shown(numpy.int32(-7)) == "numpy.int32(-7)"
    assert shown(numpy.float32(0.5)) == "numpy.float32(0.5)"
    assert shown(numpy.zeros((2, 3), dtype="int16")) == "array(shape=(2, 3), dtype=int16)"


def test_a_part_that_changes_is_marked():
    """A thread changes what was read before it is confirmed; what stays is shown."""
    inner = ["before"]
    made = [inner, "stays"]
    reader = make_reader()

    class Changing:
        def __init__(self, memory):
            self._memory = memory

        def read(self, address, size):
            inner.append(0)  # before each read, also those that confirm
            return self._memory.read(address, size)

        def has_same(self, reads):
            inner.append(0)
            return self._memory.has_same(reads)

    reader.memory._memory = Changing(reader.memory._memory)
    value = reader.read_named("made", lambda: id(made))
    assert format_value(value) == "[<changed>, 'stays']"
    assert encode_value(value) == [{"type": "list", "absent": "changed"}, "stays"]


def test_room_ends():
    """Of the first values something is left; nothing is read once the budget is spent."""
    wide = [[[1] * 10] * 10] * 10
    text = shown(wide, depth=5, nodes=20)
    assert text.count("1, ") == 0 and text.startswith("[[[… 10], [… 10]") or "…" in text
    spent = make_reader(budget=ValueBudget(nodes=0))
    assert format_value(spent.read_named("made", lambda: id(wide))) == "…"


def test_what_is_no_object_ends():
    """Whatever lies at an address: a value or a reason, and soon."""
    chance = random.Random(1)
    junk = bytearray(os.urandom(1 << 16))
    for at in range(0, 1 << 16, 8):  # pointers into itself, and small numbers
        if chance.random() < 0.5:
            where = (
                id(junk) + chance.randrange(1 << 16)
                if chance.random() < 0.7
                else chance.randrange(300)
            )
            junk[at : at + 8] = where.to_bytes(8, "little")
    reader = make_reader(ValueLimits(depth=5))
    begin = time.monotonic()
    start = int.from_bytes(PYTHON.memory.read(id(junk) + 40, 8), "little")
    real = [
        id(type(each)) for each in (1, "", [], (), {}, set(), 1.5, b"", Node(), ValueError(), time)
    ]
    for round_number in range(2000):
        at = 8 * chance.randrange(1000)
        if round_number % 2:  # an object of a real type with contents that are none
            junk[at + 8 : at + 16] = chance.choice(real).to_bytes(8, "little")
        value = reader.read_named("made", lambda at=at: start + at)
        format_value(value)
        encode_value(value)
    assert time.monotonic() - begin < 60


def test_nothing_of_an_object_changes():
    """No dict is made, no reference stays."""
    made = Node.__new__(Node)
    made.a = [1]
    before = gc.get_referrers(made.a)
    reader = make_reader()
    reader.read_named("made", lambda: id(made))
    assert [type(each) for each in gc.get_referrers(made.a)] == [type(each) for each in before]


def test_an_unbound_variable_and_a_secret_are_not_read():
    reader = make_reader()
    assert reader.read_named("made", lambda: 0).reason == values.UNBOUND
    assert reader.read_named("password", lambda: 1 // 0).reason == values.REDACTED
    assert reader.read_named("made", lambda: 8).reason == values.UNREADABLE
