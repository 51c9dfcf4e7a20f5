"""What a program records as the terms of erltrace (erlang_nif/src/erltrace.erl has their types), for
etf.encode().

- An action is one term, in the order of the script. What is printed by an action that is not data
  is a term, too.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pydtrace.aggregation.int64 import pack_words, unpack_words
from pydtrace.driver.formatted_text import FormatRenderer
from pydtrace.driver.sink import Sink
from pydtrace.erlang_node.etf import Atom
from pydtrace.program import program as p
from pydtrace.program.fields import struct_code, value_maker
from pydtrace.results import aggregation_values
from pydtrace.results.aggregations import make_key_reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.dtrace_text.address_text import AddressFormatter
    from pydtrace.program.program import AggDef, Clause, Data

    Contents = tuple[AggDef, list[tuple[bytes, bytes]]]


_HEADER = struct.Struct("=III")  # size, clause, probe
_PROBE, _PRINTF, _PRINTA, _FAULT, _DROP = map(Atom, ("probe", "printf", "printa", "error", "drop"))


class ErlangTermsSink(Sink):
    """out: called with each term.  final: [(definition, what it holds)] at the end, None before."""

    def __init__(self, emit: Callable[[Any], None]) -> None:
        self._emit = emit
        self._probes: dict[int, list[str]] = {}
        self._probe_names: list[str] = []
        self.final: list[Contents] | None = None

    def begin(self, info: TraceInfo) -> None:
        self._info, self._error_reporter = info, info.make_error_reporter(self.fault)
        self._format_renderer = FormatRenderer(info.program, include_printed=True)

    def records(self, buffer: bytes) -> None:
        at = 0
        while at < len(buffer):
            size, clause, probe = _HEADER.unpack_from(buffer, at)
            if size < p.RECORD_DATA or at + size > len(buffer):
                raise ValueError(f"damaged records: {len(buffer)} bytes, at {at}")
            record = buffer[at : at + size]
            at += size
            if clause & p.RECORD_FAULT:
                self._error_reporter.report_error(record)
            else:
                self._emit_clause(
                    self._info.program.clauses[clause & ~p.RECORD_FLAGS], probe, record
                )

    def _emit_clause(self, clause: Clause, probe: int, record: bytes) -> None:
        where = self._probe_names = self._probes.get(probe) or self._probes.setdefault(
            probe, list(self._info.probe(probe))
        )
        actions = self._info.actions
        if not clause.actions:
            self._emit((_PROBE, where))
        for action in clause.actions:
            if action.row.printed_by == p.PRINTS_VALUE:
                self._emit((_PROBE, where, decode_value(action.data[0], record, actions.symbols)))
            elif action.row.printed_by == p.PRINTS_FORMAT:
                self._emit(
                    (
                        _PRINTF,
                        where,
                        to_erlang_text(self._format_renderer.render_record(action, record)),
                    )
                )
            elif action.row.has_record:
                actions.run_action(action, record)

    def text(self, text: bytes) -> None:
        self._emit((_PRINTA, self._probe_names, to_erlang_text(text)))

    def notice(self, text: str, error: bool = True) -> None:
        if error:
            self._emit((_FAULT, text))

    def drop(self, kind: str, count: int, line: str) -> None:
        self._emit((_DROP, Atom(kind), count))

    def snapshot(self, aggregates: AggregationState) -> None:
        self.final = read_contents(aggregates)


def read_contents(aggregates: AggregationState) -> list[Contents]:
    """What all aggregations hold now."""
    return [(each, aggregates.read_entries(each)) for each in aggregates.program.aggregations]


def to_erlang_text(text: bytes) -> str | bytes:
    """Text as it goes to Erlang: a string, or a binary where it is no UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def decode_value(data: Data, record: bytes, symbols: AddressFormatter) -> Any:
    value, make = (
        struct.unpack_from("=" + struct_code(data), record, data.offset)[0],
        value_maker(data.type, symbols),
    )
    return _to_term(value if make is None else make(value))


def _to_term(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def make_rows(
    definition: AggDef, items: list[tuple[bytes, bytes]], symbols: AddressFormatter
) -> list[tuple[Any, list[Any], Any]]:
    """[(function, keys, value)] of an aggregation, in the order of its keys."""
    read = make_key_reader(definition.keys, symbols)
    found = [
        (list(map(_to_term, read(key))), aggregation_values.unpack_value(definition, value))
        for key, value in items
    ]
    found.sort(key=lambda row: list(map(_sort_key, row[0])))
    return [(Atom(value.function), keys, _convert_value(value)) for keys, value in found]


def _sort_key(key: Any) -> tuple[int, Any]:
    """Numbers before text; text that is no UTF-8 among the other; stacks last."""
    if isinstance(key, int):
        return 0, key
    if isinstance(key, list):
        return 2, key
    return 1, key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key


def _convert_value(value: Any) -> Any:
    if isinstance(value, aggregation_values.Histogram):
        low, high = -(2**63), 2**63 - 1
        buckets = [
            (
                (
                    low if bucket.low is None else bucket.low,
                    high if bucket.high is None else bucket.high,
                ),
                bucket.count,
            )
            for bucket in value.buckets
        ]
        if isinstance(value, aggregation_values.Percentiles):
            return [
                (percent, value.percentile(percent)) for _, percent in value.row.shown_percentiles
            ], buckets
        return buckets
    return value.row.exact_number(value)


def subtract_values(row: Any, before: bytes | None, now: bytes) -> bytes | None:
    """What came to a value since it was `before`; None: nothing did.  It is the one of all where what came is not known
    (dlang/builtins/aggregation_base.py)."""
    if before == now:
        return None
    came = None if before is None else row.subtract_words(unpack_words(before), unpack_words(now))
    return now if came is None else pack_words(came)
