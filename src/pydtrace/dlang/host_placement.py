"""Scripts on many hosts: the name `host`, and the restrictions on clauses.

- Without -x hostmode=central the parts of a script run at different places, which share only
  aggregations. A global variable that is assigned may be used on one side only; a variable that
  only the hosts use is separate on each host, and the option has to confirm that.
- Hosts record and count. Towards the coordinator they may only end the tracing and act on
  aggregations.
- Under hostmode=central all clauses run at the coordinator, so variables are shared. The key of
  self-> then includes the host, and that of task-> too.
"""

from __future__ import annotations

from pydtrace.program.program import WRITES

from . import ast
from .compile_errors import refuse
from .front.lexer import MacroVariable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .compile import Compiler

    Sides = Callable[[list[ast.ProbeDesc]], frozenset[str]]

CENTRAL = "central"
_HOST, _TARGET = "host", "$target"
_HINT = (
    "each host has its own memory: use this-> or self-> variables or aggregations, or run all clauses on the coordinator:"
    " -x hostmode=central (see `pyusdt help hosts`)"
)
_CHOICE = (
    "-x hostmode=partial: each host has its own; -x hostmode=central: all clauses run on the coordinator; inside one clause use"
    " this-> (see `pyusdt help hosts`)"
)


def declare_host(compiler: Compiler, name: str, width: int, where: str) -> None:
    """Make `host` a name of D.  Where the clauses of a host run it is a constant, empty at the coordinator, whose name is a list; width:
    of the longest name, so that records have the same layout on all hosts.  Where those of all hosts run it is a variable, which the
    engine sets.  where: what messages about it name."""
    if name or compiler.options.get("hostmode") != CENTRAL:
        compiler.add_library(f'inline string {_HOST} = "{name}";\n', where)
        text = compiler.names.inlines[_HOST].value
        assert isinstance(text, ast.StrLit)
        text.value = name.encode().ljust(width, b"\0")
    else:
        compiler.macros["target"] = MacroVariable(
            _TARGET, "*"
        )  # where the clauses of several hosts run
        compiler.add_library(f"string {_HOST}; int {_TARGET};\n", where)


def finish_program(compiler: Compiler, sides: Sides, hosts: str) -> Any:
    """The program of all texts; hosts: what `sides` calls them."""
    mode = compiler.options.get("hostmode")
    if mode == CENTRAL:
        _check_central(compiler.items, sides, hosts)
    else:
        _check_partial(compiler.items, sides, hosts, mode is None)
    program = compiler.generate_program()
    program.host, program.target = (
        getattr(compiler.names.scopes["global"].get(name), "slot", None)
        for name in (_HOST, _TARGET)
    )
    return program


# --- all clauses at the coordinator ------------------------------------------------------------------
def _check_central(items: list[ast.Node], sides: Sides, hosts: str) -> None:
    mixed = set()
    for clause in (item for item in items if type(item) is ast.Clause):
        where = sides(clause.probes)
        for probe in filter(_names_processes, clause.probes if hosts in where else ()):
            mixed.add("$target" in probe.loc.text)
            if len(mixed) > 1:
                refuse(
                    "D_UNSUPPORTED",
                    probe.loc,
                    "with -x hostmode=central, probes of $target do not work together with those of other processes",
                    "only the host itself knows which process is its $target",
                )
        for node in _walk_nodes(clause):
            _check_node(node, hosts in where)


def _names_processes(probe: ast.ProbeDesc) -> bool:
    """profile-n is of those that the others name."""
    return probe.name != "ERROR" and not probe.name.startswith("profile-")


def _check_node(node: ast.Node, on_hosts: bool) -> None:
    if isinstance(node, (ast.Var, ast.AssocRef)) and node.symbol.scope in ("self", "task"):
        node.symbol.is_per_host = True
    elif isinstance(node, ast.Assign) and (name := str(_global_symbol(node.target) or "")) in (
        _HOST,
        _TARGET,
    ):
        refuse("D_UNSUPPORTED", node.loc, f"{name} cannot be assigned")
    elif isinstance(node, ast.Call) and on_hosts:
        _check_action(node)


# --- each host its own ----------------------------------------------------------------------------------
def _check_partial(items: list[ast.Node], sides: Sides, hosts: str, must_choose: bool) -> None:
    """asks: what is a host's own is to be asked for."""
    targets = set()
    assigned: dict[Any, tuple[ast.Node, frozenset[str]]] = {}
    used: list[tuple[Any, ast.Node, frozenset[str]]] = []
    for clause in (item for item in items if type(item) is ast.Clause):
        where = sides(clause.probes)
        for node in _walk_nodes(clause):
            if isinstance(node, ast.Assign) and (symbol := _global_symbol(node.target)):
                targets.add(id(node.target))
                first, before = assigned.get(symbol, (node, frozenset()))
                assigned[symbol] = first, before | where
            elif symbol := _global_symbol(node):
                used.append((symbol, node, where))
            elif isinstance(node, ast.Call) and hosts in where:
                _check_action(node)
    for symbol, node, where in used:
        if symbol in assigned and len(where | assigned[symbol][1]) > 1:
            _refuse_shared(symbol, node, where, *assigned[symbol])
        if must_choose and symbol in assigned and hosts in where and id(node) not in targets:
            refuse(
                "D_UNSUPPORTED",
                node.loc,
                f"with --hosts, {symbol} is assigned and read by the hosts: each its own, or one for all?",
                _CHOICE,
            )


def _refuse_shared(
    symbol: Any,
    node: ast.Node,
    where: frozenset[str],
    assignment: ast.Node,
    assigned_on: frozenset[str],
) -> None:
    line = assignment.loc.source.find_position(assignment.loc.start)[1]
    message = f"with --hosts, {symbol} cannot be used by {_join_names(where)}: it is assigned by {_join_names(assigned_on)} (line {line})"
    refuse("D_UNSUPPORTED", node.loc, message, _HINT)


def _join_names(sides: frozenset[str]) -> str:
    return " and ".join(sorted(sides))


def _check_action(call: ast.Call) -> None:
    """An action of the hosts that the coordinator would do for them, in a process or shell of its own."""
    row = call.row
    if row.uses == WRITES:
        refuse(
            "D_UNSUPPORTED",
            call.loc,
            f"with --hosts, {row.name}() does not work",
            "pyusdt lets no other host write into a process",
        )
    done_here = row.is_action and row.has_record and not row.is_value and not row.ends_tracing
    if done_here and not any(type(arg) is ast.AggRef for arg in call.args):
        refuse(
            "D_UNSUPPORTED",
            call.loc,
            f"with --hosts, {row.name}() does not work in a clause that runs on the hosts",
            "it acts on the tracer, a file or a process of the coordinator: put it into BEGIN, END or a tick",
        )


def _global_symbol(node: Any) -> Any:
    """The symbol of a global variable, or None."""
    is_variable = isinstance(node, (ast.Var, ast.AssocRef)) and node.symbol.scope == "global"
    return node.symbol if is_variable else None


def _walk_nodes(node: Any) -> Iterator[Any]:
    """A node and all below it."""
    if isinstance(node, (list, tuple)):
        for each in node:
            yield from _walk_nodes(each)
    elif isinstance(node, ast.Node):
        yield node
        for name in node.fields:
            yield from _walk_nodes(getattr(node, name))
