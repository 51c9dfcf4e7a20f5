"""The embedded engine: shared memory between the traced process and the tracer.

In: a compiled program and processes that have pyusdt (or the NIF) in them.  Out: the records of the
clauses, run here, on each event, in time order.  Always: needs no privilege and no kernel feature; what
the traced process loses is counted in drops().
"""

import errno
import os
import time

from .. import _tracer
from ..bpf import insn, maps
from . import Drop, Engine, EngineError, Probe
from .ticks import Ticks, period

_BATCH = 16384  # events between two looks at the clock and at exit()
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.0005, 0.02  # s; rings hold what comes meanwhile
_DTRACE_PROBES = ("BEGIN", "END", "ERROR")
_OWN_NAMES = _DTRACE_PROBES + ("tick-", "profile-")
_BEGIN, _END = 1, 2  # ids, in the order of _DTRACE_PROBES
_COMM = "pydtrace"
_EVERYTHING = 2**64 - 1


def _is_own(description):
    """Only the tracer's own probes can match it."""
    return description.name.startswith(_OWN_NAMES)


class EmbeddedEngine(Engine):
    name = "embedded"

    def __init__(self, options):
        super().__init__(options)
        self._program = self._session = self._ticks = None
        self._commands, self._pids = [], []
        self._sleep = _SHORTEST_SLEEP
        self._ending = None  # records of what was left at stop(), with END's
        self._told = {}  # drops that were returned already

    def open(self, program, targets):
        self._program = program
        self._commands, self._pids = targets.commands, targets.pids
        kinds = maps.KINDS
        self._vm = _tracer.VM([(kinds[m.kind].number, m.key_size, m.value_size, m.entries) for m in program.maps])
        self._consumer = _tracer.Consumer(self._vm, len(program.clauses), program.uses, program.this_area)
        for clause in program.clauses:
            exits = any(action.row.kind == "exit" for action in clause.actions)
            self._consumer.clause(clause.index, self._vm.load(insn.encode(clause.code)), exits)
            for desc in clause.probes:
                self._consumer.describe(clause.index, desc.provider, desc.module, desc.function, desc.name)
        self._add_own_probes()
        try:
            self._open_session()
            self._known = self._known_probes()
        except OSError as error:
            raise self._explain(error) from None

    def _descriptions(self):
        return [desc for clause in self._program.clauses for desc in clause.probes]

    def _add_own_probes(self):
        for name in _DTRACE_PROBES:
            self._consumer.add_probe("dtrace", "", "", name)
        self._periods = {}
        for desc in self._descriptions():
            each = period(desc.name)
            if each and desc.name not in self._periods:
                self._periods[desc.name] = (self._consumer.add_probe("profile", "", "", desc.name), each)

    def _open_session(self):
        rundir = _tracer.find_rundir(self._pids[0]) if self._pids else None
        self._session = _tracer.Session(rundir, self.options.get("bufsize", 0), self.options.get("orderlag", 0))
        for clause in self._program.clauses:
            for desc in clause.probes:
                if not _is_own(desc):
                    self._session.want(desc.provider, desc.module, desc.function, desc.name, clause.demand)

    # --- probes ------------------------------------------------------------------------------------

    def _known_probes(self):
        """[(provider, module, function, name)] of the processes named; for a command that has not
        started, what pyusdt gives to every process."""
        if self._commands:
            me = os.getpid()
            return [(p.replace(str(me), str(command.pid)), m, f, n) for command in self._commands
                    for _, p, m, f, n, _, _ in _tracer.list_probes(None, me)]
        found = [probe for pid in self._pids for probe in _tracer.list_probes(None, pid)]
        if not self._pids:
            found = [probe for probe in _tracer.list_probes() if probe[0] != os.getpid()]
        return [probe[1:5] for probe in found]

    def matches(self, description):
        own = [self._consumer.probe(i + 1) for i in range(self._consumer.probes())]
        parts = (description.provider, description.module, description.function, description.name)
        return sum(all(map(_tracer.glob, parts, probe)) for probe in own + self._known)

    def list_probes(self):
        own = [("dtrace", "", "", name) for name in _DTRACE_PROBES]
        found = [probe[1:5] for probe in _tracer.list_probes() if probe[0] != os.getpid()]
        return [Probe(i + 1, *names) for i, names in enumerate(own + found)]

    def probe(self, id):
        return Probe(id, *self._consumer.probe(id))

    # --- running -------------------------------------------------------------------------------------

    def go(self):
        self._fire(_BEGIN)
        if self._consumer.exiting:
            return
        try:
            for command in self._commands:
                self._session.expect(command.pid)
            if not self._commands and not self._pids:
                self._session.attach_all()
            self._session.start()
            for pid in self._pids:
                self._session.attach(pid)
        except OSError as error:
            raise self._explain(error) from None
        self._ticks = Ticks(dict(self._periods.values()), time.monotonic_ns())
        for command in self._commands:
            self._start(command)

    def _start(self, command):
        try:
            command.go()
        except OSError as error:
            raise EngineError(f"failed to execute {command.argv[0]}: {error.strerror}") from None

    def _fire(self, probe, when=None):
        pid = os.getpid()
        self._consumer.fire(probe, when or time.monotonic_ns(), pid, pid, os.getuid(), os.getgid(), 0, _COMM)

    def poll(self, timeout):
        if self._ending is not None:
            records, self._ending, self.finished = self._ending, b"", True
            return records
        deadline = time.monotonic() + timeout
        while True:
            n = self._poll_once()
            records = self._consumer.take_records()
            self._sleep = _SHORTEST_SLEEP if n else min(self._sleep * 2, _LONGEST_SLEEP)
            left = deadline - time.monotonic()
            if records or self._consumer.exiting or left <= 0 or self._look_idle(n):
                return records
            if n < _BATCH:
                time.sleep(min(self._sleep, left))

    def _poll_once(self):
        """Events that are ripe up to the next tick, and the tick where it is due; how many events."""
        if self._ticks is None:
            return 0  # BEGIN called exit()
        due = self._ticks.next()
        n = self._consumer.poll(self._session, due[0] if due else _EVERYTHING, _BATCH)
        now = time.monotonic_ns()
        if due and now >= due[0] and n < _BATCH and not self._consumer.exiting:
            self._fire(due[1], now)
            self._ticks.fired(due[1], now)
        return n

    def _look_idle(self, n):
        """Sets idle once everything that was asked for has ended and its events are through."""
        if n == 0 and (self._commands or self._pids):
            stats = self._session.stats()
            gone = all([command.poll() for command in self._commands]) and stats["alive"] == 0
            self.idle = gone and (stats["targets"] > 0 or not self._pids)
        return self.idle

    def stop(self):
        if self._ending is not None:
            return
        if self._ticks is not None:
            self._session.stop()
            while not self._consumer.exiting and self._consumer.poll(self._session, _EVERYTHING, _BATCH):
                pass
        self._fire(_END)
        self._ending = self._consumer.take_records()

    def aggregations(self):
        return [(agg, [(key, value) for key, value in self._vm.items(agg.map) if any(value[:8])])
                for agg in self._program.aggregations]

    def drops(self):
        stats = self._session.stats()
        now = {"principal": stats["dropped"] + self._consumer.lost, "order": stats["out_of_order"]}
        drops = [Drop(kind, n - self._told.get(kind, 0)) for kind, n in now.items() if n > self._told.get(kind, 0)]
        self._told = now
        return drops

    def close(self):
        if self._session:
            self._session.close()
            self._session = None
        for command in self._commands:
            command.stop()

    def _explain(self, error):
        """What the user needs to know of an OSError of the core."""
        if error.errno == errno.ESRCH:
            return EngineError("No such process")  # dtrace's own words
        return EngineError(error.strerror)
