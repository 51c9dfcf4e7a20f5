"""Probes of the kernel: which of them a program asks for, and their attachment to tracepoints.

- Only probes that descriptions name; a description without a provider names none of them.
- Each set of clauses has one program at the entry of system calls and one at the return, for any
  number of calls.
- At a return arg0 and arg1 are the result, as in dtrace.
"""

from __future__ import annotations

from pydtrace import _tracer
from pydtrace.bpf import syscalls
from pydtrace.engine.kernel import kernel_errors
from pydtrace.engine.kernel.linker import ProgramEvent
from pydtrace.engine.kernel.passes.clause_analysis import demanded_arguments

from . import tracefs
from .raw_tracepoints import (
    ENTRY,
    PROVIDERS,
    RAW_PROVIDER,
    RETURN,
    TABLE_CALLS,
    KernelInfo,
    RawTracepoint,
    SyscallGroup,
    fixed_probes,
)
from .usdt_operands import Operand, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..engine import KernelEngine
    from .matcher import ProbeDesc
    from .raw_tracepoints import FixedProbe

_MODULE = "vmlinux"
_MOST = 6  # arguments of a system call
_ARGUMENTS, _RESULT = 16, 16  # offsets in a perf event's context: after its header and the number
_PREFIXES = {"sys_enter_": ENTRY, "sys_exit_": RETURN}


class SystemCall:
    """One side of a system call.  names: (provider, module, function, name); event: the folder of its tracepoint below
    events, "" where nobody may look there; number: the call's, or None where only the kernel knows it."""

    __slots__ = ("names", "event", "number")
    is_of_running_process = True  # it tells of the running process alone, and of its memory

    def __init__(self, names: tuple[str, str, str, str], event: str, number: int | None) -> None:
        self.names, self.event, self.number = names, event, number

    @property
    def argument_count(self) -> int:
        """How many arguments it has."""
        try:
            there = tracefs.read_parameters(self.event)
        except OSError:
            return _MOST
        return sum(_ARGUMENTS + 8 * index in there for index in range(_MOST))

    def find_operands(self, wanted: Iterable[int]) -> dict[int, tuple[Operand, int]]:
        """{index: (Operand, 0)} of those that it has."""
        if self.names[3] == RETURN:
            return {index: (_memory_operand(_RESULT), 0) for index in wanted if index < 2}
        count = self.argument_count
        return {
            index: (_memory_operand(_ARGUMENTS + 8 * index), 0) for index in wanted if index < count
        }

    @property
    def tracepoint_id(self) -> int:
        """The kernel's number of it."""
        return int(tracefs.read_event_file(self.event, "id"))


def _memory_operand(offset: int) -> Operand:
    operand = Operand(f"8@[{offset}]", 8, True)
    operand.register = Register(offset, 8)
    return operand


def _find_tracepoints(asked: Iterable[ProbeDesc]) -> Iterable[tuple[str, ...]]:
    """[(module, name)] of the raw tracepoints; of those that can not be listed what is named in full.  A system call has
    none of its own, nor has an event that a tracer made (perf probe's; the real dtrace's BEGIN and END)."""
    try:
        made = tracefs.list_dynamic_events()
        return [
            each
            for each in tracefs.list_tracepoints()
            if each[0] != tracefs.CALLS and each not in made
        ]
    except OSError:
        return [
            (desc.module, desc.name)
            for desc in asked
            if desc.provider == RAW_PROVIDER
            and not any(char in "*?[" for char in desc.module + desc.name)
        ]


