"""Floating-point nodes: FloatOp, and conversions of typed numbers.

All arithmetic is done in double. A register holds the 64 bits of a double or the 32 of a float;
only to_double() converts the latter.
"""

from __future__ import annotations

from pydtrace.program import d_types as t

from . import ast

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from .front.source_text import Location


DOUBLE = t.FLOATS["double"]


def make_float_op(loc: Location, name: str, *operands: ast.Expr, type: t.Type = DOUBLE) -> ast.Expr:
    """A typed FloatOp."""
    found = ast.FloatOp(loc, name, list(operands))
    found.type = type
    return found


def to_double(node: ast.Expr) -> ast.Expr:
    """A typed number as a double."""
    if node.type.is_integer:
        return make_float_op(node.loc, "unsigned" if not node.type.signed else "signed", node)
    return make_float_op(node.loc, "widen", node) if node.type.size == 4 else node


def to_stored(node: ast.Expr, to: t.Type) -> ast.Expr:
    """A typed number as what lies in memory, or in a register, of a type: a float, a double or an integer."""
    if to.is_integer:
        return (
            make_float_op(node.loc, "whole", to_double(node), type=t.INT64)
            if t.is_real(node.type)
            else node
        )
    return (
        make_float_op(node.loc, "narrow", to_double(node), type=to)
        if to.size == 4
        else to_double(node)
    )


def to_sortable(node: ast.Expr) -> ast.Expr:
    """An integer that sorts as the double does; NaN is the smallest, and 0 is -0."""
    return make_float_op(node.loc, "order", to_double(node), type=t.INT64)


def to_truth_value(node: ast.Expr) -> ast.Expr:
    """A typed number as what a condition takes: a float is true unless it is 0."""
    return (
        make_float_op(node.loc, "magnitude", to_double(node), type=t.UINT64)
        if t.is_real(node.type)
        else node
    )
