"""One host of many: its lines (docs/reference/json.md, schema 2), checked.

- Lines are untrusted. An impossible one raises HostError, and costs only this host.
- Epochs come one by one, and each counts once, when it is whole.
- Everything that a host can make grow has a bound.
"""

from __future__ import annotations

import base64
import struct
import time

from pydtrace.dtrace_text.runtime_errors import DROP_KINDS
from pydtrace.program import program as p
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import host_protocol, hostlist
from .clock_offset import UNKNOWN_ERROR, ClockOffset
from .connection import HostError, HostRefusal, parse_line
from .hostlist import MAX_HOSTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .connection import HostConnection
    from .engine import RemoteEngine

_MAX_PROBES = 10_000
_MAX_ROWS, _WAITING_LIMIT = 200_000, 32 << 20  # of deltas of an epoch; bytes of their lines
_PARSED_LIMIT = (
    1 << 20
)  # bytes of lines of which what they say waits, of the others the lines themselves
_MAX_FUNCTIONS, _NAMES_LIMIT = (
    10 * host_protocol.NAMES,
    32 << 20,
)  # names of functions in records and keys, for each host that it speaks for; their characters
_MAX_USELESS = 100_000  # lines that say nothing that counts
_MAX_ORIGINS = (
    2 * MAX_HOSTS**2
)  # numbers of hosts behind relays, of two levels: made of those of both
_MAX_MESSAGES = 200  # that it has sent
_HEADER = struct.Struct("=IIIIQII")
_FAULT = struct.Struct("=IIQ")
_LARGEST = (1 << 63) - 1
STARTING, OPENED, RUNNING, ENDED, GIVEN_UP, LOST = range(6)


