"""The descendants of the named processes, and the stop of each that runs an unknown program.

- A forked child is in the map before it runs.
- A process that executes a program that was not scanned yet stops before its first instruction
  (SIGSTOP).  It continues after the scan.
- If the tracer does not resume it in time, a guard does (resume_guard.py).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct

from pydtrace.bpf import syscalls
from pydtrace.bpf.helpers import (
    MAP_DELETE_ELEM,
    MAP_LOOKUP_ELEM,
    MAP_UPDATE_ELEM,
    RINGBUF_OUTPUT,
    SEND_SIGNAL,
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
    R10,
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
from pydtrace.engine import EngineError
from pydtrace.program import program as p

from . import kernel_errors
from .passes.read_kernel_memory import emit_read
from .probes.raw_tracepoints import KernelInfo
from .resume_guard import HELD, RESUMED, ResumeGuard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 1 << 16  # processes
_FILES = 1 << 14  # programs that were looked at
_RING = 4096  # bytes: only what wakes the tracer up
_MEMBER = struct.Struct(
    "=IIQ"
)  # it is held; the device and the inode of its program, as the kernel has them
_FILE = struct.Struct("=QQ")
_KEY, _VALUE = -24, -48  # where in the frame; emit_read() uses the word above


class Descendants:
    """pids: the processes that were named.  hold: whether a process that becomes an unknown program waits for look().  fd: of the map; wake: a
    descriptor to poll."""

    def __init__(self, pids: Iterable[int], hold: bool) -> None:
        self._raw, self._hold = KernelInfo(), hold
        self._links: list[int] = []
        self._guard: ResumeGuard | None = None
        self._late = 0  # processes that the guard let go
        try:
            self.fd = syscalls.map_create(
                p.MapDef("family", "hash", 4, _MEMBER.size, _MOST), syscalls.NO_PREALLOC
            )
            self._files = syscalls.map_create(
                p.MapDef("programs", "hash", _FILE.size, 4, _FILES), syscalls.NO_PREALLOC
            )
            self.wake_fd = syscalls.map_create(p.MapDef("changes", "ringbuf", 0, 0, _RING))
        except OSError as error:
            raise kernel_errors.make_step_error("map", error) from None
        self._read = mmap.mmap(self.wake_fd, mmap.PAGESIZE)
        self._written = mmap.mmap(
            self.wake_fd, mmap.PAGESIZE, prot=mmap.PROT_READ, offset=mmap.PAGESIZE
        )
        for pid in pids:
            syscalls.map_update(self.fd, struct.pack("=I", pid), bytes(_MEMBER.size))

    def begin(self) -> None:
        """From now on the kernel tells of forks, and of processes that become other programs."""
        if self._hold:
            try:
                self._guard = ResumeGuard(self.fd, _MEMBER.size)
            except OSError as error:
                raise EngineError(f"kernel engine: -x children: {error.strerror}") from None
        for tracepoint, code in (
            ("sched_process_fork", self._emit_fork),
            ("sched_process_exit", self._emit_exit),
            ("sched_process_exec", self._emit_exec),
        ):
            g = CodeBuilder()
            g.emit(mov(R6, R1))
            left = Label()
            code(g, left)
            g.place_label(left)
            g.emit(mov_imm(R0, 0), exit_())
            try:
                program = syscalls.load_program(
                    g.finish(), (self.fd, self._files, self.wake_fd), syscalls.RAW_TRACEPOINT
                )
                try:
                    self._links.append(syscalls.open_raw_tracepoint(program, tracepoint))
                finally:
                    os.close(program)
            except syscalls.ProgramRejected as error:
                raise EngineError(f"kernel engine: -x children: {error}") from None
            except OSError as error:
                raise kernel_errors.make_step_error("raw", error, tracepoint) from None

    def _emit_fork(self, g: CodeBuilder, left: Label) -> None:
        """The child of a member is one.  (Threads have their process's id.)"""
        g.emit(load(8, R7, R6, 0))
        emit_read(g, 4, R7, self._raw.member_offset("task_struct", "tgid"))
        g.emit(store(4, R10, _KEY, R0), mov(R8, R0))
        self._emit_member_check(g, left)
        g.emit(load(8, R7, R6, 8))
        emit_read(g, 4, R7, self._raw.member_offset("task_struct", "tgid"))
        g.emit(
            jump("jeq", R0, R8, left),
            store(4, R10, _KEY, R0),
            *[store_imm(8, R10, _VALUE + i, 0) for i in (0, 8)],
        )
        self._emit_store_member(g)

    def _emit_exit(self, g: CodeBuilder, left: Label) -> None:
        """A process that has ended is none: its id can become another's."""
        from .probes.raw_tracepoints import emit_last_thread_check

        emit_last_thread_check(g, self._raw, left)
        g.emit(load(8, R7, R6, 0))
        emit_read(g, 4, R7, self._raw.member_offset("task_struct", "tgid"))
        g.emit(
            store(4, R10, _KEY, R0),
            ld_map(R1, 0),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            call(MAP_DELETE_ELEM),
        )

    def _emit_exec(self, g: CodeBuilder, left: Label) -> None:
        """A member has become another program: which, and whether it waits."""
        member = self._raw.member_offset
        g.emit(load(8, R7, R6, 0))
        emit_read(g, 4, R7, member("task_struct", "tgid"))
        g.emit(store(4, R10, _KEY, R0))
        self._emit_member_check(g, left)
        g.emit(load(8, R7, R6, 16))  # struct linux_binprm
        emit_read(g, 8, R7, member("linux_binprm", "file"))
        emit_read(g, 8, R0, member("file", "f_inode"))
        g.emit(mov(R8, R0))
        emit_read(g, 8, R8, member("inode", "i_ino"))
        g.emit(store(8, R10, _VALUE + 8, R0))
        emit_read(g, 8, R8, member("inode", "i_sb"))
        emit_read(g, 4, R0, member("super_block", "s_dev"))
        g.emit(store(4, R10, _VALUE + 4, R0), store_imm(4, R10, _VALUE, 0))
        if self._hold:
            known, file = Label(), _VALUE - 16
            g.emit(
                store(8, R10, file, R0),
                load(8, R1, R10, _VALUE + 8),
                store(8, R10, file + 8, R1),
                ld_map(R1, 1),
                mov(R2, R10),
                alu_imm("add", R2, file),
                call(MAP_LOOKUP_ELEM),
                jump_imm("jne", R0, 0, known),
                store_imm(4, R10, _VALUE, HELD),
                mov_imm(R1, signal.SIGSTOP),
                call(SEND_SIGNAL),
                jump_imm("jeq", R0, 0, known),
                store_imm(4, R10, _VALUE, 0),
            )
            g.place_label(known)
        self._emit_store_member(g)
        g.emit(
            ld_map(R1, 2),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            mov_imm(R3, 4),
            mov_imm(R4, 0),
            call(RINGBUF_OUTPUT),
        )

    @staticmethod
    def _emit_member_check(g: CodeBuilder, left: Label) -> None:
        """To `left` where the process whose id is at _KEY is no member."""
        g.emit(
            ld_map(R1, 0),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            call(MAP_LOOKUP_ELEM),
            jump_imm("jeq", R0, 0, left),
        )

    @staticmethod
    def _emit_store_member(g: CodeBuilder) -> None:
        g.emit(
            ld_map(R1, 0),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            mov(R3, R10),
            alu_imm("add", R3, _VALUE),
            mov_imm(R4, 0),
            call(MAP_UPDATE_ELEM),
        )

    def has_changed(self) -> bool:
        """Whether a member has become another program since this was asked last."""
        written = self._written[:8]
        changed = written != self._read[:8]
        self._read[:8] = written
        return changed

    def send_heartbeat(self) -> None:
        """The tracer is about to look whether anybody waits."""
        if self._guard is not None:
            self._guard.send_heartbeat()

    def take_late_count(self) -> int:
        """How many processes did not wait for release_member() since this was asked last: the guard has let them go."""
        late, self._late = self._late, 0
        return late

    def read_members(self) -> dict[int, bool]:
        """{process id: release_member() is to be called}."""
        return {
            int.from_bytes(key, "little"): bool(_MEMBER.unpack(value)[0])
            for key, value in syscalls.map_items(self.fd, 4, _MEMBER.size)
        }

    def release_member(self, pid: int) -> None:
        """The program of this process is known now: it goes on, and whoever becomes the same program does not wait."""
        key = struct.pack("=I", pid)
        try:
            state, device, inode = _MEMBER.unpack(syscalls.map_lookup(self.fd, key, _MEMBER.size))
            syscalls.map_update(self._files, _FILE.pack(device, inode), struct.pack("=I", 1))
            syscalls.map_update(self.fd, key, _MEMBER.pack(0, device, inode))
        except FileNotFoundError:
            return  # it has been killed
        if state == RESUMED:
            self._late += 1
            return
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """Nobody waits any more, and nobody joins."""
        syscalls.close_all(self._links)
        self._links = []
        for pid, held in self.read_members().items():
            if held:
                self.release_member(pid)
        if self._guard is not None:
            self._guard.end()
            self._guard = None

    def close(self) -> None:
        self.end()
        self._read.close()
        self._written.close()
        syscalls.close_all([self.fd, self._files, self.wake_fd])
