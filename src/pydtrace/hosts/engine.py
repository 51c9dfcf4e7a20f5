# mypy: ignore-errors
"""The engine of many hosts: each traces by itself, and here is what they count and record made one.

In: a compiled program; options["hosts"], a request.Request: who they are, how they are reached, the script.  Out: the records of
all, in order; aggregations merged.
Always: hosts run the clauses of what fires on them, and send what came of it (docs/guide/json.md, schema 2); BEGIN, END, ticks, and what
reads or changes whole aggregations run here, on what is merged.  Nothing that a host says is believed (host_messages.py); a host that is gone,
late or wrong is told by its name, and the others go on.  One whose line breaks is tried again, as another incarnation (reconnect.py).
"""

from __future__ import annotations

import contextlib
import selectors
import time

from pydtrace.dtrace_text.runtime_errors import KINDS, drop_line
from pydtrace.engine import BEGIN, END, EngineError, language_frames
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.engine.tick_timers import Ticks
from pydtrace.program import program as p
from pydtrace.results.aggregations import pack_key
from pydtrace.results.records import split
from pydtrace.symbols.name_interning import Names
from pydtrace.untrusted.terminal_escape import harmless

from . import host_protocol, placement
from .clock_offset import UNKNOWN
from .connection import Broken, Refused
from .host_messages import AWAY, GONE, OPENED, OVER, RUNNING, STARTING, Host
from .hostlist import MOST
from .merged_aggregations import Merged
from .reconnect import Returns
from .record_order import Order
from .request import leaves