class Host:
    """number: of the list; state; began: it has begun to trace, be it before its line broke; joins: it begins by itself, not with the others,
    since it was lost or has come later; behind: the hosts that it relays for, as people read them; until: no record before that time (ours) is
    to come; epoch: the next one; messages: texts for the user; drops: {kind: how many it has lost}.

    A line that breaks takes its incarnation along; connect_again() makes room for the next, whose epochs begin with 0.  What bounds a host bounds
    all of its incarnations together."""

    def __init__(
        self, name: str, number: int, engine: RemoteEngine, link: HostConnection | None
    ) -> None:
        self.name, self.number, self._engine = name, number, engine
        self.relayed_hosts = hostlist.fold_names(engine.hosts_behind(name))
        self.matched: list[int] = []
        self.messages: list[str] = []
        self.drops = dict.fromkeys(DROP_KINDS, 0)
        self.reported_drops: dict[str, int] = {}
        self.has_begun = self.joins_late = False
        self._counted_until = ""  # when, and by what, its last whole count ends
        self._names: set[str] = set()
        self._names_size = self._useless_lines = 0
        self._max_names = _MAX_FUNCTIONS * max(1, len(engine.hosts_behind(name)))
        self._named_probes: set[tuple[str, ...]] = set()
        self._message_count = 0
        self.connect_again(link)

    def connect_again(self, link: HostConnection | None) -> None:
        """Another incarnation; None: there is no line yet."""
        self.link: Any = link
        self.state = STARTING
        self.offset = ClockOffset()
        self.complete_until = self.epoch = self.flushed = 0
        self.heard_at = time.monotonic_ns()  # of a line
        self._pings: dict[int, int] = {}
        self._probes: dict[int, int] = {}  # ours by its
        self._pending: list[
            tuple[Any, Any]
        ] = []  # (definition, rows, or bytes that say them) of the epoch that is open
        self._rows = self.waiting_bytes = 0
        self.late = self.silent = False  # as reported to the user
        self._is_back = (
            False  # until its first epoch says that its probes are enabled, which is reported
        )

    @property
    def missing_counts(self) -> str:
        """What of its counts is not known here."""
        found = (
            f"what it has counted since {self._counted_until}"
            if self._counted_until
            else "all that it has counted"
        )
        return f"{found}, for {self.relayed_hosts}" if self.relayed_hosts else found

    # --- what it is asked ---------------------------------------------------------------------------
    def send_ping(self) -> None:
        number = len(self._pings) and max(self._pings) + 1
        if len(self._pings) < 64:
            self._pings[number] = time.monotonic_ns()
            self.link.send("ping", id=number, **self._engine.wall_offset_of(self))

    # --- what it says --------------------------------------------------------------------------------
    def take_lines(self) -> None:
        """All that has come.  HostError."""
        for text in self.link.receive():
            line = parse_line(text)
            self.heard_at = time.monotonic_ns()
            if line["type"] == "delta":
                self._await_epoch(text)
            does = _HANDLERS.get(line["type"])
            if does is None:
                raise HostError(f"a line of type {escape_for_terminal(line['type'][:40])!r}")
            try:
                does(self, line)
            except (
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
                OverflowError,
                struct.error,
                LookupError,
            ) as error:
                raise HostError(
                    f"a line of type {line['type']!r} that is none: {escape_for_terminal(str(error)[:200])}"
                ) from None
        for text in self.link.read_stderr():
            self._add_message(text)

    def _add_message(self, text: str) -> None:
        self._message_count += 1
        self._count_useless()
        if self._message_count <= _MAX_MESSAGES:
            self.messages.append(
                escape_for_terminal(text[:1000].rstrip("\r"))
            )  # ssh ends its lines so
        elif self._message_count == _MAX_MESSAGES + 1:
            self.messages.append("it tells more, which is left out")

    def _count_useless(self) -> None:
        self._useless_lines += 1
        if self._useless_lines > _MAX_USELESS:
            raise HostError("it says too much that means nothing")

    def _on_opened(self, line: dict[str, Any]) -> None:
        counts = line["matched"]
        if self.state != STARTING or len(counts) != len(self._engine.descriptions):
            raise ValueError("of another script")
        self.matched = [_check_natural(count) for count in counts]
        self.state = OPENED
        if self.joins_late:
            self.send_ping()

    def _on_refused(self, line: dict[str, Any]) -> None:
        raise HostRefusal(escape_for_terminal(str(line["why"])[:1000]))

    def _on_hello(self, line: dict[str, Any]) -> None:
        if self.state != OPENED or line["schema"] != 2:
            raise ValueError("out of place, or of another schema")
        known = self._engine.program.aggregations
        if [each["name"] for each in line["aggregations"]] != [each.name for each in known]:
            raise ValueError("it has other aggregations: is it another version of pyusdt?")
        self._engine.host_began(self)
        self._is_back, self.state, self.has_begun = self.has_begun, RUNNING, True

    def _on_pong(self, line: dict[str, Any]) -> None:
        sent = self._pings.pop(line["id"], None)
        if sent is None:
            self._count_useless()
        if sent is not None:
            self.offset.add_sample(sent, _check_natural(line["time"]), self.heard_at)
            if self.state == OPENED and self.joins_late:
                self.complete_until = self.heard_at
                self.link.send("go", **self._engine.wall_offset_of(self))

    def _on_probe(self, line: dict[str, Any]) -> None:
        names = line["names"]
        if (
            len(names) != 4
            or len(self._probes) >= _MAX_PROBES
            or len(self._named_probes) >= _MAX_PROBES
        ):
            raise ValueError("not four names, or too many probes")
        for name in names:
            if name.__class__ is not str or len(name.encode()) > 120 or not name.isprintable():
                raise ValueError("no name")
        self._named_probes.add(tuple(names))
        self._probes[_check_natural(line["id"])] = self._engine.add_probe(tuple(names))

    def _on_record(self, line: dict[str, Any]) -> None:
        clause = self._engine.host_clauses.get(line["clause"])
        if clause is None or not clause.record_size:
            raise ValueError("of a clause that hosts do not have")
        values = self._engine.read_record(clause, line["values"])
        self.note_names(values)
        size = clause.record_size
        record = bytearray(size)
        packed = self._engine.pack_key(host_protocol.data_of(clause), values)
        record[p.RECORD_DATA : size] = packed[p.RECORD_DATA : size].ljust(
            size - p.RECORD_DATA, b"\0"
        )
        assert clause.index is not None
        self._keep_record(line, clause.index, record)

    def _on_fault(self, line: dict[str, Any]) -> None:
        if line["clause"] not in self._engine.host_clauses:
            raise ValueError("of a clause that hosts do not have")
        record = bytearray(p.FAULT_RECORD_SIZE)
        _FAULT.pack_into(record, p.FAULT_KIND, line["kind"], line["pc"], line["value"])
        self._keep_record(line, line["clause"] | p.RECORD_FAULT, record)

    def _keep_record(self, line: dict[str, Any], clause: int, record: bytearray) -> None:
        """A record is whole but for its header."""
        offset, error = self.offset.estimate(self.heard_at)
        when = min(
            max(0, _check_natural(line["time"]) + offset), self.heard_at
        )  # nothing is of a time to come
        _HEADER.pack_into(
            record,
            0,
            len(record),
            clause,
            self._probes[line["probe"]],
            line["cpu"],
            when,
            line["pid"],
            line["tid"],
        )
        who = self.number
        if (
            "origin" in line
        ):  # of a host behind it, whose records come in no order with those of others
            who += (1 + min(_check_natural(line["origin"]), _MAX_ORIGINS)) * MAX_HOSTS
            error += _check_natural(line["error"])
        else:
            self._advance_until(when)
        self._engine.keep_record(when, error, who, bytes(record))

    def _advance_until(self, when: int) -> None:
        self.complete_until = max(self.complete_until, when)

    def _on_events(self, line: dict[str, Any]) -> None:
        self._engine.take_events(self, base64.b64decode(line["data"], validate=True))

    def _on_samples(self, line: dict[str, Any]) -> None:
        self._engine.take_samples(self, line["names"], line["rows"])

    def note_names(self, values: tuple[Any, ...]) -> None:
        """Names of functions stay: a host has not any number of them.  values: of a record or a key."""
        for value in values:
            if value.__class__ is str or value.__class__ is tuple:
                for text in (value,) if value.__class__ is str else value:
                    if not self._intern_name(text, self._max_names):
                        raise ValueError("too many names of functions")

    def can_name(self, text: str) -> bool:
        """There is room for one more name of a sample's frame."""
        return self._intern_name(text, host_protocol.NAMES)

    def _intern_name(self, text: str, most: int) -> bool:
        if text not in self._names and len(self._names) < most and self._names_size < _NAMES_LIMIT:
            self._names.add(text)
            self._names_size += len(text)
        return text in self._names

    def drop_epoch(self) -> None:
        """What waits for the end of an epoch will never count."""
        self._pending, self.waiting_bytes = [], 0

    # --- epochs ---------------------------------------------------------------------------------------
    def _await_epoch(self, text: bytes) -> None:
        """A line of a delta waits, until its epoch is whole."""
        self.waiting_bytes += len(text)
        if self.waiting_bytes > _WAITING_LIMIT:
            raise HostError(f"an epoch of more than {_WAITING_LIMIT} bytes")
        self._line = text
        self._engine.check_waiting(self)

    def _on_delta(self, line: dict[str, Any]) -> None:
        definition = self._engine.definitions[line["name"]]
        if (line["function"], line["params"]) != (
            definition.row.function_name,
            list(definition.params or ()),
        ):
            raise ValueError("of another function")
        if _check_natural(line["epoch"]) != self.epoch:
            raise ValueError(f"of epoch {line['epoch']}, where {self.epoch} is open")
        self._rows += len(line["rows"])
        if self._rows > _MAX_ROWS:
            raise ValueError("an epoch of too many rows")
        self._pending.append(
            (definition, line["rows"] if self.waiting_bytes <= _PARSED_LIMIT else self._line)
        )

    def _on_heartbeat(self, line: dict[str, Any]) -> None:
        """An epoch is whole: it counts."""
        if _check_natural(line["epoch"]) != self.epoch:
            raise ValueError(f"of epoch {line['epoch']}, where {self.epoch} is open")
        if self._is_back:
            self._is_back = False
            self._engine.host_returned(self)
        pending, self._pending, self._rows, self.waiting_bytes = self._pending, [], 0, 0
        for definition, waited in pending:
            rows = parse_line(waited)["rows"] if waited.__class__ is bytes else waited
            self.drops["aggregation"] += self._engine.merge_rows(definition, rows, self)
        self.epoch += 1
        self._counted_until = f"{time.strftime('%H:%M:%S')}, the end of its epoch {self.epoch - 1}"
        self.flushed = max(self.flushed, _check_natural(line.get("flush", 0)))
        offset, error = self.offset.estimate(self.heard_at)
        if error < UNKNOWN_ERROR:
            self._advance_until(min(_check_natural(line["time"]) + offset, self.heard_at))
        self.link.send("ack", epoch=self.epoch - 1)

    # --- the rest -------------------------------------------------------------------------------------
    def _on_drops(self, line: dict[str, Any]) -> None:
        self.drops[line["kind"]] = min(
            _LARGEST, self.drops[line["kind"]] + _check_natural(line["count"])
        )

    def _on_notice(self, line: dict[str, Any]) -> None:
        self._add_message(str(line["text"]))

    def _on_text(self, line: dict[str, Any]) -> None:
        """What no clause of a host prints by itself."""
        self._count_useless()

    def _on_exit(self, line: dict[str, Any]) -> None:
        if _check_natural(line["epochs"]) != self.epoch:
            raise ValueError("epochs are missing")
        self.state = ENDED


def _check_natural(value: Any) -> int:
    if value.__class__ is not int or not 0 <= value <= _LARGEST:
        raise ValueError("no number")
    return int(value)


_HANDLERS: dict[str, Any] = {
    "opened": Host._on_opened,
    "refused": Host._on_refused,
    "hello": Host._on_hello,
    "pong": Host._on_pong,
    "probe": Host._on_probe,
    "record": Host._on_record,
    "fault": Host._on_fault,
    "events": Host._on_events,
    "samples": Host._on_samples,
    "delta": Host._on_delta,
    "heartbeat": Host._on_heartbeat,
    "drops": Host._on_drops,
    "notice": Host._on_notice,
    "text": Host._on_text,
    "exit": Host._on_exit,
}
