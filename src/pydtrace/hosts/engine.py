"""The engine of many hosts: each host traces by itself, and counts and records come together here.

- options["hosts"] is a request.Request: the hosts, the way to reach them, and the script.
- The hosts run the clauses of probes that fire on them, and send the results (docs/reference/json.md,
  schema 2). BEGIN, END, ticks, and actions on whole aggregations run here.
- Hosts are untrusted (host_messages.py). A host that is lost, late or wrong is reported by its
  name, and the others go on.
- A host whose connection breaks is tried again, as another incarnation (reconnect.py).
"""

from __future__ import annotations

import contextlib
import selectors
import time

from pydtrace.dtrace_text.runtime_errors import DROP_KINDS, format_drops
from pydtrace.engine import BEGIN, END, EngineError, language_frames
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.engine.tick_timers import TickTimers
from pydtrace.program import program as p
from pydtrace.results.aggregations import pack_key
from pydtrace.results.records import iter_records
from pydtrace.symbols.name_interning import Names
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import host_protocol, placement
from .clock_offset import UNKNOWN_ERROR
from .connection import HostError, HostRefusal
from .host_messages import ENDED, GIVEN_UP, LOST, OPENED, RUNNING, STARTING, Host
from .hostlist import MAX_HOSTS
from .merged_aggregations import MergedAggregation
from .reconnect import ReconnectSchedule
from .record_order import RecordOrder
from .request import list_leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from pydtrace.engine import ProbeDesc, Targets

    from .request import Request


