"""The engine of -x hostmode=central: the hosts send their events, and all clauses run here.

- Each host sends a recording (docs/internals/recording-format.md) and samples of profile-n, in
  portions. The clauses run on the events of all hosts in one order, with times of this machine.
- An event waits until every tracing host has passed its time or has been silent for _MAX_LAG, and
  _MAX_WAIT at most.
- If the interval of an event overlaps that of an earlier event of another host, their order is
  unsure: the records are marked and counted.
- A damaged recording costs only its host.
"""

from __future__ import annotations

import struct
import time
from heapq import heappop, heappush

from pydtrace import _tracer
from pydtrace.engine import EngineError
from pydtrace.engine.tick_timers import profile_period
from pydtrace.program import program as p
from pydtrace.results.records import iter_records

from .clock_offset import UNKNOWN_ERROR
from .connection import HostError
from .engine import _HELD_LIMIT, _MAX_LAG, RemoteEngine
from .event_sources import EventSource, SampleSource
from .host_messages import RUNNING
from .record_order import IntervalEnds, mark_unsure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .host_messages import Host

    Source = EventSource | SampleSource

MAX_HOSTS = 1024  # hosts
_MIN_HOSTS = 16  # at least as many share what there is for all, since others may join
_MAX_WAIT = 30 * 1_000_000_000  # ns that an event waits for hosts that are behind, but send
_MAX_FUTURE = 60 * 1_000_000_000  # ns: more than clocks can be unknown by
_END_OF_TIME = (1 << 63) - 1
_RECORDS_LIMIT = 512 << 10  # bytes of records
_MIN_PROCESSES = 64  # of a host, at least, whose frames have names
_KEPT_LIMIT = (
    256 << 20
)  # bytes of memory for what one host tells of its probes and places, in all of its recordings


