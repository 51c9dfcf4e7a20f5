"""The output of -S: each clause's code, and its variables in the form of dtrace -S.

Global and this-> variables get the offsets that dtrace gives them, in the order in which the
program mentions them. The compiler's own layout is another one.
"""

from __future__ import annotations

from pydtrace.program import d_types as t

from . import ast
from .code.argument_demand import walk_nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..program.program import Program
    from .types.resolve import ProgramNames
    from .variable_table import Variable

    Offsets = dict[Variable, tuple[int, int]]  # (id, offset)
    Row = tuple[tuple[int, int], str]  # (what sorts it, the text)

HEADING = "NAME             ID   OFFSET KND SCP RANGE       FLAG TYPE"
_FIRST_ID = 0x500  # of a program's own variables; what is below belongs to D
# Those that D has, in the order of their ids.
_BUILTINS = [
    "curthread",
    "timestamp",
    "vtimestamp",
    "ipl",
    "epid",
    "id",
    *(f"arg{i}" for i in range(10)),
    "stackdepth",
    "caller",
    "probeprov",
    "probemod",
    "probefunc",
    "probename",
    "pid",
    "tid",
    "execname",
    "zonename",
    "walltimestamp",
    "ustackdepth",
    "ucaller",
    "ppid",
    "uid",
    "gid",
    "errno",
    "cpu",
    "execargs",
]
_FIRST_BUILTIN = 0x100
_DISPLAY_NAMES = {"__curthread": "curthread"}
_ORDER = ("self", "task", "agg", "builtin", "global", "this")
_SCOPES = {
    "self": "tls",
    "task": "tsk",
    "agg": "glb",
    "builtin": "glb",
    "global": "glb",
    "this": "loc",
}


def format_disassembly(clauses: list[ast.Clause], program: Program, names: ProgramNames) -> str:
    """The text for all clauses.  names: resolve.ProgramNames, which has the variables in the order of their making."""
    from pydtrace.bpf.disasm import disassemble

    places = _assign_offsets(names, program.strsize)
    maps = [m.name for m in program.maps]
    parts = []
    for clause, compiled in zip(clauses, program.clauses):
        probes = ", ".join(str(probe) for probe in compiled.probes)
        parts.append(
            f"\nDisassembly of clause {compiled.index}, {probes}:\n{disassemble(compiled.code, maps)}\n"
        )
        parts.append(_format_table(clause, len(compiled.code), places, program.strsize))
    return "\n".join(part for part in parts if part)


def _variable_size(type: t.Type | None, strsize: int) -> int:
    """Bytes of a variable."""
    return 8 if type is None else strsize if type.is_string else t.embedded_size(type)


def _assign_offsets(names: ProgramNames, strsize: int) -> Offsets:
    """{symbol: (id, offset)}"""
    found: Offsets = {}
    for scope in ("global", "this", "self", "task"):
        end = 0
        for number, symbol in enumerate(
            names.scopes[scope].values(), _FIRST_ID if scope != "this" else 0
        ):
            if scope in ("self", "task"):
                found[symbol] = (number, 0)
                continue
            align = _alignment_of(symbol.type)
            end = -(-end // align) * align
            found[symbol] = (number, end)
            end += _variable_size(symbol.type, strsize)
    return found


def _alignment_of(type: t.Type | None) -> int:
    if type is None or type.is_record:
        return 8
    if type.is_string:
        return 1
    return max(1, t.embedded_size(type.to) if type.is_array else type.size)


def _format_table(clause: ast.Clause, size: int, places: Offsets, strsize: int) -> str:
    rows: list[Row] = []
    seen: dict[Any, tuple[ast.Node, set[str]]] = {}
    for node, written in _iter_uses(clause):
        key = node.row if type(node) is ast.Builtin else node.symbol
        _, uses = seen.setdefault(key, (node, set()))
        uses.add("w" if written else "r")
    for key, (node, flags) in seen.items():
        rows.append(_format_row(key, node, flags, f"[0-{size}]", places, strsize))
    if not rows:
        return ""
    rows.sort(key=lambda row: row[0])
    return "\n".join([HEADING, *(text for _, text in rows)]) + "\n"


def _iter_uses(clause: ast.Clause) -> Iterator[tuple[Any, bool]]:
    """(node, True where it is written) of the variables of a clause; of one whose part is assigned to the address is
    read, so to speak."""
    targets = set()
    for node in walk_nodes(clause):
        if type(node) is ast.Assign and isinstance(node.target, (ast.Var, ast.AssocRef)):
            targets.add(id(node.target))
        if type(node) is ast.Var and "#" in node.symbol.name:
            continue  # the compiler's own
        if isinstance(node, (ast.Var, ast.AssocRef, ast.Builtin, ast.AggRef)):
            yield node, id(node) in targets
    for node in walk_nodes(clause):  # a compound assignment reads the node that it writes
        if type(node) is not ast.Assign or not isinstance(node.target, (ast.Var, ast.AssocRef)):
            continue
        if any(below is node.target for below in walk_nodes(node.value)):
            yield node.target, False


def _format_row(
    key: Any, node: ast.Node, flags: set[str], span: str, places: Offsets, strsize: int
) -> Row:
    """(what sorts it, the text) of a variable."""
    kind, scope, flag, name = "scl", "builtin", "/".join(sorted(flags)), key.name
    offset: int | str = ""
    if type(node) is ast.AggRef:
        kind, scope, flag, number, offset = "agg", "agg", "", key.ident, 0
        shown = "any (unknown) by ref (size 0)"
    elif type(node) is ast.Builtin:
        name = _DISPLAY_NAMES.get(name, name)
        number = _FIRST_BUILTIN + _BUILTINS.index(name) if name in _BUILTINS else 0
        shown = _format_type(key.type, strsize)
    else:
        scope, (number, offset) = key.scope, places.get(key, (0, 0))
        kind = "arr" if key.keys is not None else "scl"
        shown = _format_type(key.type, strsize)
    order = (_ORDER.index(scope), number)
    text = (
        f"{name:<16} {number:<4x} {offset:<6} {kind} {_SCOPES[scope]} {span:<11} {flag:<4} {shown}"
    )
    return order, text


def _format_type(type: t.Type, strsize: int) -> str:
    if type.is_string:
        return f"string (unknown) by ref (size {strsize})"
    if type.is_record or type.is_array:
        return f"D type ({type.kind if isinstance(type, t.Record) else 'array'}) by ref (size {type.size})"
    return f"D type ({'pointer' if type.is_pointer else 'integer'}) (size {type.size})"
