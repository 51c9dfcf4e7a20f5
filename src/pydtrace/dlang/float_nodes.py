"""Floating-point nodes: FloatOp, and what is made with them of typed numbers.

Always: all arithmetic is done in double; a register holds a double's 64 bits, or a float's 32, and only real() makes a
double of the latter.
"""

from __future__ import annotations

from pydtrace.program import d_types as t

from . import ast

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from .front.source_text import Location


DOUBLE = t.FLOATS["double"]


def op(loc: Location, name: str, *operands: ast.Expr, type: t.Type = DOUBLE) -> ast.Expr:
    """A typed FloatOp."""
    found = ast.FloatOp(loc, name, list(operands))
    found.type = type
    return found


def real(node: ast.Expr) -> ast.Expr:
    """A typed number as a double."""
    if node.type.is_integer:
        return op(node.loc, "unsigned" if not node.type.signed else "signed", node)
    return op(node.loc, "widen", node) if node.type.size == 4 else node


def stored(node: ast.Expr, to: t.Type) -> ast.Expr:
    """A typed number as what lies in memory, or in a register, of a type: a float, a double or an integer."""
    if to.is_integer:
        return op(node.loc, "whole", real(node), type=t.INT64) if t.is_real(node.type) else node
    return op(node.loc, "narrow", real(node), type=to) if to.size == 4 else real(node)


def ordered(node: ast.Expr) -> ast.Expr:
    """An integer that sorts as the double does; NaN is the smallest, and 0 is -0."""
    return op(node.loc, "order", real(node), type=t.INT64)


def truth(node: ast.Expr) -> ast.Expr:
    """A typed number as what a condition takes: a float is true unless it is 0."""
    return op(node.loc, "magnitude", real(node), type=t.UINT64) if t.is_real(node.type) else node
