"""The kernel engine: eBPF programs on uprobes, for any USDT probe in any process.

- The clauses' code is the same bytes as in the embedded engine.
- BEGIN, END and ticks run in the kernel as well, by BPF_PROG_TEST_RUN in this process: there is
  one semantics, and all clauses share maps and variables.
- Everything in the kernel depends on descriptors of this process and goes away with it, however it
  ends.
"""

from __future__ import annotations

import errno
import os
import select
import struct
import time
from functools import partial

from pydtrace.bpf import syscalls
from pydtrace.bpf.program_builder import CodeError
from pydtrace.engine import BEGIN, DTRACE_PROBES, END, ERROR, Engine, EngineError
from pydtrace.engine.scope import process_probes
from pydtrace.engine.tick_timers import MissedTicks, TickTimers, profile_period, tick_period
from pydtrace.process.identity import is_alive, read_comm
from pydtrace.program import program as p
from pydtrace.symbols.elf import BadFile
from pydtrace.untrusted.responsive_fs import RESPONSIVE_FS

from . import kernel_errors, program_btf, resume_guard
from .bpf_tracers import RunStatistics, read_run_time
from .command_hold import CommandHold
from .descendants import Descendants
from .fork_events import ForkEvents
from .kernel_maps import KernelMaps
from .linker import NAMES_SIZE, NO_PID, Linker, ProgramEvent
from .mapping_events import MappingEvents
from .passes import process_filter, user_memory_writes
from .passes.clause_analysis import demanded_arguments
from .probes import usdt_operands
from .probes.finder import (
    ProbeFinder,
    add_requested_files,
    find_in_path,
    is_32_bit,
    requested_paths,
)
from .probes.instruction_starts import can_take_uprobe
from .probes.matcher import Matcher
from .probes.profile_timers import online_cpus
from .probes.return_probes import URETPROBE, ReturnProbes
from .probes.return_sites import is_cold_part
from .probes.system_probes import SystemProbes
from .reader_priority import ReaderPriority
from .unwind import bpf_native_unwinder
from .unwind.bpf_python_unwinder import PYTHON_STACKS
from .unwind.unwinder_maps import UnwinderMaps, find_task_offsets
from .uprobe_attach import SITE_CODE, Attacher, SelfFiredProgram, UprobePoint, kernel_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from pydtrace.bpf.insn import Insn
    from pydtrace.engine import Targets
    from pydtrace.process.command import Command
    from pydtrace.program.program import Program

    from .probes.finder import Site, TracedFile
    from .probes.matcher import ProbeDesc
    from .probes.usdt_operands import Operand
    from .program_btf import LoadedTypes
    from .unwind.unwinder_maps import TaskOffsets

    T = TypeVar("T")
    Loader = Callable[[list[Insn], list[int], LoadedTypes | None], T]

_BATCH_DELAY = 0.001  # s between two looks at a ring that is being filled
_RESCAN_NOW, _RESCAN_FIRST, _RESCAN_LAST, _RESCAN_ALL = (
    0.0005,
    0.005,
    0.5,
    2.0,
)  # s between two looks for files that were mapped since
_HOLD_POLL = 0.002  # s between two looks at a command that is about to be held
_RETURN_VALUE = 1  # of a return probe's arguments, what the function returns
_MAPPING_LIMIT, _SCAN_REST = (
    4096,
    4,
)  # processes that wait for a look; how much longer than a look the pause behind it is
_UNNAMED_LIMIT = 64  # processes that were not named, whose code is looked for before they fire
_MORE_PROBES = 4096  # ids that files found later may take


