"""Records as the API shows them: what the data actions of one firing of a clause recorded.

The input is docs/internals/program.md's records; the output Record objects, the texts of faults,
and the actions that do something.

- Records are immutable. Integers are int, strings str (bytes where they are not UTF-8), stacks
  tuples of names, addresses that D names str, the values of print() plain data, other data bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydtrace.program import program as p
from pydtrace.program.fields import decode_text
from pydtrace.program.printf_format import PERCENT
from pydtrace.untrusted.terminal_escape import decode_source_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from pydtrace.program.program import Action, Clause, Program

_HEADER = struct.Struct("=IIIIQII")  # size, clause, probe, cpu, time, pid, tid
_LABEL = re.compile(r"([^\W\d]\w*)=\Z")


class Probe(NamedTuple):
    """The names of a probe."""

    provider: str
    module: str
    function: str
    name: str

    def __str__(self) -> str:
        return ":".join(self)


class Record(Sequence[Any]):
    """The values that one firing of a clause recorded: a sequence, `rec[0]`, `rec["arg2"]`, `for value in rec`.

    - probe: the probe (`.provider`, `.module`, `.function`, `.name`); time: ns since the machine started (CLOCK_MONOTONIC).
    - pid, tid, cpu: int; values: tuple; names: the name of each value. That is the word before `=` in printf's format
      (`"route=%s"`), or else the argument's text.
    - uncertain: True if its place among the records of other hosts is not certain (trace(hosts=…)).
    """

    __slots__ = ("_fields",)
    uncertain = False  # of pyusdt.trace(hosts=…): it may have been before records of other hosts that stand before it

    _fields: tuple[Probe, int, int, int, int, tuple[Any, ...], tuple[str, ...]]
    probe: Probe = property(lambda self: self._fields[0])  # type: ignore[assignment]
    time: int = property(lambda self: self._fields[1])  # type: ignore[assignment]
    pid: int = property(lambda self: self._fields[2])  # type: ignore[assignment]
    tid: int = property(lambda self: self._fields[3])  # type: ignore[assignment]
    cpu: int = property(lambda self: self._fields[4])  # type: ignore[assignment]
    values: tuple[Any, ...] = property(lambda self: self._fields[5])  # type: ignore[assignment]
    names: tuple[str, ...] = property(lambda self: self._fields[6])  # type: ignore[assignment]

    def __init__(self, *fields: Any) -> None:
        _set_fields(self, fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Record cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Record cannot be changed")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return self.values[self.names.index(key)]
            except ValueError:
                raise KeyError(
                    f"{key}: the record has {', '.join(self.names) or 'no values'}"
                ) from None
        return self.values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return True

    def __add__(self, other: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.values + tuple(other)

    def __eq__(self, other: object) -> bool:
        return self._fields == other._fields if isinstance(other, Record) else NotImplemented

    def __lt__(self, other: Record) -> bool:
        """Records are sorted by their time."""
        return self.time < other.time if isinstance(other, Record) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.probe, self.time, self.tid, self.cpu))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._fields

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self.names, self.values))
        return f"<{self.probe} pid={self.pid} {shown}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for example for JSON. The values are a list, since names may repeat."""
        found = {
            "probe": self.probe._asdict(),
            "time": self.time,
            "pid": self.pid,
            "tid": self.tid,
            "cpu": self.cpu,
            "names": list(self.names),
            "values": list(self.values),
        }
        return {**found, "uncertain": True} if self.uncertain else found


_set_fields: Any = Record._fields.__set__  # type: ignore[attr-defined]


class UncertainRecord(Record):
    """One whose place among those of other hosts is not certain."""

    __slots__ = ()
    uncertain = True


def iter_records(buffer: bytes) -> Iterator[tuple[bytes, int, int, int, int]]:
    """(record, clause, probe, pid, tid) for each of a buffer's; of a fault's the clause has a flag, of one whose order is not certain
    it has none."""
    at = 0
    while at < len(buffer):
        size, clause, probe, _, _, pid, tid = _HEADER.unpack_from(buffer, at)
        yield buffer[at : at + size], clause & ~p.RECORD_UNSURE, probe, pid, tid
        at += size


