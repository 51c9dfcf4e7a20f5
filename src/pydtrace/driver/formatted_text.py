"""Text that is formatted here and not where a record is printed: printa() with a format, the command
of system(), the name of freopen(), printf() with addresses.

- C formats the text (c/format/formatter.h): each such action is a clause in a second table, and
  its input is a record, or an aggregation's row in the shape of one.
"""

from __future__ import annotations

import struct
import sys

from pydtrace._tracer import Formatter
from pydtrace.dtrace_text.aggregation_text import format_value, sort_rows
from pydtrace.program import d_types as t
from pydtrace.program import formatter_table
from pydtrace.program import printf_format as f
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from pydtrace.dtrace_text.aggregation_text import FindDivisor, Joined, Row, SortOrder

    Split = tuple[list[p.Action], list[Any]]


class FormatRenderer:
    """symbols: symbols.Symbols; whole: it is asked for what C prints of the program's records, too."""

    def __init__(
        self, program: p.Program, symbols: Any = None, include_printed: bool = False
    ) -> None:
        self.symbols = symbols
        self._numbers: dict[int, int] = {}  # id(Action) -> index of its clause in the second table
        self._clauses: list[_FormatClause] = []
        for clause in program.clauses:
            for action in clause.actions:
                if action.fmt is not None and (
                    include_printed or not formatter_table.prints_format(action)
                ):
                    self._numbers[id(action)] = len(self._clauses)
                    self._clauses.append(
                        _make_aggregate_clause(action, program)
                        if action.args
                        else _make_record_clause(action, clause)
                    )
        self._formatter = (
            Formatter.text_only(formatter_table.build_clause_table(self._clauses, program.strsize))
            if self._clauses
            else None
        )

    def render_record(self, action: p.Action, record: bytes) -> bytes:
        """The text of an action whose arguments are in its record."""
        index = self._numbers[id(action)]
        number = struct.pack("=I", index)
        pid = struct.unpack_from("=I", record, p.RECORD_PID)[0]
        tables = [
            self._render_value(taken, conversion, record, pid)
            for taken, conversion in self._clauses[index].values
        ]
        return self._run_formatter(
            record[: p.RECORD_CLAUSE] + number + record[p.RECORD_CLAUSE + 4 :], tables
        )

    def _render_value(
        self, taken: list[p.Data], conversion: f.Conversion, record: bytes, pid: int
    ) -> bytes:
        """%a, %A, %k, %lc, or %f and its like, of a value in a record.  taken: its Data, before it those of "*"."""
        *stars, data = taken
        if stars:
            conversion = _apply_stars(conversion, stars, record)
        storage = record[data.offset : data.offset + data.size]
        if conversion.row.kind == f.STACK:
            return bytes(self.symbols.format_stack(storage, conversion.width))
        if conversion.row.kind == f.FLOAT:
            from pydtrace.program import float_values

            text = _format_float(float_values.float_from_bytes(storage), conversion)
        elif conversion.row.kind == f.CODE_POINT:
            text = _encode_code_point(int.from_bytes(storage, sys.byteorder))
        elif data.type.is_record:
            text = self.symbols.format_symbol(data.type, storage)
        else:
            user = conversion.row.kind == f.USER_ADDRESS
            address = int.from_bytes(storage, sys.byteorder)
            text = self.symbols.name_address(pid if user else 0, address).encode(
                "utf-8", "surrogateescape"
            )
            text = text[: conversion.precision or None]  # of 0: none, as everywhere in dtrace
        return _pad_text(text, conversion)

    def render_aggregations(
        self, action: p.Action, joined: Joined, order: SortOrder, normal: FindDivisor
    ) -> bytes:
        """The text of printa(): joined: [(AggDef, entries)]."""
        number = self._numbers[id(action)]
        clause = self._clauses[number]
        return b"".join(
            self._render_row(clause, number, joined, row, normal)
            for row in sort_rows(joined, order)
        )

    def _render_row(
        self, clause: Any, number: int, joined: Joined, row: Row, normal: FindDivisor
    ) -> bytes:
        body, tables = row.key, []
        for index, conversion in clause.values:
            if index.__class__ is list:
                tables.append(
                    self._render_value(index, conversion, bytes(p.RECORD_DATA) + row.key, 0)
                )
                continue
            aggdef, decoded = joined[index][0], row.values[index]
            divisor = normal(aggdef, row.key)
            if aggdef.row.is_float:
                tables.append(_pad_text(_format_float(decoded / divisor, conversion), conversion))
            elif conversion is None:
                tables.append(format_value(aggdef, decoded, divisor))
            else:
                signed = conversion.row.letter == "d"
                body += struct.pack("=q", aggdef.row.printf_number(decoded, divisor, signed))
        header = struct.pack("=II", p.RECORD_DATA + len(body), number).ljust(p.RECORD_DATA, b"\0")
        return self._run_formatter(header + body, tables)

    def _run_formatter(self, record: bytes, tables: Iterable[bytes]) -> bytes:
        """tables: what stands where the formatter stops for it."""
        formatter: Any = self._formatter
        parts, tables = [], iter(tables)
        formatter.feed(record)
        while True:
            stop, text, _, _ = formatter.next()
            parts.append(text)
            if stop == formatter.DONE:
                return b"".join(parts)
            if stop == formatter.ACTION:
                parts.append(next(tables))


def _encode_code_point(number: int) -> bytes:
    """UTF-8; of a number that is no character, what stands for such."""
    return chr(number if number <= sys.maxunicode else 0xFFFD).encode("utf-8", "replace")