class KernelEngine(Engine):
    name = "kernel"
    has_parts = True

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        # made by open(), which comes before all else
        self.maps: KernelMaps = None  # type: ignore[assignment]
        self._linker: Linker = None  # type: ignore[assignment]
        self._reader_priority: ReaderPriority = None  # type: ignore[assignment]
        self._system_probes: SystemProbes = None  # type: ignore[assignment]
        self._ticks: TickTimers | None = None
        self._command: Command | None = None
        self.attacher = Attacher(options.get("attach"), options.get("nop5"))
        self._quota_warnings: list[str] = []  # what was not reported yet of files that are not read
        self._finder = ProbeFinder(self._quota_warnings.append, options.get("demangle", True))
        self.matcher = Matcher(program.clauses, options.get("demangle", True))
        self.function_sizes = self.matcher.function_sizes
        self._return_probes = ReturnProbes(self._finder, self.matcher)
        self._system_idents: dict[tuple[str, str, str, str], int] = {}  # {names: id}
        self._self_fired: dict[int, SelfFiredProgram] = {}  # of the probes that are fired here
        self._programs: dict[object, int] = {}  # what makes it different: descriptor
        self._attached: set[tuple[int, int | None]] = set()  # (site's id, pid or None)
        self._untraced_reasons: list[
            str
        ] = []  # why sites are not traced, as far as not reported yet
        self._unwinder_maps: UnwinderMaps | None = (
            None  # this and the next two: once tracing begins
        )
        self._command_hold: CommandHold | None = None
        self._fork_events: ForkEvents | None = None
        self._statistics: RunStatistics | None = None  # where what the programs take is bounded
        self._begun = self._busy = False
        self._reads_aggregations = any(
            action.args for clause in program.clauses for action in clause.actions
        )
        self._only_pids: tuple[
            int, ...
        ] = ()  # the processes that are traced; (): not chosen by their ids
        self._mapping_events: MappingEvents | None = None
        self._wait: int | str | None = None  # what --wait names
        self._waited: set[int] = set()  # the processes of that name that were seen
        self._all_processes = False  # all that may be looked at
        self._descendants: Descendants | None = None  # where descendants are followed
        self._full_scan_due = self._mapping_due = 0.0
        self._mapping_pids: set[int] | None = (
            set()
        )  # processes that have mapped code, and were not looked at since; None: there are too many
        self._pids: tuple[int, ...] = ()
        self._pidfds: dict[
            int, int
        ] = {}  # {pid: a descriptor of the process that had it when it was looked at}
        self._poller = select.poll()
        self._probes: list[tuple[str, ...] | Site] = [
            ()
        ]  # by id: (provider, module, function, name), or the Site
        self._missed_ticks = MissedTicks()
        self._periods: dict[str, tuple[int, int]] = {}  # {name: (id, ns)} of ticks
        self._profiles: dict[int, int] = {}  # {id: ns} of profile-n
        # the maps of a process that soon ends are wanted for the names in its stacks
        self._rescan_every, self._rescan_due = _RESCAN_NOW if program.stacks else _RESCAN_FIRST, 0.0

    # --- finding ---------------------------------------------------------------------------------

    def open(self, targets: Targets) -> None:
        self._command = targets.command
        self._pids = (targets.command.pid,) if targets.command else targets.pids
        self._wait = self.options.get("wait")
        self._all_processes = targets.include_unnamed(
            desc.provider for desc in process_probes(self.program)
        )
        self._only_pids = () if self._all_processes or targets.children else self._pids
        kernel_errors.refuse_embedded_helpers(self.program)
        kernel_errors.check_sysfs()
        if self.options.get(
            "destructive"
        ):  # without, the program is refused anyway, in other words
            user_memory_writes.check_writes(self.program)
        self._add_self_fired_probes()
        if self._profiles and self.options.get("profilewall"):
            raise EngineError(
                "-x profilewall: profile-n of the kernel engine fires where a CPU runs, and no thread that waits has one: -x engine=embedded has those, and sched:::off-cpu and on-cpu tell when and how long each waits"
            )
        if p.SAMPLED_TASK in self.program.uses:
            raise EngineError(
                "task-> of profile-n: the kernel engine does not know which asyncio task runs: -x engine=embedded does"
            )
        try:
            self._refuse_32_bit()
            if targets.command:
                self._finder.add_command(targets.command.argv, targets.command.pid)
            elif targets.pids:
                for pid in dict.fromkeys(targets.pids):
                    self._pidfds[pid] = os.pidfd_open(pid)
                    self._poller.register(self._pidfds[pid], select.POLLIN)
                    self._finder.scan_process(pid)
            if targets.children or (targets.named_pids() and "children" in self.options):
                self._descendants = Descendants(self._pids, "children" in self.options)
            if self._all_processes:
                self._finder.scan_all(but=(os.getpid(),))
        except OSError as error:
            raise kernel_errors.make_access_error(error, self._pids) from None
        add_requested_files(
            self._finder, requested_paths(self.options, process_probes(self.program)), self._pids
        )
        self._add_functions()
        self._add_system_probes()
        if targets.allowed is not None:
            process_filter.check_probes(self.program, self._system_probes.probes)
        self.matched = self._count_matches()
        self._probe_limit = (
            len(self._probes) + self.matcher.count_sites(self._finder.sites) + _MORE_PROBES
        )
        self.maps = KernelMaps(
            self.program,
            self._probe_limit if self._wants_names else 0,
            self._system_probes.needs_table,
            self._find_task_offsets(),
            targets.allowed,
            self.options.get("memory"),
            None if self._all_processes else self._descendants,
            self.matcher.has_return_probes(),
        )
        self._poller.register(self.maps.fds[p.MAP_OUTPUT], select.POLLIN)
        if self._descendants:
            self._poller.register(self._descendants.wake_fd, select.POLLIN)
        self._reader_priority = ReaderPriority(self.program.maps[p.MAP_OUTPUT].entries)
        self._linker = Linker(
            self.program, self.maps.indexes, self.matcher.find_probe_clauses(self._names(ERROR))
        )
        self._load_self_fired()

    def _find_task_offsets(self) -> TaskOffsets | None:
        """As unwinder_maps.find_task_offsets(); None where no interpreter's stack is wanted, or can be had."""
        if not PYTHON_STACKS & self.program.stacks.keys():
            return None
        try:
            found = find_task_offsets(self._system_probes.kernel)
        except EngineError as error:
            self.startup_notices.append(f"stacks have no frames of Python: {error}")
            return None
        self.needs_interpreters, self.has_pthread_ids = True, found[2] is not None
        return found

    def _refuse_32_bit(self) -> None:
        for pid in self._pids:
            path = find_in_path(self._command.argv[0]) if self._command else f"/proc/{pid}/exe"
            try:
                refused = is_32_bit(path)
            except FileNotFoundError:
                continue  # what follows says so
            if refused:
                raise EngineError(
                    f"kernel engine: {os.path.realpath(path)} is a 32-bit program, which cannot be traced"
                )

    def _add_self_fired_probes(self) -> None:
        for name in DTRACE_PROBES:
            self._probes.append(("dtrace", "", "", name))
        for clause in self.program.clauses:
            for desc in clause.probes:
                each = tick_period(desc.name)
                if each and desc.name not in self._periods:
                    self._periods[desc.name] = (len(self._probes), each)
                    self._probes.append(("profile", "", "", desc.name))
                each = profile_period(desc.name)
                if each and not any(
                    desc.name == self._names(ident)[3] for ident in range(1, len(self._probes))
                ):
                    self._profiles[len(self._probes)] = each
                    self._probes.append(("profile", "", "", desc.name))

    def _add_system_probes(self) -> None:
        self._system_probes = SystemProbes(
            [desc for clause in self.program.clauses for desc in clause.probes]
        )
        for names in self._system_probes.probes:
            self._system_idents[names] = len(self._probes)
            self._probes.append(names)

    def _add_functions(self) -> None:
        """Sites of the pid provider in the files that were found since."""
        self._finder.add_functions(
            self.matcher.make_function_filter,
            self._pids if self._descendants and not self._all_processes else self._only_pids,
        )

    def _names(self, ident: int) -> tuple[str, ...]:
        """Of a probe that has no site."""
        names = self._probes[ident]
        assert isinstance(names, tuple)
        return names

    @property
    def _has_tables(self) -> bool:
        """Whether native stacks are unwound by tables."""
        return self.maps.indexes.walk is not None and self.maps.indexes.walk.with_tables

    @property
    def _wants_names(self) -> bool:
        return "names" in self.program.uses

    def _count_matches(self) -> list[tuple[ProbeDesc, int]]:
        """[(description, how many probes it stands for)], one for each process that has it."""
        own = [probe for probe in self._probes[1:] if isinstance(probe, tuple)]
        counts = self.matcher.count_probes(self._finder.sites, self._only_pids)
        return [
            (desc, counts[id(desc)] + sum(self.matcher.is_match(desc, probe) for probe in own))
            for clause in self.program.clauses
            for desc in clause.probes
        ]

    # --- programs ----------------------------------------------------------------------------------

    def _load_clauses(self, clauses: tuple[int, ...], event: ProgramEvent, loader: Loader[T]) -> T:
        """Link and load; errors name the D line.  What is too much for the verifier at once is given to
        it again with each clause by itself."""
        try:
            return self._load_linked(
                self._link_clauses(clauses, event, False), loader, self._linker.loop_starts
            )
        except syscalls.ProgramRejected as error:
            refused, places = error, self._linker.clause_starts
        if refused.error.errno != errno.EPERM:
            try:
                insns = self._link_clauses(clauses, event, True)
                return self._load_linked(
                    insns,
                    loader,
                    {start for start, _ in self._linker.clause_starts} | self._linker.loop_starts,
                )
            except (OSError, syscalls.ProgramRejected):
                pass  # what was said first tells more
        raise kernel_errors.make_verifier_error(refused, places)

    def _link_clauses(
        self, clauses: tuple[int, ...], event: ProgramEvent, apart: bool
    ) -> list[Insn]:
        try:
            return self.maps.share_maps(self._linker.link_clauses(clauses, event, apart))
        except CodeError as error:
            raise kernel_errors.make_size_error(error) from None

    def _load_linked(self, insns: list[Insn], loader: Loader[T], apart: set[int]) -> T:
        """apart: where the functions begin that the verifier looks at by themselves."""
        if not apart:
            return loader(insns, self.maps.fds, None)
        alone = apart - self._linker.loop_starts if self._linker.has_loops else apart
        data, functions = program_btf.make_btf(insns, alone, self.maps.state_size)
        types = syscalls.btf_load(data)
        try:
            return loader(insns, self.maps.fds, (types, functions))
        finally:
            os.close(types)

    def _load_self_fired(self) -> None:
        for ident in range(1, len(self._probes)):
            if self._probes[ident] in self._system_idents or ident in self._profiles:
                continue
            clauses = self.matcher.find_probe_clauses(self._names(ident))
            if clauses:
                self.publish_names(ident)
                if ident != ERROR:  # the others' programs fire it
                    self._self_fired[ident] = self._load_clauses(
                        clauses,
                        ProgramEvent(self_fired=True, runs_after_exit=ident == END),
                        SelfFiredProgram,
                    )

    def publish_names(self, ident: int) -> None:
        """Tell the programs the names of a probe, if any of them asks."""
        if not self._wants_names:
            return
        site = self._probes[ident]
        names = site if isinstance(site, tuple) else self._names_of(site, "")
        stem = NO_PID if isinstance(site, tuple) else len(os.fsencode(names[0]))
        widths = struct.Struct("=64s64s128s64s")
        assert widths.size == NAMES_SIZE
        cut = [os.fsencode(text)[: size - 1] for text, size in zip(names, (64, 64, 128, 64))]
        self.maps.write_names(ident, widths.pack(*cut) + struct.pack("=Q", stem))

    # --- attaching ---------------------------------------------------------------------------------

    def program_for(
        self, key: object, clauses: tuple[int, ...], event: ProgramEvent, prog_type: int
    ) -> int:
        """The descriptor of a program, loaded when it is first asked for; key: what makes it different."""
        if key not in self._programs:
            self._programs[key] = self._load_clauses(
                clauses,
                event,
                lambda insns, fds, types: syscalls.load_program(insns, fds, prog_type, 0, types),
            )
        return self._programs[key]

    def _attach_profiles(self) -> None:
        machine = os.uname().machine
        for ident, nanoseconds in self._profiles.items():
            clauses = self.matcher.find_probe_clauses(self._names(ident))
            program = self.program_for(
                (clauses, "profile"), clauses, ProgramEvent(profile=machine), syscalls.PERF_EVENT
            )
            self.publish_names(ident)
            try:
                self.attacher.attach_profile_timers(program, nanoseconds, ident)
            except OSError as error:
                raise kernel_errors.make_step_error("clock", error, self._names(ident)[3]) from None

    def _attach_new(self) -> None:
        """Attach to the sites that match and are not attached to yet."""
        self._add_functions()
        groups: dict[tuple[Any, ...], tuple[ProgramEvent, list[UprobePoint]]] = {}
        for site in self._finder.sites:
            for pid, clauses, never in self.matcher.plan_programs(site, self._only_pids):
                if (id(site), pid) in self._attached:
                    continue
                self._attached.add((id(site), pid))
                if not site.ident and self._wants_names and len(self._probes) > self._probe_limit:
                    self._raise_or_note(
                        EngineError(
                            f"{site.file.name}:{site.function}:{site.note.name}: there is no room for more probes' names"
                        )
                    )
                    continue
                if not site.ident:
                    site.ident = len(self._probes)
                    self._probes.append(site)
                    self.publish_names(site.ident)
                try:
                    found = self._plan_uprobes(site, clauses, pid, never)
                except EngineError as error:
                    self._raise_or_note(error)
                    continue
                for level, place, event in found:
                    groups.setdefault(
                        (level, clauses, self._program_key(event), site.file, pid), (event, [])
                    )[1].append(place)
        total, done, order = (
            sum(len(places) for _, places in groups.values()),
            0,
            sorted(groups, key=lambda key: key[0]),
        )
        # of probes at one place the kernel runs first what was attached last
        for key in order[::-1]:
            level, clauses, shared, file, pid = key
            event, places = groups[key]
            self.report_attach_progress(done, total)
            if fitting := self._filter_attachable(file, places[::-1]):
                self._attach_group(clauses, shared, event, file, fitting, pid, level == URETPROBE)
            done += len(places)
        if total:
            self.report_attach_progress(total, total)
        if self.attacher.refused and not self.attacher.fds:
            self._raise_or_note(EngineError(*self._refused_warnings()))

    def _filter_attachable(self, file: TracedFile, places: list[UprobePoint]) -> list[UprobePoint]:
        """Those of the places whose instruction may have a probe."""
        fitting: list[UprobePoint] = []
        for place in places:
            (fitting if can_take_uprobe(file.elf, place.offset) else self.attacher.refused).append(
                place
            )
        return fitting

    def _plan_uprobes(
        self, site: Site, clauses: tuple[int, ...], pid: int | None, never: tuple[int, ...]
    ) -> list[tuple[int, UprobePoint, ProgramEvent]]:
        """[(level, Place, Event)] of a site; level: of probes at one place those of a lower one fire first."""
        file, note = site.file, site.note
        wanted = demanded_arguments([self.program.clauses[index] for index in clauses])
        filtered = None if pid is None or self.attacher.filters_pids else pid
        if not self._only_pids and os.getpid() not in self._pids:
            never = (os.getpid(), *never)
        filtered, name = (
            (self._wait, None) if isinstance(self._wait, int) else (filtered, self._wait)
        )
        event = partial(
            ProgramEvent,
            False,
            pid=filtered,
            excluded_pids=never,
            family=pid is None and self.maps.indexes.family is not None,
            comm=name,
        )
        offset = self._file_offset(site, note.address)
        if site.size is not None:
            arguments = self._parse_arguments(site, wanted, note.address)
            points = self._return_probes.find_points(site, _RETURN_VALUE in wanted)
            if points is None:
                return [(URETPROBE, UprobePoint(offset, 0, site.ident), event(arguments=arguments))]
            without = {index: each for index, each in arguments.items() if index != _RETURN_VALUE}
            return [
                (
                    1 + point.level,
                    UprobePoint(self._file_offset(site, point.address), 0, site.ident),
                    event(
                        arguments=arguments if point.has_value else without,
                        return_point=(point.does, point.condition),
                    ),
                )
                for point in points
            ]
        shift = self.attacher.nop_offset(file.read_code(offset, len(SITE_CODE)))
        counter = file.elf.file_offset(note.semaphore) or 0 if note.semaphore else 0
        arguments = self._parse_arguments(site, wanted, note.address + shift)
        at_entry = (
            note.provider == "pid" and note.name == "entry" and not is_cold_part(site.function)
        )
        return [
            (
                0,
                UprobePoint(offset + shift, counter, site.ident),
                event(arguments=arguments, at_entry=at_entry),
            )
        ]

    @staticmethod
    def _file_offset(site: Site, address: int) -> int:
        offset = site.file.elf.file_offset(address)
        if offset is None:
            raise EngineError(
                f"{site.file.name}:{site.function}:{site.note.name} lies outside of its file"
            )
        return offset

    def _parse_arguments(
        self, site: Site, wanted: list[int], address: int
    ) -> dict[int, tuple[Operand, int]]:
        """{index: (Operand, distance of its symbol)} of the arguments that are wanted and there."""
        texts, found = usdt_operands.split_operands(site.note.arguments), {}
        for index in wanted:
            if index >= len(texts):
                continue
            try:
                operand = usdt_operands.parse_operand(texts[index], site.file.elf.machine)
                distance = self._symbol_distance(site, operand, address)
            except usdt_operands.UnsupportedOperand as error:
                raise EngineError(
                    f"{site.file.name}:{site.function}:{site.note.name}: arg{index}: {error}"
                ) from None
            found[index] = (operand, distance)
        return found

    def _symbol_distance(self, site: Site, operand: Operand, address: int) -> int:
        if not operand.symbol:
            return 0
        try:
            found = site.file.elf.find_symbol(operand.symbol)
        except BadFile as error:
            raise usdt_operands.UnsupportedOperand(
                f"{operand.text}: the file's symbols: {error}"
            ) from None
        if found is None:
            raise usdt_operands.UnsupportedOperand(
                f"{operand.text}: the file has no symbol {operand.symbol}"
            )
        if operand.of_thread:
            if site.file.elf.interpreter is None and site.file.elf.shared:
                raise usdt_operands.UnsupportedOperand(
                    f"{operand.text}: a library's thread-local memory may be anywhere"
                )
            return found - site.file.elf.thread_local  # a program's lies below the thread's pointer
        if not operand.relative and site.file.elf.shared:
            raise usdt_operands.UnsupportedOperand(
                f"{operand.text}: an address of a file that may be anywhere"
            )
        return found - address if operand.relative else found

    @staticmethod
    def _program_key(event: ProgramEvent) -> tuple[object, ...]:
        """What two sites must have in common for one program to serve them."""
        arguments = tuple(
            (index, operand.text, distance)
            for index, (operand, distance) in event.arguments.items()
        )
        return (
            arguments,
            event.pid,
            event.family,
            event.comm,
            event.excluded_pids,
            event.return_point,
            event.at_entry,
        )

    def _attach_group(
        self,
        clauses: tuple[int, ...],
        shared: object,
        event: ProgramEvent,
        file: TracedFile,
        places: list[UprobePoint],
        pid: int | None,
        returns: bool,
    ) -> None:
        key = (clauses, shared)
        if key not in self._programs:
            self._programs[key] = self._load_clauses(clauses, event, self.attacher.load_program)
        attached = len(self.attacher.fds)
        try:
            only = pid if self.attacher.filters_pids and pid else 0
            self.attacher.attach_uprobes(self._programs[key], file.elf.path, places, only, returns)
            if self._has_ended(pid):
                self.attacher.close(attached)  # another may have its id
        except OSError as error:
            if error.errno == errno.ESRCH:
                return  # it has ended meanwhile
            failed = kernel_errors.make_step_error(self.attacher.method, error, f"in {file.path}")
            if error.errno in (errno.EPERM, errno.EACCES):
                raise failed from None
            self._raise_or_note(failed)

    def _raise_or_note(self, error: EngineError) -> None:
        """What is wrong with a file ends the tracing of processes that were named; of all processes, any of which may have made
        the file so, that is reported, and costs the others nothing."""
        if self._pids and not self._all_processes:
            raise error
        self._untraced_reasons.append(str(error))

    # --- running -----------------------------------------------------------------------------------

    def begin(self) -> None:
        if self.options.get("cpu") is not None:  # where BEGIN, END and ticks are fired, too
            try:
                os.sched_setaffinity(0, {self.options["cpu"]})
            except OSError as error:
                raise EngineError(f"-x cpu={self.options['cpu']}: {error.strerror}") from None
        if self.needs_interpreters:
            places = self.maps.indexes.walk
            assert places
            self._unwinder_maps = UnwinderMaps(
                self.maps.fds,
                places.processes,
                self.interpreters,
                places.with_tables,
                self._finder.note_fork,
            )
            self._poller.register(self._unwinder_maps.fd, select.POLLIN)
            self._request_named()
            self.interpreters.wait_until_idle()
            self.interpreters.natives.wait_until_idle()
            self._request_unnamed()
        if self.options.get("programstime"):
            self._statistics = RunStatistics()
            if self._statistics.reason:
                raise EngineError(
                    f"kernel engine: the cost of its programs is not limited: {self._statistics.reason}"
                )
        self.maps.is_active = True
        self._begun = True
        self._set_wall_offset()
        self._fire_probe(BEGIN)
        if self.exiting:
            return
        if self._descendants:
            self._descendants.begin()
        if process_probes(self.program):
            self._mapping_events = MappingEvents()
            for fd in self._mapping_events.fds:
                self._poller.register(fd, select.POLLIN)
            self._scan_processes(
                self._descendants.read_members() if self._descendants else self._pids
            )  # what was mapped between the first look and now
        self._attach_new()
        if self._command and self.program.stacks:
            self._hold_command()
        self._system_probes.attach_probes(self, self._system_idents)
        self._attach_profiles()
        self._follow_forks()
        self._ticks = TickTimers(dict(self._periods.values()), time.monotonic_ns())

    def _hold_command(self) -> None:
        """Until it is known where its code is."""
        assert self._command
        pid = self._command.pid
        paths = [
            file.path
            for file in self._finder.files.values()
            if file.is_program and pid in file.pids
        ]
        try:
            self._command_hold = CommandHold(self.attacher, paths[0], pid) if paths else None
        except (OSError, BadFile, syscalls.ProgramRejected):
            pass  # its first stacks may be unknown, which they say

    def _poll_held_command(self) -> bool:
        """Whether the command is held, or may be yet."""
        if self._command_hold is None or self._command is None:
            return False
        pid = self._command.pid
        if self._descendants and self._descendants.read_members().get(pid):
            return True  # by the family, before its libraries are there
        if not self._command_hold.is_held():
            return not self._command_hold.is_over
        try:
            if self._finder.scan_process(pid):
                self._attach_new()
            if self._unwinder_maps and self._has_tables:
                self.interpreters.natives.locate_code(pid, 0)
                self.interpreters.natives.wait_until_idle()
        except OSError:
            pass  # it was killed
        self._command_hold.resume_command()
        return False

    def _request_named(self) -> None:
        """What the processes that were named are, and where their code is; of a command that has not started what is known of its files."""
        for pid in self._pidfds:
            self._request_unwind_data(pid)
        if self._command and self._has_tables:
            pid = self._command.pid
            self.interpreters.natives.preload_files(
                [file.path for file in self._finder.files.values() if pid in file.pids]
            )

    def _request_unnamed(self) -> None:
        """Where the code of processes is that were not named and have probes that are asked for, before they fire or fork: of the oldest."""
        if self._all_processes and self._has_tables:
            pids = set[int]().union(
                *(
                    file.pids
                    for file in self._finder.files.values()
                    if self.matcher.count_sites(file.sites)
                )
            ) - {os.getpid()}
            for pid in sorted(pids)[:_UNNAMED_LIMIT]:
                self.interpreters.natives.locate_code(pid, 0)

    def _follow_forks(self) -> None:
        """Last, so that a process is known while what else there is at its end runs."""
        if (
            not self._unwinder_maps
            or self._unwinder_maps.parts is None
            or self.maps.indexes.namespace
        ):
            return  # the kernel tells of forks by the machine's own ids
        try:
            self._fork_events = ForkEvents(
                *self._unwinder_maps.parts,
                self._unwinder_maps.fd,
                find_task_offsets(self._system_probes.kernel),
            )
        except (OSError, syscalls.ProgramRejected):
            pass  # children are looked at when they fire

    def _request_unwind_data(self, pid: int) -> None:
        self.interpreters.identify_process(pid, 0)
        if self._has_tables:
            self.interpreters.natives.locate_code(pid, 0)

    def _fire_probe(self, ident: int, when: int = 0) -> None:
        if ident in self._self_fired:
            self._self_fired[ident].fire(ident, when)

    def _set_wall_offset(self) -> None:
        self.maps.set_wall_offset(time.time_ns() - time.monotonic_ns())

    def poll(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        if self._busy:
            time.sleep(min(_BATCH_DELAY, timeout))  # so that a take brings many
        self._set_wall_offset()
        while True:
            due = self._fire_ticks()
            holds = self._poll_held_command()
            if self._descendants:
                self._descendants.send_heartbeat()
            self._drain_unwinders()
            records: bytes = self.maps.ring.read_records()
            now = time.monotonic()
            self._busy = bool(records)
            self._reader_priority.observe_fill(len(records))
            if records or self.exiting or now >= deadline:
                return records
            if self._descendants and self._descendants.has_changed():
                self._scan_execed()
            if self._mapping_events:
                self._scan_new_code(now)
            self._rescan_files(now)
            until = min(
                deadline,
                self._rescan_due or deadline,
                due or deadline,
                now + _HOLD_POLL if holds else deadline,
            )
            for fd, _ in self._poller.poll(max(0.0, until - now) * 1000 + 0.5):
                for pid in [pid for pid, held in self._pidfds.items() if held == fd]:
                    self._forget_ended(pid)
            if self.finished:
                rest: bytes = self.maps.ring.read_records()
                return rest

    def _drain_unwinders(self) -> None:
        """What the walks of stacks have to say."""
        if self._unwinder_maps:
            self._unwinder_maps.drain_records()

    def _has_ended(self, pid: int | None) -> bool:
        """Of a process that was named."""
        if pid not in self._pidfds:
            return False
        poller = select.poll()
        poller.register(self._pidfds[pid], select.POLLIN)
        return bool(poller.poll(0))

    def _find_waited(self) -> None:
        """Which processes are those that --wait means."""
        if isinstance(self._wait, int):
            self._waited |= {self._wait} if is_alive(self._wait) else set()
        elif self._wait is not None:
            pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
            self._waited = {pid for pid in self._waited if is_alive(pid)} | {
                pid for pid in pids if read_comm(pid) == self._wait
            } or self._waited

    def _forget_ended(self, pid: int) -> None:
        """It has ended, which is no reason to wake up again."""
        fd = self._pidfds.pop(pid)
        self._poller.unregister(fd)
        os.close(fd)

    def _fire_ticks(self) -> float | None:
        """Fire the ticks that are due, each once; when the next one is (s), or None.  What this process slept through, since it had no
        processor, fires with the time at which it was due: dtrace's timers interrupt whatever runs."""
        for _ in self._periods:
            due = self._ticks.next_due() if self._ticks and not self.exiting else None
            now = time.monotonic_ns()
            if due is None or due[0] > now:
                return due[0] / 1e9 if due else None
            assert self._ticks
            self._fire_probe(due[1], due[0] if self._ticks.is_overdue(due[1], now) else 0)
            self._missed_ticks.count += self._ticks.catch_up(due[1], due[0], now)
            if self._reads_aggregations:
                break  # what it prints is printed before the next one fires
        return time.monotonic() if self._periods else None

    def _rescan_files(self, now: float) -> None:
        """Look for files that processes have mapped since, and for new processes of a file that is known."""
        if now < self._rescan_due or not self._ticks:
            return
        self._rescan_due = now + self._rescan_every
        self._rescan_every = min(
            self._rescan_every * 2, _RESCAN_LAST if self._pids else _RESCAN_ALL
        )
        found = []
        for pid in self._descendants.read_members() if self._descendants else self._pids:
            try:
                found += self._finder.scan_process(pid)
            except OSError:
                continue  # it has ended
        if self._all_processes and now >= self._full_scan_due:
            self._full_scan_due = now + max(self._rescan_every, _RESCAN_ALL if self._pids else 0.0)
            before = len(self._finder.files)
            self._finder.scan_all(but=(os.getpid(),))
            found += list(self._finder.files.values())[before:]
            self._find_waited()
        if found:
            self._attach_new()
            for pid in self._pids if self._unwinder_maps else ():
                self._request_unwind_data(
                    pid
                )  # it has become another program, or has loaded an interpreter

    def _scan_new_code(self, now: float) -> None:
        """At processes that have mapped code since, for no more than a part of the time."""
        assert self._mapping_events
        pids = self._mapping_events.take_pids()
        self._mapping_pids = (
            None
            if pids is None
            or self._mapping_pids is None
            or len(self._mapping_pids) > _MAPPING_LIMIT
            else self._mapping_pids | pids
        )
        if now < self._mapping_due or self._mapping_pids == set():
            return
        if self._mapping_pids is None:
            self._rescan_due = self._full_scan_due = 0.0
            self._rescan_files(now)
        else:
            self._scan_processes(self._mapping_pids)
            self._find_waited()
        self._mapping_pids, ended = set(), time.monotonic()
        self._mapping_due = ended + _SCAN_REST * (ended - now)

    def _scan_processes(self, pids: Iterable[int]) -> None:
        """Look for files that these processes have mapped since."""
        if not self._all_processes:
            pids = set(pids).intersection(
                self._descendants.read_members() if self._descendants else self._pids
            )
        found = []
        for pid in pids:
            if (
                pid == os.getpid()
                or self._command
                and pid == self._command.pid
                and self._command.is_waiting
            ):
                continue  # it does not run yet, and is a copy of this process
            try:
                found += self._finder.scan_process(pid)
            except OSError:
                continue  # it has ended
            if (
                self._descendants
                and not self._all_processes
                and self._unwinder_maps
                and self._has_tables
            ):
                self.interpreters.natives.locate_code(pid, 0)  # before it fires, or forks
        if found:
            self._attach_new()
            for pid in self._pids if self._unwinder_maps else ():
                self._request_unwind_data(
                    pid
                )  # it has become another program, or has loaded an interpreter

    def _scan_execed(self) -> None:
        """Members have become other programs, whose probes are to be there before they go on."""
        family = self._descendants
        assert family
        held = [pid for pid, is_held in family.read_members().items() if is_held]
        for pid in held:
            try:
                self._finder.scan_program(pid)
            except OSError:
                continue  # it has been killed
        try:
            self._attach_new()
        finally:
            for pid in held:
                family.release_member(pid)
        self._rescan_every, self._rescan_due = _RESCAN_FIRST, 0.0

    def end(self) -> bytes:
        if self._descendants:
            self._descendants.end()
        self.maps.is_active = False
        self.attacher.close()
        if self._command_hold:
            self._command_hold.resume_command()
        self._drain_unwinders()
        self._ticks = None
        records = list(iter(self.maps.ring.read_records, b""))
        self._fire_probe(END)
        return b"".join([*records, *iter(self.maps.ring.read_records, b"")])

    def close(self) -> None:
        self.attacher.close()
        if self._command_hold:
            self._command_hold.close()
            self._command_hold = None
        if self._fork_events:
            self._fork_events.close()
            self._fork_events = None
        if self._unwinder_maps:
            self._unwinder_maps.close()
        if self.interpreters:
            self.interpreters.close()
        for own in self._self_fired.values():
            own.close()
        for fd in self._programs.values():
            os.close(fd)
        for fd in self._pidfds.values():
            os.close(fd)
        if self._statistics:
            self._statistics.close()
        self._self_fired, self._programs, self._pidfds, self._unwinder_maps, self._statistics = (
            {},
            {},
            {},
            None,
            None,
        )
        if self._descendants:
            self._descendants.close()
            self._descendants = None
        if self._mapping_events:
            self._mapping_events.close()
            self._mapping_events = None
        if self.maps:
            self.maps.close()
            self.maps = None  # type: ignore[assignment]  # as before open()

    @property
    def exiting(self) -> bool:
        return self._begun and not self.maps.is_active

    @property
    def finished(self) -> bool:
        if self._command:
            return self._command.poll()
        if self._wait is not None:
            return bool(self._waited) and not any(map(is_alive, self._waited))
        return bool(self._pids) and not self._pidfds

    # --- what the consumer asks ------------------------------------------------------------------------

    def probe(self, ident: int) -> tuple[str, ...]:
        probe = self._probes[ident]
        if isinstance(probe, tuple):
            return probe
        pids = sorted(
            probe.file.pids & set(self._only_pids) if self._only_pids else probe.file.pids
        )
        return self._names_of(probe, pids[0] if len(pids) == 1 else "")

    @staticmethod
    def _names_of(site: Site, pid: int | str) -> tuple[str, str, str, str]:
        return f"{site.note.provider}{pid}", site.file.name, site.shown_function, site.note.name

    def items(self, map_index: int) -> list[tuple[bytes, bytes]]:
        return self.maps.read_items(map_index)

    def parts(self, map_index: int) -> list[tuple[int, list[tuple[bytes, bytes]]]]:
        return self.maps.read_cpu_parts(map_index, online_cpus())

    def clear(self, map_index: int) -> None:
        self.maps.clear_map(map_index)

    def remove(self, map_index: int, keys: list[bytes]) -> None:
        self.maps.remove_keys(map_index, keys)

    def name_of(self, pid: int, address: int) -> str | None:
        return self.interpreters.name_frame(pid, address) if self.interpreters and pid else None

    def maps_of(self, pid: int) -> Sequence[str]:
        return self._finder.maps_of(pid)

    def warnings(self) -> list[str]:
        left_files = self._quota_warnings[:]
        self._quota_warnings.clear()
        return (
            left_files
            + self._refused_warnings()
            + self._untraced_warnings()
            + self._return_probes.warnings()
            + self._unwind_warnings()
            + self._late_warnings()
            + self._missed_ticks.drain_warnings(self.exiting)
            + RESPONSIVE_FS.drain_messages()  # of looking for probes in mapped files
        )

    def _late_warnings(self) -> list[str]:
        late = self._descendants.take_late_count() if self._descendants else 0
        if not late:
            return []
        who = "1 process" if late == 1 else f"{late} processes"
        return [
            f"-x children: {who} ran a new program before its probes were there: pydtrace did not look for {resume_guard.HOLD_LIMIT / 2:g} s or more"
        ]

    def _unwind_warnings(self) -> list[str]:
        return self.interpreters.drain_messages() if self.interpreters else []

    def programs_time(self) -> float:
        return sum(map(read_run_time, self._programs.values())) / 1e9 if self._statistics else 0.0

    def details(self) -> list[str]:
        of_returns = self._return_probes.details()
        if not self.interpreters:
            return of_returns
        by_pointers = [
            f"native stacks were followed only by frame pointers: {self._no_tables_reason}"
        ] * bool(self._no_tables_reason)
        return (
            of_returns
            + by_pointers
            + [
                f"followed only by frame pointers: {text}"
                for text in self.interpreters.natives.messages
            ]
        )

    @property
    def _no_tables_reason(self) -> str | None:
        return bpf_native_unwinder.find_table_obstacle(os.uname().machine, kernel_version())

    def _untraced_warnings(self) -> list[str]:
        why, self._untraced_reasons = self._untraced_reasons, []
        if not why:
            return []
        return [
            why[0]
            + (f", and {len(why) - 1} more probes that cannot be traced" if len(why) > 1 else "")
        ]

    def _refused_warnings(self) -> list[str]:
        refused, self.attacher.refused = self.attacher.refused, []
        if not refused:
            return []
        first = ":".join(self.probe(refused[0].cookie))
        others = f" and on {len(refused) - 1} more" if len(refused) > 1 else ""
        why = "the instruction there can have none: the kernel refuses it, or takes it for another"
        return [f"kernel engine: no probe on {first}{others}: {why}"]

    def count_truncated_strings(self) -> tuple[int, int]:
        return self.maps.globals_array.read_word(p.COUNT_CUT), 0

    def drops(self) -> dict[str, int]:
        kinds = [
            (name.removeprefix("DROP_").lower(), value)
            for name, value in vars(p).items()
            if name.startswith("DROP_") and name != "DROP_END"
        ]
        counts = {kind: self.maps.globals_array.read_word(offset) for kind, offset in kinds}
        return {"principal": counts.pop("record") + self.maps.dropped_firings, "order": 0, **counts}
