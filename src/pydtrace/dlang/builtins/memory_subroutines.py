"""alloca(), copyin(), copyinto() and bcopy(): memory of a clause, and copies into it.

- The memory is the layout's heap: `scratchsize` bytes in the state block. It belongs to one
  firing of one clause, which begins with all of it free and zero.
- A result is the address's number (memory_objects.py). Sizes are rounded up to 8.
"""

from __future__ import annotations

from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R5,
    R6,
    alu,
    alu_imm,
    const,
    jump,
    jump_imm,
    ld_map_value,
    load,
    mov,
    store,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.integer_expressions import constant_value
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..ast import Call, Expr
    from ..code.emitter import Emitter, StringSlot, Temp
    from ..code.layout import Layout
    from ..front.source_text import Location


def reserve_heap(layout: Layout) -> None:
    layout.reserve_heap(layout.scratchsize)


def _check_destination(number: int) -> Callable[..., Any]:
    """check_arguments() of what copies to its argument of this number, counted from 1: a string is no place to copy to."""

    def check_arguments(call: Call) -> None:
        if call.args[number - 1].type.is_string:
            message = f"{call.name}( ) argument #{number} is incompatible with prototype:\n"
            message += "\tprototype: alloca pointer\n\t argument: non-alloca pointer"
            refuse("D_PROTO_ARG", call.loc, message, "alloca(size) gives memory to copy to")

    return check_arguments


def _check_size(g: Emitter, expr: Expr) -> None:
    size, limit = constant_value(expr), g.layout.heap_size
    if size is not None and not 0 <= size <= limit:
        message = f"alloca({size & (1 << 64) - 1}) size larger than scratchsize {limit}"
        raise CompileError("D_ALLOCA_SIZE", expr.loc, message, f"-x scratchsize={size} gives more")


def _emit_allocation(g: Emitter, loc: Location) -> None:
    """r0 = the offset in the state block of as many new bytes as r0 says."""
    layout = g.layout
    end = layout.heap + layout.heap_size
    g.mark_location(loc)
    g.emit(jump_imm("jgt", R0, layout.heap_size, g.fault_label(p.FAULT_NOSCRATCH)))
    g.emit(
        alu_imm("add", R0, 7),
        alu_imm("and", R0, -8),
        load(8, R1, R6, layout.heap_top),
        mov(R2, R1),
        alu("add", R2, R0),
    )
    g.emit(jump_imm("jgt", R2, end, g.fault_label(p.FAULT_NOSCRATCH)))
    g.emit(store(8, R6, layout.heap_top, R2), mov(R0, R1))


def _emit_pointer(g: Emitter) -> None:
    g.emit(const(R1, p.ADDRESS_STATE << 32), alu("or", R0, R1))


def emit_alloca(g: Emitter, call: Call, target: None) -> None:
    _check_size(g, call.args[0])
    g.emit_value(call.args[0])
    _emit_allocation(g, call.loc)
    _emit_pointer(g)


def emit_copyin(g: Emitter, call: Call, target: None) -> None:
    _check_size(g, call.args[1])
    g.emit_value(call.args[0])
    address = g.push_r0()
    g.emit_value(call.args[1])
    size = g.push_r0()
    _emit_allocation(g, call.loc)
    made = g.push_r0()
    g.mark_location(call.loc)
    emit_heap_range(g, made, size)
    g.load_temp(address, R3)
    g.call_helper("probe_read_user")
    g.emit(jump_imm("jne", R0, 0, g.fault_label(p.FAULT_BADADDR, address)))
    g.load_temp(made, R0)
    _emit_pointer(g)
    g.release_temp(made)
    g.release_temp(size)
    g.release_temp(address)


def emit_heap_range(g: Emitter, offset: Temp, size: Temp) -> None:
    """r1, r2 = the memory at an offset of the heap and the number of bytes; both have been checked, and are again, for
    the verifier."""
    layout = g.layout
    g.load_temp(offset, R1)
    g.emit(jump_imm("jlt", R1, layout.heap, g.fault_label(p.FAULT_NOSCRATCH)))
    g.emit(jump_imm("jgt", R1, layout.heap + layout.heap_size, g.fault_label(p.FAULT_NOSCRATCH)))
    g.load_temp(size, R2)
    g.emit(jump_imm("jgt", R2, layout.heap_size, g.fault_label(p.FAULT_BADSIZE, size)))
    g.emit(alu("add", R1, R6))


def emit_range_check(g: Emitter, pointer: Temp, size: Temp) -> None:
    """r0 = the offset of a pointer into the heap, where `size` bytes have been handed out; else a fault."""
    layout = g.layout
    g.load_temp(pointer, R0)
    g.emit(mov(R1, R0), alu_imm("rsh", R1, 32))
    g.emit(jump_imm("jne", R1, p.ADDRESS_STATE, g.fault_label(p.FAULT_BADADDR, pointer)))
    g.emit(alu("mov32", R0, R0))
    g.emit(jump_imm("jlt", R0, layout.heap, g.fault_label(p.FAULT_BADADDR, pointer)))
    g.emit(load(8, R1, R6, layout.heap_top))
    g.emit(jump("jge", R0, R1, g.fault_label(p.FAULT_BADADDR, pointer)))
    g.load_temp(size, R2)
    g.emit(jump_imm("jgt", R2, layout.heap_size, g.fault_label(p.FAULT_BADSIZE, size)))
    g.emit(alu("add", R2, R0))
    g.emit(jump("jgt", R2, R1, g.fault_label(p.FAULT_BADSIZE, size)))