_SECOND = 1_000_000_000
_HOST_TIMEOUT = 30 * _SECOND  # how long a host may take to answer: -x hostwait
RETRY_TIME = 600 * _SECOND  # how long one that was lost is tried again: -x hostretry
_MAX_LAG = 2 * _SECOND  # a record waits so long for hosts that say nothing
_SETTLING = _SECOND // 10  # in which a host has read what was fired before, and put it in order
_FLUSH_TIMEOUT = 1 * _SECOND  # a tick waits so long for the hosts' epoch
_PINGS = (_SECOND // 10, 5 * _SECOND)  # between two, at first and then
_FIRST_PINGS = 5  # pings
_SILENCE = 5 * _SECOND
_MAX_NAMED = 5  # hosts that an error names
_HELD_LIMIT = (
    64 << 20
)  # bytes of what waits for its order: beyond it some goes out, and beyond twice as much nothing more is read
_WAITING_LIMIT = 256 << 20  # bytes of lines of all hosts that wait for the end of their epochs
_FRAGMENT_DELAY = 0.005  # s to wait where small parts of lines are all that came, so that a line that never ends costs little


class _FrameInterner(Names):
    """The names of the hosts' functions, as the engine's frames."""

    def __init__(self, word: Callable[[str], int]) -> None:
        super().__init__()
        self._intern_frame = word

    def _number(self, name: str) -> int:
        return self._intern_frame(name)


class RemoteEngine(EmbeddedEngine):
    name = "remote"
    ordered_noun = "records"
    _can_sample = False
    _has_more = False  # whether poll() has more at once; CentralEngine's may

    def __init__(self, program: p.Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        self._request: Request = options["hosts"]
        self._names = language_frames.FrameNames(
            MAX_HOSTS * host_protocol.NAMES
        )  # host_messages.py has the bound of each
        self.cpu = None  # that of a loss is not known
        self.descriptions = self._all_descriptions()
        self.definitions = {each.name: each for each in program.aggregations}
        self.host_clauses = {
            each.index: each
            for each in program.clauses
            if placement.HOSTS in placement.clause_placement(each.probes)
        }
        self._readers = {
            index: host_protocol.reader(host_protocol.data_of(each))
            for index, each in self.host_clauses.items()
        }
        self._words = _FrameInterner(self.intern_frame)
        self._waiting = 0  # the most that lines of a host have waited
        self._merged = {
            each.map: MergedAggregation(each, program.maps[each.map].entries)
            for each in program.aggregations
        }
        self._order = RecordOrder(_MAX_LAG)
        self._hosts: list[Host] = []
        self._selector = selectors.DefaultSelector()
        self._host_timeout = options.get("hostwait") or _HOST_TIMEOUT
        self._reconnects = ReconnectSchedule(
            options.get("hostretry", RETRY_TIME), self._host_timeout
        )
        self._flush_number = 0
        self._next_ping = self._pinged = 0
        self._exit_seen = False
        self._messages: list[str] = []
        self._probe_ids: dict[tuple[str, ...], int] = {}
        self._reported_unsure = 0
        self._lost_counts = 0  # how often what a host had counted beyond its last epoch was lost
        self._reading_clauses = {
            each.index for each in program.clauses if any(action.args for action in each.actions)
        }
        self._exit_clauses = {
            each.index
            for each in program.clauses
            if any(action.row.ends_tracing for action in each.actions)
        }
        self._ticks_read = any(
            each.index in self._reading_clauses
            for each in program.clauses
            if any(desc.name in self._periods for desc in each.probes)
        )

    # --- finding --------------------------------------------------------------------------------------
    def open(self, targets: Targets) -> None:
        for name in self._request.names:
            self._add_host(name)
        self._await_hosts(lambda host: host.state != STARTING, "does not answer")
        self.startup_notices += self._messages
        self._messages = []
        if not self._connected_hosts():
            raise EngineError("; ".join(self.startup_notices[:_MAX_NAMED]) or "no host answers")
        own = [self._consumer.probe(i + 1) for i in range(self._consumer.probes())]
        for at, desc in enumerate(self.descriptions):
            count = sum(host.matched[at] for host in self._connected_hosts())
            self.matched.append((desc, count or self._count_tracer_probes(desc, own)))

    def _count_tracer_probes(self, desc: ProbeDesc, own: Sequence[tuple[str, ...]]) -> int:
        from pydtrace import _tracer

        if placement.COORDINATOR not in placement.description_placement(desc):
            return 0
        return sum(
            all(map(_tracer.glob, (desc.provider, desc.module, desc.function, desc.name), probe))
            for probe in own
        )

    def _add_host(self, name: str) -> Host:
        try:
            link = self._request.connect(name)
        except OSError as error:
            raise EngineError(f"failed to start {self._request.via[0]}: {error.strerror}") from None
        host = Host(name, len(self._hosts), self, link)
        self._hosts.append(host)
        self._start_host(host)
        return host

    def hosts_behind(self, name: str) -> list[str]:
        """The hosts that one relays for."""
        return list_leaves(self._request.relayed_hosts.get(name, []))

    def _start_host(self, host: Host) -> None:
        self._selector.register(host.link.out, selectors.EVENT_READ, host)
        self._call_host(
            host,
            lambda host: host.link.send(
                "trace",
                **self._request.script_for(
                    host.name, self._host_timeout, self._reconnects.retry_time
                ),
            ),
        )

    def _connected_hosts(self) -> list[Host]:
        """Those that there is a line to."""
        return [host for host in self._hosts if host.state not in (ENDED, GIVEN_UP, LOST)]

    def _tracing_hosts(self) -> list[Host]:
        """Those that trace."""
        return [host for host in self._hosts if host.state == RUNNING]

    # --- lines ----------------------------------------------------------------------------------------
    def _call_host(self, host: Host, what: Callable[[Host], object]) -> None:
        """Do something with a host, which is given up where that fails."""
        try:
            what(host)
        except HostRefusal as error:
            if host.joins_late and not self._request.script["pids"]:
                self._note_failed_attempt(
                    host, str(error)
                )  # what it is to trace may come later than it
            else:
                self._give_up_host(host, str(error))
        except HostError as error:
            self._give_up_host(host, str(error))

    def _give_up_host(self, host: Host, why: str) -> None:
        """No word of it is waited for any more."""
        self._lost_counts += host.state == RUNNING and host.has_begun
        self._disconnect(host, GIVEN_UP)
        self._reconnects.remove_host(host)
        lost = f"; lost is {host.missing_counts}" if host.has_begun else ""
        self._messages.append(
            f"{host.name} is given up at {time.strftime('%H:%M:%S')}: {why}{lost}"
        )

    def _disconnect(self, host: Host, state: int) -> None:
        if host.state != LOST:
            self._selector.unregister(host.link.out)
            host.link.close()
        host.drop_epoch()
        host.state = state
        self._messages += [f"{host.name}: {text}" for text in host.messages]
        host.messages = []

    # --- hosts that go and come back --------------------------------------------------------------------
    def _lose_host(self, host: Host, why: str) -> None:
        """The line to one that traced has broken: what it had counted beyond its last whole epoch never counts, whatever it still does."""
        self._lost_counts += 1
        self._disconnect(host, LOST)
        self._reconnects.add_lost(host, time.monotonic_ns())
        host.joins_late = True
        self._messages.append(
            f"{host.name} is lost at {time.strftime('%H:%M:%S')}: {why}; lost is {host.missing_counts}; it is tried again"
        )

    def _add_joining_hosts(self) -> None:
        """Hosts that were not there at the beginning are as such that have gone, and never counted."""
        for name in self._request.new_names() if self._ticks else ():
            host = Host(name, len(self._hosts), self, None)
            host.state, host.joins_late = LOST, True
            self._hosts.append(host)
            self._reconnects.add_lost(host, time.monotonic_ns())

    def _reconnect_due(self) -> None:
        for host in self._reconnects.take_due(time.monotonic_ns()):
            if host.state != LOST:
                self._note_failed_attempt(host, "it does not answer")
                continue
            try:
                host.connect_again(self._request.connect(host.name))
            except OSError as error:
                self._note_failed_attempt(
                    host, f"failed to start {self._request.via[0]}: {error.strerror}"
                )
            else:
                self._start_host(host)

    def _note_failed_attempt(self, host: Host, why: str) -> None:
        """A try; its error is reported where it is the last one."""
        said, host.messages = host.messages, []
        self._disconnect(host, LOST)
        if not self._reconnects.note_failure(host, time.monotonic_ns()):
            self._give_up_host(host, f"it does not come back: {'; '.join([why, *said[-1:]])}")

    def host_returned(self, host: Host) -> None:
        """It counts from now on."""
        self._messages.append(
            f"{host.name} is back at {time.strftime('%H:%M:%S')}: lost is {host.missing_counts}, up to now"
        )

    def host_began(self, host: Host) -> None:
        """It begins to trace."""
        if host.joins_late:
            self._pinged = self._next_ping = (
                0  # how its clock stands is to be known as well as the others'
            )
            self._reconnects.note_return(host, time.monotonic_ns())

    def _receive_lines(self, timeout: int) -> None:
        """Take what the hosts send, or nothing within so many ns."""
        self._ping_hosts()
        self._add_joining_hosts()
        self._reconnect_due()
        selected = [key.data for key, _ in self._selector.select(max(0, timeout) / _SECOND)]
        ready = self._select_readable(selected)
        if selected and not ready:
            time.sleep(min(_FRAGMENT_DELAY, max(0, timeout) / _SECOND))
        for host in ready:
            self._call_host(host, Host.take_lines)
            if host.link.has_ended and host.state not in (LOST, GIVEN_UP):
                self._handle_closed(host)
        if ready and all(host.link.got_fragment for host in ready):
            time.sleep(min(_FRAGMENT_DELAY, max(0, timeout) / _SECOND))
        for host in self._connected_hosts():
            host.link.flush()

    def _held_bytes(self) -> int:
        """Bytes of what waits for its order."""
        return self._order.held_bytes

    def _select_readable(self, hosts: list[Host]) -> list[Host]:
        """Those of these hosts that are read now.  While too much waits here, the hosts have to wait."""
        return [] if self._held_bytes() > 2 * _HELD_LIMIT else hosts

    def _handle_closed(self, host: Host) -> None:
        if host.state == ENDED:
            self._selector.unregister(host.link.out)
            host.link.close()
            return
        with contextlib.suppress(OSError):
            host.messages += map(escape_for_terminal, host.link.read_stderr())
        why = "the line to it is closed"
        if host.state != RUNNING and host.joins_late:
            self._note_failed_attempt(host, why)
        elif (
            host.state == RUNNING
            and self._reconnects.retry_time
            and not self._request.script["command"]
        ):
            self._lose_host(host, why)
        else:
            self._give_up_host(host, why)

    def _ping_hosts(self) -> None:
        now = time.monotonic_ns()
        if now < self._next_ping:
            return
        self._pinged += 1
        self._next_ping = now + _PINGS[self._pinged > _FIRST_PINGS]
        for host in self._connected_hosts():
            if host.state != STARTING:
                self._call_host(host, Host.send_ping)

    def _await_hosts(
        self,
        is_so: Callable[[Host], object],
        what: str,
        patience: int | None = None,
        give_up: bool = True,
    ) -> list[Host]:
        """Listen until it is so of all hosts that are there; those that take longer are given up."""
        deadline = time.monotonic_ns() + (patience or self._host_timeout)
        while (left := deadline - time.monotonic_ns()) > 0 and not all(
            map(is_so, self._connected_hosts())
        ):
            self._receive_lines(min(left, _SECOND // 20))
        late = [host for host in self._connected_hosts() if not is_so(host)]
        for host in late if give_up else ():
            self._give_up_host(host, what)
        return late

    def wall_offset_of(self, host: Host) -> dict[str, int]:
        """What a host adds to its times for our wall clock, whatever its own says; for the lines to it.  {} where that is not known yet."""
        offset, error = host.offset.estimate(time.monotonic_ns())
        return {"wall": offset + self._wall_offset()} if error < UNKNOWN_ERROR else {}

    def _wall_offset(self) -> int:
        return time.time_ns() - time.monotonic_ns()

    # --- what hosts say --------------------------------------------------------------------------------
    def read_record(self, clause: p.Clause, values: Any) -> tuple[Any, ...]:
        return self._readers[clause.index](values)

    def pack_key(self, fields: Sequence[p.Data], values: tuple[Any, ...]) -> bytes:
        return pack_key(fields, values, self._words)

    def add_probe(self, names: tuple[str, ...]) -> int:
        if names not in self._probe_ids:
            self._probe_ids[names] = self._consumer.add_probe(*names)
        return self._probe_ids[names]

    def take_events(self, host: Host, data: bytes) -> None:
        """A portion of its recording.  ValueError."""
        raise ValueError("events were not requested")

    def take_samples(self, host: Host, names: list[Any], rows: list[Any]) -> None:
        """Of profile-n, the same."""
        raise ValueError("samples were not requested")

    def keep_record(self, when: int, error: int, host: int, record: bytes) -> None:
        """host: the number of who made it, which may be behind a relay."""
        self._order.add_record(when, error, host, record, time.monotonic_ns())

    def merge_rows(self, definition: p.AggDef, rows: Any, host: Host) -> int:
        def packed(key: tuple[Any, ...]) -> bytes:
            host.note_names(key)
            return self.pack_key(definition.keys, key)

        return self._merged[definition.map].add_rows(rows, host.number, packed)

    def check_waiting(self, host: Host) -> None:
        """One more line of the host's waits.  Where those of all hosts take too much, the one with most is given up."""
        self._waiting = max(self._waiting, host.waiting_bytes)
        if (
            self._waiting * len(self._hosts) > _WAITING_LIMIT
            and sum(each.waiting_bytes for each in self._hosts) > _WAITING_LIMIT
        ):
            most, why = (
                max(self._hosts, key=lambda each: each.waiting_bytes),
                f"lines of epochs without an end take more than {_WAITING_LIMIT} bytes, most of them its",
            )
            if most is host:
                raise HostError(why)
            self._give_up_host(most, why)

    # --- running ---------------------------------------------------------------------------------------
    def begin(self) -> None:
        begun = time.monotonic_ns()
        self._fire_probe(BEGIN, begun)
        if not self.exiting:
            self._start_tracing()
            self._ticks = TickTimers(dict(self._periods.values()), begun)

    def _start_tracing(self) -> None:
        """The hosts begin, with clocks that are known."""
        self._next_ping = self._pinged = 0  # until now some did not listen
        self._await_hosts(
            lambda host: host.offset.estimate(time.monotonic_ns())[1] < UNKNOWN_ERROR,
            "does not tell its time",
        )
        for host in self._connected_hosts():
            self._call_host(host, lambda host: host.link.send("go", **self.wall_offset_of(host)))
        self._await_hosts(
            lambda host: host.state != OPENED and (host.state != RUNNING or host.epoch),
            "does not begin",
        )  # its probes are on

    def poll(self, timeout: float) -> bytes:
        if self._ticks is None:
            return self._take_records()
        deadline = time.monotonic_ns() + int(timeout * _SECOND)
        while True:
            due = self._ticks.next_due()
            now = time.monotonic_ns()
            if due and due[0] <= now:
                return self._run_tick(*due)
            self._receive_lines(min(deadline, due[0] if due else deadline) - now)
            if (
                (records := self._take_records() + self._release_records())
                or self.exiting
                or self.finished
                or time.monotonic_ns() >= deadline
            ):
                return records

    def catch_up(self, seconds: float) -> Iterator[bytes]:
        """As Engine's: each host ends its epoch, until all of them have come past the time of this call."""
        until = time.monotonic_ns() + _SETTLING
        deadline = time.monotonic_ns() + int(seconds * _SECOND)
        while not self.exiting and (left := deadline - time.monotonic_ns()) > 0:
            self._flush_epochs(left)
            records = self.poll(_SETTLING / _SECOND / 10)
            yield records
            have_come = all(host.complete_until >= until for host in self._tracing_hosts())
            if have_come and not records and not self._has_more:
                return

    def _run_tick(self, when: int, probe: int) -> bytes:
        if self._ticks_read:
            self._flush_epochs()
        records = self._take_records() + self._release_records(when)
        self._fire_probe(probe, when)
        assert self._ticks
        self._ticks.advance(probe, time.monotonic_ns())
        return records + self._take_records()

    def _flush_epochs(self, timeout: int = _FLUSH_TIMEOUT) -> None:
        """What the hosts have counted up to now is here, or who is late is reported."""
        self._flush_number += 1
        number = self._flush_number
        asked = set(self._tracing_hosts())
        for host in asked:
            self._call_host(host, lambda host: host.link.send("flush", id=number))
        for host in self._await_hosts(
            lambda host: host not in asked or host.state != RUNNING or host.flushed >= number,
            "",
            timeout,
            give_up=False,
        ):
            if not host.late:
                self._messages.append(
                    f"{host.name} is late: what is shown lacks {host.missing_counts}"
                )
            host.late = True
        for host in asked:
            host.late = host.state == RUNNING and host.flushed < number

    def _release_records(self, until: int | None = None) -> bytes:
        """The records that are in order; where one of them reads aggregations these are brought up to date before."""
        now = time.monotonic_ns()
        come = min((host.complete_until for host in self._tracing_hosts()), default=now)
        if self._order.held_bytes > _HELD_LIMIT:
            come = now
        records = self._order.release_records(come if until is None else min(come, until), now)
        self._react_to_records(records)
        return records

    def _react_to_records(self, records: bytes) -> None:
        clauses = (
            {clause & ~p.RECORD_FLAGS for _, clause, *_ in iter_records(records)}
            if self._reading_clauses or self._exit_clauses
            else set()
        )
        if clauses & self._exit_clauses:
            self._exit_seen = True
        if clauses & self._reading_clauses:
            self._flush_epochs()

    def warnings(self) -> list[str]:
        said, self._messages = self._messages, []
        for host in self._hosts:
            said += [f"{host.name}: {text}" for text in host.messages]
            host.messages = []
            for kind, count in host.drops.items():
                new = count - host.reported_drops.get(kind, 0)
                if new:
                    host.reported_drops[kind] = count
                    said.append(f"{host.name}: {format_drops(kind, new)}")
        said += self._silence_warnings()
        if self._has_ended and self._order.unsure > self._reported_unsure:
            self._reported_unsure = self._order.unsure
            said.append(
                f"{self._order.unsure} time{'' if self._order.unsure == 1 else 's'} the order of two {self.ordered_noun} of different "
                "hosts is not certain: their clocks are not known so well"
            )
        return said

    def _silence_warnings(self) -> list[str]:
        """Hosts that have said nothing for long, once each time."""
        now, said = time.monotonic_ns(), []
        for host in self._tracing_hosts():
            silent = now - host.heard_at > _SILENCE
            if silent != host.silent:
                host.silent = silent
                said.append(
                    f"{host.name} has said nothing for {_SILENCE // _SECOND} s: missing is {host.missing_counts}"
                    if silent
                    else f"{host.name} answers again"
                )
        return said

    def end(self) -> bytes:
        self._ends_at = time.monotonic_ns()
        self._reconnects.stop_retrying()
        for host in self._hosts:
            if host.joins_late and host.state in (LOST, STARTING, OPENED):
                self._disconnect(host, GIVEN_UP)
                self._messages += [
                    f"{host.name} did not come back: its {host.missing_counts}"
                ] * host.has_begun
        for host in self._connected_hosts():
            self._call_host(host, lambda host: host.link.send("stop"))
        return self.drain_end()

    def _await_ends(self) -> bytes:
        """What has to go out before all hosts have ended, or b"".  Those that take longer than -x hostwait are given up."""
        while self._connected_hosts() and time.monotonic_ns() < self._ends_at + self._host_timeout:
            self._receive_lines(_SECOND // 20)
            if self._held_bytes() > _HELD_LIMIT and (records := self._release_records()):
                return records
        for host in self._connected_hosts():
            self._give_up_host(host, "does not end")
        return b""

    def drain_end(self) -> bytes:
        if self._has_ended:
            return b""
        if records := self._await_ends():
            return records
        self._has_ended = True
        records = self._take_records() + self._order.release_records(1 << 64, 0)
        self._fire_probe(END, max(self._ends_at, time.monotonic_ns()))
        return records + self._take_records()

    def close(self) -> None:
        links = [host.link for host in self._hosts if host.link]
        for link in links:
            link.disconnect()  # all, before any is waited for
        for link in links:
            link.close()
        self._selector.close()

    @property
    def exiting(self) -> bool:
        return self._consumer.exiting or self._exit_seen

    @property
    def finished(self) -> bool:
        return all(host.state in (ENDED, GIVEN_UP) for host in self._hosts)

    def existed_at(self, pid: int, when: int) -> bool:
        """The processes are elsewhere."""
        return False

    @property
    def _event_source(self) -> Any:
        return None

    # --- aggregations -------------------------------------------------------------------------------------
    def _merge_local(self, map_index: int) -> MergedAggregation:
        """What was counted here goes to what the hosts have."""
        merged = self._merged[map_index]
        if here := super().items(map_index):
            merged.add_items(here)
            super().remove(map_index, [key for key, _ in here])
        return merged

    def items(self, map_index: int) -> list[tuple[bytes, bytes]]:
        found = self._merge_local(map_index).items()
        is_one = self.program.maps[map_index].kind == "percpu_array"
        return [(b"", value) for _, value in found if any(value[:8])] if is_one else found

    def clear(self, map_index: int) -> None:
        self._merge_local(map_index).clear()

    def remove(self, map_index: int, keys: list[bytes]) -> None:
        self._merge_local(map_index).remove(keys)

    def drops(self) -> dict[str, int]:
        total = super().drops()
        for kind in DROP_KINDS:
            total[kind] = total.get(kind, 0) + sum(host.drops[kind] for host in self._hosts)
        total["host"] += self._lost_counts
        return total

    def _count_drops(self) -> tuple[int, int]:
        return 0, self._order.late