def _pad_text(text: bytes, conversion: f.Conversion) -> bytes:
    return (
        text.ljust(conversion.width) if conversion.flags & f.LEFT else text.rjust(conversion.width)
    )


def _apply_stars(conversion: f.Conversion, stars: list[p.Data], record: bytes) -> f.Conversion:
    """The Conversion with the width and the precision that its record gives: what is below 0 is to the left, or none."""
    laid_out = f.Conversion(conversion.prefix)
    for name in ("row", "flags", "width", "precision"):
        setattr(laid_out, name, getattr(conversion, name))
    given = [
        int.from_bytes(record[star.offset : star.offset + star.size], sys.byteorder, signed=True)
        for star in stars
    ]
    if conversion.star_width:
        width = given.pop(0)
        laid_out.width = min(abs(width), f.MAX_STAR)
        if width < 0:
            laid_out.flags |= f.LEFT
    if conversion.star_precision:
        laid_out.precision = min(max(given.pop(0), 0), f.MAX_STAR)
    return laid_out


def _format_float(value: float, conversion: f.Conversion) -> bytes:
    """%e, %f, %g; a precision of 0 means none, as everywhere in dtrace."""
    flags = "".join(
        char
        for flag, char in ((f.ALT, "#"), (f.PLUS, "+"), (f.SPACE, " "))
        if conversion.flags & flag
    )
    if conversion.flags & f.ZERO:
        flags += f"0{conversion.width}"
    precision = f".{conversion.precision}" if conversion.precision else ""
    return f"%{flags}{precision}{conversion.row.letter}".encode() % value


class _FormatClause:
    """A clause of the second table.  values: for each %@ the index of its aggregation and the Conversion,
    None where the value is a table; for each address that is named, or float, a list (the Data of its "*", then its own)
    and the Conversion."""

    __slots__ = ("actions", "record_size", "values")

    def __init__(
        self, record_size: int, actions: list[p.Action], values: Sequence[Any] = ()
    ) -> None:
        self.record_size, self.actions, self.values = record_size, actions, values


class _ActionRow:
    """What program/formatter_table.py looks at of an action's row."""

    __slots__ = ("printed_by",)

    def __init__(self, printed_by: int) -> None:
        self.printed_by = printed_by


_PRINTF, _TABLE = _ActionRow(p.PRINTS_FORMAT), _ActionRow(p.PRINTS_ITSELF)


def _make_record_clause(action: p.Action, clause: Any) -> _FormatClause:
    return _FormatClause(clause.record_size, *_split_format(action, [], [], iter(action.data)))


def _make_aggregate_clause(action: p.Action, program: p.Program) -> _FormatClause:
    """The record of a row: the key, then a number for each aggregation."""
    definitions = {aggdef.ident: aggdef for aggdef in program.aggregations}
    aggdefs = [definitions[symbol.ident] for symbol in action.args]
    keys = iter(
        [p.Data(data.type, p.RECORD_DATA + data.offset, data.size) for data in aggdefs[0].keys]
    )
    numbers: list[int] = []
    end = p.RECORD_DATA + _key_size(aggdefs[0].keys)
    actions, values = _split_format(action, aggdefs, numbers, keys, end)
    return _FormatClause(end + 8 * len(numbers), actions, values)


def _split_format(
    action: p.Action,
    aggdefs: list[p.AggDef],
    numbers: list[int],
    source: Iterator[p.Data],
    end: int = 0,
) -> Split:
    """(actions, _Clause.values) of a format: it is divided where something stands that C does not print.  source: Data
    of the values; aggdefs, numbers, end: of %@, the numbers that are added, and where the first lies."""
    actions: list[p.Action] = []
    values: list[Any] = []
    pending: list[Any] = []
    data: list[p.Data] = []
    index = 0

    def insert(prefix: bytes, *value: Any) -> None:
        nonlocal pending, data
        actions.extend(
            [
                _make_part(action, [*pending, prefix], data),
                p.Action(_TABLE, [], None, [], action.loc),
            ]
        )
        values.append(value)
        pending, data = [], []

    for conversion in action.fmt.conversions:
        taken = [next(source) for _ in range(conversion.argument_count)]
        if conversion.row.kind in f.NAMED and not conversion.aggregate:
            insert(conversion.prefix, taken, conversion)
        elif not conversion.aggregate:
            pending.append(conversion)
            data += taken
        elif (
            aggdefs[index].row.takes_increment or aggdefs[index].row.is_float
        ):  # a distribution, or what C does not print
            data += taken
            insert(conversion.prefix, index, conversion if aggdefs[index].row.is_float else None)
        else:
            values.append((index, conversion))
            pending.append(conversion)
            data += [*taken, p.Data(t.INT64, end + 8 * len(numbers), 8)]
            numbers.append(index)
        if conversion.aggregate:
            index = min(index + 1, len(aggdefs) - 1)
    actions.append(_make_part(action, [*pending, action.fmt.tail], data))
    return actions, values


def _key_size(keys: list[p.Data]) -> int:
    return (keys[-1].offset + keys[-1].size + 7) & ~7 if keys else 0


def _make_part(action: p.Action, pieces: list[Any], data: list[p.Data]) -> p.Action:
    """A printf of some conversions of a format; the last piece may be a literal."""
    tail = pieces.pop() if pieces and isinstance(pieces[-1], bytes) else b""
    fmt = action.fmt.__class__(action.fmt.source, pieces, tail)
    return p.Action(_PRINTF, data, fmt, [], action.loc)
