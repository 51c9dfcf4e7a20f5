"""The embedded engine: shared memory between the traced processes and the tracer.

- It needs no privilege and no kernel feature, only pyusdt or the NIF in the traced process.
- The clauses run here, on the events of all targets in the order of their times.
- Events that targets drop are counted in drops().
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import time
from collections import defaultdict

from pydtrace import _tracer
from pydtrace.engine import (
    BEGIN,
    DTRACE_PROBES,
    END,
    Engine,
    EngineError,
    NoPyusdt,
    Targets,
    TooLarge,
    language_frames,
    no_such_process,
)
from pydtrace.engine.attach_hints import advise_attach, advise_command
from pydtrace.engine.tick_timers import MissedTicks, TickTimers, profile_period, tick_period
from pydtrace.process.identity import is_alive
from pydtrace.program import program as p

from . import self_backtrace
from .interpreter_group import InterpreterGroup
from .pending_samples import PendingSamples
from .term_conditions_blob import encode_term_conditions
from .young_processes import await_python_provider, is_python_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from pydtrace.engine import ProbeDesc
    from pydtrace.process.command import Command
    from pydtrace.process.maps import Mapping as CodeMapping

    Row = tuple[Any, ...]  # of _tracer.list_probes()

_BUFSIZE = 4 << 20  # bytes of one ring, as of one of dtrace's buffers
BATCH = 16384  # events between two looks at the clock and at exit()
_COUNTS_INTERVAL = 0.1  # s between two looks at what traced processes have counted
_TRACER_PROBES = DTRACE_PROBES + ("tick-", "profile-")
COMM = "pydtrace"
END_OF_TIME = 2**64 - 1
_GLOB_LETTERS = set("*?[\\")  # a name without these is no pattern
_WHOLE_STACK = 50  # frames, jstack()'s: who asks for fewer wants no whole stack
_STACK_KINDS = ("user", "language")  # the stacks that it has
_DISK_ERRORS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
)  # what keeps a recording from being written
_MOST_PATHS = 6  # PYUSDT_PATHS_MAX
_VALUE_DROPS = {  # words of src/pyusdt/_core_c/vm/session_values.c: what helps
    "than -x valuerate allows": "raise -x valuerate, or read fewer values",
    "just changing their values": "read fewer values that several threads share",
}
_ALL_ARGUMENTS = dict.fromkeys(range(12), p.STRING_LIMIT)  # a demand for all that there is


def is_tracer_probe(description: ProbeDesc) -> bool:
    """Only the tracer's own probes can match it."""
    return description.name.startswith(_TRACER_PROBES)


