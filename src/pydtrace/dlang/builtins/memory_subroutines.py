# mypy: ignore-errors
"""alloca(), copyin(), copyinto() and bcopy(): memory of a clause, and what is copied there.

Always: the memory is the layout's heap, `scratchsize` bytes in the state block; it belongs to one firing of one
clause, which begins with all of it free and zero.  What is handed out is the address's number (dlang/code/memory_objects.py).  Sizes are
rounded up to 8.
"""

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
from pydtrace.dlang.code.integer_expressions import constant
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow


def make_heap(layout):
    layout.use_heap(layout.scratchsize)


def _copies_to(number):
    """accept() of what copies to its argument of this number, counted from 1: a string is no place to copy to."""

    def accept(call):
        if call.args[number - 1].type.is_string:
            message = f"{call.name}( ) argument #{number} is incompatible with prototype:\n"
            message += "\tprototype: alloca pointer\n\t argument: non-alloca pointer"
            refuse("D_PROTO_ARG", call.loc, message, "alloca(size) gives memory to copy to")

    return accept


def _check_size(g, expr):
    size, limit = constant(expr), g.layout.heap_size
    if size is not None and not 0 <= size <= limit:
        message = f"alloca({size & (1 << 64) - 1}) size larger than scratchsize {limit}"
        raise CompileError("D_ALLOCA_SIZE", expr.loc, message, f"-x scratchsize={size} gives more")


def _allocate(g, loc):
    """r0 = the offset in the state block of as many new bytes as r0 says."""
    layout = g.layout
    end = layout.heap + layout.heap_size
    g.mark(loc)
    g.emit(jump_imm("jgt", R0, layout.heap_size, g.fault(p.FAULT_NOSCRATCH)))
    g.emit(
        alu_imm("add", R0, 7),
        alu_imm("and", R0, -8),
        load(8, R1, R6, layout.heap_top),
        mov(R2, R1),
        alu("add", R2, R0),
    )
    g.emit(jump_imm("jgt", R2, end, g.fault(p.FAULT_NOSCRATCH)))
    g.emit(store(8, R6, layout.heap_top, R2), mov(R0, R1))


def _to_pointer(g):
    g.emit(const(R1, p.ADDRESS_STATE << 32), alu("or", R0, R1))


def emit_alloca(g, call, target):
    _check_size(g, call.args[0])
    g.value(call.args[0])
    _allocate(g, call.loc)
    _to_pointer(g)


def emit_copyin(g, call, target):
    _check_size(g, call.args[1])
    g.value(call.args[0])
    address = g.push()
    g.value(call.args[1])
    size = g.push()
    _allocate(g, call.loc)
    made = g.push()
    g.mark(call.loc)
    heap_part(g, made, size)
    g.get(address, R3)
    g.helper("probe_read_user")
    g.emit(jump_imm("jne", R0, 0, g.fault(p.FAULT_BADADDR, address)))
    g.get(made, R0)
    _to_pointer(g)
    g.release(made)
    g.release(size)
    g.release(address)


def heap_part(g, offset, size):
    """r1, r2 = the memory at an offset of the heap and the number of bytes; both have been checked, and are again, for
    the verifier."""
    layout = g.layout
    g.get(offset, R1)
    g.emit(jump_imm("jlt", R1, layout.heap, g.fault(p.FAULT_NOSCRATCH)))
    g.emit(jump_imm("jgt", R1, layout.heap + layout.heap_size, g.fault(p.FAULT_NOSCRATCH)))
    g.get(size, R2)
    g.emit(jump_imm("jgt", R2, layout.heap_size, g.fault(p.FAULT_BADSIZE, size)))
    g.emit(alu("add", R1, R6))


def checked(g, pointer, size):
    """r0 = the offset of a pointer into the heap, where `size` bytes have been handed out; else a fault."""
    layout = g.layout
    g.get(pointer, R0)
    g.emit(mov(R1, R0), alu_imm("rsh", R1, 32))
    g.emit(jump_imm("jne", R1, p.ADDRESS_STATE, g.fault(p.FAULT_BADADDR, pointer)))
    g.emit(alu("mov32", R0, R0))
    g.emit(jump_imm("jlt", R0, layout.heap, g.fault(p.FAULT_BADADDR, pointer)))
    g.emit(load(8, R1, R6, layout.heap_top))
    g.emit(jump("jge", R0, R1, g.fault(p.FAULT_BADADDR, pointer)))
    g.get(size, R2)
    g.emit(jump_imm("jgt", R2, layout.heap_size, g.fault(p.FAULT_BADSIZE, size)))
    g.emit(alu("add", R2, R0))
    g.emit(jump("jgt", R2, R1, g.fault(p.FAULT_BADSIZE, size)))


