"""Aggregations as dtrace prints them at the end of tracing and by printa().

- The order of the input does not matter.
- Keys compare as in dtrace: integers of any type as unsigned, strings by their bytes.
"""

from __future__ import annotations

import struct

from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pydtrace.program.program import AggDef, Data

    from .address_text import AddressFormatter
    from .aggpack_text import TableStyle

    PrintKey = Callable[[bytes], bytes]  # of a key's part
    FindDivisor = Callable[[AggDef, bytes], int]  # what a key's value is divided by
    Parts = Callable[[AggDef], list[tuple[int, dict[bytes, bytes]]]]
    Joined = list[tuple[AggDef, list[tuple[bytes, bytes]]]]

_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}
# dtrace widens only keys of less than 32 bits without their sign
_KEY_FORMATS = {1: ("B", b" %3d"), 2: ("H", b" %5d"), 4: ("i", b" %8d"), 8: ("q", b" %16d")}


class SortOrder:
    """How rows are sorted: the options aggsortkey, aggsortrev, aggsortpos (which of several aggregations
    decides) and aggsortkeypos (which key does)."""

    __slots__ = ("by_key", "key_position", "position", "reverse")

    def __init__(
        self, by_key: bool = False, reverse: bool = False, key_position: int = 0, position: int = 0
    ) -> None:
        self.by_key, self.reverse = by_key, reverse
        self.key_position, self.position = key_position, position


class Row:
    """One key with its values: decoded, one for each aggregation; `present`: which of them had it."""

    __slots__ = ("key", "values", "present")

    def __init__(self, key: bytes, values: list[Any], present: list[bool]) -> None:
        self.key, self.values, self.present = key, values, present


def render_aggregations(
    aggregations: Joined,
    strsize: int = 256,
    order: SortOrder | None = None,
    normal: FindDivisor | None = None,
    symbols: AddressFormatter | None = None,
    style: TableStyle | None = None,
    parts: Parts | None = None,
) -> bytes:
    """The text of all the given aggregations, one after the other.

    aggregations: list of (AggDef, list of (key, value)); those without entries print nothing.
    normal(AggDef, key) -> what its value is divided by; symbols: symbols.Symbols, for keys that are addresses;
    style: packed.Style where one of its options is set; parts(AggDef) -> [(CPU, {key: value})] where each CPU's are shown.
    """
    order = order or SortOrder()
    ordered = sorted(aggregations, key=lambda pair: pair[0].ident, reverse=order.reverse)
    return b"".join(
        render_joined([pair], strsize, order, normal, symbols, style, parts) for pair in ordered
    )


def render_joined(
    aggregations: Joined,
    strsize: int = 256,
    order: SortOrder | None = None,
    normal: FindDivisor | None = None,
    symbols: AddressFormatter | None = None,
    style: TableStyle | None = None,
    parts: Parts | None = None,
) -> bytes:
    """The text of aggregations with the same keys, a line for each key."""
    first = aggregations[0][0]
    printers = [_make_key_printer(data, strsize, symbols) for data in first.keys]
    found = sort_rows(aggregations, order or SortOrder())
    normal = normal or (lambda aggdef, key: 1)
    table = style.find_table(first) if style and found and len(aggregations) == 1 else None
    if style and table:
        from .aggpack_text import make_narrow_printer

        printers = [
            make_narrow_printer(data, show_key) for data, show_key in zip(first.keys, printers)
        ]
        return table(first, found, printers, normal, style)
    lines, zoom = [], bool(style and style.zoom)
    several = [parts(aggdef) if parts else [] for aggdef, _ in aggregations]
    for row in found:
        lines += [show_key(row.key) for show_key in printers]
        for (aggdef, _), value, each in zip(aggregations, row.values, several):
            divisor = normal(aggdef, row.key)
            lines.append(format_value(aggdef, value, divisor, zoom))
            lines += [
                _format_cpu_part(aggdef, cpu, held.get(row.key), divisor, zoom)
                for cpu, held in each
            ]
        lines.append(b"\n")
    return b"".join(lines)


def _format_cpu_part(
    aggdef: AggDef, cpu: int, value: bytes | None, normal: int, zoom: bool
) -> bytes:
    """What one CPU has of a value, as an aggregation shows it that is empty where this CPU has nothing."""
    decoded = aggdef.row.decode(
        value or bytes(8 * aggdef.row.count_words(aggdef.params)), aggdef.params
    )
    return b"\n    [CPU %d]" % cpu + format_value(aggdef, decoded, normal, zoom)


