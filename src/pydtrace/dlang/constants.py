"""Constant expressions, folded while the parser builds them, as dtrace does.

- A value is a 64-bit register, as at run time (0 … 2^64-1); its type decides the sign.
- Folding in the parser matters: a folded operand is never resolved or checked (`0 ? undefined :
  1` is 1), array dimensions need it, and division by a constant zero is an error of the parse.
"""

from __future__ import annotations

from pydtrace.program import d_types as t

from . import ast
from .compile_errors import CompileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .front.source_text import Location

MASK = (1 << 64) - 1

# The candidates for an integer constant's type, and the largest value of each.
_candidates = (
    (t.INT, (1 << 31) - 1),
    (t.UINT, (1 << 32) - 1),
    (t.LONG, (1 << 63) - 1),
    (t.ULONG, MASK),
    (t.BASIC["long long"], (1 << 63) - 1),
    (t.BASIC["unsigned long long"], MASK),
)


def to_signed(value: int) -> int:
    """A register's value read as signed."""
    return value - (1 << 64) if value >> 63 else value


def make_literal(loc: Location, value: int, type: t.Type) -> ast.IntLit:
    node = ast.IntLit(loc, value & MASK, None)
    node.type = type
    return node


def make_integer(loc: Location, parsed: tuple[int, bool, str, str]) -> ast.Expr:
    """The IntLit of an integer token: (value, decimal, suffix, sign).  C99 6.4.4.1, and as dtrace has it with U:
    0x1ffffffffU is a long, 0x1ffffffffu an unsigned one."""
    value, decimal, suffix, sign = parsed
    first = suffix.lower().count("u") + 2 * suffix.lower().count("l")
    step = 2 if decimal or suffix.startswith("u") else 1
    for type, limit in _candidates[first::step]:
        if value <= limit:
            node = make_literal(loc, value, type)
            return fold_unary(loc, sign, node) if sign else node
    message = f"integer constant 0x{value:x} cannot be represented in any built-in integral type"
    raise CompileError("D_INT_OFLOW", loc, message, "append u to make it unsigned")


def fold_unary(loc: Location, op: str, operand: ast.Expr) -> ast.Expr:
    """The node of a unary operator."""
    if type(operand) is ast.IntLit and op in "+-~!":
        value, kind = operand.value, operand.type
        if op == "-":
            value = -value & MASK
            if not kind.signed:
                value &= (1 << 8 * kind.size) - 1
        elif op == "~":
            value = ~value & MASK
        elif op == "!":
            value = int(not value)
        return make_literal(loc, value, kind)
    return ast.Unary(loc, op, operand)


def _divide_towards_zero(left: int, right: int) -> int:
    """Division that rounds towards zero, as C's."""
    quotient = abs(left) // abs(right)
    return -quotient if (left < 0) != (right < 0) else quotient


_plain = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
}
_truth = {
    "||": lambda a, b: a != 0 or b != 0,
    "&&": lambda a, b: a != 0 and b != 0,
    "^^": lambda a, b: (a != 0) != (b != 0),
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_ordered = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_division: dict[str, Callable[[int, int], int]] = {
    "/": _divide_towards_zero,
    "%": lambda a, b: a - b * _divide_towards_zero(a, b),
}


def fold_binary(loc: Location, op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr:
    """The node of a binary operator."""
    check_division(loc, op, right)
    if type(left) is not ast.IntLit or type(right) is not ast.IntLit:
        return ast.Binary(loc, op, left, right)
    a, b, common = left.value, right.value, t.promote_types(left.type, right.type)
    if op in _plain:
        return make_literal(loc, _plain[op](a, b), common)
    if op in _truth:
        return make_literal(loc, int(_truth[op](a, b)), t.INT)
    if op == "<<":
        return make_literal(loc, a << (b & 63), left.type)
    if op == ">>":
        return make_literal(loc, a >> (b & 63), left.type)
    if common.signed:
        a, b = to_signed(a), to_signed(b)
    if op in _ordered:
        return make_literal(loc, int(_ordered[op](a, b)), t.INT)
    return make_literal(loc, _division[op](a, b), common)


def check_division(loc: Location, op: str, right: ast.Expr) -> None:
    if type(right) is ast.IntLit and right.value == 0 and op in ("/", "%", "/=", "%="):
        raise CompileError("D_DIV_ZERO", loc, "expression contains division by zero")


def fold_ternary(loc: Location, cond: ast.Expr, then: ast.Expr, otherwise: ast.Expr) -> ast.Expr:
    """The node of ?:, or the branch that a constant condition leaves."""
    if type(cond) is ast.IntLit:
        return then if cond.value else otherwise
    return ast.Ternary(loc, cond, then, otherwise)


def fold_cast(loc: Location, operand: ast.IntLit, to: t.Type) -> ast.IntLit:
    """An integer constant converted to an integer type."""
    return make_literal(loc, convert_value(operand.value, operand.type, to), to)


def convert_value(value: int, source: t.Type, to: t.Type) -> int:
    """A register's value after a conversion between integer types: cut only where dtrace cuts."""
    if not changes_register(source, to):
        return value
    value &= (1 << 8 * to.size) - 1
    if to.signed and value >> (8 * to.size - 1):
        value -= 1 << 8 * to.size
    return value & MASK


def changes_register(source: t.Type, to: t.Type) -> bool:
    """True if a conversion between integer types changes the register."""
    if to.size == 8:
        return False
    if to.size > source.size:
        return source.signed and not to.signed
    return to.size < source.size or to.signed != source.signed
