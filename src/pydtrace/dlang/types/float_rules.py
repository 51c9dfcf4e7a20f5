"""The types of floating-point expressions, under -x pyusdt.

- A FloatOp becomes a few instructions or a call of the engine's arithmetic
  (code/float_expressions.py).
- Without the option nothing here is reached (operands.are_floats), so D's own errors stay.
  Operations without a FloatOp (%, shifts, bits, ++, keys) stay refused in dtrace's words.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import refuse
from pydtrace.dlang.float_nodes import (
    DOUBLE,
    make_float_op,
    to_double,
    to_sortable,
    to_stored,
    to_truth_value,
)
from pydtrace.program import d_types as t

from .operands import are_floats, convert_node, refuse_incompatible, require_writable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.dlang.variable_table import Aggregation

    from ..ast import Expr
    from .context import TypingContext

_ARITHMETIC = frozenset(("+", "-", "*", "/"))
_RELATIONS = frozenset(("<", "<=", ">", ">=", "==", "!="))


def type_float_unary(node: ast.Unary, operand: Expr) -> Expr | None:
    """-x, +x, !x; None for the others."""
    if node.op == "-":
        return make_float_op(node.loc, "-", to_double(operand))
    if node.op == "!":
        node.operand, node.type = to_truth_value(operand), t.INT
        return node
    return to_double(operand) if node.op == "+" else None


def type_float_binary(node: ast.Binary, left: Expr, right: Expr) -> Expr | None:
    """A typed node, or None where the operator takes integers only."""
    if node.op in _ARITHMETIC:
        return make_float_op(node.loc, node.op, to_double(left), to_double(right))
    if node.op in _RELATIONS:
        node.left, node.right, node.common, node.type = (
            to_sortable(left),
            to_sortable(right),
            t.INT64,
            t.INT,
        )
        return node
    if node.op in ("&&", "||", "^^"):
        node.left, node.right, node.type = to_truth_value(left), to_truth_value(right), t.INT
        return node
    return None


def type_float_assign(node: ast.Assign, value: Expr) -> Expr:
    """target = value; where one of them is an integer the value is converted, as in C."""
    require_writable(node, "=", node.target, "as an operand")
    node.value = convert_node(to_stored(value, node.target.type), node.target.type)
    node.type = node.target.type
    return node


def type_float_compound(node: ast.Assign, value: Expr) -> Expr | None:
    """target op= value; None where the operator takes integers only.  lower.py makes the operation."""
    target = node.target
    if node.op[:-1] not in _ARITHMETIC:
        return None
    if target.type.is_integer:
        refuse_incompatible(
            node,
            target.type,
            node.op,
            value.type,
            "cast the value, or declare the variable as a double",
        )
    require_writable(node, node.op, target, "as an operand")
    node.value, node.type = to_double(value), target.type
    return node


def type_float_ternary(c: TypingContext, node: ast.Ternary) -> Expr | None:
    """cond ? then : otherwise, all typed."""
    node.cond = to_truth_value(node.cond)
    if are_floats(c, node.then.type, node.otherwise.type):
        node.then, node.otherwise, node.type = (
            to_double(node.then),
            to_double(node.otherwise),
            DOUBLE,
        )
        return node
    return None


def type_float_cast(node: ast.Cast, to: t.Type, operand: Expr) -> Expr:
    """(double)x, (float)x, (int)x: towards zero, and to the nearest that there is where x is too large."""
    if to.is_integer:
        node.operand, node.type = to_stored(operand, to), to
        return node
    return (
        make_float_op(node.loc, "widen", to_stored(operand, to))
        if to.size == 4
        else to_double(operand)
    )


def type_float_aggregation(node: ast.Assign, symbol: Aggregation) -> None:
    """Choose the function of floating-point values for @a = f(value), and convert the value for it."""
    from pydtrace.dlang.builtins.float_aggregations import ROWS  # few programs have such

    call, known = node.value, symbol.row
    assert isinstance(call, ast.Call)
    row = ROWS.get(call.row.name)
    if call.row.is_float:
        return  # typed before
    if row is None:  # a distribution, of the integer part
        call.args[0] = to_stored(call.args[0], t.INT64)
    elif known is None or known.is_float:
        call.args[0] = row.convert_operand(to_double(call.args[0]))
        call.row = row
    else:
        message = f"@{symbol.name} has integers since its first use"
        refuse(
            "D_UNSUPPORTED", call.loc, message, f"begin with a float: {call.row.name}((double)x)"
        )