_SECOND = 1_000_000_000
_PATIENCE = 30 * _SECOND  # how long a host may take to answer: -x hostwait
RETRY = 600 * _SECOND  # how long one that was lost is tried again: -x hostretry
_LAG = 2 * _SECOND  # a record waits so long for hosts that say nothing
_FLUSH = 1 * _SECOND  # a tick waits so long for the hosts' epoch
_PINGS = (_SECOND // 10, 5 * _SECOND)  # between two, at first and then
_SURE = 5  # pings
_SILENT = 5 * _SECOND
_FEW = 5  # hosts that an error names
_HELD = (
    64 << 20
)  # bytes of what waits for its order: beyond it some goes out, and beyond twice as much nothing more is read
_WAITING = 256 << 20  # bytes of lines of all hosts that wait for the end of their epochs
_DRIP = 0.005  # s to wait where small parts of lines are all that came, so that a line that never ends costs little


class _Words(Names):
    """The names of the hosts' functions, as the engine's frames."""

    def __init__(self, word):
        super().__init__()
        self._number = word


class RemoteEngine(EmbeddedEngine):
    name = "remote"
    what_is_ordered = "records"
    _can_sample = False

    def __init__(self, program, options):
        super().__init__(program, options)
        self._request = options["hosts"]
        self._names = language_frames.Names(
            MOST * host_protocol.NAMES
        )  # host_messages.py has the bound of each
        self.cpu = None  # that of a loss is not told
        self.descriptions = self._descriptions()
        self.definitions = {each.name: each for each in program.aggregations}
        self.clauses_there = {
            each.index: each
            for each in program.clauses
            if placement.THERE in placement.of_clause(each.probes)
        }
        self._readers = {
            index: host_protocol.reader(host_protocol.data_of(each))
            for index, each in self.clauses_there.items()
        }
        self._words = _Words(self.frame_word)
        self._waiting = 0  # the most that lines of a host have waited
        self._merged = {
            each.map: Merged(each, program.maps[each.map].entries) for each in program.aggregations
        }
        self._order = Order(_LAG)
        self._hosts = []
        self._selector = selectors.DefaultSelector()
        self._patience = options.get("hostwait") or _PATIENCE
        self._returns = Returns(options.get("hostretry", RETRY), self._patience)
        self._flush_number = 0
        self._next_ping = self._pinged = 0
        self._exit_seen = False
        self._texts = []
        self._probe_ids = {}
        self._told_unsure = 0
        self._losses = 0  # how often what a host had counted beyond its last epoch was lost
        self._reading = {
            each.index for each in program.clauses if any(action.args for action in each.actions)
        }
        self._ending = {
            each.index
            for each in program.clauses
            if any(action.row.ends for action in each.actions)
        }
        self._ticks_read = any(
            each.index in self._reading
            for each in program.clauses
            if any(desc.name in self._periods for desc in each.probes)
        )

    # --- finding --------------------------------------------------------------------------------------
    def open(self, targets):
        for name in self._request.names:
            self._add(name)
        self._await(lambda host: host.state != STARTING, "does not answer")
        self.notes += self._texts
        self._texts = []
        if not self._living():
            raise EngineError("; ".join(self.notes[:_FEW]) or "no host answers")
        own = [self._consumer.probe(i + 1) for i in range(self._consumer.probes())]
        for at, desc in enumerate(self.descriptions):
            count = sum(host.matched[at] for host in self._living())
            self.matched.append((desc, count or self._own_count(desc, own)))

    def _own_count(self, desc, own):
        from pydtrace import _tracer

        if placement.HERE not in placement.of_description(desc):
            return 0
        return sum(
            all(map(_tracer.glob, (desc.provider, desc.module, desc.function, desc.name), probe))
            for probe in own
        )

    def _add(self, name):
        try:
            link = self._request.link(name)
        except OSError as error:
            raise EngineError(f"failed to start {self._request.via[0]}: {error.strerror}") from None
        host = Host(name, len(self._hosts), self, link)
        self._hosts.append(host)
        self._connected(host)
        return host

    def behind(self, name):
        """The hosts that one relays for."""
        return leaves(self._request.behind.get(name, []))

    def _connected(self, host):
        self._selector.register(host.link.out, selectors.EVENT_READ, host)
        self._ask(
            host,
            lambda host: host.link.send(
                "trace", **self._request.sent_to(host.name, self._patience, self._returns.lasts)
            ),
        )

    def _living(self):
        """Those that there is a line to."""
        return [host for host in self._hosts if host.state not in (OVER, GONE, AWAY)]

    def _running(self):
        """Those that trace."""
        return [host for host in self._hosts if host.state == RUNNING]

    # --- lines ----------------------------------------------------------------------------------------
    def _ask(self, host, what):
        """Do something with a host, which is given up where that fails."""
        try:
            what(host)
        except Refused as error:
            if host.joins and not self._request.script["pids"]:
                self._failed(host, str(error))  # what it is to trace may come later than it
            else:
                self._give_up(host, str(error))
        except Broken as error:
            self._give_up(host, str(error))

    def _give_up(self, host, why):
        """No word of it is waited for any more."""
        self._losses += host.state == RUNNING and host.began
        self._hang_up(host, GONE)
        self._returns.forget(host)
        lost = f"; lost is {host.missing}" if host.began else ""
        self._texts.append(f"{host.name} is given up at {time.strftime('%H:%M:%S')}: {why}{lost}")

    def _hang_up(self, host, state):
        if host.state != AWAY:
            self._selector.unregister(host.link.out)
            host.link.close()
        host.forget()
        host.state = state
        self._texts += [f"{host.name}: {text}" for text in host.told]
        host.told = []

    # --- hosts that go and come back --------------------------------------------------------------------
    def _lose(self, host, why):
        """The line to one that traced has broken: what it had counted beyond its last whole epoch never counts, whatever it still does."""
        self._losses += 1
        self._hang_up(host, AWAY)
        self._returns.lost(host, time.monotonic_ns())
        host.joins = True
        self._texts.append(
            f"{host.name} is lost at {time.strftime('%H:%M:%S')}: {why}; lost is {host.missing}; it is tried again"
        )

    def _join(self):
        """Hosts that were not there at the beginning are as such that have gone, and never counted."""
        for name in self._request.come() if self._ticks else ():
            host = Host(name, len(self._hosts), self, None)
            host.state, host.joins = AWAY, True
            self._hosts.append(host)
            self._returns.lost(host, time.monotonic_ns())

    def _try_again(self):
        for host in self._returns.due(time.monotonic_ns()):
            if host.state != AWAY:
                self._failed(host, "it does not answer")
                continue
            try:
                host.again(self._request.link(host.name))
            except OSError as error:
                self._failed(host, f"failed to start {self._request.via[0]}: {error.strerror}")
            else:
                self._connected(host)

    def _failed(self, host, why):
        """A try; what was said at it is told where it is the last one."""
        said, host.told = host.told, []
        self._hang_up(host, AWAY)
        if not self._returns.failed(host, time.monotonic_ns()):
            self._give_up(host, f"it does not come back: {'; '.join([why, *said[-1:]])}")

    def is_back(self, host):
        """It counts from now on."""
        self._texts.append(
            f"{host.name} is back at {time.strftime('%H:%M:%S')}: lost is {host.missing}, up to now"
        )

    def began(self, host):
        """It begins to trace."""
        if host.joins:
            self._pinged = self._next_ping = (
                0  # how its clock stands is to be known as well as the others'
            )
            self._returns.is_back(host, time.monotonic_ns())

    def _listen(self, timeout):
        """Take what the hosts send, or nothing within so many ns."""
        self._ping()
        self._join()
        self._try_again()
        told = [key.data for key, _ in self._selector.select(max(0, timeout) / _SECOND)]
        ready = self._readable(told)
        if told and not ready:
            time.sleep(min(_DRIP, max(0, timeout) / _SECOND))
        for host in ready:
            self._ask(host, Host.take)
            if host.link.over and host.state not in (AWAY, GONE):
                self._hung_up(host)
        if ready and all(host.link.drips for host in ready):
            time.sleep(min(_DRIP, max(0, timeout) / _SECOND))
        for host in self._living():
            host.link.flush()

    def _held(self):
        """Bytes of what waits for its order."""
        return self._order.held

    def _readable(self, hosts):
        """Those of these hosts that are read now.  While too much waits here, the hosts have to wait."""
        return [] if self._held() > 2 * _HELD else hosts

    def _hung_up(self, host):
        if host.state == OVER:
            self._selector.unregister(host.link.out)
            host.link.close()
            return
        with contextlib.suppress(OSError):
            host.told += map(harmless, host.link.said())
        why = "the line to it is closed"
        if host.state != RUNNING and host.joins:
            self._failed(host, why)
        elif host.state == RUNNING and self._returns.lasts and not self._request.script["command"]:
            self._lose(host, why)
        else:
            self._give_up(host, why)

    def _ping(self):
        now = time.monotonic_ns()
        if now < self._next_ping:
            return
        self._pinged += 1
        self._next_ping = now + _PINGS[self._pinged > _SURE]
        for host in self._living():
            if host.state != STARTING:
                self._ask(host, Host.ping)

    def _await(self, is_so, what, patience=None, give_up=True):
        """Listen until it is so of all hosts that are there; those that take longer are given up."""
        deadline = time.monotonic_ns() + (patience or self._patience)
        while (left := deadline - time.monotonic_ns()) > 0 and not all(map(is_so, self._living())):
            self._listen(min(left, _SECOND // 20))
        late = [host for host in self._living() if not is_so(host)]
        for host in late if give_up else ():
            self._give_up(host, what)
        return late

    def wall_of(self, host):
        """What a host adds to its times for our wall clock, whatever its own says; for the lines to it.  {} where that is not known yet."""
        offset, error = host.offset.at(time.monotonic_ns())
        return {"wall": offset + self._wall()} if error < UNKNOWN else {}

    def _wall(self):
        return time.time_ns() - time.monotonic_ns()

    # --- what hosts say --------------------------------------------------------------------------------
    def read_record(self, clause, values):
        return self._readers[clause.index](values)

    def pack(self, fields, values):
        return pack_key(fields, values, self._words)

    def probe_of(self, names):
        if names not in self._probe_ids:
            self._probe_ids[names] = self._consumer.add_probe(*names)
        return self._probe_ids[names]

    def take_events(self, host, data):
        """A portion of its recording.  ValueError."""
        raise ValueError("nobody has asked for events")

    def take_samples(self, host, names, rows):
        """Of profile-n, the same."""
        raise ValueError("nobody has asked for samples")

    def keep(self, when, error, host, record):
        """host: the number of who made it, which may be behind a relay."""
        self._order.add(when, error, host, record, time.monotonic_ns())

    def merge(self, definition, rows, host):
        def packed(key):
            host.note_names(key)
            return self.pack(definition.keys, key)

        return self._merged[definition.map].add(rows, host.number, packed)

    def share_waiting(self, host):
        """One more line of the host's waits.  Where those of all hosts take too much, the one with most is given up."""
        self._waiting = max(self._waiting, host.waits)
        if (
            self._waiting * len(self._hosts) > _WAITING
            and sum(each.waits for each in self._hosts) > _WAITING
        ):
            most, why = (
                max(self._hosts, key=lambda each: each.waits),
                f"lines of epochs without an end take more than {_WAITING} bytes, most of them its",
            )
            if most is host:
                raise Broken(why)
            self._give_up(most, why)

    # --- running ---------------------------------------------------------------------------------------
    def begin(self):
        begun = time.monotonic_ns()
        self._fire(BEGIN, begun)
        if not self.exiting:
            self._go()
            self._ticks = Ticks(dict(self._periods.values()), begun)

    def _go(self):
        """The hosts begin, with clocks that are known."""
        self._next_ping = self._pinged = 0  # until now some did not listen
        self._await(
            lambda host: host.offset.at(time.monotonic_ns())[1] < UNKNOWN, "does not tell its time"
        )
        for host in self._living():
            self._ask(host, lambda host: host.link.send("go", **self.wall_of(host)))
        self._await(
            lambda host: host.state != OPENED and (host.state != RUNNING or host.epoch),
            "does not begin",
        )  # its probes are on

    def poll(self, timeout):
        if self._ticks is None:
            return self._consumer.take_records()
        deadline = time.monotonic_ns() + int(timeout * _SECOND)
        while True:
            due = self._ticks.next()
            now = time.monotonic_ns()
            if due and due[0] <= now:
                return self._at_tick(*due)
            self._listen(min(deadline, due[0] if due else deadline) - now)
            if (
                (records := self._consumer.take_records() + self._released())
                or self.exiting
                or self.finished
                or time.monotonic_ns() >= deadline
            ):
                return records

    def _at_tick(self, when, probe):
        if self._ticks_read:
            self._flush()
        records = self._consumer.take_records() + self._released(when)
        self._fire(probe, when)
        self._ticks.fired(probe, time.monotonic_ns())
        return records + self._consumer.take_records()

    def _flush(self):
        """What the hosts have counted up to now is here, or who is late is told."""
        self._flush_number += 1
        number = self._flush_number
        asked = set(self._running())
        for host in asked:
            self._ask(host, lambda host: host.link.send("flush", id=number))
        for host in self._await(
            lambda host: host not in asked or host.state != RUNNING or host.flushed >= number,
            "",
            _FLUSH,
            give_up=False,
        ):
            if not host.late:
                self._texts.append(f"{host.name} is late: what is shown lacks {host.missing}")
            host.late = True
        for host in asked:
            host.late = host.state == RUNNING and host.flushed < number

    def _released(self, until=None):
        """The records that are in order; where one of them reads aggregations these are brought up to date before."""
        now = time.monotonic_ns()
        come = min((host.until for host in self._running()), default=now)
        if self._order.held > _HELD:
            come = now
        records = self._order.release(come if until is None else min(come, until), now)
        self._look_into(records)
        return records

    def _look_into(self, records):
        clauses = (
            {clause & ~p.RECORD_FLAGS for _, clause, *_ in split(records)}
            if self._reading or self._ending
            else set()
        )
        if clauses & self._ending:
            self._exit_seen = True
        if clauses & self._reading:
            self._flush()

    def warnings(self):
        said, self._texts = self._texts, []
        for host in self._hosts:
            said += [f"{host.name}: {text}" for text in host.told]
            host.told = []
            for kind, count in host.drops.items():
                new = count - host.drops_told.get(kind, 0)
                if new:
                    host.drops_told[kind] = count
                    said.append(f"{host.name}: {drop_line(kind, new)}")
        said += self._silent()
        if self._ended and self._order.unsure > self._told_unsure:
            self._told_unsure = self._order.unsure
            said.append(
                f"{self._order.unsure} time{'' if self._order.unsure == 1 else 's'} the order of two {self.what_is_ordered} of different "
                "hosts is not certain: their clocks are not known so well"
            )
        return said

    def _silent(self):
        """Hosts that have said nothing for long, once each time."""
        now, said = time.monotonic_ns(), []
        for host in self._running():
            silent = now - host.heard > _SILENT
            if silent != host.silent:
                host.silent = silent
                said.append(
                    f"{host.name} has said nothing for {_SILENT // _SECOND} s: missing is {host.missing}"
                    if silent
                    else f"{host.name} answers again"
                )
        return said

    def end(self):
        self._ends_at = time.monotonic_ns()
        self._returns.stop()
        for host in self._hosts:
            if host.joins and host.state in (AWAY, STARTING, OPENED):
                self._hang_up(host, GONE)
                self._texts += [
                    f"{host.name} has not come back: lost is {host.missing}"
                ] * host.began
        for host in self._living():
            self._ask(host, lambda host: host.link.send("stop"))
        return self.more()

    def _await_ends(self):
        """What has to go out before all hosts have ended, or b"".  Those that take longer than -x hostwait are given up."""
        while self._living() and time.monotonic_ns() < self._ends_at + self._patience:
            self._listen(_SECOND // 20)
            if self._held() > _HELD and (records := self._released()):
                return records
        for host in self._living():
            self._give_up(host, "does not end")
        return b""

    def more(self):
        if self._ended:
            return b""
        if records := self._await_ends():
            return records
        self._ended = True
        records = self._consumer.take_records() + self._order.release(1 << 64, 0)
        self._fire(END, max(self._ends_at, time.monotonic_ns()))
        return records + self._consumer.take_records()

    def close(self):
        links = [host.link for host in self._hosts if host.link]
        for link in links:
            link.hang_up()  # all, before any is waited for
        for link in links:
            link.close()
        self._selector.close()

    @property
    def exiting(self):
        return self._consumer.exiting or self._exit_seen

    @property
    def finished(self):
        return all(host.state in (OVER, GONE) for host in self._hosts)

    def fired(self, pid, when):
        """The processes are elsewhere."""
        return False

    @property
    def _feed(self):
        return None

    # --- aggregations -------------------------------------------------------------------------------------
    def _up_to_date(self, map_index):
        """What was counted here goes to what the hosts have."""
        merged = self._merged[map_index]
        if here := super().items(map_index):
            merged.absorb(here)
            super().remove(map_index, [key for key, _ in here])
        return merged

    def items(self, map_index):
        found = self._up_to_date(map_index).items()
        is_one = self.program.maps[map_index].kind == "percpu_array"
        return [(b"", value) for _, value in found if any(value[:8])] if is_one else found

    def clear(self, map_index):
        self._up_to_date(map_index).clear()

    def remove(self, map_index, keys):
        self._up_to_date(map_index).remove(keys)

    def drops(self):
        total = super().drops()
        for kind in KINDS:
            total[kind] = total.get(kind, 0) + sum(host.drops[kind] for host in self._hosts)
        total["host"] += self._losses
        return total

    def _lost(self):
        return 0, self._order.late
