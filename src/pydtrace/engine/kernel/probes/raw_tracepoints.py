"""Probes at raw tracepoints: system calls, proc, sched, io, tcp, and those of packets.py.

- Arguments mean what they mean in dtrace; a pointer to a task is the kernel's.
- A probe that dtrace puts on a function of the kernel (kprobe) is here only if a tracepoint has
  the same meaning.

The context of a raw tracepoint is its arguments, one word each.  sys_enter: the registers, the
call's number; sys_exit: the registers, the result.  r6 is the context, r7 the state block, and r8
is kept from a condition to the arguments. Sources: the prototypes in include/trace/events of
Linux; "proc" and "sched" of the DTrace guide.
"""

from __future__ import annotations

import os

from pydtrace.bpf.helpers import GET_CURRENT_PID_TGID, GET_CURRENT_TASK, PROBE_READ_KERNEL
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R6,
    R7,
    R8,
    alu,
    alu_imm,
    call,
    ja,
    jump_imm,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.engine import EngineError
from pydtrace.engine.kernel import kernel_structs
from pydtrace.engine.kernel.passes.read_kernel_memory import emit_read
from pydtrace.engine.kernel.uprobe_attach import kernel_version
from pydtrace.process.syscall_numbers import syscall_numbers
from pydtrace.program import program as p

from . import packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydtrace.bpf.program_builder import CodeBuilder

    from ..linker import MapIndexes

    Argument = Callable[[CodeBuilder, "KernelInfo"], None]  # leaves its value in r0
    Condition = Callable[
        [CodeBuilder, "KernelInfo", Label], None
    ]  # goes to the label unless the probe fires

TABLE_CALLS = 512  # numbers that the table of system calls has room for, of each side
TABLE_SIZE = 2 * 8 * TABLE_CALLS
ENTRY, RETURN = "entry", "return"
_ID_BITS, _MOST_ARGUMENTS, _MOST_ERRORS = 24, 6, 4095
_MOST_WORDS = 12  # of a raw tracepoint, as the kernel has it
_TCP = 6  # the protocol's number
_BASES = {ENTRY: 0, RETURN: 8 * TABLE_CALLS}


class SyscallRegisters:
    """Where pt_regs has what.  number: of the system call, its bytes; arguments; mode: a word, what of it tells, and
    what it is for a 64-bit process."""

    __slots__ = ("number", "number_size", "arguments", "mode", "mask", "native")

    def __init__(
        self,
        number: int,
        number_size: int,
        arguments: tuple[int, ...],
        mode: int,
        mask: int,
        native: int,
    ) -> None:
        self.number, self.number_size, self.arguments = number, number_size, arguments
        self.mode, self.mask, self.native = mode, mask, native


_REGISTERS = {
    "x86_64": SyscallRegisters(120, 8, (112, 104, 96, 56, 72, 64), 136, 0xFFFF, 0x33),  # rdi …; cs
    "aarch64": SyscallRegisters(280, 4, (0, 8, 16, 24, 32, 40), 264, 0x10, 0),  # x0 …; pstate's nRW
}


class KernelInfo:
    """What the running kernel is like, looked up once.  machine: as uname says."""

    def __init__(self) -> None:
        self.machine = os.uname().machine
        self.registers: SyscallRegisters = _REGISTERS.get(self.machine)  # type: ignore[assignment]  # None: there are no probes that need it
        self._calls: dict[str, int] | None = None
        self._structs = kernel_structs.KernelBtf()
        self._members: dict[tuple[str, str], int] = {}

    @property
    def syscall_numbers(self) -> dict[str, int]:
        """{name: number} of the system calls."""
        if self._calls is None:
            self._calls = syscall_numbers(self.machine) if self.registers else {}
        return self._calls

    def count_words(self, tracepoint: str) -> int:
        """How many words a raw tracepoint is given; as many as any, where the kernel does not say."""
        found = self._structs.tracepoint_types(tracepoint)
        return _MOST_WORDS if found is None else len(found)

    def member_offset(self, structure: str, name: str) -> int:
        """The offset of a member of one of the kernel's structs.  Raises EngineError."""
        key = structure, name
        if key not in self._members:
            try:
                self._structs.read_btf()
            except OSError as error:
                raise EngineError(
                    f"kernel engine: this kernel does not tell where a task has its parts (BTF): {kernel_structs.BTF}: {error.strerror}; "
                    "a kernel with CONFIG_DEBUG_INFO_BTF does"
                ) from None
            found = self._structs.member_offset(structure, name)
            if found is None:
                raise EngineError(f"kernel engine: this kernel's {structure} has no {name}")
            self._members[key] = found
        return self._members[key]


