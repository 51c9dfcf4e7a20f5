"""A command (-c) stops at its first instruction, with its libraries mapped, until the tracer has
read its unwind tables.

A command that ends within milliseconds has no other time at which its stacks could be unwound and
named.

- The stop happens once: a program in the kernel sends SIGSTOP at the first instruction.
- The tracer resumes the command; if it does not, a guard does (resume_guard.py).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from pydtrace.bpf import syscalls
from pydtrace.bpf.helpers import GET_CURRENT_PID_TGID, MAP_UPDATE_ELEM, SEND_SIGNAL
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R10,
    alu_imm,
    call,
    exit_,
    jump_imm,
    ld_map,
    mov,
    mov_imm,
    store_imm,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.program import program as p
from pydtrace.symbols import elf

from .probes.instruction_starts import can_take_uprobe
from .resume_guard import HELD, ResumeGuard
from .uprobe_attach import UprobePoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .uprobe_attach import Attacher

_LONGEST = 5.0  # s from the program's start to its first instruction, after which it is looked for less often


class CommandHold:
    """pid: as the machine's pid namespace has it.  Raises OSError, elf.BadFile, syscalls.ProgramRejected where that can not be."""

    def __init__(self, attacher: Attacher, path: str, pid: int) -> None:
        self._pid, self._holds = pid, True
        self._program: int | None = None
        self._guard: ResumeGuard | None = None
        self._until = time.monotonic() + _LONGEST
        held = syscalls.map_create(p.MapDef("held", "hash", 4, 4, 1))
        self._held: int | None = held
        try:
            self._guard = ResumeGuard(held, 4)
            self._attach_stop(attacher, path, pid, held)
        except BaseException:
            self.close()
            raise

    def _attach_stop(self, attacher: Attacher, path: str, pid: int, held: int) -> None:
        """A program in the kernel stops it, and says so in the map."""
        g, left = CodeBuilder(), Label()
        g.emit(
            call(GET_CURRENT_PID_TGID),
            alu_imm("rsh", R0, 32),
            jump_imm("jne", R0, pid, left),
            store_imm(4, R10, -4, pid),
            store_imm(4, R10, -8, HELD),
            ld_map(R1, 0),
            mov(R2, R10),
            alu_imm("add", R2, -4),
            mov(R3, R10),
            alu_imm("add", R3, -8),
            mov_imm(R4, 0),
            call(MAP_UPDATE_ELEM),
            mov_imm(R1, signal.SIGSTOP),
            call(SEND_SIGNAL),
        )
        g.place_label(left)
        g.emit(mov_imm(R0, 0), exit_())
        file = elf.ElfFile(path)
        try:
            offset = file.file_offset(file.entry)
            if offset is None:
                raise elf.BadFile("its first instruction is not in the file")
            if not can_take_uprobe(file, offset):
                raise elf.BadFile("its first instruction can have no probe")
            self._program = attacher.load_program(g.finish(), [held])
            attacher.attach_uprobes(
                self._program,
                file.path,
                [UprobePoint(offset, 0, 0)],
                pid if attacher.filters_pids else 0,
            )
        finally:
            file.close()

    @property
    def is_over(self) -> bool:
        """It is not waited for any more."""
        return not self._holds or time.monotonic() > self._until

    def is_held(self) -> bool:
        """Whether it has stopped."""
        with contextlib.suppress(ChildProcessError):
            return (
                self._holds
                and os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
                is not None
            )
        return False

    def resume_command(self) -> None:
        """Detach first, or when it is held: it would be held again.  What is sent and not delivered yet is taken back."""
        if self._holds:
            self._holds = False
            with contextlib.suppress(OSError):
                os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WNOHANG)
                os.kill(self._pid, signal.SIGCONT)
        if self._guard is not None:
            self._guard.end()
            self._guard = None

    def close(self) -> None:
        self.resume_command()
        syscalls.close_all([fd for fd in (self._program, self._held) if fd is not None])
        self._program = self._held = None
