"""The lower pass: what is left for code generation, and that keys are evaluated once."""

import pytest

from pydtrace.dlang import ast
from pydtrace.dlang.code.argument_demand import walk_nodes
from pydtrace.dlang.compile import Compiler, compile_program
from tests.support.compiler.bpf_machine import Machine

LEFT = {
    "IntLit", "StrLit", "Var", "AssocRef", "Builtin", "Unary", "Binary", "Assign", "Ternary", "Cast", "Comma",
    "Call", "AggRef", "AggStmt", "ExprStmt", "Clause", "ProbeDesc", "Unit",
}  # fmt: skip

EVERYTHING = """
BEGIN /x++ && this->t++ == 0/
{
	x += 2; x -= 1; x *= 3; x /= 2; x %= 5; x <<= 2; x >>= 1; x &= 7; x |= 1; x ^= 3;
	++x; --x; x--; y = x++ + --x;
	a[x++, "k"]++; a[x, execname] += x++; a[x, "k"] -= 1;
	self->s[pid] = "s"; self->s[pid] = 0;
	@q[a[1, "k"]++] = quantize(x++);
	(void)(x = 1);
	z = (int)x++, sizeof (x++);
	printf("%d %s", x++, self->s[pid]);
	trace((char)x ? -x : !x);
}
"""


def lowered(text):
    return Compiler().compile_text(text)


def test_only_the_small_language_is_left():
    unit = lowered(EVERYTHING)
    nodes = list(walk_nodes(unit))
    assert {type(node).__name__ for node in nodes} <= LEFT
    assert all(node.op == "=" for node in nodes if type(node) is ast.Assign)
    assert all(node.type is not None for node in nodes if isinstance(node, ast.Expr))


def test_nothing_shares_an_assignment():
    """A subtree that changes a variable stands in the tree once."""
    nodes = [node for node in walk_nodes(lowered(EVERYTHING)) if type(node) is ast.Assign]
    assert len({id(node) for node in nodes}) == len(nodes)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("i = 1; a[i++] += 5; trace(i); trace(a[1]);", [2, 5]),
        ("i = 1; a[i] += i++; trace(i); trace(a[1]); trace(a[2]);", [2, 1, 0]),
        ("i = 1; b[i++, i++]++; trace(i); trace(b[1, 2]);", [3, 1]),
        ("i = 5; trace(i++); trace(i); trace(++i); trace(i--); trace(--i);", [5, 6, 7, 7, 5]),
        ("c = (char)127; trace((int)c++); trace((int)c);", [127, -128]),
        ("v = 0; trace((int)v--); trace((int)v);", [0, 255]),
        ("i = -8; i >>= 1; trace(i); i /= 3; trace(i); i %= 1; trace(i);", [-4, -1, 0]),
        ("u = 8u; u -= 9; trace((long)u / 2 > 0);", [1]),
        ("i = 1; trace((i += 2, i *= 5)); trace(i);", [15, 15]),
    ],
)
def test_values(body, expected):
    declare = "int i; char c; unsigned char v; unsigned int u; int a[int], b[int, int];\n"
    machine = Machine(compile_program(f"{declare}BEGIN {{ {body} }}"))
    ((_, values),) = machine.fire()
    assert values == expected
