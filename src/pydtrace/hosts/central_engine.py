# mypy: ignore-errors
"""The engine of many hosts under -x hostmode=central: the hosts send their events, and all clauses run here.

In: as RemoteEngine; of each host the recording of what it sees (docs/internals/recording-format.md) and the samples of profile-n, in
portions.  Out: the records of the clauses, which ran on the events of all hosts in one order, with times of this machine.
Always: an event waits until every host that traces has come past its time, or has said nothing for _LAG, at most _LONGEST from then.  One
whose interval overlaps that of an event of another host that was run before could have been the other way round: what its clauses record
is marked, and it is counted.
A recording that is damaged costs its host alone.
"""

from __future__ import annotations

import struct
import time
from heapq import heappop, heappush

from pydtrace import _tracer
from pydtrace.engine import EngineError
from pydtrace.engine.tick_timers import profile_period
from pydtrace.program import program as p
from pydtrace.results.records import split

from .clock_offset import UNKNOWN
from .connection import Broken
from .engine import _HELD, _LAG, RemoteEngine
from .event_sources import Events, Samples
from .host_messages import RUNNING
from .record_order import Ends, marked

MOST = 1024  # hosts
_HOSTS = 16  # at least as many share what there is for all, since others may join
_LONGEST = 30 * 1_000_000_000  # ns that an event waits for hosts that are behind, but send
_FUTURE = 60 * 1_000_000_000  # ns: more than clocks can be unknown by
_ALL = (1 << 63) - 1
_AT_ONCE = 512 << 10  # bytes of records
_PROCESSES = 64  # of a host, at least, whose frames have names
_KEPT = (
    256 << 20
)  # bytes of memory for what one host tells of its probes and places, in all of its recordings


