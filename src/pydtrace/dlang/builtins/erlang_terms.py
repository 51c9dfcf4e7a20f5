"""term(): the Erlang term that a probe's argument carries, or an element of it, as text.

The helper (c/bpf/term.c) reads the memory that the event captured; only the embedded engine has
it.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, R4, R5, jump_imm, mov_imm, store, store_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.dlang.code.string_expressions import emit_null
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ast import Call, Expr
    from ..code.emitter import Emitter

_MISSING = 2  # ENOENT


def _check_steps(call: Call) -> None:
    for number, arg in enumerate(call.args[1:], 2):
        if not (arg.type.is_integer or arg.type.is_string):
            message = f"term( ) argument #{number} is incompatible with prototype:\n"
            message += f"\tprototype: integer or string\n\t argument: {arg.type}"
            hint = 'term(arg0, 1) is the first element, term(arg0, "a") a key\'s value'
            raise CompileError("D_PROTO_ARG", arg.loc, message, hint)


def _store_steps(g: Emitter, args: list[Expr]) -> tuple[int, int]:
    """Write the steps as c/bpf/helpers/term.h has them: (offset in the state block, bytes)."""
    sizes = [8 + (g.layout.string_size if arg.type.is_string else 8) for arg in args]
    at = start = g.alloc_scratch(sum(sizes))
    for arg, size in zip(args, sizes):
        if arg.type.is_string:
            g.emit_string(arg, at + 8)
            g.load_state_address(R1, at)
            g.emit(store_imm(8, R1, 0, size - 8))
        else:
            g.emit_value(arg)
            g.load_state_address(R1, at)
            g.emit(store_imm(8, R1, 0, 0), store(8, R1, 8, R0))
        at += size
    return start, sum(sizes)


def emit_term(g: Emitter, call: Call, target: StringSlot) -> None:
    """What there is not, or was cut, is NULL."""
    _check_steps(call)
    g.emit_value(call.args[0])
    address = g.push_r0()
    path, size = _store_steps(g, call.args[1:])
    g.zero_slot(target)  # the helper writes the string and no padding
    g.load_address(R1, target)
    g.emit(mov_imm(R2, min(g.layout.strsize, target.size)))
    g.load_temp(address, R3)
    g.load_state_address(R4, path)
    g.emit(mov_imm(R5, size))
    g.call_helper("term_text")
    missing, end = Label(), Label()
    g.mark_location(call.loc)
    g.emit(
        jump_imm("jeq", R0, -_MISSING, missing),
        jump_imm("jslt", R0, 0, g.fault_label(p.FAULT_BADADDR, address)),
    )
    g.jump_to(end)
    g.place_label(missing)
    emit_null(g, StringSlot(False, target.off, target.size))
    g.place_label(end)
    g.release_temp(address)


ROWS = [
    SubroutineRow(
        "term",
        "string(uintptr_t, ...)",
        emit_term,
        "an Erlang term as text; further arguments select a part of the term",
        is_nullable=True,
        read_limit=lambda call, strsize: p.STRING_LIMIT,
    ),
]
