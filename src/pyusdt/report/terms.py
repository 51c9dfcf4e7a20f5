"""What a program records, as the terms that erltrace gives (erlang_nif/src/erltrace.erl has their types).

In: an engine's records; aggregations.  Out: values for etf.encode().
Always: an action is one term, in the order of the script; what is printed by an action that is not data is a term too.
"""

from __future__ import annotations

import errno
import struct
from typing import TYPE_CHECKING, Any

from .._tracer import Formatter
from ..data import floats, values
from ..data import program as p
from ..data.faults import fault_line
from ..data.records import layout_of, maker_of
from ..data.snapshot import key_reader
from ..erlang.etf import Atom
from ..tracing.actions import Actions
from .texts import Texts

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = struct.Struct("=III")  # size, clause, probe
_PROBE, _PRINTF, _PRINTA, _FAULT = Atom("probe"), Atom("printf"), Atom("printa"), Atom("error")


class Items:
    """program; engine: opened; out: called with each term; options: options.Options."""

    def __init__(self, program: Any, engine: Any, options: Any, out: Callable[[Any], None]) -> None:
        self._program, self._engine, self._out = program, engine, out
        self.actions = Actions(program, engine, self, self.fault, options, Formatter.another, lambda name: None)
        self._texts = Texts(program, Formatter.another, ("printf",))
        self._probes: dict[int, list[str]] = {}
        self._where: list[str] = []

    def feed(self, records: bytes) -> None:
        at = 0
        while at < len(records):
            size, clause, probe = _HEADER.unpack_from(records, at)
            if size < p.RECORD_DATA or at + size > len(records):
                raise ValueError(f"damaged records: {len(records)} bytes, at {at}")
            record = records[at : at + size]
            at += size
            if clause & p.RECORD_FAULT:
                self.fault(fault_line(record, self._engine.probe))
            else:
                self._clause(self._program.clauses[clause], probe, record)

    def _clause(self, clause: Any, probe: int, record: bytes) -> None:
        where = self._where = self._probes.get(probe) or self._probes.setdefault(probe, list(self._engine.probe(probe)))
        if not clause.actions:
            self._out((_PROBE, where))
        for action in clause.actions:
            if action.guard is not None and not record[action.guard]:
                continue
            if action.row.kind == "trace":
                self._out((_PROBE, where, value_of(action.data[0], record, self.actions.symbols)))
            elif action.row.kind == "printf":
                self._out((_PRINTF, where, shown(self._texts.of_record(action, record))))
            elif action.row.records:
                self.actions.act(action, record)

    def fault(self, text: str, error: bool = True) -> None:
        self._out((_FAULT, text))

    # --- the output of Actions ------------------------------------------------------------------

    def write(self, text: bytes) -> None:
        """What printa() prints."""
        self._out((_PRINTA, self._where, shown(text)))

    def reopen(self, path: bytes) -> None:
        raise OSError(errno.ENOTSUP, "a port has no output file")

    def truncate(self) -> None:
        """There is no file to empty."""

    # --- aggregations -----------------------------------------------------------------------------

    def aggregations(self) -> list[tuple[Any, list[tuple[bytes, bytes]]]]:
        """[(definition, what it holds)]"""
        found = self.actions.aggregates
        return [(each, found.entries(each)) for each in self._program.aggregations]


def shown(text: bytes) -> str | bytes:
    """Text as it goes to Erlang: a string, or a binary where it is no UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def value_of(data: Any, record: bytes, symbols: Any) -> Any:
    value, make = struct.unpack_from("=" + layout_of(data), record, data.offset)[0], maker_of(data.type, symbols)
    return _term(value if make is None else make(value))


def _term(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def rows(definition: Any, items: list[tuple[bytes, bytes]], symbols: Any) -> list[tuple[Any, list[Any], Any]]:
    """[(function, keys, value)] of an aggregation, in the order of its keys."""
    read, function = key_reader(definition.keys, symbols), definition.row.name
    found = [(list(map(_term, read(key))), values.unpack(function, definition.params, value)) for key, value in items]
    found.sort(key=lambda row: list(map(_order, row[0])))
    return [(Atom(value.function), keys, _value(value)) for keys, value in found]


def _order(key: Any) -> tuple[int, Any]:
    """Numbers before text; text that is no UTF-8 among the other; stacks last."""
    if isinstance(key, int):
        return 0, key
    if isinstance(key, list):
        return 2, key
    return 1, key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key


def _value(value: Any) -> Any:
    if isinstance(value, values.Histogram):
        low, high = -(2**63), 2**63 - 1
        return [((low if bucket.low is None else bucket.low, high if bucket.high is None else bucket.high), bucket.count)
                for bucket in value.buckets]
    if isinstance(value, float):
        return float(value)
    return value.mean if value.function == "avg" else int(value)


def since(function: str, before: bytes | None, now: bytes) -> bytes | None:
    """What came to a value since it was `before`; None: nothing did.  It is the one of all for a min or max, and for an avg or
    stddev of which dtrace tells no more (engine/dtrace/frames.py)."""
    if before == now:
        return None
    name, _, kind = function.partition(".")
    if before is None or name in ("min", "max"):
        return now
    layout = f"={len(now) // 8}q"
    old, new = struct.unpack(layout, before), struct.unpack(layout, now)
    more = new[0] - old[0]
    if more < 0 or (more == 0 and name in ("avg", "stddev")):  # less than before: it was cleared
        return now
    if kind:
        return struct.pack(layout, *floats.since(function, old, new))
    words = [b - a for a, b in zip(old, new)]
    if name == "stddev":  # the last two words are one number
        squares = words[2] + (words[3] << 64)
        words[2:] = [squares, squares >> 64]
    return struct.pack(layout, *map(values.wrap, words))
