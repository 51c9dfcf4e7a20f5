# mypy: ignore-errors
"""json(): a value of a JSON text, as illumos's json() finds it.

Always: the helper (c/bpf/helpers/json.c) takes text, path and result in places of the same size; only the embedded engine has
it.  What the path does not lead to, and a text that is not JSON up to there, is NULL.
"""

from pydtrace.bpf.insn import R0, R1, R2, R3, R4, jump_imm, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import Place
from pydtrace.dlang.code.string_expressions import set_null

from .subroutine_base import SubroutineRow


def _whole(g, expr):
    """The Place of a string, written to room for any."""
    place = Place(False, g.alloc(g.layout.string_size), g.layout.string_size)
    g.string(expr, place.off)
    return place


def emit_json(g, call, target):
    text, path = _whole(g, call.args[0]), _whole(g, call.args[1])
    found, end = Label(), Label()
    result = Place(False, g.alloc(g.layout.string_size), g.layout.string_size)
    g.zero(result)  # the helper writes the string and no padding
    g.address(R1, result)
    g.emit(mov_imm(R2, g.layout.strsize))
    g.address(R3, text)
    g.address(R4, path)
    g.helper("json_text")
    g.emit(jump_imm("jsgt", R0, 0, found))
    set_null(g, target)
    g.jump(end)
    g.place(found)
    g.copy(result, target)
    g.place(end)


ROWS = [
    SubroutineRow(
        "json",
        "string(const char *, const char *)",
        emit_json,
        'the value in a JSON text that a path such as "user.tags[2]" leads to; NULL '
        "where there is none",
        nullable=True,
    ),
]
