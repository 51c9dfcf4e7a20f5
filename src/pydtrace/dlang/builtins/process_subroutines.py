# mypy: ignore-errors
"""progenyof(), and cleanpath(): what a helper or the event knows.

Always: the event has the firing process's ancestors, the nearest ANCESTORS of them; a path is cleaned by a helper that only
the embedded engine has, for places of one size.
"""

from pydtrace.bpf.insn import R0, R1, R2, R3, R6, ja, jump, load, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import Place
from pydtrace.program import d_types as t
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow


def emit_progenyof(g, call, target):
    """Whether the firing process, or one of its ancestors, has that id."""
    is_one, end = Label(), Label()
    g.value(call.args[0])
    g.narrow(R0, t.UINT32)
    offsets = range(p.STATE_ANCESTORS, p.STATE_ANCESTORS + 4 * p.ANCESTORS, 4)
    for offset in (p.STATE_PID, *offsets):
        g.emit(load(4, R1, R6, offset), jump("jeq", R0, R1, is_one))
    g.emit(mov_imm(R0, 0), ja(end))
    g.place(is_one)
    g.emit(mov_imm(R0, 1))
    g.place(end)


def emit_cleanpath(g, call, target):
    size = g.layout.string_size
    path, result = Place(False, g.alloc(size), size), Place(False, g.alloc(size), size)
    g.string(call.args[0], path.off)
    g.zero(result)  # the helper writes the string and no padding
    g.address(R1, result)
    g.emit(mov_imm(R2, g.layout.strsize))
    g.address(R3, path)
    g.helper("path_clean")
    g.copy(result, target)


ROWS = [
    SubroutineRow(
        "progenyof",
        "int(pid_t)",
        emit_progenyof,
        "1 where the firing process is the one with that id, or comes from it",
        uses="ancestors",
    ),
    SubroutineRow(
        "cleanpath",
        "string(const char *)",
        emit_cleanpath,
        "a path without empty parts, `.` and `..`, as far as that can be told",
    ),
]
