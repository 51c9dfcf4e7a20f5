"""What a script on many hosts may not do: its parts run at different places (engine/remote/sides.py), and share nothing but aggregations.

In: the lowered trees of a script's texts; who tells where a clause runs.  Out: nothing, or a CompileError.
Always: a global variable that is assigned is used on one side alone; hosts record, count, and do nothing to the coordinator but end the
tracing and what their clauses say about aggregations.
"""

from __future__ import annotations

from . import ast
from .errors import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Sides = Callable[[list[ast.ProbeDesc]], frozenset[str]]

_HINT = ("each side has its own memory: keep what belongs together in clauses of one side, in this-> or self-> variables, or in "
         "aggregations, which are merged (docs/guide/hosts.md)")


def check(items: list[ast.Node], sides: Sides, hosts: str) -> None:
    """hosts: what `sides` calls them."""
    assigned: dict[Any, tuple[ast.Node, frozenset[str]]] = {}
    used: list[tuple[Any, ast.Node, frozenset[str]]] = []
    for clause in (item for item in items if item.__class__ is ast.Clause):
        where = sides(clause.probes)  # type: ignore[attr-defined]
        for node in _nodes(clause):
            if isinstance(node, ast.Assign) and (symbol := _global(node.target)):
                first, before = assigned.get(symbol, (node, frozenset()))
                assigned[symbol] = first, before | where
            elif symbol := _global(node):
                used.append((symbol, node, where))
            elif isinstance(node, ast.Call) and hosts in where:
                _check_action(node)
    for symbol, node, where in used:
        if symbol in assigned and len(where | assigned[symbol][1]) > 1:
            _refuse(symbol, node, where, *assigned[symbol])


def _refuse(symbol: Any, node: ast.Node, where: frozenset[str], assignment: ast.Node, there: frozenset[str]) -> None:
    line = assignment.loc.source.place(assignment.loc.start)[1]
    message = f"with --hosts, {symbol} can not be used by {_named(where)}: it is assigned by {_named(there)} (line {line})"
    refuse("D_UNSUPPORTED", node.loc, message, _HINT)


def _named(sides: frozenset[str]) -> str:
    return " and ".join(sorted(sides))


def _check_action(call: ast.Call) -> None:
    """An action of the hosts that the coordinator would do for them, in a process or shell of its own."""
    row = call.row
    done_here = row.is_action and row.records and not row.is_value and not row.ends
    if done_here and not any(arg.__class__ is ast.AggRef for arg in call.args):
        refuse("D_UNSUPPORTED", call.loc, f"with --hosts, {row.name}() of what fires on the hosts can not be had",
               "what acts on the tracer, a file or a process would be done at the coordinator: put it into BEGIN, END or a tick")


def _global(node: Any) -> Any:
    """The symbol of a global variable, or None."""
    is_variable = isinstance(node, (ast.Var, ast.AssocRef)) and node.symbol.scope == "global"
    return node.symbol if is_variable else None


def _nodes(node: Any) -> Iterator[Any]:
    """A node and all below it."""
    if isinstance(node, (list, tuple)):
        for each in node:
            yield from _nodes(each)
    elif isinstance(node, ast.Node):
        yield node
        for name in node.fields:
            yield from _nodes(getattr(node, name))
