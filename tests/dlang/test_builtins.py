"""A built-in is one record in one file (dlang/builtins/): nobody else asks for its name."""

import ast
import ctypes
import glob
import os
import struct

import pytest

import pydtrace
from pydtrace.aggregation.int64 import pack_words
from pydtrace.bpf.insn import R0, R1, mov_imm, store
from pydtrace.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES
from pydtrace.dlang.builtins import registry as actions_table
from pydtrace.dlang.builtins.action_base import Action
from pydtrace.dlang.builtins.aggregation_base import Aggregating, emit_count
from pydtrace.dlang.builtins.stack_actions import SymbolAction
from pydtrace.dlang.compile import compile_program
from pydtrace.driver.address_symbolizer import AddressSymbolizer
from pydtrace.dtrace_text.aggregation_text import render_aggregations
from pydtrace.engine.dtrace import framing
from pydtrace.engine.kernel import kernel_maps
from pydtrace.program import d_types as t
from pydtrace.results.aggregation_values import MergeError, unpack_value
from pydtrace.sinks.erlang_terms_sink import make_rows, subtract_values
from pydtrace.sinks.json_sink import make_value_members

ROOT = os.path.dirname(pydtrace.__file__)
NAMES = {*ACTIONS, *AGGREGATIONS, *SUBROUTINES, *VARIABLES}


