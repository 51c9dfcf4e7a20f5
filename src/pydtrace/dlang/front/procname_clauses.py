"""`procname(pid)`: what a process of Erlang is called, in keys and texts.

- The node fires its processes' names (process-name). Clauses that a script does not show keep them in an associative array, by the
  process of the system and the pid of Erlang. `procname()` looks there.
- The name of an unknown process is its pid; what is a name already stays as it is.
"""

from __future__ import annotations

from copy import copy

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .source_text import Location

FUNCTION = "procname"
_ARRAY = "pyusdt_process_names"
_ANY_NODE = "erlang*"
_PROVIDER = "erlang"
_CLAUSES = f"""string {_ARRAY}[int, string];
{{probes}} /copyinstr(arg1) != ""/ {{{{ {_ARRAY}[pid, copyinstr(arg0)] = copyinstr(arg1); }}}}
{{probes}} /copyinstr(arg1) == ""/ {{{{ {_ARRAY}[pid, copyinstr(arg0)] = 0; }}}}
"""


def make_lookup(loc: Location, arguments: list[ast.Expr]) -> ast.Expr:
    """pyusdt_process_names[pid, PROCESS] != NULL ? pyusdt_process_names[pid, PROCESS] : PROCESS"""
    if len(arguments) != 1:
        message = f"{FUNCTION}( ) prototype mismatch: {len(arguments)} args passed, 1 expected"
        refuse("D_PROTO_LEN", loc, message)
    (process,) = arguments

    def named() -> ast.Expr:
        array = ast.Ident(loc, _ARRAY)
        return ast.Index(loc, array, [ast.Ident(loc, "pid"), copy_tree(process)])

    is_known = ast.Binary(loc, "!=", named(), ast.Ident(loc, "NULL"))
    return ast.Ternary(loc, is_known, named(), process)


def copy_tree(node: Any) -> Any:
    """Of an expression; the passes after this one change nodes in place."""
    if isinstance(node, list):
        return [copy_tree(each) for each in node]
    if not isinstance(node, ast.Node):
        return node
    made = copy(node)
    for field in node.fields:
        setattr(made, field, copy_tree(getattr(node, field)))
    return made


def make_clauses(unit: ast.Unit) -> str:
    """The text of the array's declaration and of the clauses that keep the names: of the nodes that the script names, of all nodes if
    it names none."""
    providers = {
        probe.provider: None
        for item in unit.items
        if isinstance(item, ast.Clause)
        for probe in item.probes
        if isinstance(probe, ast.ProbeDesc) and probe.provider.startswith(_PROVIDER)
    }
    probes = ",".join(f"{provider}:::process-name" for provider in providers or (_ANY_NODE,))
    return _CLAUSES.format(probes=probes)
