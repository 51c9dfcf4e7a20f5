# mypy: ignore-errors
"""One host of many: what its lines say (docs/guide/json.md, schema 2), checked.

In: lines, of which nothing is believed.  Out: records by the coordinator's clock, deltas that are whole epochs, losses, texts.
Always: a line that can not be is a Broken, and costs this host alone; epochs count one by one, and each once; what a host may make
grow has a bound.
"""

from __future__ import annotations

import base64
import struct
import time

from pydtrace.dtrace_text.runtime_errors import KINDS
from pydtrace.program import program as p
from pydtrace.untrusted.terminal_escape import harmless

from . import host_protocol, hostlist
from .clock_offset import UNKNOWN, Offset
from .connection import Broken, Refused, parsed
from .hostlist import MOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .connection import Link
    from .engine import RemoteEngine

_PROBES = 10_000
_ROWS, _WAITING = 200_000, 32 << 20  # of deltas of an epoch; bytes of their lines
_AT_HAND = (
    1 << 20
)  # bytes of lines of which what they say waits, of the others the lines themselves
_FUNCTIONS, _NAMED = (
    10 * host_protocol.NAMES,
    32 << 20,
)  # names of functions in records and keys, for each host that it speaks for; their characters
_USELESS = 100_000  # lines that say nothing that counts
_ORIGINS = 2 * MOST**2  # numbers of hosts behind relays, of two levels: made of those of both
_TEXTS = 200  # that it has told
_HEADER = struct.Struct("=IIIIQII")
_FAULT = struct.Struct("=IIQ")
_LARGEST = (1 << 63) - 1
STARTING, OPENED, RUNNING, OVER, GONE, AWAY = range(6)


