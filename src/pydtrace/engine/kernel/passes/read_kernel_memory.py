"""Code that reads the kernel's memory.

- A value that cannot be read is 0, so a wrong pointer leads nowhere.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import GET_CURRENT_TASK_BTF, PROBE_READ_KERNEL, TASK_PT_REGS
from pydtrace.bpf.insn import R0, R1, R2, R3, R10, alu_imm, call, load, mov, mov_imm, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.program_builder import CodeBuilder


def emit_read(g: CodeBuilder, size: int, address: int, offset: int) -> None:
    """r0 = what is at offset of the address in a register; 0 where it can not be read."""
    g.emit(
        mov(R3, address),
        alu_imm("add", R3, offset),
        mov_imm(R1, 0),
        store(8, R10, -8, R1),
        mov(R1, R10),
        alu_imm("add", R1, -8),
        mov_imm(R2, size),
        call(PROBE_READ_KERNEL),
        load(size, R0, R10, -8),
    )


def emit_user_registers(g: CodeBuilder, base: int, offset: int, size: int) -> None:
    """The first bytes of struct pt_regs, which the running thread left user mode with, to an offset of the address in a register."""
    g.emit(
        call(GET_CURRENT_TASK_BTF),
        mov(R1, R0),
        call(TASK_PT_REGS),
        mov(R3, R0),
        mov(R1, base),
        alu_imm("add", R1, offset),
        mov_imm(R2, size),
        call(PROBE_READ_KERNEL),
    )
