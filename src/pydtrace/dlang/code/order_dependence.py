# mypy: ignore-errors
"""Which clauses need one consumer that sees all events in their order (docs/internals/consumers.md).

In: typed clauses.  Out: why, in words that go on behind the clause's place.
Always: too many rather than too few.  A clause that needs no order does the same to the aggregations, taken together, whichever
consumer runs it, and leaves nothing else behind.
"""

from pydtrace.dlang import ast

from .argument_demand import walk


def why_in_order(clause, out):
    """ "" where a clause, compiled as the program.Clause `out`, needs no order."""
    if out.record_size:
        return "has actions"
    for node in walk(clause):
        cls = node.__class__
        if cls is ast.AssocRef or (cls is ast.Var and node.symbol.scope != "this"):
            return f"uses {node.symbol}"
        if cls is ast.Call and (node.row.place or node.row.destructive):
            return f"calls {node.name}()"
    return ""
