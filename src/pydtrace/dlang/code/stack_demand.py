"""The stacks that a program needs, and their numbers of frames: for stack(), ustack(), jstack(),
caller, stackdepth and their relatives.
"""

from __future__ import annotations

from pydtrace.dlang import ast

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from typing import Any


USER, LANGUAGE, KERNEL = "user", "language", "kernel"
_DEFAULT_FRAMES = 127  # the kernel's bound, where nobody has changed it
_FRAMES_MAX = 1024  # what the state block has room for


def max_frames(options: Any) -> int:
    """How many frames a stack may have: what the option says, else what the kernel allows."""
    wanted: int | None = options.get("maxframes")
    if not wanted:
        try:
            with open("/proc/sys/kernel/perf_event_max_stack", encoding="ascii") as file:
                wanted = int(file.read())
        except (OSError, ValueError):
            wanted = _DEFAULT_FRAMES
    return min(wanted, _FRAMES_MAX)


def find_stack_need(node: ast.Node, options: Any) -> tuple[str, int] | None:
    """(whose stack, how many frames of it) a node needs, or None."""
    if isinstance(node, ast.Call) and node.row.stack_kind:
        return node.row.stack_kind, node.type.frames
    if isinstance(node, ast.Builtin) and node.row.stack_entry:
        kind, index = node.row.stack_entry
        return kind, max_frames(options) if index is None else index + 1
    return None