class Host:
    """number: of the list; state; began: it has begun to trace, be it before its line broke; joins: it begins by itself, not with the others,
    since it was lost or has come later; behind: the hosts that it relays for, as people read them; until: no record before that time (ours) is
    to come; epoch: the next one; told: texts for the user; drops: {kind: how many it has lost}.

    A line that breaks takes its incarnation along; again() makes room for the next, whose epochs begin with 0.  What bounds a host bounds
    all of its incarnations together."""

    def __init__(self, name: str, number: int, engine: RemoteEngine, link: Link | None) -> None:
        self.name, self.number, self._engine = name, number, engine
        self.behind = hostlist.folded(engine.behind(name))
        self.matched: list[int] = []
        self.told: list[str] = []
        self.drops = dict.fromkeys(KINDS, 0)
        self.drops_told: dict[str, int] = {}
        self.began = self.joins = False
        self._since = ""  # when, and by what, its last whole count ends
        self._names: set[str] = set()
        self._named_size = self._useless = 0
        self._functions = _FUNCTIONS * max(1, len(engine.behind(name)))
        self._named: set[tuple[str, ...]] = set()
        self._said = 0
        self.again(link)

    def again(self, link: Link | None) -> None:
        """Another incarnation; None: there is no line yet."""
        self.link: Any = link
        self.state = STARTING
        self.offset = Offset()
        self.until = self.epoch = self.flushed = 0
        self.heard = time.monotonic_ns()  # of a line
        self._pings: dict[int, int] = {}
        self._probes: dict[int, int] = {}  # ours by its
        self._pending: list[
            tuple[Any, Any]
        ] = []  # (definition, rows, or bytes that say them) of the epoch that is open
        self._rows = self.waits = 0
        self.late = self.silent = False  # as the user was told
        self._is_back = False  # until its first epoch says that its probes are on, which is told

    @property
    def missing(self) -> str:
        """What of its counts is not known here."""
        found = (
            f"what it has counted since {self._since}" if self._since else "all that it has counted"
        )
        return f"{found}, for {self.behind}" if self.behind else found

    # --- what it is asked ---------------------------------------------------------------------------
    def ping(self) -> None:
        number = len(self._pings) and max(self._pings) + 1
        if len(self._pings) < 64:
            self._pings[number] = time.monotonic_ns()
            self.link.send("ping", id=number, **self._engine.wall_of(self))

    # --- what it says --------------------------------------------------------------------------------
    def take(self) -> None:
        """All that has come.  Broken."""
        for text in self.link.receive():
            line = parsed(text)
            self.heard = time.monotonic_ns()
            if line["type"] == "delta":
                self._await_epoch(text)
            does = _DOES.get(line["type"])
            if does is None:
                raise Broken(f"a line of type {harmless(line['type'][:40])!r}")
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
                raise Broken(
                    f"a line of type {line['type']!r} that is none: {harmless(str(error)[:200])}"
                ) from None
        for text in self.link.said():
            self._tell(text)

    def _tell(self, text: str) -> None:
        self._said += 1
        self._count_useless()
        if self._said <= _TEXTS:
            self.told.append(harmless(text[:1000].rstrip("\r")))  # ssh ends its lines so
        elif self._said == _TEXTS + 1:
            self.told.append("it tells more, which is left out")

    def _count_useless(self) -> None:
        self._useless += 1
        if self._useless > _USELESS:
            raise Broken("it says too much that means nothing")

    def _opened(self, line: dict[str, Any]) -> None:
        counts = line["matched"]
        if self.state != STARTING or len(counts) != len(self._engine.descriptions):
            raise ValueError("of another script")
        self.matched = [_natural(count) for count in counts]
        self.state = OPENED
        if self.joins:
            self.ping()

    def _refused(self, line: dict[str, Any]) -> None:
        raise Refused(harmless(str(line["why"])[:1000]))

    def _hello(self, line: dict[str, Any]) -> None:
        if self.state != OPENED or line["schema"] != 2:
            raise ValueError("out of place, or of another schema")
        known = self._engine.program.aggregations
        if [each["name"] for each in line["aggregations"]] != [each.name for each in known]:
            raise ValueError("it has other aggregations: is it another version of pyusdt?")
        self._engine.began(self)
        self._is_back, self.state, self.began = self.began, RUNNING, True

    def _pong(self, line: dict[str, Any]) -> None:
        sent = self._pings.pop(line["id"], None)
        if sent is None:
            self._count_useless()
        if sent is not None:
            self.offset.sample(sent, _natural(line["time"]), self.heard)
            if self.state == OPENED and self.joins:
                self.until = self.heard
                self.link.send("go", **self._engine.wall_of(self))

    def _probe(self, line: dict[str, Any]) -> None:
        names = line["names"]
        if len(names) != 4 or len(self._probes) >= _PROBES or len(self._named) >= _PROBES:
            raise ValueError("not four names, or too many probes")
        for name in names:
            if name.__class__ is not str or len(name.encode()) > 120 or not name.isprintable():
                raise ValueError("no name")
        self._named.add(tuple(names))
        self._probes[_natural(line["id"])] = self._engine.probe_of(tuple(names))

    def _record(self, line: dict[str, Any]) -> None:
        clause = self._engine.clauses_there.get(line["clause"])
        if clause is None or not clause.record_size:
            raise ValueError("of a clause that hosts do not have")
        values = self._engine.read_record(clause, line["values"])
        self.note_names(values)
        size = clause.record_size
        record = bytearray(size)
        packed = self._engine.pack(host_protocol.data_of(clause), values)
        record[p.RECORD_DATA : size] = packed[p.RECORD_DATA : size].ljust(
            size - p.RECORD_DATA, b"\0"
        )
        self._keep(line, clause.index, record)

    def _fault(self, line: dict[str, Any]) -> None:
        if line["clause"] not in self._engine.clauses_there:
            raise ValueError("of a clause that hosts do not have")
        record = bytearray(p.FAULT_RECORD_SIZE)
        _FAULT.pack_into(record, p.FAULT_KIND, line["kind"], line["pc"], line["value"])
        self._keep(line, line["clause"] | p.RECORD_FAULT, record)

    def _keep(self, line: dict[str, Any], clause: int, record: bytearray) -> None:
        """A record is whole but for its header."""
        offset, error = self.offset.at(self.heard)
        when = min(
            max(0, _natural(line["time"]) + offset), self.heard
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
            who += (1 + min(_natural(line["origin"]), _ORIGINS)) * MOST
            error += _natural(line["error"])
        else:
            self._come(when)
        self._engine.keep(when, error, who, bytes(record))

    def _come(self, when: int) -> None:
        self.until = max(self.until, when)

    def _events(self, line: dict[str, Any]) -> None:
        self._engine.take_events(self, base64.b64decode(line["data"], validate=True))

    def _samples(self, line: dict[str, Any]) -> None:
        self._engine.take_samples(self, line["names"], line["rows"])

    def note_names(self, values: tuple[Any, ...]) -> None:
        """Names of functions stay: a host has not any number of them.  values: of a record or a key."""
        for value in values:
            if value.__class__ is str or value.__class__ is tuple:
                for text in (value,) if value.__class__ is str else value:
                    if not self._keeps(text, self._functions):
                        raise ValueError("too many names of functions")

    def may_name(self, text: str) -> bool:
        """There is room for one more name of a sample's frame."""
        return self._keeps(text, host_protocol.NAMES)

    def _keeps(self, text: str, most: int) -> bool:
        if text not in self._names and len(self._names) < most and self._named_size < _NAMED:
            self._names.add(text)
            self._named_size += len(text)
        return text in self._names

    def forget(self) -> None:
        """What waits for the end of an epoch will never count."""
        self._pending, self.waits = [], 0

    # --- epochs ---------------------------------------------------------------------------------------
    def _await_epoch(self, text: bytes) -> None:
        """A line of a delta waits, until its epoch is whole."""
        self.waits += len(text)
        if self.waits > _WAITING:
            raise Broken(f"an epoch of more than {_WAITING} bytes")
        self._line = text
        self._engine.share_waiting(self)

    def _delta(self, line: dict[str, Any]) -> None:
        definition = self._engine.definitions[line["name"]]
        if (line["function"], line["params"]) != (
            definition.row.called,
            list(definition.params or ()),
        ):
            raise ValueError("of another function")
        if _natural(line["epoch"]) != self.epoch:
            raise ValueError(f"of epoch {line['epoch']}, where {self.epoch} is open")
        self._rows += len(line["rows"])
        if self._rows > _ROWS:
            raise ValueError("an epoch of too many rows")
        self._pending.append((definition, line["rows"] if self.waits <= _AT_HAND else self._line))

    def _heartbeat(self, line: dict[str, Any]) -> None:
        """An epoch is whole: it counts."""
        if _natural(line["epoch"]) != self.epoch:
            raise ValueError(f"of epoch {line['epoch']}, where {self.epoch} is open")
        if self._is_back:
            self._is_back = False
            self._engine.is_back(self)
        pending, self._pending, self._rows, self.waits = self._pending, [], 0, 0
        for definition, waited in pending:
            rows = parsed(waited)["rows"] if waited.__class__ is bytes else waited
            self.drops["aggregation"] += self._engine.merge(definition, rows, self)
        self.epoch += 1
        self._since = f"{time.strftime('%H:%M:%S')}, the end of its epoch {self.epoch - 1}"
        self.flushed = max(self.flushed, _natural(line.get("flush", 0)))
        offset, error = self.offset.at(self.heard)
        if error < UNKNOWN:
            self._come(min(_natural(line["time"]) + offset, self.heard))
        self.link.send("ack", epoch=self.epoch - 1)

    # --- the rest -------------------------------------------------------------------------------------
    def _drops(self, line: dict[str, Any]) -> None:
        self.drops[line["kind"]] = min(_LARGEST, self.drops[line["kind"]] + _natural(line["count"]))

    def _notice(self, line: dict[str, Any]) -> None:
        self._tell(str(line["text"]))

    def _text(self, line: dict[str, Any]) -> None:
        """What no clause of a host prints by itself."""
        self._count_useless()

    def _exit(self, line: dict[str, Any]) -> None:
        if _natural(line["epochs"]) != self.epoch:
            raise ValueError("epochs are missing")
        self.state = OVER


def _natural(value: Any) -> int:
    if value.__class__ is not int or not 0 <= value <= _LARGEST:
        raise ValueError("no number")
    return int(value)


_DOES: dict[str, Any] = {
    "opened": Host._opened,
    "refused": Host._refused,
    "hello": Host._hello,
    "pong": Host._pong,
    "probe": Host._probe,
    "record": Host._record,
    "fault": Host._fault,
    "events": Host._events,
    "samples": Host._samples,
    "delta": Host._delta,
    "heartbeat": Host._heartbeat,
    "drops": Host._drops,
    "notice": Host._notice,
    "text": Host._text,
    "exit": Host._exit,
}