class CentralEngine(RemoteEngine):
    name = "central"
    what_is_ordered = "events"

    def __init__(self, program, options):
        super().__init__(program, options)
        if why := self._lacks():
            raise EngineError(
                f"with -x hostmode=central, {why} can not be had: the processes are elsewhere, and hosts send events alone; "
                "-x hostmode=partial has them"
            )
        if len(self._request.names) > MOST:
            raise EngineError(f"-x hostmode=central is for {MOST} hosts at most")
        self._many = _tracer.Many(
            max(_PROCESSES, _tracer.FRAME_TARGETS // max(_HOSTS, len(self._request.names)))
        )
        self._consumer.set_wall(time.time_ns() - time.monotonic_ns())
        self._profile = {
            name: self._consumer.add_probe("profile", "", "", name)
            for name in dict.fromkeys(desc.name for desc in self.descriptions)
            if profile_period(name)
        }
        self._sources = []  # of all incarnations of all hosts
        self._of_host = {}  # host: those of its last one
        self._kept = {}  # host: bytes of memory that those before that one take
        self._due = []  # a heap: (time of what is next, number of the source), once for each that has something
        self._ends = Ends()
        self._last = 0  # time of the event that was run last
        self._late = 0
        self._named = None  # the source whose host the variable `host` names
        self._is_more = False
        self._flushed_for = None  # the time of a tick
        self.clauses_there, self.definitions = {}, {}  # no host sends what comes of clauses

    def _lacks(self):
        """What clauses ask for that events do not carry."""
        names = {"ppid": "ppid", "ancestors": "ancestors and pids of parents", "errno": "errno"}
        found = [said for use, said in names.items() if use in self.program.uses]
        return found[0] if found else ""

    # --- what hosts send ------------------------------------------------------------------------------------
    def began(self, host):
        super().began(host)
        for source in self._of_host.get(host, ()):
            self._kept[host] = self._kept.get(host, 0) + source.kept()
            self._check_kept(host, 0)
            if source.next_time() is None:
                source.finish()  # else when what has come of it was run
        events = Events(host, self._many)
        self._of_host[host] = [
            events,
            *([Samples(events, self._profile, self.frame_word)] if self._profile else []),
        ]
        for source in self._of_host[host]:
            source.number = len(self._sources)
            self._sources.append(source)

    def take_events(self, host, data):
        events = self._of_host[host][0]
        self._take(host, events, lambda offset: events.put(data, offset))

    def take_samples(self, host, names, rows):
        _, *samples = self._of_host[host]
        if not samples:
            super().take_samples(host, names, rows)
        self._take(host, samples[0], lambda offset: samples[0].put(names, rows, offset))

    def _take(self, host, source, put):
        """A portion of a source, of which nothing is run after exit()."""
        if self.exiting:
            return
        offset, error = host.offset.at(host.heard)
        if error >= UNKNOWN:
            raise ValueError("before its time is known")
        was_empty = source.next_time() is None
        put(offset)
        if was_empty:
            self._push(source)
        if why := source.damage():
            raise Broken(f"its events can not be read: {why}")
        self._check_kept(host, source.kept())

    def _check_kept(self, host, now):
        if self._kept.get(host, 0) + now > _KEPT:
            raise Broken(
                "it has told of more probes and places than there is room for, or has come back too often"
            )

    def _push(self, source):
        when = source.next_time()
        if when is not None:
            heappush(self._due, (when, source.number))
        elif source not in self._of_host[source.host]:
            source.finish()

    # --- running the clauses -----------------------------------------------------------------------------------
    def _released(self, until=None):
        now = time.monotonic_ns()
        least = now if self._held() > _HELD else now - _LONGEST
        come = max(
            min(
                (host.until for host in self._running() if self._is_waited_for(host, now)),
                default=now,
            ),
            least,
        )
        if self._due and self._due[0][0] > now + _FUTURE:
            self._give_up_future(now)
        return self._run(come, least) if until is None else self._run(until)

    def _held(self):
        return sum(map(self._held_of, self._of_host))

    def _held_of(self, host):
        return sum(source.waits() for source in self._of_host.get(host, ()))

    def _readable(self, hosts):
        """While too much waits, those whose events take no more than their share of it."""
        if self._held() <= _HELD:
            return hosts
        share = 2 * _HELD // len(self._of_host)
        return [host for host in hosts if self._held_of(host) <= share]

    def _is_waited_for(self, host, now):
        """It may still send something that is before what others have sent."""
        return (
            host.state == RUNNING
            and now - host.heard < _LAG
            and any(source.next_time() is None for source in self._of_host[host])
        )

    def _give_up_future(self, now):
        for host in {
            self._sources[number].host for when, number in self._due if when > now + _FUTURE
        }:
            if host.state == RUNNING:
                self._give_up(host, "its events are of a time to come")
        self._due = sorted(each for each in self._due if each[0] <= now + _FUTURE)

    def _run(self, until, least=_ALL):
        """The clauses on the events up to that time, as long as no record of them is to be seen before the next; the records.  Where a host
        has sent no more, no further than it has come, but up to `least`."""
        now = time.monotonic_ns()
        made, size, self._is_more = [], 0, False
        while self._due and self._due[0][0] <= until and not self.exiting:
            source = self._sources[heappop(self._due)[1]]
            records = self._run_one(source, min(until, self._due[0][0] if self._due else until))
            self._push(source)
            if self._is_waited_for(host := source.host, now):
                until = min(until, max(host.until, least))
            made.append(records)
            size += len(records)
            if records and (self._reading or size > _AT_ONCE):
                self._is_more = bool(self._due) and self._due[0][0] <= until
                break
        records = b"".join(made)
        self._look_into(records)
        return records

    def _run_one(self, source, until):
        """Events of one source, all of them sure of their place, or all not."""
        host = source.host
        error = host.offset.at(time.monotonic_ns())[1]
        begins = source.next_time()
        if begins is None:
            return b""
        unsure_up_to = self._ends.of_others(host.number) + error
        unsure = begins <= unsure_up_to
        if unsure:
            until = min(until, unsure_up_to)
        self._name(source)
        late = begins < self._last
        n = source.run(self._consumer, until)
        if why := source.damage():
            self._give_up(host, f"its events can not be read: {why}")
        if not n:
            return self._consumer.take_records()
        self._late += n * late
        self._last = max(self._last, source.last)
        self._ends.note(source.last + error, host.number)
        records = self._consumer.take_records()
        if not unsure:
            return records
        self._order.unsure += n
        return b"".join(marked(record) for record, *_ in split(records))

    # --- the coordinator's own -----------------------------------------------------------------------------------
    def _name(self, source):
        """host and $target; source: None where it is no host's event."""
        if self._named is source:
            return
        self._named, program = source, self.program
        if program.host is not None:
            room = program.strsize
            name = source.host.name.encode()[: room - 1] if source else b""
            self._machines.vms[0].put(p.MAP_GLOBALS, 0, program.host, name.ljust(room, b"\0"))
        if program.target is not None:
            self._machines.vms[0].put(
                p.MAP_GLOBALS, 0, program.target, struct.pack("=I", source.target if source else 0)
            )

    def _fire(self, probe, when):
        self._name(None)
        super()._fire(probe, when)

    def print_by(self, formatter):
        """Records are marked before they are printed."""

    def poll(self, timeout):
        return super().poll(0 if self._is_more else timeout)

    def _at_tick(self, when, probe):
        """Where a record before it is to be seen first, the tick comes at the next call."""
        if self._flushed_for != when:
            self._flushed_for = when
            self._flush()
        records = self._consumer.take_records() + self._released(when)
        if self._is_more or self.exiting:
            return records
        self._fire(probe, when)
        self._ticks.fired(probe, time.monotonic_ns())
        return records + self._consumer.take_records()

    def more(self):
        if records := self._await_ends():
            return records
        if not self._ended and not self.exiting and (records := self._run(_ALL)):
            return records
        return super().more()

    def name_of(self, pid, address):
        """What is no frame of a language's stack stays a number: processes of the same ids here are others."""
        return super().name_of(pid, address) or f"0x{address:x}"

    def code_of(self, address):
        """Nor is it looked for in a file, whatever a host says that it is."""
        return None, address

    @property
    def _feed(self):
        return self._many

    def _lost(self):
        return 0, self._late