def emit_copyinto(g, call, target):
    temps = []
    for arg in call.args:
        g.value(arg)
        temps.append(g.push())
    address, size, pointer = temps
    g.mark(call.loc)
    checked(g, pointer, size)
    offset = g.push()
    heap_part(g, offset, size)
    g.get(address, R3)
    g.helper("probe_read_user")
    g.emit(jump_imm("jne", R0, 0, g.fault(p.FAULT_BADADDR, address)))
    for temp in (offset, *reversed(temps)):
        g.release(temp)


def emit_bcopy(g, call, target):
    source, destination, count = call.args
    place, temps = None, []
    if source.type.is_string:
        from pydtrace.dlang.code.string_expressions import locate

        place = locate(g, source)
    else:
        g.value(source)
        temps.append(g.push())
    for arg in (destination, count):
        g.value(arg)
        temps.append(g.push())
    pointer, size = temps[-2:]
    g.mark(call.loc)
    checked(g, pointer, size)
    offset = g.push()
    if place:
        heap_part(g, offset, size)
        g.emit(jump_imm("jgt", R2, place.size, g.fault(p.FAULT_BADSIZE, size)))
        _place_address(g, place)
        g.helper("probe_read_kernel")
    else:
        _copy_from(g, temps[0], offset, size)
    for temp in (offset, *reversed(temps)):
        g.release(temp)


def _place_address(g, place):
    """r3 = the address of a Place; r1 and r2 stay."""
    if place.map:
        g.emit(ld_map_value(R3, p.MAP_GLOBALS, place.off))
    else:
        g.emit(mov(R3, R6), alu_imm("add", R3, place.off))


def _copy_from(g, source, offset, size):
    """Copy from where a pointer points to: the traced process, the state block or the globals."""
    own, shared, copy, done = Label(), Label(), Label(), Label()
    heap_part(g, offset, size)
    g.get(source, R3)
    g.emit(
        mov(R0, R3),
        alu_imm("rsh", R0, 32),
        jump_imm("jeq", R0, p.ADDRESS_STATE, own),
        jump_imm("jeq", R0, p.ADDRESS_GLOBALS, shared),
    )
    g.helper("probe_read_user")
    g.emit(jump_imm("jne", R0, 0, g.fault(p.FAULT_BADADDR, source)))
    g.jump(done)
    g.place(own)
    low, high = g.layout.memory
    heap = Label()
    g.emit(alu("mov32", R3, R3))
    g.emit(jump_imm("jlt", R3, low, g.fault(p.FAULT_BADADDR, source)))
    g.emit(jump_imm("jgt", R3, high, g.fault(p.FAULT_BADADDR, source)))
    g.emit(mov(R0, R3), alu("add", R0, R2), jump_imm("jge", R3, g.layout.heap, heap))
    g.emit(jump_imm("jgt", R0, g.layout.this_end, g.fault(p.FAULT_BADSIZE, size)))
    g.place(heap)
    g.emit(load(8, R5, R6, g.layout.heap_top))
    g.emit(jump("jgt", R0, R5, g.fault(p.FAULT_BADSIZE, size)), alu("add", R3, R6))
    g.jump(copy)
    g.place(shared)
    g.emit(alu("mov32", R3, R3))
    g.emit(jump_imm("jlt", R3, p.DROP_END, g.fault(p.FAULT_BADADDR, source)))
    g.emit(mov(R0, R3), alu("add", R0, R2))
    g.emit(jump_imm("jgt", R0, g.layout.globals_end(), g.fault(p.FAULT_BADADDR, source)))
    g.emit(jump_imm("jgt", R3, g.layout.globals_end(), g.fault(p.FAULT_BADADDR, source)))
    g.emit(ld_map_value(R0, p.MAP_GLOBALS, 0), alu("add", R0, R3), mov(R3, R0))
    g.place(copy)
    g.helper("probe_read_kernel")
    g.place(done)


ROWS = [
    SubroutineRow(
        "alloca",
        "void *(size_t)",
        emit_alloca,
        "that many bytes of memory, until the clause ends",
        allocates=True,
        place=make_heap,
    ),
    SubroutineRow(
        "copyin",
        "void *(uintptr_t, size_t)",
        emit_copyin,
        "a copy of that many bytes at an address of the firing process",
        allocates=True,
        place=make_heap,
    ),
    SubroutineRow(
        "copyinto",
        "void(uintptr_t, size_t, void *)",
        emit_copyinto,
        "copies bytes of the firing process to memory of alloca()",
        accept=_copies_to(3),
    ),
    SubroutineRow(
        "bcopy",
        "void(void *, void *, size_t)",
        emit_bcopy,
        "copies that many bytes to memory of alloca()",
        accept=_copies_to(2),
    ),
]