def emit_copyinto(g: Emitter, call: Call, target: None) -> None:
    temps = []
    for arg in call.args:
        g.emit_value(arg)
        temps.append(g.push_r0())
    address, size, pointer = temps
    g.mark_location(call.loc)
    emit_range_check(g, pointer, size)
    offset = g.push_r0()
    emit_heap_range(g, offset, size)
    g.load_temp(address, R3)
    g.call_helper("probe_read_user")
    g.emit(jump_imm("jne", R0, 0, g.fault_label(p.FAULT_BADADDR, address)))
    for temp in (offset, *reversed(temps)):
        g.release_temp(temp)


def emit_bcopy(g: Emitter, call: Call, target: None) -> None:
    source, destination, count = call.args
    place, temps = None, []
    if source.type.is_string:
        from pydtrace.dlang.code.string_expressions import locate_string

        place = locate_string(g, source)
    else:
        g.emit_value(source)
        temps.append(g.push_r0())
    for arg in (destination, count):
        g.emit_value(arg)
        temps.append(g.push_r0())
    pointer, size = temps[-2:]
    g.mark_location(call.loc)
    emit_range_check(g, pointer, size)
    offset = g.push_r0()
    if place:
        emit_heap_range(g, offset, size)
        g.emit(jump_imm("jgt", R2, place.size, g.fault_label(p.FAULT_BADSIZE, size)))
        _emit_slot_address(g, place)
        g.call_helper("probe_read_kernel")
    else:
        _emit_copy_from(g, temps[0], offset, size)
    for temp in (offset, *reversed(temps)):
        g.release_temp(temp)


def _emit_slot_address(g: Emitter, place: StringSlot) -> None:
    """r3 = the address of a Place; r1 and r2 stay."""
    if place.in_globals:
        g.emit(ld_map_value(R3, p.MAP_GLOBALS, place.off))
    else:
        g.emit(mov(R3, R6), alu_imm("add", R3, place.off))


def _emit_copy_from(g: Emitter, source: Temp, offset: Temp, size: Temp) -> None:
    """Copy from where a pointer points to: the traced process, the state block or the globals."""
    own, shared, copy, done = Label(), Label(), Label(), Label()
    emit_heap_range(g, offset, size)
    g.load_temp(source, R3)
    g.emit(
        mov(R0, R3),
        alu_imm("rsh", R0, 32),
        jump_imm("jeq", R0, p.ADDRESS_STATE, own),
        jump_imm("jeq", R0, p.ADDRESS_GLOBALS, shared),
    )
    g.call_helper("probe_read_user")
    g.emit(jump_imm("jne", R0, 0, g.fault_label(p.FAULT_BADADDR, source)))
    g.jump_to(done)
    g.place_label(own)
    low, high = g.layout.pointer_range
    heap = Label()
    g.emit(alu("mov32", R3, R3))
    g.emit(jump_imm("jlt", R3, low, g.fault_label(p.FAULT_BADADDR, source)))
    g.emit(jump_imm("jgt", R3, high, g.fault_label(p.FAULT_BADADDR, source)))
    g.emit(mov(R0, R3), alu("add", R0, R2), jump_imm("jge", R3, g.layout.heap, heap))
    g.emit(jump_imm("jgt", R0, g.layout.this_end, g.fault_label(p.FAULT_BADSIZE, size)))
    g.place_label(heap)
    g.emit(load(8, R5, R6, g.layout.heap_top))
    g.emit(jump("jgt", R0, R5, g.fault_label(p.FAULT_BADSIZE, size)), alu("add", R3, R6))
    g.jump_to(copy)
    g.place_label(shared)
    g.emit(alu("mov32", R3, R3))
    g.emit(jump_imm("jlt", R3, p.DROP_END, g.fault_label(p.FAULT_BADADDR, source)))
    g.emit(mov(R0, R3), alu("add", R0, R2))
    g.emit(jump_imm("jgt", R0, g.layout.globals_end(), g.fault_label(p.FAULT_BADADDR, source)))
    g.emit(jump_imm("jgt", R3, g.layout.globals_end(), g.fault_label(p.FAULT_BADADDR, source)))
    g.emit(ld_map_value(R0, p.MAP_GLOBALS, 0), alu("add", R0, R3), mov(R3, R0))
    g.place_label(copy)
    g.call_helper("probe_read_kernel")
    g.place_label(done)


ROWS = [
    SubroutineRow(
        "alloca",
        "void *(size_t)",
        emit_alloca,
        "n bytes of memory, until the clause ends; n is the argument",
        allocates=True,
        make_room=reserve_heap,
    ),
    SubroutineRow(
        "copyin",
        "void *(uintptr_t, size_t)",
        emit_copyin,
        "a copy of bytes of the firing process; the arguments are address and length",
        allocates=True,
        make_room=reserve_heap,
    ),
    SubroutineRow(
        "copyinto",
        "void(uintptr_t, size_t, void *)",
        emit_copyinto,
        "copies bytes of the firing process to memory of alloca()",
        check_arguments=_check_destination(3),
    ),
    SubroutineRow(
        "bcopy",
        "void(void *, void *, size_t)",
        emit_bcopy,
        "copies n bytes to memory of alloca(); n is the third argument",
        check_arguments=_check_destination(2),
    ),
]
