"""Demand: the parts of an event that a clause reads. The target converts and captures no more
than this.

- A demand is {argument index: bytes of its string, 0 for the value only}, and the parts of the
  state block that the clause reads; "kernel" if it follows a pointer to a struct of the kernel.
- It is too large rather than too small: a string at an address that does not visibly come from
  an argument (a variable may hold one) may be the string of any argument.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.program.d_types import is_kernel_record
from pydtrace.program.program import OF_THREAD, SAMPLED_TASK, STRING_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ARGUMENTS = 12
_BYTES_MAX = (1 << 16) - 1  # bytes that a session can ask for
STRING_TRUNCATED_MIN = (
    STRING_LIMIT - 3
)  # the shortest that it may have cut: it cuts between characters


def child_nodes(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes right below a node."""
    for field in node.fields:
        value = getattr(node, field)
        if isinstance(value, ast.Node):
            yield value
        elif value.__class__ is list:
            for item in value:
                if isinstance(item, ast.Node):
                    yield item


def walk_nodes(node: ast.Node) -> Iterator[ast.Node]:
    """All nodes below and including `node`, parents first."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(list(child_nodes(node))))


def clause_demand(clause: ast.Clause, strsize: int) -> tuple[dict[int, int], set[str]]:
    """({argument: bytes}, set of uses) of a clause."""
    wanted: dict[int, int] = {}
    uses: set[str] = set()
    for node in walk_nodes(clause):
        if type(node) is ast.Deref and is_kernel_record(node.type):
            uses.add("kernel")
        if (
            type(node) is ast.AssocRef
            and node.symbol.scope == "task"
            and clause.probes[0].name.startswith("profile-")
        ):
            uses.add(SAMPLED_TASK)
        if isinstance(node, (ast.Var, ast.AssocRef)) and node.symbol.scope == "self":
            uses.add(OF_THREAD)
        if type(node) is ast.Builtin:
            if node.row.uses:
                uses.add(node.row.uses)
            index = node.row.argument_index
            if index is not None:
                wanted.setdefault(index, 0)
        elif type(node) is ast.Call and node.row.uses:
            uses.add(node.row.uses)
        else:
            for index, size in _string_demand(node, strsize):
                wanted[index] = max(wanted.get(index, 0), size)
    return wanted, uses


def _string_demand(node: ast.Node, strsize: int) -> list[tuple[int, int]] | tuple[Any, ...]:
    """(argument, bytes) for each argument whose string the node may read."""
    if type(node) is ast.Call and node.row.read_limit:
        return _argument_demand(node.args[0], node.row.read_limit(node, strsize), strsize)
    if type(node) is ast.Stringof and not (
        node.operand.type.is_array or node.operand.type.is_string
    ):
        return _argument_demand(node.operand, strsize, strsize)
    if type(node) is ast.Deref:
        return _argument_demand(node.operand, STRING_LIMIT, strsize)
    return ()


def _argument_demand(address: ast.Expr, size: int, strsize: int) -> list[tuple[int, int]]:
    """(argument, bytes) for each argument whose string is read at an address, `size` bytes at most."""
    while type(address) is ast.Cast:
        address = address.operand
    if type(address) is ast.Builtin:
        index = address.row.argument_index
        return [] if index is None else [(index, max(1, min(size, _BYTES_MAX)))]
    indexes: set[int] = set()
    for node in walk_nodes(address):
        if isinstance(node, (ast.Var, ast.AssocRef, ast.Call)):
            indexes = set(range(ARGUMENTS))
            break
        if type(node) is ast.Builtin:
            index = node.row.argument_index
            if index is not None:
                indexes.add(index)
    return [(index, min(max(strsize, STRING_LIMIT), _BYTES_MAX)) for index in indexes]
