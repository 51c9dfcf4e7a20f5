"""Which stacks a program needs, and how many frames of them: of stack(), ustack(), jstack(), caller, stackdepth and theirs.

In: typed nodes, options.  Out: what Layout.need_stack() takes.
"""

from .. import ast

USER, KERNEL = "user", "kernel"
_MAXFRAMES = 127  # the kernel's bound, where nobody has changed it
_MOST = 1024  # what the state block has room for


def most_frames(options):
    """How many frames a stack may have: what the option says, else what the kernel allows."""
    wanted = options.get("maxframes")
    if not wanted:
        try:
            with open("/proc/sys/kernel/perf_event_max_stack", encoding="ascii") as file:
                wanted = int(file.read())
        except (OSError, ValueError):
            wanted = _MAXFRAMES
    return min(wanted, _MOST)


def wanted(node, options):
    """(whose stack, how many frames of it) a node needs, or None."""
    if node.__class__ is ast.Call and node.row.stack:
        return node.row.stack, node.type.frames
    if node.__class__ is ast.Builtin and node.row.stack:
        kind, index = node.row.stack
        return kind, most_frames(options) if index is None else index + 1
    return None
