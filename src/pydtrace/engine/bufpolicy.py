# mypy: ignore-errors
"""When records leave an engine: the options bufpolicy, bufsize and switchrate, over any engine.

In: an engine, opened; its records.  Out: the same engine, whose poll() and end() give the records that are to be seen
now.  bufpolicy=ring: the last bufsize bytes of them, at the end.  bufpolicy=fill: the first bufsize bytes, at the end,
which comes when the next record has no room.  switch, with a switchrate: every so often; with a bufsize: of what BEGIN
or END records only as much as dtrace's buffer holds, which it reads before and behind them.
Always: records are whole and in order; what exit() does happens when it is called, whenever its record is seen.
Source: the DTrace guide, "Buffers and Buffering".
"""

import struct
import time
from fnmatch import fnmatchcase

from pydtrace.program import program as p
from pydtrace.program.dtrace_buffer_sizes import (
    FAULT_RECORD,
    LOSS_RECORD,
    in_ring,
    record_room,
    ring_size,
)

from . import BEGIN, END

_DEFAULT_SIZE = 4 << 20  # bytes, dtrace's
_HEADER = struct.Struct("=III")  # size, clause, probe, at the beginning of a record


def with_policy(engine, program, options):
    """The engine, or one around it where an option asks for that."""
    policy = options.get("bufpolicy", "switch")
    if policy == "ring":
        return Ring(engine, options.get("bufsize") or _DEFAULT_SIZE)
    if policy == "fill":
        return Fill(engine, options.get("bufsize") or _DEFAULT_SIZE)
    if "bufsize" in options and _may_overflow(program, ring_size(options["bufsize"])):
        engine = Bounded(engine, program, ring_size(options["bufsize"]))
    # what reads an aggregation must see it as it was: those records do not wait
    waits = not any(action.args for clause in program.clauses for action in clause.actions)
    if waits and options.get("switchrate"):
        return Switch(engine, options.get("bufsize") or _DEFAULT_SIZE, options["switchrate"])
    return engine


def _may_overflow(program, size):
    """Whether all that the clauses of BEGIN or END record, a fault of each included, may have no room at once."""
    for name in ("BEGIN", "END"):
        clauses = [
            clause
            for clause in program.clauses
            if any(fnmatchcase(name, each.name or "*") for each in clause.probes)
        ]
        if (
            sum(
                max(in_ring(record_room(clause, program.strsize)), FAULT_RECORD)
                for clause in clauses
            )
            >= size
        ):
            return True
    return False


class Waiting:
    """An engine whose records wait here.  All but print_by(), poll() and end() is the engine's own."""

    def __init__(self, engine, size):
        self._engine, self._size = engine, size
        self._held = bytearray()

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def print_by(self, formatter):
        """They are records until they are seen, which bufsize counts, and which an action among them may change."""

    def catch_up(self, seconds):
        for records in self._engine.catch_up(seconds):
            self._keep(records)
            yield self._release()

    def end(self):
        self._keep(self._engine.end())
        return self._release()

    def _keep(self, records):
        self._held += records

    def _release(self):
        records = bytes(self._held)
        self._held.clear()
        return records


class UntilTheEnd(Waiting):
    """Nothing is seen before."""

    def poll(self, timeout):
        self._keep(self._engine.poll(timeout))
        return b""

    def catch_up(self, seconds):
        for records in self._engine.catch_up(seconds):
            self._keep(records)
            yield b""

    def end(self):
        records = self._engine.end()
        while records:
            self._keep(records)
            records = self._engine.more()
        return self._release()


class Ring(UntilTheEnd):
    """bufpolicy=ring."""

    def _keep(self, records):
        self._held += records
        if len(self._held) > 2 * self._size:
            self._forget()

    def _release(self):
        self._forget()
        return super()._release()

    def _forget(self):
        """The oldest records, until the others have room."""
        at, excess = 0, len(self._held) - self._size
        while at < excess:
            at += _HEADER.unpack_from(self._held, at)[0]
        del self._held[:at]


class Fill(UntilTheEnd):
    """bufpolicy=fill."""

    _full = False

    def _keep(self, records):
        """Those that have room, and END's, for which dtrace keeps room."""
        at = 0
        while at < len(records):
            size, _, probe = _HEADER.unpack_from(records, at)
            fits = len(self._held) + size <= self._size
            if probe == END or (fits and not self._full):
                self._held += records[at : at + size]
            else:
                self._full = True
            at += size

    @property
    def exiting(self):
        return self._full or self._engine.exiting


class Bounded(Waiting):
    """bufpolicy=switch with a bufsize that is small for BEGIN or END."""

    def __init__(self, engine, program, size):
        super().__init__(engine, size)
        self._rooms = [in_ring(record_room(clause, program.strsize)) for clause in program.clauses]
        self._free = {BEGIN: size - 1, END: size - 1}
        self._lost = 0
        self._lost_on = None  # CPU
        self._untold = False  # the ring tells of a loss in front of the next record

    def poll(self, timeout):
        self._keep(self._engine.poll(timeout))
        return self._release()

    def more(self):
        self._keep(self._engine.more())
        return self._release()

    def lost_on(self, kind):
        own = kind == "principal" and not self._engine.drops().get(kind)
        return self._lost_on if own else self._engine.lost_on(kind)

    def drops(self):
        drops = dict(self._engine.drops())
        return {**drops, "principal": drops.get("principal", 0) + self._lost}

    def _keep(self, records):
        at = 0
        while at < len(records):
            size, clause, probe = _HEADER.unpack_from(records, at)
            if self._has_room(clause, probe):
                self._held += records[at : at + size]
            else:
                self._lost += 1
                self._lost_on = struct.unpack_from("=I", records, at + p.RECORD_CPU)[0]
            at += size

    def _has_room(self, clause, probe):
        if probe not in self._free or clause & p.RECORD_SETTLED:
            return True
        room = FAULT_RECORD if clause & p.RECORD_FAULT else self._rooms[clause & ~p.RECORD_FLAGS]
        told = room + LOSS_RECORD * self._untold
        self._untold = told > self._free[probe]
        if not self._untold:
            self._free[probe] -= told
        return not self._untold


class Switch(Waiting):
    """bufpolicy=switch with a switchrate.  rate: ns."""

    def __init__(self, engine, size, rate):
        super().__init__(engine, size)
        self._rate = rate / 1e9
        self._switched = time.monotonic()

    def poll(self, timeout):
        self._keep(self._engine.poll(timeout))
        now = time.monotonic()
        if (
            now - self._switched < self._rate
            and len(self._held) < self._size
            and not self._engine.exiting
        ):
            return b""
        self._switched = now
        return self._release()