def _emit_copy(g: CodeBuilder, place: int, size: int, address: int, offset: int) -> None:
    """Copy what is at offset of the address in a register to a place in the state block."""
    g.emit(
        mov(R3, address),
        alu_imm("add", R3, offset),
        mov(R1, R7),
        alu_imm("add", R1, place),
        mov_imm(R2, size),
        call(PROBE_READ_KERNEL),
    )


# --- arguments: f(g, kernel) leaves the value in r0 -----------------------------------------------


def _word_argument(index: int) -> Argument:
    return lambda g, kernel: g.emit(load(8, R0, R6, 8 * index))


def _register_argument(index: int) -> Argument:
    def emit(g: CodeBuilder, kernel: KernelInfo) -> None:
        g.emit(load(8, R3, R6, 0))
        emit_read(g, 8, R3, kernel.registers.arguments[index])

    return emit


def _emit_current_task(g: CodeBuilder, kernel: KernelInfo) -> None:
    g.emit(call(GET_CURRENT_TASK))


def _emit_exec_path(g: CodeBuilder, kernel: KernelInfo) -> None:
    """Of execve(path, …) and of execveat(folder, path, …); r8 is the call's number."""
    at, done = Label(), Label()
    g.emit(jump_imm("jeq", R8, kernel.syscall_numbers["execveat"], at))
    _register_argument(0)(g, kernel)
    g.emit(ja(done))
    g.place_label(at)
    _register_argument(1)(g, kernel)
    g.place_label(done)


def _emit_exit_reason(g: CodeBuilder, kernel: KernelInfo) -> None:
    """CLD_EXITED, CLD_KILLED, CLD_DUMPED, by the task's status as wait(2) has it."""
    done = Label()
    g.emit(load(8, R3, R6, 0))
    emit_read(g, 4, R3, kernel.member_offset("task_struct", "exit_code"))
    g.emit(
        mov(R1, R0),
        mov_imm(R0, 1),
        mov(R2, R1),
        alu_imm("and", R2, 0x7F),
        jump_imm("jeq", R2, 0, done),
        mov_imm(R0, 3),
        alu_imm("and", R1, 0x80),
        jump_imm("jne", R1, 0, done),
        mov_imm(R0, 2),
    )
    g.place_label(done)


# --- conditions: f(g, kernel, left) goes to `left` where it is no firing ---------------------------


def _word_condition(index: int, value: int, test: str = "jne") -> Condition:
    return lambda g, kernel, left: g.emit(
        load(8, R1, R6, 8 * index), jump_imm(test, R1, value, left)
    )


def _emit_call_number(g: CodeBuilder, kernel: KernelInfo, side: str) -> None:
    """r8 = the number of the system call."""
    if side == ENTRY:
        g.emit(load(8, R8, R6, 8))
    else:
        g.emit(load(8, R3, R6, 0))
        emit_read(g, kernel.registers.number_size, R3, kernel.registers.number)
        g.emit(mov(R8, R0))


