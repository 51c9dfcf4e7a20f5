# mypy: ignore-errors
"""copyout() and copyoutstr(): bytes written into the memory of the process that fired.

Always: what is written comes from the program's own memory (alloca(), copyin(), a string) and lies inside of it; code for the
kernel alone, since an event that is read after its firing has no process to write to. Where the kernel engine lets it write:
engine/kernel/passes/user_memory_writes.py.
"""

from pydtrace.bpf.insn import R0, R1, R2, R3, alu_imm, jump, jump_imm, mov
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.string_expressions import locate
from pydtrace.program import program as p

from .memory_subroutines import checked, heap_part, make_heap
from .string_subroutines import string_length
from .subroutine_base import SubroutineRow


def emit_copyout(g, call, target):
    source, *others = call.args
    if source.type.is_string:
        place = locate(g, source)
        address, size = temps = _values(g, others)
    else:
        place = None
        pointer, address, size = temps = _values(g, call.args)
    written = Label()
    g.mark(call.loc)
    g.get(size, R3)
    g.emit(jump_imm("jlt", R3, 1, written))
    if place:
        g.emit(jump_imm("jgt", R3, place.size, g.fault(p.FAULT_BADSIZE, size)))
        g.address(R2, place)
    else:
        checked(g, pointer, size)
        offset = g.push()
        heap_part(g, offset, size)
        g.emit(mov(R3, R2), mov(R2, R1))
        g.release(offset)
    _write(g, address, written)
    for temp in reversed(temps):
        g.release(temp)


def emit_copyoutstr(g, call, target):
    """The string with its NUL, or as much of it as the third argument says: then without one."""
    text, *others = call.args
    place = locate(g, text)
    address, size = temps = _values(g, others)
    fits, written = Label(), Label()
    string_length(g, place)
    g.mark(call.loc)
    g.emit(mov(R3, R0), alu_imm("add", R3, 1))
    most = g.use(size, R1)
    g.emit(jump("jle", R3, most, fits), mov(R3, most))
    g.place(fits)
    g.emit(jump_imm("jlt", R3, 1, written))
    g.emit(
        jump_imm("jgt", R3, place.size, g.fault(p.FAULT_BADSIZE, size))
    )  # never: the verifier wants to see it
    g.address(R2, place)
    _write(g, address, written)
    for temp in reversed(temps):
        g.release(temp)


def _values(g, expressions):
    temps = []
    for expr in expressions:
        g.value(expr)
        temps.append(g.push())
    return temps


def _write(g, address, written):
    """Write the r3 bytes at r2; what can not be written is a fault, with the address there."""
    g.get(address, R1)
    g.helper("probe_write_user")
    g.emit(jump_imm("jne", R0, 0, g.fault(p.FAULT_BADADDR, address)))
    g.place(written)


ROWS = [
    SubroutineRow(
        "copyout",
        "void(void *, uintptr_t, size_t)",
        emit_copyout,
        "writes bytes of the program's to an address of the firing process",
        destructive=True,
        place=make_heap,
        uses=p.WRITES,
    ),
    SubroutineRow(
        "copyoutstr",
        "void(char *, uintptr_t, size_t)",
        emit_copyoutstr,
        "writes a string to an address of the firing process",
        destructive=True,
        uses=p.WRITES,
    ),
]
