# mypy: ignore-errors
"""The embedded engine: shared memory between the traced process and the tracer.

In: a compiled program and processes that have pyusdt (or the NIF) in them.  Out: the records of the
clauses, run here, on each event, in time order.  Always: needs no privilege and no kernel feature; what
the traced process loses is counted in drops().
"""

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
    gone,
    language_frames,
)
from pydtrace.engine.tick_timers import LeftOut, Ticks, period, profile_period
from pydtrace.process.identity import alive
from pydtrace.program import program as p

from . import self_backtrace
from .interpreter_group import Machines
from .pending_samples import Taken
from .young_processes import await_python, is_of_python

_BUFSIZE = 4 << 20  # bytes of one ring, as of one of dtrace's buffers
BATCH = 16384  # events between two looks at the clock and at exit()
_COUNTS_EVERY = 0.1  # s between two looks at what traced processes have counted
_OWN_NAMES = DTRACE_PROBES + ("tick-", "profile-")
COMM = "pydtrace"
EVERYTHING = 2**64 - 1
_GLOB = set("*?[\\")  # a name without these is no pattern
_A_PART = 50  # frames, jstack()'s: who asks for fewer wants no whole stack
_SHOWN = ("user", "language")  # the stacks that it has
_DISK = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
)  # what keeps a recording from being written
_EVERY_ARGUMENT = dict.fromkeys(range(12), p.STRING_LIMIT)  # a demand for all that there is


def is_own(description):
    """Only the tracer's own probes can match it."""
    return description.name.startswith(_OWN_NAMES)