def _find_syscalls(known: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """[(name, side, the tracepoint's folder)] of the system calls of this kernel, in its order, which is dtrace's.
    known: {name: number}"""
    try:
        events = [name for module, name in tracefs.list_tracepoints() if module == tracefs.CALLS]
    except OSError:  # who may not look there may trace what we know
        return [(name, side, "") for name in sorted(known) for side in (RETURN, ENTRY)]
    return [
        (event.removeprefix(prefix), side, f"{tracefs.CALLS}/{event}")
        for event in events
        for prefix, side in _PREFIXES.items()
        if event.startswith(prefix)
    ]


def _can_match_syscall(desc: ProbeDesc) -> bool:
    """Whether a description without a provider, such as write:entry, may stand for a system call."""
    return desc.function not in ("", "*") and any(
        _tracer.glob(desc.name, side) for side in (ENTRY, RETURN)
    )


class SystemProbes:
    """The probes that any of the descriptions stands for.  probes: {(provider, module, function, name): Fixed or
    SystemCall}, in an order that is the same each time."""

    def __init__(self, descriptions: Iterable[ProbeDesc]) -> None:
        self.kernel = KernelInfo()
        self.probes: dict[tuple[str, str, str, str], SystemCall | FixedProbe] = {}
        asked = [desc for desc in descriptions if desc.provider or _can_match_syscall(desc)]
        if any(_tracer.glob(desc.provider, "syscall") for desc in asked):
            for name, side, event in _find_syscalls(self.kernel.syscall_numbers):
                names = ("syscall", _MODULE, name, side)
                number = self.kernel.syscall_numbers.get(name, TABLE_CALLS)
                self.probes[names] = SystemCall(
                    names, event, number if number < TABLE_CALLS else None
                )
        if any(_tracer.glob(desc.provider, each) for desc in asked for each in PROVIDERS):
            self.probes.update((probe.names, probe) for probe in fixed_probes(self.kernel))
        if any(_tracer.glob(desc.provider, RAW_PROVIDER) for desc in asked):
            for module, name in _find_tracepoints(asked):
                tracepoint = RawTracepoint(self.kernel, module, name)
                self.probes[tracepoint.names] = tracepoint
        self.probes = {
            names: probe
            for names, probe in self.probes.items()
            if any(_is_match(desc, names) for desc in asked)
        }

    @property
    def needs_table(self) -> bool:
        """Whether the programs need the table of system calls."""
        return any(isinstance(probe, SystemCall) for probe in self.probes.values())

    def attach_probes(
        self, engine: KernelEngine, idents: Mapping[tuple[str, str, str, str], int]
    ) -> None:
        """engine: KernelEngine, for what it has of programs, maps and an Attacher; idents: {names: id of the probe}"""
        groups: dict[tuple[str, tuple[int, ...]], SyscallGroup] = {}  # {(side, clauses): Calls}
        for names, probe in self.probes.items():
            clauses, ident = engine.matcher.find_probe_clauses(names), idents[names]
            engine.publish_names(ident)
            if not isinstance(probe, SystemCall):
                probe.ident = ident
                self._attach_raw(engine, probe, clauses)
            elif probe.number is None:
                self._attach_single(engine, probe, clauses, ident)
            else:
                group = groups.setdefault(
                    (names[3], clauses), SyscallGroup(self.kernel, names[3], len(groups) + 1)
                )
                wanted = names[3] == ENTRY and demanded_arguments(
                    [engine.program.clauses[index] for index in clauses]
                )
                engine.maps.syscall_table.write_word(
                    *group.table_word(probe.number, ident, probe.argument_count if wanted else 0)
                )
        for (_, clauses), group in groups.items():
            self._attach_raw(engine, group, clauses)

    @staticmethod
    def _attach_raw(
        engine: KernelEngine, probe: FixedProbe | SyscallGroup, clauses: tuple[int, ...]
    ) -> None:
        program = engine.program_for(
            (clauses, probe.program_key), clauses, ProgramEvent(raw=probe), syscalls.RAW_TRACEPOINT
        )
        try:
            engine.attacher.attach_raw_tracepoint(program, probe.tracepoint)
        except OSError as error:
            raise kernel_errors.make_step_error("raw", error, probe.tracepoint) from None

    @staticmethod
    def _attach_single(
        engine: KernelEngine, probe: SystemCall, clauses: tuple[int, ...], ident: int
    ) -> None:
        arguments = probe.find_operands(
            demanded_arguments([engine.program.clauses[index] for index in clauses])
        )
        key = (clauses, probe.names[3], tuple(arguments))
        program = engine.program_for(
            key, clauses, ProgramEvent(arguments=arguments), syscalls.TRACEPOINT
        )
        try:
            engine.attacher.attach_tracepoint(program, probe.tracepoint_id, ident)
        except OSError as error:
            raise kernel_errors.make_step_error("perf", error, ":".join(probe.names)) from None


def _is_match(desc: ProbeDesc, names: tuple[str, str, str, str]) -> bool:
    return all(map(_tracer.glob, (desc.provider, desc.module, desc.function, desc.name), names))
