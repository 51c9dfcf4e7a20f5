"""progenyof() and cleanpath().

The event has the ANCESTORS nearest ancestors of the firing process. The helper that cleans a
path takes slots of one size; only the embedded engine has it.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, R6, ja, jump, load, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.program import d_types as t
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ast import Call
    from ..code.emitter import Emitter


def emit_progenyof(g: Emitter, call: Call, target: None) -> None:
    """Whether the firing process, or one of its ancestors, has that id."""
    is_one, end = Label(), Label()
    g.emit_value(call.args[0])
    g.narrow_register(R0, t.UINT32)
    offsets = range(p.STATE_ANCESTORS, p.STATE_ANCESTORS + 4 * p.ANCESTORS, 4)
    for offset in (p.STATE_PID, *offsets):
        g.emit(load(4, R1, R6, offset), jump("jeq", R0, R1, is_one))
    g.emit(mov_imm(R0, 0), ja(end))
    g.place_label(is_one)
    g.emit(mov_imm(R0, 1))
    g.place_label(end)


def emit_cleanpath(g: Emitter, call: Call, target: StringSlot) -> None:
    size = g.layout.string_size
    path, result = (
        StringSlot(False, g.alloc_scratch(size), size),
        StringSlot(False, g.alloc_scratch(size), size),
    )
    g.emit_string(call.args[0], path.off)
    g.zero_slot(result)  # the helper writes the string and no padding
    g.load_address(R1, result)
    g.emit(mov_imm(R2, g.layout.strsize))
    g.load_address(R3, path)
    g.call_helper("path_clean")
    g.copy_slot(result, target)


ROWS = [
    SubroutineRow(
        "progenyof",
        "int(pid_t)",
        emit_progenyof,
        "1 if the process with the given id is the firing process or its ancestor",
        uses="ancestors",
    ),
    SubroutineRow(
        "cleanpath",
        "string(const char *)",
        emit_cleanpath,
        "a path without empty parts, `.` and `..`",
    ),
]