class Decoder:
    """Turns a program's records into Records.

    probe_names: (provider, module, function, name) of a probe id; fault: called with the record of each run-time
    error; act: with each action that shows no data but does something, and its record; symbols: symbols.Symbols.
    """

    def __init__(
        self,
        program: Program,
        probe_names: Callable[[int], tuple[str, ...]],
        on_error: Callable[[bytes], None],
        run_action: Callable[[Action, bytes], None],
        symbols: Any,
    ) -> None:
        self._layouts = [_RecordLayout(clause, symbols) for clause in program.clauses]
        self._names, self._on_error, self._run_action = probe_names, on_error, run_action
        self._probes: dict[int, Probe] = {}

    def decode(self, records: bytes, out: Any = None) -> list[Record]:
        """The Records of a buffer, in a list, or given to out.append() one by one, each before its actions are
        done; raises ValueError where the buffer is damaged."""
        out = [] if out is None else out
        at, end, layouts, probes, new, put = (
            0,
            len(records),
            self._layouts,
            self._probes,
            object.__new__,
            _set_fields,
        )
        try:
            while at < end:
                size, clause, probe, *_ = _HEADER.unpack_from(records, at)
                kind = Record
                if clause & p.RECORD_FLAGS:
                    if clause & p.RECORD_FAULT:
                        self._on_error(records[at : at + size])
                        at += size
                        continue
                    if clause & p.RECORD_UNSURE:
                        clause, kind = clause & ~p.RECORD_UNSURE, UncertainRecord
                layout = layouts[clause]
                _, _, _, cpu, time, pid, tid, *values = layout.unpack(records, at)
                for i in layout.strings:
                    values[i] = decode_text(values[i])
                for i, make in layout.made:
                    values[i] = make(values[i])
                if layout.visible:
                    where = probes.get(probe) or self._make_probe(probe)
                    record = new(kind)
                    put(record, (where, time, pid, tid, cpu, tuple(values), layout.names))
                    out.append(record)
                for action in layout.actions:
                    self._run_action(action, records[at : at + size])
                at += size
                if size < p.RECORD_DATA:
                    raise ValueError("a record of no size")
        except (struct.error, IndexError):
            raise ValueError(f"damaged records: {len(records)} bytes, at {at}") from None
        return out  # type: ignore[no-any-return]

    def value_names(self, clause: int) -> tuple[str, ...]:
        """Those of the values that a clause records."""
        return self._layouts[clause].names

    def string_indexes(self, clause: int) -> Container[int]:
        """Which of the values of a clause's records are strings."""
        return self._layouts[clause].strings

    def _make_probe(self, ident: int) -> Probe:
        return self._probes.setdefault(ident, Probe(*self._names(ident)))


class _RecordLayout:
    """How one clause's record is read.

    unpack: header and values; strings: which of the values are; made: [(which, what makes it of its bytes)] for others; names:
    of the values; visible: the clause records something that is for the user; actions: those that do
    something.
    """

    def __init__(self, clause: Clause, symbols: Any) -> None:
        shown = [action for action in clause.actions if action.row.is_value]
        self.actions = [a for a in clause.actions if not a.row.is_value and a.row.has_record]
        fields = {
            field.offset: field
            for action in shown
            for field in action.row.record_fields(action, symbols)
        }
        order = [field for _, field in sorted(fields.items())]
        self.strings = [i for i, field in enumerate(order) if field.make is decode_text]
        self.made = [
            (i, field.make)
            for i, field in enumerate(order)
            if field.make not in (None, decode_text)
        ]
        self.names = tuple(name for action in shown for name in _value_names(action))
        self.visible = bool(shown) or not clause.actions
        self.unpack = struct.Struct(_struct_format(order)).unpack_from


def record_layout(clause: Clause) -> list[tuple[str, str]]:
    """[(name, struct's code)] of the values that a clause records."""
    shown = [action for action in clause.actions if action.row.is_value]
    return [
        (name, field.code)
        for action in shown
        for name, field in zip(_value_names(action), action.row.record_fields(action, None))
    ]


def _struct_format(fields: list[Any]) -> str:
    """struct's format of a record's header and fields."""
    text, at = "=IIIIQII", p.RECORD_DATA
    for field in fields:
        text += f"{field.offset - at}x{field.code}" if field.offset > at else field.code
        at = field.offset + field.size
    return text


def _value_names(action: Action) -> list[str]:
    """A name for each value of an action."""
    text = decode_source_text(action.loc.text)
    if action.row.first_recorded is None:
        return [text]
    texts, count = (
        split_arguments(text)[action.row.first_recorded :],
        len(action.row.record_fields(action, None)),
    )
    names = [texts[i] if i < len(texts) else f"value{i}" for i in range(count)]
    at = 0
    for conversion in action.fmt.conversions if action.fmt else ():
        if conversion.row.kind == PERCENT:
            continue
        at += bool(conversion.star_width) + bool(conversion.star_precision)
        label = _LABEL.search(conversion.prefix.decode("utf-8", "replace"))
        if label and at < len(names):
            names[at] = label[1]
        at += 1
    return names


def split_arguments(call: str) -> list[str]:
    """The texts of a call's arguments: `f(a, g(b, c))` -> ["a", "g(b, c)"]."""
    found, depth, start, quote, skip = [], 0, 0, "", False
    for i, c in enumerate(call):
        if skip or quote:
            skip, quote = (not skip and c == "\\"), ("" if c == quote and not skip else quote)
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
            start = i + 1 if depth == 1 else start
        elif (c in ")]" and depth == 1) or (c == "," and depth == 1):
            found.append(call[start:i].strip())
            start = i + 1
            depth -= c in ")]"
        elif c in ")]":
            depth -= 1
    return found
