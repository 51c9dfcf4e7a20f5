"""Clauses that the target can count itself, without events (docs/internals/ring.md, "Counting").

Such a clause does the same at each firing of a probe at one code location of a process: it reads
nothing that differs between two firings, it cannot fail, and n firings can be aggregated at
once.
"""

from __future__ import annotations

from pydtrace.dlang import ast

from .argument_demand import walk_nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .layout import Layout

_PURE = (ast.IntLit, ast.StrLit, ast.Unary, ast.Ternary, ast.Cast, ast.AggRef)


def can_count(clause: ast.Clause, layout: Layout) -> bool:
    """Whether a clause does nothing but aggregate, with values and keys that are the same at each firing."""
    if not clause.body or layout.only_cpu is not None:
        return False
    if not all(
        type(statement) is ast.AggStmt and statement.row.has_bulk_code for statement in clause.body
    ):
        return False
    expressions = [
        expr
        for statement in clause.body
        if isinstance(statement, ast.AggStmt)
        for expr in (statement.agg, *statement.args)
    ]
    if clause.predicate is not None:
        expressions.append(clause.predicate)
    return all(_is_fixed(node) for expr in expressions for node in walk_nodes(expr))


def _is_fixed(node: ast.Node) -> bool:
    if type(node) is ast.Builtin:
        return node.row.is_fixed
    if type(node) is ast.Binary:
        return node.op not in ("/", "%")  # they fail where the divisor is 0
    return node.__class__ in _PURE
