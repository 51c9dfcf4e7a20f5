"""The tables of variables that -S shows: ids, offsets, kinds and flags as the real dtrace has them."""

import re

import pytest

from pydtrace.dlang.compile import Compiler
from pydtrace.dlang.disassembly import HEADING
from pydtrace.options import Options
from tests.support.compiler.recorded_cases import SCRIPTS, id_of

TABLES = """\
z 500 0 scl tls [] w D type (integer) (size 4)
_ 1 0 agg glb [] any (unknown) by ref (size 0)
a 2 0 agg glb [] any (unknown) by ref (size 0)
execname 118 scl glb [] r string (unknown) by ref (size 16)
errno 120 scl glb [] r D type (integer) (size 4)
s 500 0 scl glb [] r D type (struct) by ref (size 12)
x 501 12 arr glb [] w D type (integer) (size 4)
p 0 0 scl loc [] r/w D type (pointer) (size 8)
y 1 8 scl loc [] w string (unknown) by ref (size 16)
b 2 24 scl loc [] w D type (integer) (size 4)
"""


def shown(text, options=()):
    compiler = Compiler(Options(options), {"target": 1}, ["x.d"])
    compiler.compile_text(text, "x.d")
    return compiler.format_disassembly(compiler.generate_program())


def tables(text):
    """The rows of a listing, one space between columns, without the code's length."""
    rows = re.findall(r"(?m)^.* (?:scl|arr|agg) (?:glb|tls|loc) .*$", text)
    return "".join(re.sub(r"\[0-\d+\]", "[]", re.sub(" +", " ", row)) + "\n" for row in rows)


def test_the_table_is_dtraces():
    text = """struct S { int a; int b[2]; }; struct S s;
              BEGIN { s.a = 1; s.a++; s.b[1] += 2; this->p = (int *)alloca(4); *this->p += 3; @ = count(); @a[1] = sum(errno);
                      self->z = 1; x[1] = 1; this->y = "s"; this->b = 2; trace(execname); }"""
    listing = shown(text, {"strsize": 16})
    assert tables(listing) == TABLES
    assert listing.count(HEADING) == 1


def test_task_variables_are_listed():
    """They are ours (-x pyusdt); dtrace has none."""
    text = "pyusdt*:::user_trace-i4s4 { task->x = 1; task->y[1] = task->x; self->z = 1; }"
    assert re.findall("(?m)^([xyz]) .*? (scl|arr) (tsk|tls) ", shown(text, {"pyusdt": True})) == [
        ("z", "scl", "tls"),
        ("x", "arr", "tsk"),
        ("y", "arr", "tsk"),
    ]


def test_without_variables_there_is_no_table():
    assert HEADING not in shown("BEGIN { trace(1); exit(0); }")


@pytest.mark.parametrize("path", SCRIPTS[::4], ids=id_of)
def test_every_program_is_shown(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert len(re.findall("(?m)^Disassembly of clause", shown(text))) > 0
