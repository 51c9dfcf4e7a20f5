"""`task->x`: variables of what fired the probe, be it an Erlang process, an asyncio task or a thread.

In: Select nodes whose base is the name `task`, where the program defines nothing of that name: D itself would refuse
them.  Out: AssocRef nodes: the variable is an associative array whose first keys are the process's id and `proc`, the
first argument of the probes that have one.
Always: no probe without `proc` is let through, since its first argument would be taken for it.
"""

from .. import ast
from ..errors import refuse
from . import calls

SCOPE = "task"
_WITH_PROC = ("user_trace-i4s4", "user_trace-n")  # how the names of the probes begin whose arg0 is `proc`


def is_task(c, node):
    """Whether a node is `task->x`, and D knows no other `task`."""
    if type(node) is not ast.Select or node.op != "->" or type(node.base) is not ast.Ident or node.base.name != SCOPE:
        return False
    return SCOPE not in c.names.scopes["global"] and c.names.inline(SCOPE) is None


def task_variable(c, node, keys=(), read=False):
    """The AssocRef of `task->x`, or of `task->x[keys]`."""
    symbol = c.names.scopes[SCOPE].get(node.name) or c.names.create(SCOPE, node.name, node.loc)
    for probe in c.probes:
        if not probe.name.startswith(_WITH_PROC):
            hint = "user_trace-i4s4 and user_trace-n… do; elsewhere use self->, or an array with a key of your own"
            message = f"{symbol}: not every probe of this clause tells who fired it"
            refuse("D_UNSUPPORTED", node.loc, message, hint)
    found = ast.AssocRef(node.loc, symbol, [ast.Ident(node.loc, "pid"), proc(node.loc), *keys])
    if symbol.keys is None:
        symbol.keys = ()
    if read:
        c.need_known(found)
    found.keys = calls.type_keys(c, found, symbol, str(symbol))
    found.type = symbol.type
    return found


def proc(loc):
    return ast.Call(loc, ast.Ident(loc, "copyinstr"), None, [ast.Ident(loc, "arg0")])
