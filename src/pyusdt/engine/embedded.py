"""The embedded engine: shared memory between the traced process and the tracer.

In: a compiled program and processes that have pyusdt (or the NIF) in them.  Out: the records of the
clauses, run here, on each event, in time order.  Always: needs no privilege and no kernel feature; what
the traced process loses is counted in drops().
"""

import errno
import os
import time

from .. import _tracer
from ..bpf import maps
from . import Engine, EngineError
from .ticks import Ticks, period

_BATCH = 16384  # events between two looks at the clock and at exit()
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.0005, 0.02  # s; rings hold what comes meanwhile
_DTRACE_PROBES = ("BEGIN", "END", "ERROR")
_OWN_NAMES = _DTRACE_PROBES + ("tick-", "profile-")
_BEGIN, _END, _ERROR = 1, 2, 3  # ids, in the order they are added
_COMM = "pydtrace"
_EVERYTHING = 2**64 - 1


def _is_own(description):
    """Only the tracer's own probes can match it."""
    return description.name.startswith(_OWN_NAMES)


class EmbeddedEngine(Engine):
    name = "embedded"

    def __init__(self, program, options):
        super().__init__(program, options)
        self._session = self._command = self._ticks = None
        self._pids = ()
        self._sleep = _SHORTEST_SLEEP
        kinds = maps.KINDS
        self._vm = _tracer.VM([(kinds[m.kind].number, m.key_size, m.value_size, m.entries) for m in program.maps])
        self._consumer = _tracer.Consumer(self._vm, len(program.clauses), program.uses, program.this_area)
        for clause in program.clauses:
            exits = any(action.row.kind == "exit" for action in clause.actions)
            self._consumer.clause(clause.index, self._vm.load(clause.encode()), exits)
            for desc in clause.probes:
                self._consumer.describe(clause.index, desc.provider, desc.module, desc.function, desc.name)
        self._add_own_probes()

    def _add_own_probes(self):
        for name in _DTRACE_PROBES:
            self._consumer.add_probe("dtrace", "", "", name)
        self._periods = {}
        for desc in self._descriptions():
            each = period(desc.name)
            if each and desc.name not in self._periods:
                self._periods[desc.name] = (self._consumer.add_probe("profile", "", "", desc.name), each)

    def _descriptions(self):
        return [desc for clause in self.program.clauses for desc in clause.probes]

    # --- finding ---------------------------------------------------------------------------------

    def open(self, targets):
        self._pids, self._command = targets.pids, targets.command
        rundir = None
        try:
            if self._pids:
                rundir = _tracer.find_rundir(self._pids[0])
            self._session = _tracer.Session(rundir, self.options.get("bufsize", 0), self.options.get("orderlag", 0))
            for clause in self.program.clauses:
                for desc in clause.probes:
                    if not _is_own(desc):
                        self._session.want(desc.provider, desc.module, desc.function, desc.name, clause.demand)
        except OSError as error:
            raise self._explain(error, self._pids[0] if self._pids else 0) from None
        known = [(f"{p}", m, f, n) for _, p, m, f, n, _, _ in self._known_probes()]
        self.matched = [(desc, self._count(desc, known)) for desc in self._descriptions()]

    def _known_probes(self):
        """The probes that there are: of the processes named; for a command that has not started, those
        that pyusdt gives to every process."""
        if self._command:
            own = _tracer.list_probes(None, os.getpid())
            return [(self._command.pid, p.replace(str(os.getpid()), str(self._command.pid)), *rest)
                    for _, p, *rest in own]
        if self._pids:
            return [probe for pid in self._pids for probe in _tracer.list_probes(None, pid)]
        return [probe for probe in _tracer.list_probes() if probe[0] != os.getpid()]

    def _count(self, desc, known):
        own = [self._consumer.probe(i + 1) for i in range(self._consumer.probes())]
        parts = (desc.provider, desc.module, desc.function, desc.name)
        return sum(all(_tracer.glob(glob, text) for glob, text in zip(parts, probe)) for probe in own + known)

    def _explain(self, error, pid):
        """What the user needs to know of an OSError of the core."""
        if error.errno == errno.ESRCH:
            return EngineError(f"failed to grab pid {pid}: No such process")
        return EngineError(error.strerror)

    # --- running -----------------------------------------------------------------------------------

    def begin(self):
        self._fire(_BEGIN)
        if self.exiting:
            return
        try:
            if self._command:
                self._session.expect(self._command.pid)
            elif not self._pids:
                self._session.attach_all()
            self._session.start()
            for pid in self._pids:
                self._session.attach(pid)
        except OSError as error:
            raise self._explain(error, self._pids[0] if self._pids else 0) from None
        self._ticks = Ticks(dict(self._periods.values()), time.monotonic_ns())

    def _fire(self, probe, when=None):
        cpu = os.sched_getcpu() if hasattr(os, "sched_getcpu") else 0
        pid = os.getpid()
        self._consumer.fire(probe, when or time.monotonic_ns(), pid, pid, os.getuid(), os.getgid(), cpu, _COMM)

    def poll(self, timeout):
        deadline = time.monotonic() + timeout
        while True:
            n = self._poll_once()
            records = self._consumer.take_records()
            self._sleep = _SHORTEST_SLEEP if n else min(self._sleep * 2, _LONGEST_SLEEP)
            left = deadline - time.monotonic()
            if records or self.exiting or left <= 0:
                return records
            if n < _BATCH:
                time.sleep(min(self._sleep, left))

    def _poll_once(self):
        """Events that are ripe up to the next tick, and the tick where it is due; how many events."""
        due = self._ticks.next()
        until = due[0] if due else _EVERYTHING
        n = self._consumer.poll(self._session, until, _BATCH)
        now = time.monotonic_ns()
        if due and now >= due[0] and n < _BATCH and not self.exiting:
            self._fire(due[1], now)
            self._ticks.fired(due[1], now)
        return n

    def end(self):
        if self._ticks:
            self._session.stop()
            while not self.exiting and self._consumer.poll(self._session, _EVERYTHING, _BATCH):
                pass
        self._fire(_END)
        return self._consumer.take_records()

    def close(self):
        if self._session:
            self._session.close()
            self._session = None

    @property
    def exiting(self):
        return self._consumer.exiting

    @property
    def finished(self):
        if self._command:
            return self._command.poll()
        if not self._pids:
            return False
        stats = self._session.stats()
        return stats["targets"] > 0 and stats["alive"] == 0

    def probe(self, ident):
        return self._consumer.probe(ident)

    def items(self, map_index):
        return self._vm.items(map_index)

    def drops(self):
        stats = self._session.stats()
        return {"principal": stats["dropped"] + self._consumer.lost, "order": stats["out_of_order"]}