class EmbeddedEngine(Engine):
    name = "embedded"
    _reports_other_users = False
    changes_only_when_polled = True
    _can_sample = True

    def __init__(self, program: p.Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        self._session: Any = None  # a _tracer.Session, from open() to close()
        self._crew: Any = None
        self._recorder: Any = None
        self._command: Command | None = None
        self._ticks: TickTimers | None = None
        self._ends_at, self._has_ended = 0, False  # when end() came; whether END has fired
        self._pids: tuple[int, ...] = ()
        self._targets = Targets()
        self._all_processes = False  # processes that were not named may join
        self._awaited_pid: int | None = None  # the pid of a process that is to come
        self._command_probes: list[Row] = []  # what a command will have that does not know of us
        self._end_messages: list[str] = []  # that there was nobody to trace, or that nothing fired
        self._injection_failure: str | None = None  # why a command can not have what is asked for
        self._missed_ticks = MissedTicks()
        self._reported = {
            "troubles": 0,
            "again": 0,
            "corrupt": 0,
            "cut": 0,
            "strangers": 0,
        }  # of what warnings() tells
        self._pace = _tracer.Pace()
        self._names, self._pending_samples = language_frames.FrameNames(), PendingSamples()
        self.cpu = options.get("cpu", 0)
        if program.uses & p.KERNEL_USES:
            raise EngineError(
                "curthread, curpsinfo, curlwpsinfo, execargs and uregs[] are the kernel's: they need -x engine=kernel"
            )
        if p.WRITES in program.uses:
            raise EngineError(
                "copyout() and copyoutstr() write into a process while it fires, and the embedded engine reads an event after "
                "its firing: they need -x engine=kernel"
            )
        self._vm_group = InterpreterGroup(program, self._count_consumers())
        filled = program.uses - {
            "errno",
            "kernel",
            p.SAMPLED_TASK,
            p.OF_THREAD,
        }  # no system call is traced, so that it stays 0, and no memory of the kernel's is read
        shown = [
            (*program.stacks[kind], kind == "language")
            for kind in _STACK_KINDS
            if kind in program.stacks
        ]
        self._consumers = [
            _tracer.Consumer(vm, len(program.clauses), filled, program.this_area, shown)
            for vm in self._vm_group.vms
        ]
        self._consumer = self._consumers[0]  # who does all but what a crew shares
        for clause in program.clauses:
            exits = any(action.row.ends_tracing for action in clause.actions)
            pauses = any(
                action.args for action in clause.actions
            )  # what reads aggregations sees them as they are
            for consumer, number in zip(self._consumers, self._vm_group.load_program(clause.code)):
                consumer.set_clause(clause.index, number, exits, pauses)
            if clause.counting:
                for consumer, number in zip(
                    self._consumers, self._vm_group.load_program(clause.counting)
                ):
                    consumer.set_count_program(clause.index, number)
                self.clauses_run_in_batches.append(clause)
            for desc in self._clause_descriptions(clause):
                self._consumer.add_description(
                    clause.index, desc.provider, desc.module, desc.function, desc.name
                )
        self._counted_clauses = self._find_counted_clauses()
        self._next_counts_at = 0.0  # when those are read next
        self._add_tracer_probes()

    def _add_tracer_probes(self) -> None:
        for name in DTRACE_PROBES:
            self._consumer.add_probe("dtrace", "", "", name)
        self._periods: dict[str, tuple[int, int]] = {}
        for desc in self._all_descriptions():
            each = tick_period(desc.name) or (self._can_sample and profile_period(desc.name))
            if each and desc.name not in self._periods:
                self._periods[desc.name] = (
                    self._consumer.add_probe("profile", "", "", desc.name),
                    each,
                )
        self._sampled = {
            probe for name, (probe, _) in self._periods.items() if name.startswith("profile-")
        }
        self.needs_sampler = bool(self._sampled)

    def _count_consumers(self) -> int:
        """Consumers, as -x workers asks for and the clauses allow."""
        wanted = self.options.get("workers", 1) or len(os.sched_getaffinity(0))
        why = self._single_consumer_reason() if wanted > 1 else ""
        self.consumers_text = f"1 ({why})" if why else str(wanted)
        return 1 if why else wanted

    def _single_consumer_reason(self) -> str:
        """What keeps several consumers from sharing the events; "": nothing."""
        for name in ("record", "keep", "replay"):
            if name in self.options:
                return f"--{name}"
        for number, clause in enumerate(self.program.clauses, 1):
            if any(desc.name == "ERROR" for desc in clause.probes):
                return f"clause {number} is about errors"
            if clause.in_order and not all(map(is_tracer_probe, clause.probes)):
                return f"clause {number} {clause.in_order}"
        return ""

    def _find_counted_clauses(self) -> list[p.Clause]:
        """The clauses that traced processes count by themselves (docs/internals/ring.md, "Counting"): not where somebody else
        reads the session, nor where an event of theirs ends it, or reads aggregations, which then tell what came before it."""
        foreign = [
            clause
            for clause in self.program.clauses
            if not all(map(is_tracer_probe, clause.probes))
        ]
        if self.options.keys() & {"record", "keep"} or any(
            action.row.ends_tracing or action.args
            for clause in foreign
            for action in clause.actions
        ):
            return []
        return [clause for clause in foreign if clause.counting]

    def _clause_descriptions(self, clause: p.Clause) -> list[ProbeDesc]:
        """The descriptions by whose probes it is run."""
        return clause.probes

    def _all_descriptions(self) -> list[ProbeDesc]:
        return [desc for clause in self.program.clauses for desc in clause.probes]

    # --- finding ---------------------------------------------------------------------------------

    def open(self, targets: Targets) -> None:
        self._pids, self._command, self._targets = (
            self._select_pids(targets),
            targets.command,
            targets,
        )
        self._inject_provider()
        if self._python_descriptions():
            await_python_provider(self._pids)
        foreign = [desc for desc in self._all_descriptions() if not is_tracer_probe(desc)]
        wait = self.options.get("wait", "")
        if isinstance(wait, int):
            self._awaited_pid, wait = wait, ""
        self._all_processes = self._awaited_pid is None and targets.include_unnamed(
            desc.provider for desc in foreign
        )
        self._reports_other_users = self._all_processes and bool(foreign)
        try:
            home = self._pids[0] if self._pids and not self._all_processes else 0
            bufsize = self._ring_size()
            self._session = _tracer.Session(
                None,
                bufsize,
                self.options.get("orderlag", 0),
                wait,
                self.options.get("keep"),
                home,
                targets.children,
            )
            if len(self._consumers) > 1:
                self._crew = _tracer.ParallelConsumers(self._session, self._consumers)
            for path in self._list_paths():
                self._session.add_path(path)
            demand = _ALL_ARGUMENTS if "record" in self.options else None  # for the scripts to come
            for clause in self.program.clauses:
                for desc in clause.probes:
                    if not is_tracer_probe(desc):
                        self._session.want(
                            desc.provider,
                            desc.module,
                            desc.function,
                            desc.name,
                            demand or clause.demand,
                            counts=clause in self._counted_clauses,
                            frames=self._count_stack_frames(clause),
                            natives=self._needs_native_frames(clause),
                        )
            known = self._list_known_probes()
            without = {*self._pids} - {row[0] for row in known}
            damaged = [
                pid
                for pid in without
                if _tracer.find_published(pid)[1] and not _tracer.list_probes(None, pid)
            ]
            unpublished = sorted(without - {*damaged})
            if damaged and not known:
                self.no_probe_reason = f"the probe list of process {damaged[0]} is damaged: see pyusdt doctor -p {damaged[0]}"
            elif self._pids and not any(row[1].startswith("python") for row in known):
                self.no_probe_reason = advise_attach(self._pids)
        except OSError as error:
            raise self._explain_error(error) from None
        if "keep" in self.options:
            name, lasts, _ = self.options["keep"]
            self.startup_notices.append(
                f"session '{name}' goes on from where it was left"
                if self._session.resumed
                else f"session '{name}' stays for {lasts / 1e9:g} s when pydtrace ends, unless by exit()"
            )
        self.matched = self._count_matches(known)
        if (
            self._command
            and self._injection_failure
            and all(count for desc, count in self.matched if is_python_probe(desc))
        ):  # others have it, so nobody refuses
            self.startup_notices.append(f"{self._command.argv[0]}: {self._injection_failure}")
        unknown = {desc for desc, count in self.matched if count == 0}
        places = [row for row in known if row[7] == _tracer.HAS_PLACES]
        self.clauses_counted_in_target = [
            clause
            for clause in self._counted_clauses
            if any(desc in unknown or self._count_places(desc, places) for desc in clause.probes)
        ]
        if unpublished:
            self.startup_notices.append(
                f"process {unpublished[0]} has fired nothing since it was forked; its probes are known after its first event"
            )
        if (
            self._session.resumed or unpublished
        ):  # whose probes were accepted when it began, or are not known yet
            self.pending_descriptions = [desc for desc, count in self.matched if count == 0]

    def _list_paths(self) -> list[bytes]:
        """What the processes get besides the wanted probes: paths to values, their rate, conditions.  A recording has the events that
        no clause of this script wants, too."""
        program = self.program
        decides = "record" not in self.options
        if not decides:
            program.decided_in_target = []
        own = [*program.paths, program.conditions if decides else b"", program.value_rate]
        paths = [each for each in own if each]
        of_terms = encode_term_conditions(program.term_conditions) if decides else b""
        return [*paths, of_terms] if of_terms and len(paths) < _MOST_PATHS else paths

    def _ring_size(self) -> int:
        """Bytes of one ring, which are the traced process's."""
        bufsize, most = self.options.get("bufsize") or _BUFSIZE, self.options.get("memory")
        if most is not None and "bufsize" in self.options and bufsize > most:
            raise TooLarge(f"-x bufsize={bufsize}: a ring may take {most} bytes here")
        return bufsize

    @staticmethod
    def _select_pids(targets: Targets) -> tuple[int, ...]:
        """The processes that were named; of those that a policy allows only the ones that have it, if any has."""
        found = []
        for pid in targets.pids if targets.allowed is not None else ():
            with contextlib.suppress(OSError):
                _tracer.list_probes(None, pid)
                found.append(pid)
        return tuple(found) or targets.pids

    def _count_stack_frames(self, clause: p.Clause) -> int:
        """How many frames of the stack a clause needs, or ERROR if it has a fault; 0: none."""
        return max(
            (
                self.program.stacks[kind][1]
                for kind in self._stack_kinds(clause)
                if kind in _STACK_KINDS
            ),
            default=0,
        )

    def _needs_native_frames(self, clause: p.Clause) -> bool:
        """Whether it needs native ones, too."""
        return "user" in self._stack_kinds(clause)

    def _stack_kinds(self, clause: p.Clause) -> frozenset[str]:
        """Keys of Program.stacks."""
        return clause.stacks | self._error_stacks

    @functools.cached_property
    def _error_stacks(self) -> frozenset[str]:
        errors = [
            each
            for each in self.program.clauses
            if any(desc.name == "ERROR" for desc in each.probes)
        ]
        return frozenset().union(*(each.stacks for each in errors))

    def _python_descriptions(self) -> list[ProbeDesc]:
        return [desc for desc in self._all_descriptions() if is_python_probe(desc)]

    def _inject_provider(self) -> None:
        """The provider `python` into the command, where it is asked for by its name."""
        wanted = self._python_descriptions()
        if self._command and wanted:
            from pydtrace.engine.embedded.provider_injection import inject_into_command

            self._command_probes, self.no_probe_reason = inject_into_command(
                self._command, wanted, children=self._traces_children()
            )
            self._injection_failure = self.no_probe_reason

    def _list_known_probes(self) -> list[Row]:
        """Rows of list_probes() of the processes that are traced, and of those that a kept session still knows; for a command
        that has not started, what pyusdt gives to every process."""
        me = os.getpid()
        found = [probe for pid in self._pids for probe in _tracer.list_probes(None, pid)]
        if self._all_processes:
            for pid in (0, *self._pids):
                others = _tracer.list_probes(None, pid, beside=True)
                found += [probe for probe in others if probe[0] not in (me, *self._pids)]
        found += self._session.list_dead_probes()
        known = list(dict.fromkeys(found))
        if self._command:
            child = str(self._command.pid)
            known += [
                (pid, provider.replace(str(me), child), *rest)
                for pid, provider, *rest in _tracer.list_probes(None, me)
            ]
            known += self._command_probes
        return known

    def _count_matches(self, known: Iterable[Row]) -> list[tuple[ProbeDesc, int]]:
        """[(description, how many probes it stands for)]: one that has places, which are not known before it fires, is one."""
        places = [row for row in known if row[7] == _tracer.HAS_PLACES]
        by_name, counts = (
            defaultdict(list),
            {},
        )  # other processes may have a million probes, and a script hundreds of BEGINs
        own = [self._consumer.probe(i + 1) for i in range(self._consumer.probes())]
        for probe in own + [row[1:5] for row in known if not row[7]]:
            by_name[probe[3]].append(probe)
        for desc in self._all_descriptions():
            parts = (desc.provider, desc.module, desc.function, desc.name)
            if parts not in counts:
                names = (
                    [name for name in by_name if _tracer.glob(desc.name, name)]
                    if _GLOB_LETTERS & {*desc.name} or not desc.name
                    else [desc.name]
                )
                probes = [probe for name in names for probe in by_name.get(name, ())]
                counts[parts] = sum(
                    all(map(_tracer.glob, parts, probe)) for probe in probes
                ) + self._count_places(desc, places)
        return [
            (desc, counts[desc.provider, desc.module, desc.function, desc.name])
            for desc in self._all_descriptions()
        ]

    @staticmethod
    def _count_places(desc: ProbeDesc, places: Iterable[Row]) -> int:
        """How many of the probes that it stands for have places.  places: the rows that do."""
        return sum(
            _tracer.glob(desc.provider, row[1]) and _tracer.glob(desc.name, row[4])
            for row in places
        )

    def _explain_error(self, error: OSError) -> EngineError:
        """What the user needs to know of an OSError of the core."""
        if error.errno == errno.ESRCH and self._pids:
            return no_such_process(self._pids)
        message = str(error.strerror)
        if error.errno == errno.ENODATA and "has no pyusdt in it" in message:
            if self._python_descriptions():
                return NoPyusdt(message, advise_attach(self._pids))
            return NoPyusdt(message)
        return EngineError(message)

    # --- running -----------------------------------------------------------------------------------

    def set_wall_offset(self, offset: int) -> None:
        for consumer in self._consumers:
            consumer.set_wall(offset % (1 << 64))

    def set_formatter(self, formatter: _tracer.Formatter) -> None:
        self._consumer.set_formatter(formatter)

    def begin(self) -> None:
        begun = time.monotonic_ns()
        self._start_recording(begun)
        self._fire_probe(BEGIN, begun)
        if self.exiting:
            return
        try:
            if self._command:
                self._session.expect(self._command.pid)
            if self._awaited_pid is not None:
                self._session.expect(self._awaited_pid)
            if self._all_processes:
                self._session.attach_all()
            self._session.start()
            for pid in self._pids:
                self._session.attach(pid)
            self._targets.check_identity()
        except OSError as error:
            raise self._explain_error(error) from None
        self._ticks = TickTimers(dict(self._periods.values()), begun)

    def _open_recording(self) -> int | None:
        """A descriptor of the file that the events of this session are kept in, or None."""
        path = self.options.get("record")
        return (
            None
            if path is None
            else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        )

    def _start_recording(self, begun: int) -> None:
        """Keep the events in that file."""
        target = self._command.pid if self._command else (self._pids or (0,))[0]
        try:
            fd = self._open_recording()
            if fd is None:
                return
            self._recorder = _tracer.Recorder(
                fd,
                self._session,
                begun,
                time.time_ns() - time.monotonic_ns(),
                target,
                os.uname().nodename,
                b"".join(self.program.paths),
            )
        except OSError as error:
            raise self._recording_error(error) from None
        self._consumer.record(self._recorder)

    def _recording_error(self, error: OSError) -> EngineError:
        return EngineError(f"failed to record to {self.options['record']}: {error.strerror}")

    def _stop_recording(self, when: int) -> None:
        if self._recorder:
            recorder, self._recorder = self._recorder, None
            self._consumer.record(None)
            try:
                recorder.close(when)
            except OSError as error:
                raise self._recording_error(error) from None

    def _explain_poll_error(self, error: OSError) -> Exception:
        """What failed there: perhaps the recording can not be written."""
        return (
            self._recording_error(error)
            if self._recorder and error.errno in _DISK_ERRORS
            else error
        )

    def _deliver_events(self, until: int) -> int:
        """Run the clauses on the events up to that time, a batch at most; how many there were."""
        try:
            delivered: int = self._consumer.poll(self._session, until, BATCH)
        except OSError as error:
            raise self._explain_poll_error(error) from None
        return delivered

    def _take_records(self) -> bytes:
        records: bytes = self._consumer.take_records()
        return records

    def _read_counts(self) -> None:
        """What traced processes have counted: before what reads aggregations, and now and then."""
        if not self._counted_clauses:
            return
        begun = time.monotonic()
        self._consumer.run_counts(self._session)
        ended = time.monotonic()
        self._next_counts_at = ended + max(_COUNTS_INTERVAL, 10 * (ended - begun))

    def _take_samples(self, probe: int) -> None:
        """profile-n: each running thread of each traced process that is a Python; arg1: where it is."""
        for pid in self._living_pids():
            self._pending_samples.add_samples(
                self.sampler, probe, pid, self._ends_at or END_OF_TIME
            )

    def _living_pids(self) -> Iterable[int]:
        """The processes that are traced, a command without pyusdt among them."""
        targets = map(self._session.target, range(self._session.stats()["targets"]))
        named: list[int] = [self._command.pid] if self._command else []
        return dict.fromkeys([*named, *(pid for pid, _, _, lives in targets if lives)])

    def intern_frame(self, text: str) -> int:
        """A frame that was seen from outside, as the clauses see it."""
        return self._names.intern_text(text)

    @property
    def sampled_frames(self) -> int:  # type: ignore[override]  # nobody sets it
        """The most of any stack of the program; 0: it has none."""
        return max(
            (self.program.stacks[kind][1] for kind in _STACK_KINDS if kind in self.program.stacks),
            default=0,
        )

    @property
    def needs_tasks(self) -> bool:  # type: ignore[override]  # nobody sets it
        """Some clause reads who works where a sample is taken."""
        return any(
            clause.demand.get(p.SAMPLED_PROC)
            for clause in self.program.clauses
            if any(desc.name.startswith("profile-") for desc in clause.probes)
        )

    def _fire_probe(self, probe: int, when: int) -> None:
        pid = os.getpid()
        stack = (
            self_backtrace.backtrace(self.sampled_frames) if self._targets.allowed is None else ()
        )
        self._consumer.fire(
            probe, when, pid, pid, os.getuid(), os.getgid(), self.cpu or 0, COMM, stack=stack
        )

    def poll(self, timeout: float) -> bytes:
        if self._ticks is None:
            return self._take_records()  # BEGIN called exit()
        self._session.mark_shown()  # what the last poll gave
        if time.monotonic() >= self._next_counts_at:
            self._read_counts()
        deadline = time.monotonic_ns() + int(timeout * 1e9)
        while True:
            tick = self._run_until_due(deadline)
            if tick:
                self._run_due(*tick)
            records = self._take_records()
            if records or self.exiting or not tick or time.monotonic_ns() >= deadline:
                return records

    def catch_up(self, seconds: float) -> Iterator[bytes]:
        until = time.monotonic_ns()
        deadline = until + int(seconds * 1e9)
        while self._ticks and not self.exiting and time.monotonic_ns() < deadline:
            due = self._next_due()
            if due and due[0] > until:
                due = None
            reached = self._consumer.watch(
                self._session, self._pace, due[0] if due else until, BATCH, deadline
            )
            if reached and due:
                self._run_due(*due)
            yield self._take_records()
            if reached and not due:
                self._read_counts()
                return

    def _run_until_due(self, deadline: int) -> tuple[int, int | None] | None:
        """Run the clauses on what comes, until the next tick is due, which it gives, or there is something for the caller."""
        due = self._next_due()
        until = due[0] if due else END_OF_TIME
        try:
            reached = self._consumer.watch(self._session, self._pace, until, BATCH, deadline)
        except OSError as error:
            raise self._explain_poll_error(error) from None
        return due if reached else None

    def _next_due(self) -> tuple[int, int | None] | None:
        """(time, probe) of what is next, a tick or a sample that was taken, whose probe is None; None: neither."""
        return self._pending_samples.next_due(self._ticks.next_due() if self._ticks else None)

    def _run_due(self, when: int, probe: int | None) -> None:
        """All events before it were seen, none after it."""
        if probe is None:
            self._read_counts()
            self._pending_samples.fire_first(self._consumer, self.cpu or 0)
            return
        if probe in self._sampled:
            self._take_samples(probe)
        else:
            self._read_counts()
            self._fire_probe(probe, when)
        assert self._ticks
        self._missed_ticks.count += self._ticks.catch_up(
            probe, when, self._ends_at or time.monotonic_ns()
        )

    def _run_batch(self, when: int) -> bool:
        """Of a session that is stopped: run the clauses on a batch of its events, of those up to the next tick, and that tick
        unless it is later than `when`, since END's time is that.  Was there something?"""
        due = self._next_due()
        wanted = due is not None and (due[1] is None or due[0] <= when)
        n = self._deliver_events(due[0] if due else END_OF_TIME)
        if due and wanted and n < BATCH and not self.exiting:
            self._run_due(*due)
        return n > 0 or wanted

    def warnings(self) -> list[str]:
        """What the session has found out since it was asked last, and at the end that there was nobody to trace."""
        stats, troubles = self._session.stats(), self._session.read_warnings()
        said: list[str] = (
            self._end_messages
            + troubles[self._reported["troubles"] :]
            + self._truncation_warnings()
        )
        self._end_messages = []
        if self.sampler:
            said += self.sampler.warnings(self._has_ended)
        rings = stats["corrupt"] - self._reported["corrupt"]
        if rings:
            said.append(
                f"{rings} ring{'' if rings == 1 else 's'} given up: not what pyusdt writes, or no longer there"
            )
        again = stats["again"] - self._reported["again"]
        if again:
            said.append(
                f"{again} event{'' if again == 1 else 's'} may have been shown before: "
                "pydtrace was killed when it had read them"
            )
        said += self._missed_ticks.drain_warnings(self._has_ended)
        said += self._other_user_warnings()
        self._reported |= {
            "troubles": len(troubles),
            "again": stats["again"],
            "corrupt": stats["corrupt"],
            "cut": self._truncated_stacks,
        }
        return said

    def drop_advice(self, kind: str) -> str | None:
        """By what the processes say of their drops."""
        session = self._session if kind == "principal" else None
        said = session.read_warnings() if session else []
        for words, advice in _VALUE_DROPS.items():
            if any(words in text for text in said):
                return advice
        return None

    def _other_user_warnings(self) -> list[str]:
        """Of other users' processes that the script could have meant: a few texts and how many more there are, at the end, since a user
        decides how many there are and when they come."""
        if not self._reports_other_users or not (
            self._has_ended or self.reports_other_users_at_once
        ):
            return []
        texts, count = self._session.read_other_users_warnings()
        said: list[str] = texts[self._reported["strangers"] :]
        self._reported["strangers"] += len(said)
        if self._has_ended and count > self._reported["strangers"]:
            said.append(
                f"the same for {count - self._reported['strangers']} more: pyusdt doctor -p PID says why"
            )
            self._reported["strangers"] = count
        return said

    @property
    def _truncated_stacks(self) -> int:
        return sum(each.truncated_stacks for each in self._consumers)

    def _truncation_warnings(self) -> list[str]:
        """Of stacks that were to be whole."""
        cut = self._truncated_stacks - self._reported["cut"]
        if not cut:
            return []
        most = max(self._count_stack_frames(clause) for clause in self.program.clauses)
        return (
            []
            if most < _WHOLE_STACK
            else [
                f"{cut} stack{'' if cut == 1 else 's'} had more than {most} frames: the outermost are left out"
            ]
        )

    def end(self) -> bytes:
        self._ends_at = time.monotonic_ns()
        if self._ticks and not self._is_kept:
            self._session.stop()
            self._ends_at = time.monotonic_ns()
            self._check_command()
        return self.drain_end()

    def drain_end(self) -> bytes:
        """In portions: the rings may hold more than there is memory for records, and what reads an aggregation waits for none."""
        if self._has_ended:
            return b""
        while self._ticks and not self.exiting and self._run_rest():
            if records := self._take_records():
                return records
        self._has_ended = True
        while self._pending_samples and not self.exiting:  # of a session that is kept
            self._pending_samples.fire_first(self._consumer, self.cpu or 0)
        if self._ticks:
            self._read_counts()
        self._explain_silence()
        self._warn_of_shared_threads()
        self._fire_probe(END, self._ends_at)
        self._stop_recording(self._ends_at)
        return self._take_records()

    def _run_rest(self) -> bool:
        """What was fired until the end, a batch of it; was there something?  What comes later to a session that is kept is for
        who comes back."""
        return (
            self._deliver_events(self._ends_at) > 0
            if self._is_kept
            else self._run_batch(self._ends_at)
        )

    def _check_command(self) -> None:
        """A command that has no pyusdt in it matched, since that is known only when it runs.  (Nor do we see one that has it,
        fires nothing and ends before we look.)"""
        wants = not all(map(is_tracer_probe, self._all_descriptions()))
        stats = self._session.stats()
        if self._command and wants and stats["targets"] == 0 and not stats["others"]:
            advice = advise_command() if self._python_descriptions() else NoPyusdt.ADVICE
            self._end_messages = [f"no pyusdt was seen in {self._command.argv[0]}: {advice}"]

    def _traces_children(self) -> bool:
        """Whether all Pythons that a command starts are asked for."""
        return bool({"children", "pychildren"} & self.options.keys())

    def _explain_silence(self) -> None:
        """Nothing fired in those that were traced: what may be the reason."""
        foreign = [desc for desc in self._all_descriptions() if not is_tracer_probe(desc)]
        if (
            not self._session
            or self._is_kept
            or not foreign
            or self._session.stats()["delivered"]
            or self._count_drops()[0]
        ):
            return
        from pydtrace.engine.no_events_hints import explain_silence, find_known_providers

        targets = [self._session.target(i) for i in range(self._session.stats()["targets"])]
        troubles = self._session.read_warnings()
        if not troubles:
            providers, are_all = find_known_providers([pid for pid, *_ in targets])
            self._end_messages += explain_silence(
                foreign,
                [(pid, name) for pid, name, _, _ in targets],
                self._session.read_hints()[0],
                providers,
                bool(self._command) and not self._traces_children(),
                not are_all,
                bool(self.program.conditions),
            )

    def _warn_of_shared_threads(self) -> None:
        """Which processes fired in tasks that share a thread, and with it the variables self->x of the clauses."""
        if self._session and p.OF_THREAD in self.program.uses:
            self._end_messages += self._session.read_hints()[1]

    def work_by_user(self) -> dict[int, tuple[int, float]]:
        return self._session.read_user_work() if self._session and self._all_processes else {}

    def stop_tracing_user(self, uid: int) -> None:
        self._session.drop_user(uid)

    def close(self) -> None:
        with contextlib.suppress(
            EngineError
        ):  # end() did not come so far: its reason has been reported
            self._stop_recording(time.monotonic_ns())
        if self._crew:
            self._crew.close()
        if self._session and self._is_kept and self._ticks:
            self._session.close_kept()
        elif self._session:
            self._session.close()
        self._session = None

    @property
    def _is_kept(self) -> bool:
        """The session goes on when we end, unless exit() says that it is over."""
        return "keep" in self.options and not self.exiting

    @property
    def exiting(self) -> bool:
        return bool(self._consumer.exiting)

    @property
    def finished(self) -> bool:
        if self._command:
            return self._command.poll()
        if "wait" in self.options and "keep" not in self.options:
            stats = self._session.stats()
            return bool(stats["targets"] > 0 and stats["alive"] == 0)
        return bool(self._pids) and not any(is_alive(pid) for pid in self._pids)

    def existed_at(self, pid: int, when: int) -> bool:
        """The time is what the process says; when it began is what the session knows."""
        return pid == os.getpid() or bool(self._session.has_process(pid))

    def probe(self, ident: int) -> tuple[str, ...]:
        names: tuple[str, ...] = self._consumer.probe(ident)
        return names

    def name_of(self, pid: int, address: int) -> str | None:
        return self._names.find_name(self._event_source, address)

    def code_of(self, address: int) -> tuple[CodeMapping | None, int] | None:
        return self._names.find_code(self._event_source, address)

    @property
    def _event_source(self) -> Any:
        return self._session

    def items(self, map_index: int) -> list[tuple[bytes, bytes]]:
        return self._vm_group.items(map_index)

    def clear(self, map_index: int) -> None:
        self._vm_group.clear(map_index)

    def remove(self, map_index: int, keys: list[bytes]) -> None:
        self._vm_group.remove(map_index, keys)

    def drops(self) -> dict[str, int]:
        dropped, out_of_order = self._count_drops()
        aggregation, dynamic, speculation = self._vm_group.drops()
        return {
            "principal": dropped + sum(each.dropped_records for each in self._consumers),
            "order": out_of_order,
            "aggregation": aggregation,
            "dynamic": dynamic,
            "speculation": speculation,
            "unread": self._count_unread(),
            "refused": self._count_refusals(),
        }

    def count_truncated_strings(self) -> tuple[int, int]:
        return self._vm_group.count_truncated_strings()

    def _count_drops(self) -> tuple[int, int]:
        """Events that did not fit, events that came too late to be in order."""
        stats = self._session.stats()
        return stats["dropped"], stats["out_of_order"]

    def _count_refusals(self) -> int:
        """Processes that do not fire what is wanted; warnings() says why."""
        return int(self._session.stats().get("refusals", 0)) if self._session else 0

    def _count_unread(self) -> int:
        """Processes, rings and directories that could not be read; warnings() says why."""
        stats = self._session.stats() if self._session else {"failures": 0, "corrupt": 0}
        return int(stats["failures"] + stats["corrupt"])