class CentralEngine(RemoteEngine):
    name = "central"
    ordered_noun = "events"

    def __init__(self, program: p.Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        if why := self._find_unsupported():
            raise EngineError(
                f"with -x hostmode=central, {why} does not work: hosts send only events; "
                "use -x hostmode=partial"
            )
        if len(self._request.names) > MAX_HOSTS:
            raise EngineError(f"-x hostmode=central is for {MAX_HOSTS} hosts at most")
        self._merged_replay = _tracer.MergedReplay(
            max(_MIN_PROCESSES, _tracer.FRAME_TARGETS // max(_MIN_HOSTS, len(self._request.names)))
        )
        self._consumer.set_wall(time.time_ns() - time.monotonic_ns())
        self._profile = {
            name: self._consumer.add_probe("profile", "", "", name)
            for name in dict.fromkeys(desc.name for desc in self.descriptions)
            if profile_period(name)
        }
        self._sources: list[Source] = []  # of all incarnations of all hosts
        self._host_sources: dict[Host, list[Source]] = {}  # host: those of its last one
        self._kept_bytes: dict[
            Host, int
        ] = {}  # host: bytes of memory that those before that one take
        self._due_sources: list[
            tuple[int, int]
        ] = []  # a heap: (time of what is next, number of the source), once for each that has something
        self._ends = IntervalEnds()
        self._last_time = 0  # time of the event that was run last
        self._late_events = 0
        self._named_source: Source | None = None  # the source whose host the variable `host` names
        self._has_more = False
        self._flushed_for: int | None = None  # the time of a tick
        self.host_clauses, self.definitions = {}, {}  # no host sends what comes of clauses

    def _find_unsupported(self) -> str:
        """What clauses ask for that events do not carry."""
        names = {"ppid": "ppid", "ancestors": "ancestors and pids of parents", "errno": "errno"}
        found = [said for use, said in names.items() if use in self.program.uses]
        return found[0] if found else ""

    # --- what hosts send ------------------------------------------------------------------------------------
    def host_began(self, host: Host) -> None:
        super().host_began(host)
        for source in self._host_sources.get(host, ()):
            self._kept_bytes[host] = self._kept_bytes.get(host, 0) + source.kept_bytes()
            self._check_memory(host, 0)
            if source.next_time() is None:
                source.finish()  # else when what has come of it was run
        events = EventSource(host, self._merged_replay)
        self._host_sources[host] = [
            events,
            *([SampleSource(events, self._profile, self.intern_frame)] if self._profile else []),
        ]
        for source in self._host_sources[host]:
            source.number = len(self._sources)
            self._sources.append(source)

    def take_events(self, host: Host, data: bytes) -> None:
        events = self._host_sources[host][0]
        assert isinstance(events, EventSource)
        self._store_portion(host, events, lambda offset: events.add_events(data, offset))

    def take_samples(self, host: Host, names: list[Any], rows: list[Any]) -> None:
        _, *samples = self._host_sources[host]
        if not samples:
            super().take_samples(host, names, rows)
        source = samples[0]
        assert isinstance(source, SampleSource)
        self._store_portion(host, source, lambda offset: source.add_samples(names, rows, offset))

    def _store_portion(self, host: Host, source: Source, put: Callable[[int], None]) -> None:
        """A portion of a source, of which nothing is run after exit()."""
        if self.exiting:
            return
        offset, error = host.offset.estimate(host.heard_at)
        if error >= UNKNOWN_ERROR:
            raise ValueError("before its time is known")
        was_empty = source.next_time() is None
        put(offset)
        if was_empty:
            self._schedule_source(source)
        if why := source.find_damage():
            raise HostError(f"its events cannot be read: {why}")
        self._check_memory(host, source.kept_bytes())

    def _check_memory(self, host: Host, now: int) -> None:
        if self._kept_bytes.get(host, 0) + now > _KEPT_LIMIT:
            raise HostError(
                "it has reported too many probes and places, or has come back too often"
            )

    def _schedule_source(self, source: Source) -> None:
        when = source.next_time()
        if when is not None:
            heappush(self._due_sources, (when, source.number))
        elif source not in self._host_sources[source.host]:
            source.finish()

    # --- running the clauses -----------------------------------------------------------------------------------
    def _release_records(self, until: int | None = None) -> bytes:
        now = time.monotonic_ns()
        least = now if self._held_bytes() > _HELD_LIMIT else now - _MAX_WAIT
        come = max(
            min(
                (
                    host.complete_until
                    for host in self._tracing_hosts()
                    if self._is_waited_for(host, now)
                ),
                default=now,
            ),
            least,
        )
        if self._due_sources and self._due_sources[0][0] > now + _MAX_FUTURE:
            self._give_up_future(now)
        return self._run_events(come, least) if until is None else self._run_events(until)

    def _held_bytes(self) -> int:
        return sum(map(self._held_bytes_of, self._host_sources))

    def _held_bytes_of(self, host: Host) -> int:
        return sum(source.waiting_bytes() for source in self._host_sources.get(host, ()))

    def _select_readable(self, hosts: list[Host]) -> list[Host]:
        """While too much waits, those whose events take no more than their share of it."""
        if self._held_bytes() <= _HELD_LIMIT:
            return hosts
        share = 2 * _HELD_LIMIT // len(self._host_sources)
        return [host for host in hosts if self._held_bytes_of(host) <= share]

    def _is_waited_for(self, host: Host, now: int) -> bool:
        """It may still send something that is before what others have sent."""
        return (
            host.state == RUNNING
            and now - host.heard_at < _MAX_LAG
            and any(source.next_time() is None for source in self._host_sources[host])
        )

    def _give_up_future(self, now: int) -> None:
        for host in {
            self._sources[number].host
            for when, number in self._due_sources
            if when > now + _MAX_FUTURE
        }:
            if host.state == RUNNING:
                self._give_up_host(host, "its events are of a time to come")
        self._due_sources = sorted(
            each for each in self._due_sources if each[0] <= now + _MAX_FUTURE
        )

    def _run_events(self, until: int, least: int = _END_OF_TIME) -> bytes:
        """The clauses on the events up to that time, as long as no record of them is to be seen before the next; the records.  Where a host
        has sent no more, no further than it has come, but up to `least`."""
        now = time.monotonic_ns()
        made, size, self._has_more = [], 0, False
        while self._due_sources and self._due_sources[0][0] <= until and not self.exiting:
            source = self._sources[heappop(self._due_sources)[1]]
            records = self._run_source(
                source, min(until, self._due_sources[0][0] if self._due_sources else until)
            )
            self._schedule_source(source)
            if self._is_waited_for(host := source.host, now):
                until = min(until, max(host.complete_until, least))
            made.append(records)
            size += len(records)
            if records and (self._reading_clauses or size > _RECORDS_LIMIT):
                self._has_more = bool(self._due_sources) and self._due_sources[0][0] <= until
                break
        records = b"".join(made)
        self._react_to_records(records)
        return records

    def _run_source(self, source: Source, until: int) -> bytes:
        """Events of one source, all of them sure of their place, or all not."""
        host = source.host
        error = host.offset.estimate(time.monotonic_ns())[1]
        begins = source.next_time()
        if begins is None:
            return b""
        unsure_up_to = self._ends.latest_of_others(host.number) + error
        unsure = begins <= unsure_up_to
        if unsure:
            until = min(until, unsure_up_to)
        self._set_host_variables(source)
        late = begins < self._last_time
        n = source.run_clauses(self._consumer, until)
        if why := source.find_damage():
            self._give_up_host(host, f"its events cannot be read: {why}")
        if not n:
            return self._take_records()
        self._late_events += n * late
        self._last_time = max(self._last_time, source.last_time)
        self._ends.note_end(source.last_time + error, host.number)
        records = self._take_records()
        if not unsure:
            return records
        self._order.unsure += n
        return b"".join(mark_unsure(record) for record, *_ in iter_records(records))

    # --- the coordinator's own -----------------------------------------------------------------------------------
    def _set_host_variables(self, source: Source | None) -> None:
        """host and $target; source: None where it is no host's event."""
        if self._named_source is source:
            return
        self._named_source, program = source, self.program
        if program.host is not None:
            room = program.strsize
            name = source.host.name.encode()[: room - 1] if source else b""
            self._vm_group.vms[0].put(p.MAP_GLOBALS, 0, program.host, name.ljust(room, b"\0"))
        if program.target is not None:
            self._vm_group.vms[0].put(
                p.MAP_GLOBALS, 0, program.target, struct.pack("=I", source.target if source else 0)
            )

    def _fire_probe(self, probe: int, when: int) -> None:
        self._set_host_variables(None)
        super()._fire_probe(probe, when)

    def set_formatter(self, formatter: _tracer.Formatter) -> None:
        """Records are marked before they are printed."""

    def poll(self, timeout: float) -> bytes:
        return super().poll(0 if self._has_more else timeout)

    def _run_tick(self, when: int, probe: int) -> bytes:
        """Where a record before it is to be seen first, the tick comes at the next call."""
        if self._flushed_for != when:
            self._flushed_for = when
            self._flush_epochs()
        records = self._take_records() + self._release_records(when)
        if self._has_more or self.exiting:
            return records
        self._fire_probe(probe, when)
        assert self._ticks
        self._ticks.advance(probe, time.monotonic_ns())
        return records + self._take_records()

    def drain_end(self) -> bytes:
        if records := self._await_ends():
            return records
        if not self._has_ended and not self.exiting and (records := self._run_events(_END_OF_TIME)):
            return records
        return super().drain_end()

    def name_of(self, pid: int, address: int) -> str | None:
        """What is no frame of a language's stack stays a number: processes of the same ids here are others."""
        return super().name_of(pid, address) or f"0x{address:x}"

    def code_of(self, address: int) -> tuple[None, int]:
        """Nor is it looked for in a file, whatever a host says that it is."""
        return None, address

    @property
    def _event_source(self) -> Any:
        return self._merged_replay

    def _count_drops(self) -> tuple[int, int]:
        return 0, self._late_events
