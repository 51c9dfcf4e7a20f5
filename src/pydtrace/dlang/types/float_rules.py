# mypy: ignore-errors
"""The types of floating-point expressions, under -x pyusdt.

In: typed operands of which one is a float or a double.  Out: FloatOp nodes, which code generation turns into a few
instructions or a call of the engine's arithmetic (code/float_expressions.py).
Always: without the option nothing here is reached (operands.floating), so D's own errors stay; what has no
FloatOp (%, shifts, bits, ++, keys) stays refused in D's words.
"""

from pydtrace.dlang.compile_errors import refuse
from pydtrace.dlang.float_nodes import DOUBLE, op, ordered, real, stored, truth
from pydtrace.program import d_types as t

from .operands import convert, floating, incompatible, need_writable

_ARITHMETIC = frozenset(("+", "-", "*", "/"))
_RELATIONS = frozenset(("<", "<=", ">", ">=", "==", "!="))


def unary(node, operand):
    """-x, +x, !x; None for the others."""
    if node.op == "-":
        return op(node.loc, "-", real(operand))
    if node.op == "!":
        node.operand, node.type = truth(operand), t.INT
        return node
    return real(operand) if node.op == "+" else None


def binary(node, left, right):
    """A typed node, or None where the operator takes integers only."""
    if node.op in _ARITHMETIC:
        return op(node.loc, node.op, real(left), real(right))
    if node.op in _RELATIONS:
        node.left, node.right, node.common, node.type = (
            ordered(left),
            ordered(right),
            t.INT64,
            t.INT,
        )
        return node
    if node.op in ("&&", "||", "^^"):
        node.left, node.right, node.type = truth(left), truth(right), t.INT
        return node
    return None


def assign(node, value):
    """target = value; where one of them is an integer the value is converted, as in C."""
    need_writable(node, "=", node.target, "as an operand")
    node.value = convert(stored(value, node.target.type), node.target.type)
    node.type = node.target.type
    return node


def compound(node, value):
    """target op= value; None where the operator takes integers only.  lower.py makes the operation."""
    target = node.target
    if node.op[:-1] not in _ARITHMETIC:
        return None
    if target.type.is_integer:
        incompatible(
            node,
            target.type,
            node.op,
            value.type,
            "cast the value, or declare the variable as a double",
        )
    need_writable(node, node.op, target, "as an operand")
    node.value, node.type = real(value), target.type
    return node


def ternary(c, node):
    """cond ? then : otherwise, all typed."""
    node.cond = truth(node.cond)
    if floating(c, node.then.type, node.otherwise.type):
        node.then, node.otherwise, node.type = real(node.then), real(node.otherwise), DOUBLE
        return node
    return None


def cast(node, operand):
    """(double)x, (float)x, (int)x: towards zero, and to the nearest that there is where x is too large."""
    if node.to.is_integer:
        node.operand, node.type = stored(operand, node.to), node.to
        return node
    return op(node.loc, "widen", stored(operand, node.to)) if node.to.size == 4 else real(operand)


def aggregate(node, symbol):
    """Choose the function of floating-point values for @a = f(value), and convert the value for it."""
    from pydtrace.dlang.builtins.float_aggregations import ROWS  # few programs have such

    call, known = node.value, symbol.row
    row = ROWS.get(call.row.name)
    if call.row.is_float:
        return  # typed before
    if row is None:  # a distribution, of the integer part
        call.args[0] = stored(call.args[0], t.INT64)
    elif known is None or known.is_float:
        call.args[0] = row.operand(real(call.args[0]))
        call.row = row
    else:
        message = f"@{symbol.name} has integers since its first use"
        refuse(
            "D_UNSUPPORTED", call.loc, message, f"begin with a float: {call.row.name}((double)x)"
        )
