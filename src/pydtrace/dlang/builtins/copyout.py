"""copyout() and copyoutstr(): bytes written into the memory of the process that fired.

- The bytes come from the program's own memory (alloca(), copyin(), a string) and lie inside it.
- The code is for the kernel only: an event that is read after its firing has no process to write
  to.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, alu_imm, jump, jump_imm, mov
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.string_expressions import locate_string
from pydtrace.program import program as p

from .memory_subroutines import emit_heap_range, emit_range_check, reserve_heap
from .string_subroutines import emit_string_length
from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ast import Call, Expr
    from ..code.emitter import Emitter, Temp


def emit_copyout(g: Emitter, call: Call, target: None) -> None:
    source, *others = call.args
    if source.type.is_string:
        place = locate_string(g, source)
        address, size = temps = _push_values(g, others)
    else:
        place = None
        pointer, address, size = temps = _push_values(g, call.args)
    written = Label()
    g.mark_location(call.loc)
    g.load_temp(size, R3)
    g.emit(jump_imm("jlt", R3, 1, written))
    if place:
        g.emit(jump_imm("jgt", R3, place.size, g.fault_label(p.FAULT_BADSIZE, size)))
        g.load_address(R2, place)
    else:
        emit_range_check(g, pointer, size)
        offset = g.push_r0()
        emit_heap_range(g, offset, size)
        g.emit(mov(R3, R2), mov(R2, R1))
        g.release_temp(offset)
    _emit_write(g, address, written)
    for temp in reversed(temps):
        g.release_temp(temp)


def emit_copyoutstr(g: Emitter, call: Call, target: None) -> None:
    """The string with its NUL, or as much of it as the third argument says: then without one."""
    text, *others = call.args
    place = locate_string(g, text)
    address, size = temps = _push_values(g, others)
    fits, written = Label(), Label()
    emit_string_length(g, place)
    g.mark_location(call.loc)
    g.emit(mov(R3, R0), alu_imm("add", R3, 1))
    most = g.in_register(size, R1)
    g.emit(jump("jle", R3, most, fits), mov(R3, most))
    g.place_label(fits)
    g.emit(jump_imm("jlt", R3, 1, written))
    g.emit(
        jump_imm("jgt", R3, place.size, g.fault_label(p.FAULT_BADSIZE, size))
    )  # never: the verifier wants to see it
    g.load_address(R2, place)
    _emit_write(g, address, written)
    for temp in reversed(temps):
        g.release_temp(temp)


def _push_values(g: Emitter, expressions: list[Expr]) -> list[Temp]:
    temps = []
    for expr in expressions:
        g.emit_value(expr)
        temps.append(g.push_r0())
    return temps


def _emit_write(g: Emitter, address: Temp, written: Label) -> None:
    """Write the r3 bytes at r2; what can not be written is a fault, with the address there."""
    g.load_temp(address, R1)
    g.call_helper("probe_write_user")
    g.emit(jump_imm("jne", R0, 0, g.fault_label(p.FAULT_BADADDR, address)))
    g.place_label(written)


ROWS = [
    SubroutineRow(
        "copyout",
        "void(void *, uintptr_t, size_t)",
        emit_copyout,
        "writes bytes of the D script to an address of the firing process",
        is_destructive=True,
        make_room=reserve_heap,
        uses=p.WRITES,
    ),
    SubroutineRow(
        "copyoutstr",
        "void(char *, uintptr_t, size_t)",
        emit_copyoutstr,
        "writes a string to an address of the firing process",
        is_destructive=True,
        uses=p.WRITES,
    ),
]
