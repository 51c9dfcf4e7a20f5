"""A built-in is one record in one file (dlang/builtins/): nobody else asks for its name."""

import ast
import glob
import os

import pytest

import pyusdt
from pyusdt.data import types as t
from pyusdt.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES
from pyusdt.dlang.builtins import actions as actions_table
from pyusdt.dlang.builtins.action import Action
from pyusdt.dlang.compile import compile_program

ROOT = os.path.dirname(pyusdt.__file__)
NAMES = {*ACTIONS, *AGGREGATIONS, *SUBROUTINES, *VARIABLES}
# How the values of aggregating functions are read and shown goes by their names still, and how addresses are named by the
# functions'.  File: how many comparisons.  The numbers may become smaller, never greater.
KNOWN = {
    "data/floats.py": 3, "data/values.py": 2, "engine/dtrace/frames.py": 4, "data/aggregations.py": 1, "data/packed.py": 5,
    "tracing/symbols.py": 2, "report/terms.py": 1,
}  # fmt: skip


def comparisons(text):
    """Lines where a name, a function or a kind is compared with the name of a built-in."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        words = [each.value for side in sides for each in ast.walk(side) if isinstance(each, ast.Constant)]
        asked = [side for side in sides if isinstance(side, ast.Attribute) and side.attr in ("name", "kind", "function")
                 or isinstance(side, ast.Name) and side.id in ("function", "called")
                 or isinstance(side, ast.Call) and "function" in ast.unparse(side)]
        if asked and NAMES & {word for word in words if isinstance(word, str)}:
            yield node.lineno


def test_no_other_file_compares_with_the_name_of_a_built_in():
    found = {}
    for path in glob.glob(os.path.join(ROOT, "**", "*.py"), recursive=True):
        name = os.path.relpath(path, ROOT)
        if not name.startswith(os.path.join("dlang", "builtins")):
            with open(path, encoding="utf-8") as file:
                lines = list(comparisons(file.read()))
            if len(lines) > KNOWN.get(name, 0):
                found[name] = lines
    assert not found, "ask the row (dlang/builtins/action.py, row.py), not its name"


def test_such_a_comparison_is_found():
    assert list(comparisons('x = 1\nif action.row.kind == "exit": pass')) == [2]
    assert list(comparisons('node.name in ("alloca", "copyin")')) == [1]
    assert not list(comparisons('option == "exit"'))


@pytest.fixture
def answer(monkeypatch):
    """A made-up action, in the table as if a file of builtins/ had it: all that there is to say about it is in its class."""

    class Answer(Action):
        name, prototype, doc = "answer", "void(int)", "a number, and what it answers"
        type = t.INT
        is_value = True

        def perform(self, run, action, record):
            run.sink.text(b"to everything: %d" % record[action.data[0].offset])

    from pyusdt.dlang.builtins import prototypes

    row = Answer()
    monkeypatch.setitem(actions_table.ACTIONS, "answer", row)
    monkeypatch.setitem(prototypes.FUNCTIONS, "answer", (prototypes.ACTION, row.prototype))
    return row


def test_an_action_is_its_row_alone(answer):
    from pyusdt.data.records import record_layout

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
