"""Forks of processes whose code is known: a child inherits the code parts of its parent, from its
first instruction on.

- A child inherits nothing that is not known of its parent yet, and nothing of a program that its
  parent ran before.
- The entry of a child goes away when the child ends.
"""

from __future__ import annotations

import os

from pydtrace.bpf import syscalls
from pydtrace.bpf.helpers import (
    MAP_DELETE_ELEM,
    MAP_LOOKUP_ELEM,
    MAP_UPDATE_ELEM,
    RINGBUF_OUTPUT,
)
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R6,
    R7,
    R8,
    R9,
    R10,
    alu,
    alu_imm,
    call,
    exit_,
    jump,
    jump_imm,
    ld_map,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.unwind import python_frame_words as w
from pydtrace.unwind import unwind_rows as u

from .passes.read_kernel_memory import emit_read
from .probes.raw_tracepoints import KernelInfo, emit_last_thread_check

TYPE_CHECKING = False

_PARENT, _CHILD, _RECORD, _RECORD_SIZE = (
    -16,
    -24,
    -48,
    24,
)  # on the stack; emit_read() uses the word above
_PARTS, _FORKED, _RING = 0, 1, 2  # of a program's maps


class ForkEvents:
    """parts, forked, ring: descriptors; task: unwinder_maps.find_task_offsets().  Raises OSError, syscalls.ProgramRejected where the kernel does not take it."""

    def __init__(
        self, parts: int, forked: int, ring: int, task: tuple[int, int, int | None]
    ) -> None:
        self._kernel = KernelInfo()
        self._mm, self._execs, _ = task
        self._links: list[int] = []
        try:
            for tracepoint, code in (
                ("sched_process_fork", self._emit_fork),
                ("sched_process_exit", self._emit_exit),
            ):
                g, left = CodeBuilder(), Label()
                g.emit(mov(R6, R1))
                code(g, left)
                g.place_label(left)
                g.emit(mov_imm(R0, 0), exit_())
                program = syscalls.load_program(
                    g.finish(), (parts, forked, ring), syscalls.RAW_TRACEPOINT
                )
                try:
                    self._links.append(syscalls.open_raw_tracepoint(program, tracepoint))
                finally:
                    os.close(program)
        except BaseException:
            self.close()
            raise

    def _emit_process_id(self, g: CodeBuilder, argument: int) -> None:
        """r7 = the task of an argument; r0 = the id of its process."""
        g.emit(load(8, R7, R6, 8 * argument))
        emit_read(g, 4, R7, self._kernel.member_offset("task_struct", "tgid"))

    def _emit_stamp(self, g: CodeBuilder, argument: int) -> None:
        """r8 = the stamp of the address space that the task of an argument has, as engine/kernel/unwind/bpf_python_unwinder.py makes it."""
        g.emit(load(8, R7, R6, 8 * argument))
        emit_read(g, 8, R7, self._mm)
        g.emit(mov(R8, R0))
        emit_read(g, 8, R7, self._execs)
        g.emit(alu_imm("lsh", R0, 48), alu("xor", R8, R0))

    @staticmethod
    def _emit_map_call(g: CodeBuilder, helper: int, index: int, key: int) -> None:
        """For the process whose id is at `key`."""
        g.emit(ld_map(R1, index), mov(R2, R10), alu_imm("add", R2, key), call(helper))

    def _emit_fork(self, g: CodeBuilder, left: Label) -> None:
        found, valid = Label(), Label()
        self._emit_process_id(g, 0)
        g.emit(store(4, R10, _PARENT, R0), mov(R8, R0))
        self._emit_process_id(g, 1)
        g.emit(jump("jeq", R0, R8, left), store(4, R10, _CHILD, R0))  # a thread
        self._emit_map_call(g, MAP_LOOKUP_ELEM, _PARTS, _PARENT)
        g.emit(jump_imm("jne", R0, 0, found))
        self._emit_map_call(g, MAP_LOOKUP_ELEM, _FORKED, _PARENT)
        g.emit(jump_imm("jeq", R0, 0, left))
        g.place_label(found)
        g.emit(mov(R9, R0), load(8, R1, R9, u.WHOLE), jump_imm("jeq", R1, 0, left))
        self._emit_stamp(g, 0)
        g.emit(load(8, R1, R9, u.STAMP), jump_imm("jeq", R1, 0, valid), jump("jne", R1, R8, left))
        g.place_label(valid)
        g.emit(mov(R3, R9), mov_imm(R4, 0))
        self._emit_map_call(g, MAP_UPDATE_ELEM, _FORKED, _CHILD)
        g.emit(jump_imm("jne", R0, 0, left))
        self._emit_map_call(g, MAP_LOOKUP_ELEM, _FORKED, _CHILD)
        g.emit(jump_imm("jeq", R0, 0, left), mov(R9, R0))
        self._emit_stamp(g, 1)
        g.emit(
            store(8, R9, u.STAMP, R8),
            store_imm(4, R10, _RECORD, w.FORKED),
            load(4, R1, R10, _CHILD),
            store(4, R10, _RECORD + 4, R1),
            load(4, R1, R10, _PARENT),
            store(8, R10, _RECORD + 8, R1),
            store_imm(8, R10, _RECORD + 16, 0),
            ld_map(R1, _RING),
            mov(R2, R10),
            alu_imm("add", R2, _RECORD),
            mov_imm(R3, _RECORD_SIZE),
            mov_imm(R4, 0),
            call(RINGBUF_OUTPUT),
        )

    def _emit_exit(self, g: CodeBuilder, left: Label) -> None:
        emit_last_thread_check(g, self._kernel, left)
        self._emit_process_id(g, 0)
        g.emit(store(4, R10, _CHILD, R0))
        for index in (_PARTS, _FORKED):
            self._emit_map_call(g, MAP_DELETE_ELEM, index, _CHILD)

    def close(self) -> None:
        syscalls.close_all(self._links)
        self._links = []
