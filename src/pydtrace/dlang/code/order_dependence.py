"""Clauses that need one consumer that sees all events in order (docs/internals/consumers.md).

A clause that needs no order has the same total effect on aggregations whichever consumer runs
it, and leaves nothing else behind. In doubt a clause needs the order.
"""

from __future__ import annotations

from pydtrace.dlang import ast

from .argument_demand import walk_nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...program.program import Clause


def order_reason(clause: ast.Clause, out: Clause) -> str:
    """ "" where a clause, compiled as the program.Clause `out`, needs no order."""
    if out.record_size:
        return "has actions"
    for node in walk_nodes(clause):
        if type(node) is ast.AssocRef or (type(node) is ast.Var and node.symbol.scope != "this"):
            return f"uses {node.symbol}"
        if type(node) is ast.Call and (node.row.make_room or node.row.is_destructive):
            return f"calls {node.name}()"
    return ""