class EmbeddedEngine(Engine):
    name = "embedded"
    _asks_strangers = False
    stands_still = True
    _can_sample = True

    def __init__(self, program, options):
        super().__init__(program, options)
        self._session = self._crew = self._command = self._ticks = self._recorder = None
        self._ends_at, self._ended = 0, False  # when end() came; whether END has fired
        self._pids, self._targets = (), Targets()
        self._everyone = False  # processes that were not named may join
        self._awaited = None  # the pid of a process that is to come
        self._brought = []  # what a command will have that does not know of us
        self._lacking = []  # that there was nobody to trace, or that nothing fired
        self._not_brought = None  # why a command can not have what is asked for
        self._providers = set()  # of those that are traced, without their process ids
        self._left_out = LeftOut()
        self._said = {
            "troubles": 0,
            "again": 0,
            "corrupt": 0,
            "cut": 0,
            "strangers": 0,
        }  # of what warnings() tells
        self._pace = _tracer.Pace()
        self._names, self._taken = language_frames.Names(), Taken()
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
        self._machines = Machines(program, self._how_many())
        filled = program.uses - {
            "errno",
            "kernel",
            p.SAMPLED_TASK,
            p.OF_THREAD,
        }  # no system call is traced, so that it stays 0, and no memory of the kernel's is read
        shown = [
            (*program.stacks[kind], kind == "language") for kind in _SHOWN if kind in program.stacks
        ]
        self._all = [
            _tracer.Consumer(vm, len(program.clauses), filled, program.this_area, shown)
            for vm in self._machines.vms
        ]
        self._consumer = self._all[0]  # who does all but what a crew shares
        for clause in program.clauses:
            exits = any(action.row.ends for action in clause.actions)
            pauses = any(
                action.args for action in clause.actions
            )  # what reads aggregations sees them as they are
            for consumer, number in zip(self._all, self._machines.load(clause.code)):
                consumer.clause(clause.index, number, exits, pauses)
            if clause.counting:
                for consumer, number in zip(self._all, self._machines.load(clause.counting)):
                    consumer.counting(clause.index, number)
                self.folded.append(clause)
            for desc in self._described(clause):
                self._consumer.describe(
                    clause.index, desc.provider, desc.module, desc.function, desc.name
                )
        self._counting = self._find_counting()
        self._counts_at = 0  # when those are read next
        self._add_own_probes()

    def _add_own_probes(self):
        for name in DTRACE_PROBES:
            self._consumer.add_probe("dtrace", "", "", name)
        self._periods = {}
        for desc in self._descriptions():
            each = period(desc.name) or (self._can_sample and profile_period(desc.name))
            if each and desc.name not in self._periods:
                self._periods[desc.name] = (
                    self._consumer.add_probe("profile", "", "", desc.name),
                    each,
                )
        self._sampled = {
            probe for name, (probe, _) in self._periods.items() if name.startswith("profile-")
        }
        self.samples = bool(self._sampled)

    def _how_many(self):
        """Consumers, as -x workers asks for and the clauses allow."""
        wanted = self.options.get("workers", 1) or len(os.sched_getaffinity(0))
        why = self._why_one() if wanted > 1 else ""
        self.consumers = f"1 ({why})" if why else str(wanted)
        return 1 if why else wanted

    def _why_one(self):
        """What keeps several consumers from sharing the events; "": nothing."""
        for name in ("record", "keep", "replay"):
            if name in self.options:
                return f"--{name}"
        for clause in self.program.clauses:
            if any(desc.name == "ERROR" for desc in clause.probes):
                return f"clause {clause.index + 1} is about errors"
            if clause.in_order and not all(map(is_own, clause.probes)):
                return f"clause {clause.index + 1} {clause.in_order}"
        return ""

    def _find_counting(self):
        """The clauses that traced processes count by themselves (docs/internals/ring.md, "Counting"): not where somebody else
        reads the session, nor where an event of theirs ends it, or reads aggregations, which then tell what came before it."""
        foreign = [clause for clause in self.program.clauses if not all(map(is_own, clause.probes))]
        if self.options.keys() & {"record", "keep"} or any(
            action.row.ends or action.args for clause in foreign for action in clause.actions
        ):
            return []
        return [clause for clause in foreign if clause.counting]

    def _described(self, clause):
        """The descriptions by whose probes it is run."""
        return clause.probes

    def _descriptions(self):
        return [desc for clause in self.program.clauses for desc in clause.probes]

    # --- finding ---------------------------------------------------------------------------------

    def open(self, targets):
        self._pids, self._command, self._targets = (
            self._those_with_pyusdt(targets),
            targets.command,
            targets,
        )
        self._bring_in()
        if self._asks_for_python():
            await_python(self._pids)
        foreign = [desc for desc in self._descriptions() if not is_own(desc)]
        wait = self.options.get("wait", "")
        if isinstance(wait, int):
            self._awaited, wait = wait, ""
        self._everyone = self._awaited is None and targets.are_everyone(
            desc.provider for desc in foreign
        )
        self._asks_strangers = self._everyone and bool(foreign)
        try:
            home = self._pids[0] if self._pids and not self._everyone else 0
            bufsize = self._bufsize()
            self._session = _tracer.Session(
                None,
                bufsize,
                self.options.get("orderlag", 0),
                wait,
                self.options.get("keep"),
                home,
                targets.children,
            )
            if len(self._all) > 1:
                self._crew = _tracer.Crew(self._session, self._all)
            demand = (
                _EVERY_ARGUMENT if "record" in self.options else None
            )  # for the scripts to come
            for clause in self.program.clauses:
                for desc in clause.probes:
                    if not is_own(desc):
                        self._session.want(
                            desc.provider,
                            desc.module,
                            desc.function,
                            desc.name,
                            demand or clause.demand,
                            counts=clause in self._counting,
                            frames=self._frames(clause),
                            natives=self._natives(clause),
                        )
            known = self._known_probes()
            without = {*self._pids} - {row[0] for row in known}
            damaged = [
                pid
                for pid in without
                if _tracer.find_published(pid)[1] and not _tracer.list_probes(None, pid)
            ]
            unpublished = sorted(without - {*damaged})
            if damaged and not known:
                self.lack = (
                    f"what process {damaged[0]} says of its probes is damaged: pyusdt doctor -p"
                )
            elif self._pids and not any(row[1].startswith("python") for row in known):
                self.lack = NoPyusdt.OF_PYTHON
        except OSError as error:
            raise self._explain(error) from None
        if "keep" in self.options:
            name, lasts, _ = self.options["keep"]
            self.notes.append(
                f"session '{name}' goes on from where it was left"
                if self._session.resumed
                else f"session '{name}' stays for {lasts / 1e9:g} s when pydtrace ends, unless by exit()"
            )
        self.matched = self._counted(known)
        if self._not_brought and all(
            count for desc, count in self.matched if is_of_python(desc)
        ):  # others have it, so nobody refuses
            self.notes.append(f"{self._command.argv[0]}: {self._not_brought}")
        unknown = {desc for desc, count in self.matched if count == 0}
        places = [row for row in known if row[7] == _tracer.HAS_PLACES]
        self.counted = [
            clause
            for clause in self._counting
            if any(desc in unknown or self._with_places(desc, places) for desc in clause.probes)
        ]
        if unpublished:
            self.notes.append(
                f"process {unpublished[0]} has fired nothing since it was forked: which probes it has is known when it does"
            )
        if (
            self._session.resumed or unpublished
        ):  # whose probes were accepted when it began, or are not known yet
            self.awaited = [desc for desc, count in self.matched if count == 0]

    def _bufsize(self):
        """Bytes of one ring, which are the traced process's."""
        bufsize, most = self.options.get("bufsize") or _BUFSIZE, self.options.get("memory")
        if most is not None and "bufsize" in self.options and bufsize > most:
            raise TooLarge(f"-x bufsize={bufsize}: a ring may take {most} bytes here")
        return bufsize

    @staticmethod
    def _those_with_pyusdt(targets):
        """The processes that were named; of those that a policy allows only the ones that have it, if any has."""
        found = []
        for pid in targets.pids if targets.allowed is not None else ():
            with contextlib.suppress(OSError):
                _tracer.list_probes(None, pid)
                found.append(pid)
        return tuple(found) or targets.pids

    def _frames(self, clause):
        """How many frames of the stack a clause needs, or ERROR if it has a fault; 0: none."""
        return max(
            (self.program.stacks[kind][1] for kind in self._kinds(clause) if kind in _SHOWN),
            default=0,
        )

    def _natives(self, clause):
        """Whether it needs native ones, too."""
        return "user" in self._kinds(clause)

    def _kinds(self, clause):
        """Keys of Program.stacks."""
        return clause.stacks | self._error_stacks

    @functools.cached_property
    def _error_stacks(self):
        errors = [
            each
            for each in self.program.clauses
            if any(desc.name == "ERROR" for desc in each.probes)
        ]
        return set().union(*(each.stacks for each in errors))

    def _asks_for_python(self):
        return [desc for desc in self._descriptions() if is_of_python(desc)]

    def _bring_in(self):
        """The provider `python` into the command, where it is asked for by its name."""
        wanted = self._asks_for_python()
        if self._command and wanted:
            from pydtrace.engine.embedded.provider_injection import into_command

            self._brought, self.lack = into_command(
                self._command, wanted, children=self._has_children()
            )
            self._not_brought = self.lack

    def _known_probes(self):
        """Rows of list_probes() of the processes that are traced, and of those that a kept session still knows; for a command
        that has not started, what pyusdt gives to every process."""
        me = os.getpid()
        found = [probe for pid in self._pids for probe in _tracer.list_probes(None, pid)]
        if self._everyone:
            for pid in (0, *self._pids):
                others = _tracer.list_probes(None, pid, beside=True)
                found += [probe for probe in others if probe[0] not in (me, *self._pids)]
        found += self._session.dead_probes()
        known = list(dict.fromkeys(found))
        if self._command:
            child = str(self._command.pid)
            known += [
                (pid, provider.replace(str(me), child), *rest)
                for pid, provider, *rest in _tracer.list_probes(None, me)
            ]
            known += self._brought
        return known

    def _counted(self, known):
        """[(description, how many probes it stands for)]: one that has places, which are not known before it fires, is one."""
        places = [row for row in known if row[7] == _tracer.HAS_PLACES]
        by_name, counts = (
            defaultdict(list),
            {},
        )  # other processes may have a million probes, and a script hundreds of BEGINs
        own = [self._consumer.probe(i + 1) for i in range(self._consumer.probes())]
        for probe in own + [row[1:5] for row in known if not row[7]]:
            by_name[probe[3]].append(probe)
        for desc in self._descriptions():
            parts = (desc.provider, desc.module, desc.function, desc.name)
            if parts not in counts:
                names = (
                    [name for name in by_name if _tracer.glob(desc.name, name)]
                    if _GLOB & {*desc.name} or not desc.name
                    else [desc.name]
                )
                probes = [probe for name in names for probe in by_name.get(name, ())]
                counts[parts] = sum(
                    all(map(_tracer.glob, parts, probe)) for probe in probes
                ) + self._with_places(desc, places)
        return [
            (desc, counts[desc.provider, desc.module, desc.function, desc.name])
            for desc in self._descriptions()
        ]

    @staticmethod
    def _with_places(desc, places):
        """How many of the probes that it stands for have places.  places: the rows that do."""
        return sum(
            _tracer.glob(desc.provider, row[1]) and _tracer.glob(desc.name, row[4])
            for row in places
        )

    def _explain(self, error):
        """What the user needs to know of an OSError of the core."""
        if error.errno == errno.ESRCH and self._pids:
            return gone(self._pids)
        if error.errno == errno.ENODATA and "has no pyusdt in it" in error.strerror:
            return NoPyusdt(error.strerror, self._asks_for_python())
        return EngineError(error.strerror)

    # --- running -----------------------------------------------------------------------------------

    def set_wall(self, offset):
        for consumer in self._all:
            consumer.set_wall(offset % (1 << 64))

    def print_by(self, formatter):
        self._consumer.print_by(formatter)

    def begin(self):
        begun = time.monotonic_ns()
        self._record(begun)
        self._fire(BEGIN, begun)
        if self.exiting:
            return
        try:
            if self._command:
                self._session.expect(self._command.pid)
            if self._awaited is not None:
                self._session.expect(self._awaited)
            if self._everyone:
                self._session.attach_all()
            self._session.start()
            for pid in self._pids:
                self._session.attach(pid)
            self._targets.check_identity()
        except OSError as error:
            raise self._explain(error) from None
        self._ticks = Ticks(dict(self._periods.values()), begun)

    def _recording(self):
        """A descriptor of the file that the events of this session are kept in, or None."""
        path = self.options.get("record")
        return (
            None
            if path is None
            else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        )

    def _record(self, begun):
        """Keep the events in that file."""
        target = self._command.pid if self._command else (self._pids or (0,))[0]
        try:
            fd = self._recording()
            if fd is None:
                return
            self._recorder = _tracer.Recorder(
                fd,
                self._session,
                begun,
                time.time_ns() - time.monotonic_ns(),
                target,
                os.uname().nodename,
            )
        except OSError as error:
            raise self._not_recorded(error) from None
        self._consumer.record(self._recorder)

    def _not_recorded(self, error):
        return EngineError(f"failed to record to {self.options['record']}: {error.strerror}")

    def _stop_recording(self, when):
        if self._recorder:
            recorder, self._recorder = self._recorder, None
            self._consumer.record(None)
            try:
                recorder.close(when)
            except OSError as error:
                raise self._not_recorded(error) from None

    def _why(self, error):
        """What failed there: perhaps the recording can not be written."""
        return self._not_recorded(error) if self._recorder and error.errno in _DISK else error

    def _deliver(self, until):
        """Run the clauses on the events up to that time, a batch at most; how many there were."""
        try:
            return self._consumer.poll(self._session, until, BATCH)
        except OSError as error:
            raise self._why(error) from None

    def _take_counts(self):
        """What traced processes have counted: before what reads aggregations, and now and then."""
        if not self._counting:
            return
        begun = time.monotonic()
        self._consumer.counts(self._session)
        ended = time.monotonic()
        self._counts_at = ended + max(_COUNTS_EVERY, 10 * (ended - begun))

    def _sample(self, probe):
        """profile-n: each running thread of each traced process that is a Python; arg1: where it is."""
        for pid in self._living():
            self._taken.take(self.sampler, probe, pid, self._ends_at or EVERYTHING)

    def _living(self):
        """The processes that are traced, a command without pyusdt among them."""
        targets = map(self._session.target, range(self._session.stats()["targets"]))
        named = [self._command.pid] if self._command else []
        return dict.fromkeys([*named, *(pid for pid, _, _, lives in targets if lives)])

    def frame_word(self, text):
        """A frame that was seen from outside, as the clauses see it."""
        return self._names.word(text)

    @property
    def frames_wanted(self):
        """The most of any stack of the program; 0: it has none."""
        return max(
            (self.program.stacks[kind][1] for kind in _SHOWN if kind in self.program.stacks),
            default=0,
        )

    @property
    def procs_wanted(self):
        """Some clause reads who works where a sample is taken."""
        return any(
            clause.demand.get(p.SAMPLED_PROC)
            for clause in self.program.clauses
            if any(desc.name.startswith("profile-") for desc in clause.probes)
        )

    def _fire(self, probe, when):
        pid = os.getpid()
        stack = self_backtrace.frames(self.frames_wanted) if self._targets.allowed is None else ()
        self._consumer.fire(
            probe, when, pid, pid, os.getuid(), os.getgid(), self.cpu or 0, COMM, stack=stack
        )

    def poll(self, timeout):
        if self._ticks is None:
            return self._consumer.take_records()  # BEGIN called exit()
        self._session.shown()  # what the last poll gave
        if time.monotonic() >= self._counts_at:
            self._take_counts()
        deadline = time.monotonic_ns() + int(timeout * 1e9)
        while True:
            tick = self._watch(deadline)
            if tick:
                self._tick(*tick)
            records = self._consumer.take_records()
            if records or self.exiting or not tick or time.monotonic_ns() >= deadline:
                return records

    def catch_up(self, seconds):
        until = time.monotonic_ns()
        deadline = until + int(seconds * 1e9)
        while self._ticks and not self.exiting and time.monotonic_ns() < deadline:
            due = self._due()
            if due and due[0] > until:
                due = None
            reached = self._consumer.watch(
                self._session, self._pace, due[0] if due else until, BATCH, deadline
            )
            if reached and due:
                self._tick(*due)
            yield self._consumer.take_records()
            if reached and not due:
                self._take_counts()
                return

    def _watch(self, deadline):
        """Run the clauses on what comes, until the next tick is due, which it gives, or there is something for the caller."""
        due = self._due()
        until = due[0] if due else EVERYTHING
        try:
            reached = self._consumer.watch(self._session, self._pace, until, BATCH, deadline)
        except OSError as error:
            raise self._why(error) from None
        return due if reached else None

    def _due(self):
        """(time, probe) of what is next, a tick or a sample that was taken, whose probe is None; None: neither."""
        return self._taken.next(self._ticks.next())

    def _tick(self, when, probe):
        """All events before it were seen, none after it."""
        if probe in self._sampled:
            self._sample(probe)
        else:
            self._take_counts()
            if probe is None:
                self._taken.fire(self._consumer, self.cpu)
                return
            self._fire(probe, when)
        self._left_out.count += self._ticks.made_up(
            probe, when, self._ends_at or time.monotonic_ns()
        )

    def _has_more(self, when):
        """Of a session that is stopped: run the clauses on a batch of its events, of those up to the next tick, and that tick.
        Was there something, of events and of ticks up to `when`?"""
        due = self._due()
        n = self._deliver(due[0] if due else EVERYTHING)
        if due and time.monotonic_ns() >= due[0] and n < BATCH and not self.exiting:
            self._tick(*due)
        return n > 0 or (due is not None and due[0] <= when)

    def warnings(self):
        """What the session has found out since it was asked last, and at the end that there was nobody to trace."""
        stats, troubles = self._session.stats(), self._session.troubles()
        said = self._lacking + troubles[self._said["troubles"] :] + self._cut()
        self._lacking = []
        if self.sampler:
            said += self.sampler.warnings(self._ended)
        rings = stats["corrupt"] - self._said["corrupt"]
        if rings:
            said.append(
                f"{rings} ring{'' if rings == 1 else 's'} given up: not what pyusdt writes, or no longer there"
            )
        again = stats["again"] - self._said["again"]
        if again:
            said.append(
                f"{again} event{'' if again == 1 else 's'} may have been shown before: "
                "pydtrace was killed when it had read them"
            )
        said += self._left_out.told(self._ended)
        said += self._strangers()
        self._said |= {
            "troubles": len(troubles),
            "again": stats["again"],
            "corrupt": stats["corrupt"],
            "cut": self._stacks_cut,
        }
        return said

    def _strangers(self):
        """Of other users' processes that the script could have meant: a few texts and how many more there are, at the end, since a user
        decides how many there are and when they come."""
        if not self._asks_strangers or not (self._ended or self.tells_strangers_at_once):
            return []
        texts, count = self._session.strangers()
        said = texts[self._said["strangers"] :]
        self._said["strangers"] += len(said)
        if self._ended and count > self._said["strangers"]:
            said.append(
                f"the same for {count - self._said['strangers']} more: pyusdt doctor -p PID says why"
            )
            self._said["strangers"] = count
        return said

    @property
    def _stacks_cut(self):
        return sum(each.cut for each in self._all)

    def _cut(self):
        """Of stacks that were to be whole."""
        cut = self._stacks_cut - self._said["cut"]
        if not cut:
            return []
        most = max(self._frames(clause) for clause in self.program.clauses)
        return (
            []
            if most < _A_PART
            else [
                f"{cut} stack{'' if cut == 1 else 's'} had more than {most} frames: the outermost are left out"
            ]
        )

    def end(self):
        self._ends_at = time.monotonic_ns()
        if self._ticks and not self._is_kept:
            self._session.stop()
            self._ends_at = time.monotonic_ns()
            self._look_for_lack()
        return self.more()

    def more(self):
        """In portions: the rings may hold more than there is memory for records, and what reads an aggregation waits for none."""
        if self._ended:
            return b""
        while self._ticks and not self.exiting and self._run_on():
            if records := self._consumer.take_records():
                return records
        self._ended = True
        while self._taken and not self.exiting:  # of a session that is kept
            self._taken.fire(self._consumer, self.cpu)
        if self._ticks:
            self._take_counts()
        self._look_for_silence()
        self._look_for_tasks()
        self._fire(END, self._ends_at)
        self._stop_recording(self._ends_at)
        return self._consumer.take_records()

    def _run_on(self):
        """What was fired until the end, a batch of it; was there something?  What comes later to a session that is kept is for
        who comes back."""
        return self._deliver(self._ends_at) > 0 if self._is_kept else self._has_more(self._ends_at)

    def _look_for_lack(self):
        """A command that has no pyusdt in it matched, since that is known only when it runs.  (Nor do we see one that has it,
        fires nothing and ends before we look.)"""
        wants = not all(map(is_own, self._descriptions()))
        stats = self._session.stats()
        if self._command and wants and stats["targets"] == 0 and not stats["others"]:
            self._lacking = [
                str(
                    NoPyusdt(
                        f"nothing of pyusdt was seen in {self._command.argv[0]}",
                        self._asks_for_python(),
                    )
                )
            ]

    def _has_children(self):
        """Whether all Pythons that a command starts are asked for."""
        return bool({"children", "pychildren"} & self.options.keys())

    def _look_for_silence(self):
        """Nothing fired in those that were traced: what may be the reason."""
        foreign = [desc for desc in self._descriptions() if not is_own(desc)]
        if (
            not self._session
            or self._is_kept
            or not foreign
            or self._session.stats()["delivered"]
            or self._lost()[0]
        ):
            return
        from pydtrace.engine.no_events_hints import explain_silence, providers_of

        targets = [self._session.target(i) for i in range(self._session.stats()["targets"])]
        troubles = self._session.troubles()
        if not troubles:
            self._lacking += explain_silence(
                foreign,
                [(pid, name) for pid, name, _, _ in targets],
                self._session.hints()[0],
                providers_of([pid for pid, *_ in targets]),
                bool(self._command) and not self._has_children(),
            )

    def _look_for_tasks(self):
        """Which processes fired in tasks that share a thread, and with it the variables self->x of the clauses."""
        if self._session and p.OF_THREAD in self.program.uses:
            self._lacking += self._session.hints()[1]

    def users_work(self):
        return self._session.users_work() if self._session and self._everyone else {}

    def cut_off(self, uid):
        self._session.cut_off(uid)

    def close(self):
        with contextlib.suppress(
            EngineError
        ):  # end() did not come so far: what it is over for is told already
            self._stop_recording(time.monotonic_ns())
        if self._crew:
            self._crew.close()
        if self._session and self._is_kept and self._ticks:
            self._session.leave()
        elif self._session:
            self._session.close()
        self._session = None

    @property
    def _is_kept(self):
        """The session goes on when we end, unless exit() says that it is over."""
        return "keep" in self.options and not self.exiting

    @property
    def exiting(self):
        return self._consumer.exiting

    @property
    def finished(self):
        if self._command:
            return self._command.poll()
        if "wait" in self.options and "keep" not in self.options:
            stats = self._session.stats()
            return stats["targets"] > 0 and stats["alive"] == 0
        return bool(self._pids) and not any(alive(pid) for pid in self._pids)

    def fired(self, pid, when):
        """The time is what the process says; when it began is what the session knows."""
        return pid == os.getpid() or self._session.has(pid)

    def probe(self, ident):
        return self._consumer.probe(ident)

    def name_of(self, pid, address):
        return self._names.name(self._feed, address)

    def code_of(self, address):
        return self._names.code(self._feed, address)

    @property
    def _feed(self):
        return self._session

    def items(self, map_index):
        return self._machines.items(map_index)

    def clear(self, map_index):
        self._machines.clear(map_index)

    def remove(self, map_index, keys):
        self._machines.remove(map_index, keys)

    def drops(self):
        dropped, out_of_order = self._lost()
        aggregation, dynamic, speculation = self._machines.drops()
        return {
            "principal": dropped + sum(each.lost for each in self._all),
            "order": out_of_order,
            "aggregation": aggregation,
            "dynamic": dynamic,
            "speculation": speculation,
            "unread": self._unread(),
        }

    def cut_strings(self):
        return self._machines.cut_strings()

    def _lost(self):
        """Events that did not fit, events that came too late to be in order."""
        stats = self._session.stats()
        return stats["dropped"], stats["out_of_order"]

    def _unread(self):
        """Processes, rings and directories that could not be read; warnings() says why."""
        stats = self._session.stats() if self._session else {"failures": 0, "corrupt": 0}
        return stats["failures"] + stats["corrupt"]