def comparisons(text):
    """Lines where a name, a function or a kind is compared with the name of a built-in."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        words = [
            each.value
            for side in sides
            for each in ast.walk(side)
            if isinstance(each, ast.Constant)
        ]
        asked = [
            side
            for side in sides
            if isinstance(side, ast.Attribute)
            and side.attr in ("name", "kind", "function")
            or isinstance(side, ast.Name)
            and side.id in ("function", "called")
            or isinstance(side, ast.Call)
            and "function" in ast.unparse(side)
        ]
        if asked and NAMES & {word for word in words if isinstance(word, str)}:
            yield node.lineno


def test_no_other_file_compares_with_the_name_of_a_built_in():
    found = {}
    for path in glob.glob(os.path.join(ROOT, "**", "*.py"), recursive=True):
        name = os.path.relpath(path, ROOT)
        if not name.startswith(os.path.join("dlang", "builtins")):
            with open(path, encoding="utf-8") as file:
                lines = list(comparisons(file.read()))
            if lines:
                found[name] = lines
    assert os.path.exists(os.path.join(ROOT, "dlang", "builtins"))
    assert not found, "ask the row (dlang/builtins/action_base.py, row.py), not its name"


def test_such_a_comparison_is_found():
    assert list(comparisons('x = 1\nif action.row.kind == "exit": pass')) == [2]
    assert list(comparisons('node.name in ("alloca", "copyin")')) == [1]
    assert not list(comparisons('option == "exit"'))


@pytest.fixture
def answer(monkeypatch):
    """A made-up action, in the table as if a file of builtins/ had it: all that there is to say about it is in its class."""

    class Answer(Action):
        name, prototype, doc = "answer", "void(int)", "a number, and what it answers"
        record_type = t.INT
        is_value = True

        def perform(self, run, action, record):
            run.sink.text(b"to everything: %d" % record[action.data[0].offset])

    from pydtrace.dlang.builtins import prototypes

    row = Answer()
    monkeypatch.setitem(actions_table.ACTIONS, "answer", row)
    monkeypatch.setitem(prototypes.FUNCTIONS, "answer", (prototypes.ACTION, row.prototype))
    return row


def test_an_action_is_its_row_alone(answer):
    from pydtrace.results.records import record_layout

    program = compile_program("BEGIN { answer(42); }")
    (clause,) = program.clauses
    assert [action.row for action in clause.actions] == [answer]
    assert record_layout(clause) == [("42", "i")]

    class Run:
        written = b""

        @property
        def sink(self):
            return self

        def text(self, text):
            self.written += text

    run = Run()
    answer.perform(run, clause.actions[0], bytes([0] * 32 + [42] + [0] * 7))
    assert run.written == b"to everything: 42"


@pytest.mark.parametrize(
    "naming, text, one_key",
    [
        (t.Naming(by_symbol=True), "{module}`PyLong_FromLong", True),
        (t.Naming(module=True), "{module}", True),
        (t.Naming(distance=True), "{module}`PyLong_FromLong+0x3", False),
    ],
)
def test_a_symbol_function_is_its_row_alone(monkeypatch, naming, text, one_key):
    from pydtrace.dlang.builtins import prototypes

    row = SymbolAction("nearby", "made up by a test", True, naming)
    monkeypatch.setitem(actions_table.ACTIONS, "nearby", row)
    monkeypatch.setitem(prototypes.FUNCTIONS, "nearby", (prototypes.ACTION, row.prototype))
    program = compile_program("BEGIN { nearby(42); @[nearby(42)] = count(); }")
    (data,) = program.clauses[0].actions[0].data
    (key,) = program.aggregations[0].keys
    pid, address = os.getpid(), ctypes.cast(ctypes.pythonapi.PyLong_FromLong, ctypes.c_void_p).value
    symbols = AddressSymbolizer()
    record = bytes(data.offset) + struct.pack("=QQ", pid, address + 3)
    assert symbols.format_value(data, record).decode().split() == [
        text.format(module=symbols.find_symbol(pid, address)[0])
    ]
    group = symbols.make_key_grouper([key])
    one, other = (group(bytes(key.offset) + struct.pack("=QQ", pid, address + i)) for i in (3, 4))
    assert (one == other) is one_key


@pytest.fixture
def spread(monkeypatch):
    """A made-up aggregating function, all of it in its class."""

    class Spread(Aggregating):
        name, prototype, doc = "spread", "void(@)", "largest less smallest of the values"
        size = 3

        def emit(self, g, params, value, amount):
            """As if the values were 4 and 11, whatever they are."""
            emit_count(g)
            g.emit(mov_imm(R1, 4), store(8, R0, 8, R1), mov_imm(R1, 11), store(8, R0, 16, R1))

        def merge_words(self, *several):
            n, low, high = zip(*several)
            return [sum(n), min(low), max(high)]

        def subtract_words(self, old, new):
            """It is known of all only."""

        def compute_number(self, words):
            return words[2] - words[1]

        def words_from_dtrace(self, value):
            return [-1, 0, value]

    from pydtrace.dlang.builtins import prototypes

    row = Spread()
    monkeypatch.setitem(AGGREGATIONS, "spread", row)
    monkeypatch.setitem(prototypes.FUNCTIONS, "spread", (prototypes.AGGREGATING, row.prototype))
    return row


def test_an_aggregating_function_is_its_row_alone(spread):
    """Compiled, merged, and shown in every form by rooms that do not know it."""
    program = compile_program("BEGIN { @a[1] = spread(7); @a[2] = spread(8); }")
    (definition,) = program.aggregations
    assert definition.row is spread and program.maps[definition.map].value_size == 8 * 3
    one, other = pack_words([2, 4, 11]), pack_words([1, -3, 5])
    assert render_aggregations(
        [(definition, [(pack_words([1]), one), (pack_words([2]), other)])]
    ) == b"%9d%17d\n%9d%17d\n" % (1, 7, 2, 8)
    value = unpack_value(definition, one).merge(unpack_value(definition, other))
    assert (value, value.function, value.words) == (14, "spread", (3, -3, 11))
    assert make_value_members(value) == {"function": "spread", "n": 3, "value": 14}
    assert subtract_values(spread, other, one) == one
    assert make_rows(definition, [(pack_words([1]), one)], None) == [("spread", [1], 7)]
    cpus = kernel_maps._make_merge(program, definition.map)
    assert cpus(one + bytes(24) + other, 24, 24) == pack_words([3, -3, 11])
    assert framing._value_words(definition, b"9") == [-1, 0, 9]
    with pytest.raises(MergeError):
        unpack_value(definition, pack_words(framing._value_words(definition, b"9"))).merge(value)