def format_value(aggdef: AggDef, decoded: Any, normal: int, zoom: bool = False) -> bytes:
    """One value in its default form."""
    shown: bytes = aggdef.row.format_value(decoded, normal, aggdef.params, zoom)
    return shown


def sort_rows(aggregations: Joined, order: SortOrder) -> list[Row]:
    """The Rows of aggregations with the same keys, sorted; a key that some of them lack is zero there."""
    found: dict[bytes, Row] = {}
    for index, (aggdef, entries) in enumerate(aggregations):
        decode = aggdef.row.decode
        for key, value in entries:
            row = found.get(key)
            if row is None:
                row = found[key] = Row(
                    key,
                    [other.row.absent_value(other.params) for other, _ in aggregations],
                    [False] * len(aggregations),
                )
            row.values[index] = decode(value, aggdef.params)
            row.present[index] = True
    return sorted(
        found.values(),
        key=_make_sort_key([aggdef for aggdef, _ in aggregations], order),
        reverse=order.reverse,
    )


def _make_sort_key(aggdefs: list[AggDef], order: SortOrder) -> Callable[[Row], Any]:
    """The function that gives what a Row is sorted by."""
    readers = [_make_key_reader(data) for data in aggdefs[0].keys]
    start = order.key_position if order.key_position < len(readers) else 0
    readers = readers[start:] + readers[:start]
    first = order.position if order.position < len(aggdefs) else 0
    indexes = [*range(first, len(aggdefs)), *range(first)]
    ranks = [(index, aggdefs[index].row.sort_key, aggdefs[index].params) for index in indexes]

    def rank(row: Row) -> Any:
        keys = [read(row.key) for read in readers]
        values = [of(row.values[index], params) for index, of, params in ranks]
        return (keys, values) if order.by_key else (values, keys)

    return rank


# --- keys ------------------------------------------------------------------


def _make_key_reader(data: Data) -> Callable[[bytes], Any]:
    """A function that gives a key's part in a form that sorts as dtrace sorts it."""
    offset, size = data.offset, data.size
    if data.type.is_string or size not in _UNSIGNED:
        return lambda key: key[offset : offset + size]
    unpack = struct.Struct("=" + _UNSIGNED[size]).unpack_from
    return lambda key: unpack(key, offset)[0]


def _make_key_printer(data: Data, strsize: int, symbols: Any) -> PrintKey:
    offset, size = data.offset, data.size
    if data.type.is_string:
        return lambda key: format_string(key[offset : offset + size], strsize + 1)
    if isinstance(data.type, (t.Stack, t.Symbol)):
        return lambda key: symbols.format_value(data, key)
    if size not in _KEY_FORMATS:
        return lambda key: _format_bytes(key[offset : offset + size])
    code, layout = _KEY_FORMATS[size]
    unpack = struct.Struct("=" + code).unpack_from
    return lambda key: layout % unpack(key, offset)


def format_string(storage: bytes, dump_size: int) -> bytes:
    """A string key in its column, or as a dump where it holds what does not print.  dump_size:
    how many bytes of it dtrace dumps."""
    text = storage.split(b"\0", 1)[0]
    return _format_column(text) if _is_printable(text) else format_hexdump(storage[:dump_size])


def _format_bytes(storage: bytes) -> bytes:
    """A struct or an array that has not the size of an integer: as a string where it could be one, whatever its type is."""
    text = storage.rstrip(b"\0")
    return _format_column(text) if _is_printable(text) else format_hexdump(storage)


def _format_column(text: bytes) -> bytes:
    return b"  %-50b" % text


def _is_printable(text: bytes) -> bool:
    return all(32 <= byte <= 126 or 7 <= byte <= 13 for byte in text)


def format_hexdump(data: bytes) -> bytes:
    """A table of bytes in hexadecimal and as characters; pyusdt_text_dump() is the same in C."""
    digits = b"0123456789abcdef"
    lines = [
        b"\n" + 11 * b" " + b"".join(b"  %c" % digit for digit in digits) + b"  " + digits + b"\n"
    ]
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        shown = bytes(byte if 32 <= byte <= 126 else 46 for byte in part)
        line = b"".join(b" %02x" % byte for byte in part)
        lines.append(b"     %5x:%-48b  %b\n" % (at, line, shown))
    return b"".join(lines)
