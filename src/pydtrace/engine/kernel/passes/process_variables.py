"""Variables of the process of an event: its ancestors, its thread, its arguments.

- Each function gets code that leaves the task in r0: the running one, or the one that the
  scheduler switches to.
- A value that cannot be read is 0, and so is everything behind the first process.
"""

from __future__ import annotations

import os
import sys

from pydtrace.bpf.helpers import GET_CURRENT_TASK, PROBE_READ_USER
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R7,
    R8,
    R10,
    alu,
    alu_imm,
    call,
    const,
    jump,
    jump_imm,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.engine.kernel.probes.raw_tracepoints import KernelInfo
from pydtrace.program import program as p

from .read_kernel_memory import emit_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.bpf.program_builder import CodeBuilder

_ARGUMENTS = p.STATE_PROGRAM - p.STATE_EXECARGS
_TASK = -16  # on the stack: the task that is looked at; emit_read() uses the word above


def emit_running(g: CodeBuilder) -> None:
    """r0 = the running task."""
    g.emit(call(GET_CURRENT_TASK))


def emit_no_task(g: CodeBuilder) -> None:
    """Of another one than the running task the memory can not be read."""
    g.emit(mov_imm(R0, 0))


def emit_name_filter(g: CodeBuilder, name: str, left: Label) -> None:
    """To `left` where the running process, not its thread, is not called so."""
    kernel = KernelInfo()
    emit_running(g)
    emit_read(g, 8, R0, kernel.member_offset("task_struct", "group_leader"))
    g.emit(store(8, R10, _TASK, R0))
    for at in (0, 8):
        g.emit(load(8, R0, R10, _TASK))
        emit_read(g, 8, R0, kernel.member_offset("task_struct", "comm") + at)
        word = int.from_bytes(os.fsencode(name)[:15].ljust(16, b"\0")[at : at + 8], sys.byteorder)
        g.emit(const(R1, word), jump("jne", R0, R1, left))


def emit_parent(g: CodeBuilder, emit_task: Callable[[CodeBuilder], None]) -> None:
    kernel = KernelInfo()
    emit_task(g)
    emit_read(g, 8, R0, kernel.member_offset("task_struct", "real_parent"))
    emit_read(g, 4, R0, kernel.member_offset("task_struct", "tgid"))
    g.emit(store(4, R7, p.STATE_PPID, R0))


def emit_ancestors(g: CodeBuilder, emit_task: Callable[[CodeBuilder], None]) -> None:
    """The tasks' chain is followed as far as there is room: the idle task, which is its own parent, has the id 0."""
    kernel = KernelInfo()
    emit_task(g)
    for offset in range(p.STATE_ANCESTORS, p.STATE_ANCESTORS + 4 * p.ANCESTORS, 4):
        emit_read(g, 8, R0, kernel.member_offset("task_struct", "real_parent"))
        g.emit(store(8, R10, _TASK, R0))
        emit_read(g, 4, R0, kernel.member_offset("task_struct", "tgid"))
        g.emit(store(4, R7, offset, R0), load(8, R0, R10, _TASK))


def emit_thread(g: CodeBuilder, emit_task: Callable[[CodeBuilder], None]) -> None:
    emit_task(g)
    g.emit(store(8, R7, p.STATE_THREAD, R0))


def emit_arguments(g: CodeBuilder, emit_task: Callable[[CodeBuilder], None]) -> None:
    """All of them, a space between each two, cut where there is no more room."""
    kernel, done, some = KernelInfo(), Label(), Label()
    place = p.STATE_EXECARGS
    g.emit(*[store_imm(8, R7, place + i, 0) for i in range(0, _ARGUMENTS, 8)])
    emit_task(g)
    emit_read(g, 8, R0, kernel.member_offset("task_struct", "mm"))
    g.emit(jump_imm("jeq", R0, 0, done), mov(R8, R0))  # a thread of the kernel has none
    emit_read(g, 8, R8, kernel.member_offset("mm_struct", "arg_end"))
    g.emit(store(8, R7, place, R0))
    emit_read(g, 8, R8, kernel.member_offset("mm_struct", "arg_start"))
    g.emit(
        mov(R3, R0),
        load(8, R2, R7, place),
        store_imm(8, R7, place, 0),
        alu("sub", R2, R3),
        jump_imm("jeq", R2, 0, done),
        alu_imm("sub", R2, 1),  # the last NUL
        jump_imm("jle", R2, _ARGUMENTS - 1, some),
        mov_imm(R2, _ARGUMENTS - 1),
    )
    g.place_label(some)
    g.emit(mov(R8, R2), mov(R1, R7), alu_imm("add", R1, place), call(PROBE_READ_USER))
    for i in range(_ARGUMENTS - 1):
        following = Label()
        g.emit(
            jump_imm("jle", R8, i, done),
            load(1, R1, R7, place + i),
            jump_imm("jne", R1, 0, following),
            store_imm(1, R7, place + i, 32),
        )
        g.place_label(following)
    g.place_label(done)
