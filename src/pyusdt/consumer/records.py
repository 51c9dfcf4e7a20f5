"""Records as the API shows them: what the data actions of one firing of a clause recorded.

In: an engine's records (docs/program.md) and the program they belong to.  Out: Record objects, fault texts, the
status of exit().  Always: records are immutable; integers are int, strings str (bytes where they are not UTF-8),
other data bytes; the value of an action that was not reached is None.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dlang import program as p
from .faults import fault_line
from .format import PERCENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..dlang.program import Action, Clause, Program

_HEADER = struct.Struct("=IIIIQII")  # size, clause, probe, cpu, time, pid, tid
_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_LABEL = re.compile(rb"([A-Za-z_]\w*)=\Z")


class Probe(NamedTuple):
    """The names of a probe."""

    provider: str
    module: str
    function: str
    name: str

    def __str__(self) -> str:
        return ":".join(self)


class Record(tuple):  # type: ignore[type-arg]
    """What one firing of a clause recorded.  `rec[0]`, `rec["arg2"]`, iteration and len() are about its values.

    probe: Probe; time: ns since the machine started (CLOCK_MONOTONIC); pid, tid, cpu: int; values: tuple; names: a
    name for each value: the word before `=` in printf's format (`"route=%s"`), else the argument's text.
    """

    __slots__ = ()

    probe: Probe = property(lambda self: tuple.__getitem__(self, 0))  # type: ignore[assignment]
    time: int = property(lambda self: tuple.__getitem__(self, 1))  # type: ignore[assignment]
    pid: int = property(lambda self: tuple.__getitem__(self, 2))  # type: ignore[assignment]
    tid: int = property(lambda self: tuple.__getitem__(self, 3))  # type: ignore[assignment]
    cpu: int = property(lambda self: tuple.__getitem__(self, 4))  # type: ignore[assignment]
    values: tuple[Any, ...] = property(lambda self: tuple.__getitem__(self, 5))  # type: ignore[assignment]
    names: tuple[str, ...] = property(lambda self: tuple.__getitem__(self, 6))  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return self.values[self.names.index(key)]
            except ValueError:
                raise KeyError(f"{key}: the record has {', '.join(self.names) or 'no values'}") from None
        return self.values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return Record._make, tuple(tuple.__iter__(self))

    @classmethod
    def _make(cls, *fields: Any) -> Record:
        return tuple.__new__(cls, fields)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self.names, self.values))
        return f"<{self.probe} pid={self.pid} {shown}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON and the like; the values as a list, since names may repeat."""
        return {"probe": self.probe._asdict(), "time": self.time, "pid": self.pid, "tid": self.tid, "cpu": self.cpu,
                "names": list(self.names), "values": list(self.values)}


def text_of(storage: bytes) -> str | bytes:
    """The string in a field: str, or bytes where it is not UTF-8."""
    text = storage[: storage.index(0)] if 0 in storage else storage
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


class Decoder:
    """Turns a program's records into Records.

    probe_names: (provider, module, function, name) of a probe id; fault: called with the text of each run-time
    error.  status: exit()'s, None before.
    """

    def __init__(self, program: Program, probe_names: Callable[[int], tuple[str, ...]],
                 fault: Callable[[str], None]) -> None:
        self._layouts = [_Layout(clause) for clause in program.clauses]
        self._names, self._fault = probe_names, fault
        self._probes: dict[int, Probe] = {}
        self.status: int | None = None

    def decode(self, records: bytes) -> list[Record]:
        """The Records of a buffer; raises ValueError where it is damaged."""
        out: list[Record] = []
        at, end, layouts, probes, new = 0, len(records), self._layouts, self._probes, tuple.__new__
        try:
            while at < end:
                size, clause, probe, *_ = _HEADER.unpack_from(records, at)
                if clause & p.RECORD_FAULT:
                    self._fault(fault_line(records[at : at + size], self._names))
                    at += size
                    continue
                layout = layouts[clause]
                _, _, _, cpu, time, pid, tid, *values = layout.unpack(records, at)
                for i in layout.strings:
                    values[i] = text_of(values[i])
                if layout.special:
                    values = self._special(layout, values)
                at += size
                if layout.visible:
                    where = probes.get(probe) or self._probe(probe)
                    out.append(new(Record, (where, time, pid, tid, cpu, tuple(values), layout.names)))
                if size < p.RECORD_DATA:
                    raise ValueError("a record of no size")
        except (struct.error, IndexError):
            raise ValueError(f"damaged records: {len(records)} bytes, at {at}") from None
        return out

    def _probe(self, ident: int) -> Probe:
        return self._probes.setdefault(ident, Probe(*self._names(ident)))

    def _special(self, layout: _Layout, values: list[Any]) -> list[Any]:
        """The record of a clause that calls exit(), or some of whose actions may not have been reached."""
        shown = []
        for i, (kind, guard) in enumerate(layout.kinds):
            reached = guard is None or values[guard]
            if kind == "exit" and reached and self.status is None:
                self.status = values[i]
            if kind == "value":
                shown.append(values[i] if reached else None)
        return shown


class _Layout:
    """How one clause's record is read.  unpack: header and fields; strings: which of the fields are; kinds: of each
    field ("value", "exit" or "guard") with the index of its guard; special: not all of them are values; names:
    of the values; visible: the clause records something that is for the user."""

    def __init__(self, clause: Clause) -> None:
        fields, names = [], []  # (offset, size, code, kind, guard's offset)
        for action in clause.actions:
            kind = "exit" if action.row.kind == "exit" else "value"
            if action.guard is not None:
                fields.append((action.guard, 1, "B", "guard", None))
            if kind == "value":
                names += _names(action)
            fields += [(d.offset, d.size, layout_of(d), kind, action.guard) for d in action.data]
        fields = [field for _, field in sorted({field[0]: field for field in fields}.items())]  # guards are shared
        place = {offset: i for i, (offset, _, _, kind, _) in enumerate(fields) if kind == "guard"}
        self.kinds = [(kind, place.get(guard)) for _, _, _, kind, guard in fields]
        self.strings = [i for i, field in enumerate(fields) if field[2].endswith("s")]
        self.special = any(kind != "value" or guard is not None for kind, guard in self.kinds)
        self.names = tuple(names)
        self.visible = bool(names) or not clause.actions
        self.unpack = struct.Struct(_format(fields)).unpack_from


def layout_of(data: Any) -> str:
    """struct's code for a field of a record or a key."""
    code = _INTEGERS.get(data.size)
    if code is None or not (data.type.is_integer or data.type.is_pointer):
        return f"{data.size}s"
    return code if data.type.is_integer and data.type.signed else code.upper()


def _format(fields: list[Any]) -> str:
    """struct's format of a whole record's header and fields."""
    text, at = "=IIIIQII", p.RECORD_DATA
    for offset, size, code, *_ in fields:
        text += f"{offset - at}x{code}" if offset > at else code
        at = offset + size
    return text


def _names(action: Action) -> list[str]:
    """A name for each value of an action."""
    loc = action.loc
    texts = arguments(loc.source.text[loc.start : loc.end])[action.row.first :]
    names = [texts[i] if i < len(texts) else f"value{i}" for i in range(len(action.data))]
    at = 0
    for conversion in action.fmt.conversions if action.fmt else ():
        if conversion.row.kind == PERCENT:
            continue
        at += bool(conversion.star_width) + bool(conversion.star_precision)
        label = _LABEL.search(conversion.prefix)
        if label and at < len(names):
            names[at] = label[1].decode()
        at += 1
    return names


def arguments(call: str) -> list[str]:
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
