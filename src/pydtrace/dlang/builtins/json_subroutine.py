"""json(): a value of a JSON text, found as illumos's json() finds it.

- The helper (c/bpf/json.c) takes text, path and result in slots of one size; only the embedded
  engine has it.
- The result is NULL if the path leads to nothing, or if the text is not JSON up to there.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, R4, jump_imm, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.dlang.code.string_expressions import emit_null

from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ast import Call, Expr
    from ..code.emitter import Emitter


def _copy_argument(g: Emitter, expr: Expr) -> StringSlot:
    """The Place of a string, written to room for any."""
    place = StringSlot(False, g.alloc_scratch(g.layout.string_size), g.layout.string_size)
    g.emit_string(expr, place.off)
    return place


def emit_json(g: Emitter, call: Call, target: StringSlot) -> None:
    text, path = _copy_argument(g, call.args[0]), _copy_argument(g, call.args[1])
    found, end = Label(), Label()
    result = StringSlot(False, g.alloc_scratch(g.layout.string_size), g.layout.string_size)
    g.zero_slot(result)  # the helper writes the string and no padding
    g.load_address(R1, result)
    g.emit(mov_imm(R2, g.layout.strsize))
    g.load_address(R3, text)
    g.load_address(R4, path)
    g.call_helper("json_text")
    g.emit(jump_imm("jsgt", R0, 0, found))
    emit_null(g, target)
    g.jump_to(end)
    g.place_label(found)
    g.copy_slot(result, target)
    g.place_label(end)


ROWS = [
    SubroutineRow(
        "json",
        "string(const char *, const char *)",
        emit_json,
        "the value at a path in a JSON text, or NULL",
        is_nullable=True,
    ),
]
