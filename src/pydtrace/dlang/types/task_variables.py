"""`task->x`: variables of an Erlang process, an asyncio task or a thread, whichever fired the
probe.

- The variable is an associative array whose first keys are the process's id and `proc`, the
  first argument of the probes that have one, and another argument of profile-n.
- D itself has no name `task`; a `task` of the program takes precedence.
- A clause with a probe without `proc` is refused, because another argument would be used as its
  key.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program.program import SAMPLED_PROC

from . import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..front.source_text import Location
    from .context import TypingContext

SCOPE = "task"
_WITH_PROC = {
    "user_trace-i4s4": 0,
    "user_trace-n": 0,
    "profile-": SAMPLED_PROC,
}  # how the names of probes begin: which argument is `proc`


def is_task_variable(c: TypingContext, node: ast.Expr) -> bool:
    """Whether a node is `task->x`, and D knows no other `task`."""
    if (
        type(node) is not ast.Select
        or node.op != "->"
        or type(node.base) is not ast.Ident
        or node.base.name != SCOPE
    ):
        return False
    return SCOPE not in c.names.scopes["global"] and c.names.find_inline(SCOPE) is None


def type_task_variable(
    c: TypingContext, node: ast.Expr, keys: Sequence[ast.Expr] = (), read: bool = False
) -> ast.AssocRef:
    """The AssocRef of `task->x`, or of `task->x[keys]`; node: see is_task_variable()."""
    assert isinstance(node, ast.Select)
    symbol = c.names.scopes[SCOPE].get(node.name) or c.names.create_variable(
        SCOPE, node.name, node.loc
    )
    which = {_find_proc_argument(probe.name) for probe in c.probes}
    known = [argument for argument in which if argument is not None]
    if None in which or len(known) > 1:
        hint = "user_trace-i4s4 and user_trace-n… do, or else profile-n; elsewhere use self->, or an array with a key of your own"
        refuse(
            "D_UNSUPPORTED",
            node.loc,
            f"{symbol}: not every probe of this clause tells who fired it",
            hint,
        )
    found = ast.AssocRef(
        node.loc, symbol, [ast.Ident(node.loc, "pid"), make_proc_call(node.loc, *known), *keys]
    )
    if symbol.keys is None:
        symbol.keys = ()
    if read:
        c.require_known(found)
    found.keys = calls.type_keys(c, found, symbol, str(symbol))
    found.type = symbol.type
    return found


def _find_proc_argument(name: str) -> int | None:
    """Of the probes of a name the number of the one that is `proc`, or None."""
    return next(
        (argument for begin, argument in _WITH_PROC.items() if name.startswith(begin)), None
    )


def make_proc_call(loc: Location, argument: int = 0) -> ast.Call:
    return ast.Call(loc, ast.Ident(loc, "copyinstr"), None, [ast.Ident(loc, f"arg{argument}")])