def _emit_64_bit_check(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
    """The numbers of 32-bit processes mean other calls."""
    registers = kernel.registers
    g.emit(load(8, R3, R6, 0))
    emit_read(g, 8, R3, registers.mode)
    g.emit(alu_imm("and", R0, registers.mask), jump_imm("jne", R0, registers.native, left))


def _call_condition(side: str, *names: str) -> Condition:
    def emit(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
        found = Label()
        _emit_call_number(g, kernel, side)
        g.emit(
            *[
                jump_imm("jeq", R8, kernel.syscall_numbers[name], found)
                for name in names
                if name in kernel.syscall_numbers
            ]
        )
        g.emit(ja(left))
        g.place_label(found)
        _emit_64_bit_check(g, kernel, left)

    return emit


def _emit_tcp_check(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
    """A socket's word 0: of TCP, not of SCTP and its like."""
    g.emit(load(8, R3, R6, 0))
    emit_read(g, 2, R3, kernel.member_offset("sock", "sk_protocol"))
    g.emit(jump_imm("jne", R0, _TCP, left))


def _emit_process_check(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
    """Not one of a process's further threads."""
    g.emit(
        call(GET_CURRENT_PID_TGID),
        mov(R1, R0),
        alu_imm("rsh", R1, 32),
        alu_imm("lsh", R0, 32),
        alu_imm("rsh", R0, 32),
        alu("sub", R1, R0),
        jump_imm("jne", R1, 0, left),
    )


def emit_last_thread_check(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
    """No thread of the process lives any more.  Linux 6.16 says so; before, two threads that end at the same time may
    both be taken for the last one."""
    if kernel_version() >= (6, 16):
        _word_condition(1, 0, "jeq")(g, kernel, left)
        return
    g.emit(load(8, R3, R6, 0))
    emit_read(g, 8, R3, kernel.member_offset("task_struct", "signal"))
    emit_read(g, 4, R0, kernel.member_offset("signal_struct", "live"))
    g.emit(jump_imm("jne", R0, 0, left))


# --- the probes ------------------------------------------------------------------------------------


class FixedProbe:
    """A probe of the table below.  names: (provider, module, function, name); ident: its id, once it has one;
    tracepoint; tests: conditions; arguments: {index: code}; subject: code for the task that the event is about, None
    for the one that runs.  kernel_reads: D may follow its pointers into the kernel."""

    __slots__ = ("names", "ident", "tracepoint", "conditions", "arguments", "subject", "kernel")
    kernel_reads = True

    def __init__(
        self,
        kernel: KernelInfo,
        provider: str,
        name: str,
        tracepoint: str,
        tests: Sequence[Condition] = (),
        arguments: dict[int, Argument] | None = None,
        subject: Argument | None = None,
        module: str = "vmlinux",
    ) -> None:
        self.names, self.ident, self.tracepoint = (provider, module, "", name), 0, tracepoint
        self.conditions, self.arguments, self.subject, self.kernel = (
            tests,
            arguments or {},
            subject,
            kernel,
        )

    @property
    def program_key(self) -> tuple[str, ...]:
        return self.names

    def emit_conditions(self, g: CodeBuilder, maps: MapIndexes, left: Label) -> None:
        for test in self.conditions:
            test(g, self.kernel, left)

    def emit_ident(self, g: CodeBuilder) -> None:
        g.emit(mov_imm(R0, self.ident))

    def emit_argument(self, g: CodeBuilder, index: int, offset: int) -> None:
        if index in self.arguments:
            self.arguments[index](g, self.kernel)
        else:
            g.emit(mov_imm(R0, 0))
        g.emit(store(8, R7, offset, R0))

    def emit_error(self, g: CodeBuilder) -> None:
        """errno: no system call returns here."""

    def emit_task(self, g: CodeBuilder) -> None:
        """r0 = the task that the event is about, where that is not the running one."""
        assert self.subject
        self.subject(g, self.kernel)

    def emit_subject(self, g: CodeBuilder, reads: set[str]) -> None:
        """The parts of the event that tell of the running task, of another one instead."""
        self.emit_task(g)
        g.emit(mov(R8, R0))
        member = self.kernel.member_offset
        if "pid" in reads:
            _emit_copy(g, p.STATE_TID, 4, R8, member("task_struct", "pid"))
            _emit_copy(g, p.STATE_PID, 4, R8, member("task_struct", "tgid"))
        if "execname" in reads:
            _emit_copy(g, p.STATE_EXECNAME, 16, R8, member("task_struct", "comm"))
        if "uid" in reads:
            emit_read(g, 8, R8, member("task_struct", "cred"))
            g.emit(mov(R8, R0))
            _emit_copy(g, p.STATE_UID, 4, R8, member("cred", "uid"))
            _emit_copy(g, p.STATE_GID, 4, R8, member("cred", "gid"))


class SyscallGroup:
    """All system calls of one side that run the same clauses.  side: ENTRY or RETURN; group: the number that the table
    of system calls (TABLE_SIZE bytes) has for them.  A word of it, for each number: the group, how many arguments the
    call has (the registers of those that it has not are anything; dtrace says 0), the probe's id."""

    __slots__ = ("side", "group", "kernel")
    kernel_reads, subject = False, None

    def __init__(self, kernel: KernelInfo, side: str, group: int) -> None:
        self.kernel, self.side, self.group = kernel, side, group

    @property
    def tracepoint(self) -> str:
        return "sys_enter" if self.side == ENTRY else "sys_exit"

    @property
    def program_key(self) -> tuple[str, int]:
        return "syscall", self.group

    def table_word(self, number: int, ident: int, arguments: int) -> tuple[int, int]:
        """(offset, value) of a system call in the table."""
        return _BASES[self.side] + 8 * number, self.group << 32 | arguments << _ID_BITS | ident

    def emit_conditions(self, g: CodeBuilder, maps: MapIndexes, left: Label) -> None:
        assert maps.syscalls is not None
        _emit_call_number(g, self.kernel, self.side)
        g.emit(
            jump_imm("jge", R8, TABLE_CALLS, left),
            alu_imm("lsh", R8, 3),
            ld_map_value(R1, maps.syscalls, _BASES[self.side]),
            alu("add", R1, R8),
            load(8, R8, R1, 0),
            mov(R1, R8),
            alu_imm("rsh", R1, 32),
            jump_imm("jne", R1, self.group, left),
            alu_imm("lsh", R8, 32),
            alu_imm("rsh", R8, 32),
        )
        _emit_64_bit_check(g, self.kernel, left)

    def emit_ident(self, g: CodeBuilder) -> None:
        g.emit(mov(R0, R8), alu_imm("and", R0, (1 << _ID_BITS) - 1))

    def emit_error(self, g: CodeBuilder) -> None:
        """errno: what a call returns from -4095 to -1 is one."""
        if self.side == RETURN:
            done = Label()
            g.emit(
                load(8, R0, R6, 8),
                jump_imm("jsge", R0, 0, done),
                jump_imm("jslt", R0, -_MOST_ERRORS, done),
                mov_imm(R1, 0),
                alu("sub", R1, R0),
                store(4, R7, p.STATE_ERRNO, R1),
            )
            g.place_label(done)

    def emit_argument(self, g: CodeBuilder, index: int, offset: int) -> None:
        done = Label()
        g.emit(mov_imm(R0, 0))
        if self.side == RETURN and index < 2:
            g.emit(load(8, R0, R6, 8))
        elif self.side == ENTRY and index < _MOST_ARGUMENTS:
            g.emit(mov(R1, R8), alu_imm("rsh", R1, _ID_BITS), jump_imm("jle", R1, index, done))
            _register_argument(index)(g, self.kernel)
        g.place_label(done)
        g.emit(store(8, R7, offset, R0))


_EXEC, _NEW = ("execve", "execveat"), ("clone", "clone3", "fork", "vfork")


_STATE_CHANGE = {
    1: _word_argument(0),
    3: _word_argument(0),
    5: _word_argument(2),
    6: _word_argument(1),
}  # the socket, the new state, the old one
_ESTABLISHED, _SYN_SENT, _SYN_RECEIVED, _CLOSED = 1, 2, 3, 7  # states of TCP
_CHANGES = {  # probe of tcp: states before and after, None for any
    "state-change": (None, None),
    "connect-request": (_CLOSED, _SYN_SENT),
    "connect-established": (_SYN_SENT, _ESTABLISHED),
    "connect-refused": (_SYN_SENT, _CLOSED),
    "accept-established": (_SYN_RECEIVED, _ESTABLISHED),
}
PROVIDERS = ("proc", "sched", "io", "ip", "tcp", "udp")  # of those below
RAW_PROVIDER = "rawtp"  # the provider of all tracepoints


class RawTracepoint(FixedProbe):
    """Any raw tracepoint; its arguments are its words.  The kernel refuses a program that reads more than it has (EINVAL)."""

    __slots__ = ()

    def __init__(self, kernel: KernelInfo, module: str, name: str) -> None:
        super().__init__(kernel, RAW_PROVIDER, name, name, module=module)

    def emit_argument(self, g: CodeBuilder, index: int, offset: int) -> None:
        if not self.arguments:
            self.arguments = {
                each: _word_argument(each)
                for each in range(self.kernel.count_words(self.tracepoint))
            }
        super().emit_argument(g, index, offset)


def fixed_probes(kernel: KernelInfo) -> list[FixedProbe]:
    """[Fixed]: all of them."""
    began = _call_condition(RETURN, *_NEW), _word_condition(1, 0)
    found = [
        FixedProbe(
            kernel, "proc", "create", "sched_process_fork", arguments={0: _word_argument(1)}
        ),
        FixedProbe(kernel, "proc", "exec-success", "sched_process_exec"),
        FixedProbe(
            kernel,
            "proc",
            "exit",
            "sched_process_exit",
            [emit_last_thread_check],
            {0: _emit_exit_reason},
        ),
        FixedProbe(
            kernel, "proc", "lwp-create", "sched_process_fork", arguments={0: _word_argument(1)}
        ),
        FixedProbe(kernel, "proc", "lwp-exit", "sched_process_exit"),
        FixedProbe(
            kernel,
            "proc",
            "signal-discard",
            "signal_generate",
            [_word_condition(4, 1)],
            {0: _word_argument(2), 1: _word_argument(0)},
        ),
        FixedProbe(
            kernel,
            "proc",
            "signal-handle",
            "signal_deliver",
            arguments={i: _word_argument(i) for i in range(3)},
        ),
        FixedProbe(
            kernel,
            "proc",
            "signal-send",
            "signal_generate",
            [_word_condition(4, 0)],
            {0: _word_argument(2), 1: _word_argument(0)},
        ),
        FixedProbe(kernel, "io", "start", "block_rq_issue", arguments={0: _word_argument(0)}),
        FixedProbe(
            kernel,
            "io",
            "done",
            "block_rq_complete",
            arguments={0: _word_argument(0), 1: _word_argument(1)},
        ),
        *[
            FixedProbe(
                kernel,
                "tcp",
                name,
                "inet_sock_set_state",
                [
                    _emit_tcp_check,
                    *[
                        _word_condition(index, state)
                        for index, state in enumerate(states, 1)
                        if state is not None
                    ],
                ],
                _STATE_CHANGE,
            )
            for name, states in _CHANGES.items()
        ],
        *[FixedProbe(kernel, *row) for row in packets.packet_probes()],
        FixedProbe(kernel, "sched", "off-cpu", "sched_switch", arguments={0: _word_argument(2)}),
        FixedProbe(kernel, "sched", "on-cpu", "sched_switch", subject=_word_argument(2)),
        FixedProbe(kernel, "sched", "wakeup", "sched_wakeup", arguments={0: _word_argument(0)}),
    ]
    if kernel.registers:
        found += [
            FixedProbe(
                kernel,
                "proc",
                "exec",
                "sys_enter",
                [_call_condition(ENTRY, *_EXEC)],
                {0: _emit_exec_path},
            ),
            FixedProbe(
                kernel,
                "proc",
                "exec-failure",
                "sys_exit",
                [_call_condition(RETURN, *_EXEC), _word_condition(1, 0, "jeq")],
                {0: _word_argument(1)},
            ),
            FixedProbe(kernel, "proc", "lwp-start", "sys_exit", began),
            FixedProbe(kernel, "proc", "start", "sys_exit", [*began, _emit_process_check]),
            FixedProbe(
                kernel,
                "proc",
                "signal-clear",
                "sys_exit",
                [_call_condition(RETURN, "rt_sigtimedwait"), _word_condition(1, 0, "jsle")],
                {0: _word_argument(1)},
            ),
            FixedProbe(
                kernel,
                "sched",
                "surrender",
                "sys_enter",
                [_call_condition(ENTRY, "sched_yield")],
                {0: _emit_current_task},
            ),
        ]
    return found
