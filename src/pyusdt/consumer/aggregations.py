"""Aggregations to text: what dtrace prints for them at the end of tracing.

In: aggregation definitions (dlang.program.AggDef), each with its (key bytes, value bytes) as the
program's maps hold them.  Out: bytes, dtrace's own.  Always: the order of the input does not matter.

Values: builtins/aggregations.py.  Keys compare as dtrace compares them: integers of any type as unsigned,
strings by their bytes.
"""

import struct

_BARS = 40  # width of a distribution's bars
_ZERO = 63  # quantize: the bucket of the value 0
_BUCKETS = 127
_DISTRIBUTION = b"\n%16s %41s %-9s\n" % (b"value", b"------------- Distribution -------------", b"count")
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}
# dtrace widens only keys of less than 32 bits without their sign
_KEY_FORMATS = {1: ("B", b" %3d"), 2: ("H", b" %5d"), 4: ("i", b" %8d"), 8: ("q", b" %16d")}


class Order:
    """How rows are sorted: the options aggsortkey, aggsortrev and aggsortkeypos."""

    __slots__ = ("by_key", "key_position", "reverse")

    def __init__(self, by_key=False, reverse=False, key_position=0):
        self.by_key, self.reverse, self.key_position = by_key, reverse, key_position


def render(aggregations, strsize=256, order=None) -> bytes:
    """The text of all the given aggregations.

    aggregations: list of (AggDef, list of (key, value)); those without entries print nothing.
    """
    order = order or Order()
    ordered = sorted(aggregations, key=lambda pair: pair[0].ident, reverse=order.reverse)
    return b"".join(_render_one(aggdef, entries, strsize, order) for aggdef, entries in ordered)


def _render_one(aggdef, entries, strsize, order):
    keys = [_key_printer(data, strsize) for data in aggdef.keys]
    sort_keys = [_key_reader(data) for data in aggdef.keys]
    position = order.key_position if order.key_position < len(sort_keys) else 0
    sort_keys = sort_keys[position:] + sort_keys[:position]
    decode, rank, show = _FUNCTIONS[aggdef.row.name]
    rows = []
    for key, value in entries:
        key_rank = [read(key) for read in sort_keys]
        number = decode(value)
        rows.append((key_rank if order.by_key else (rank(number), key_rank), key, number))
    rows.sort(key=lambda row: row[0], reverse=order.reverse)
    return b"".join(b"%b%b\n" % (b"".join([show_key(key) for show_key in keys]), show(number))
                    for _, key, number in rows)


# --- keys ------------------------------------------------------------------


def _key_reader(data):
    """A function that gives a key's part in a form that sorts as dtrace sorts it."""
    offset, size = data.offset, data.size
    if data.type.is_string:
        return lambda key: key[offset : offset + size]
    unpack = struct.Struct("=" + _UNSIGNED[size]).unpack_from
    return lambda key: unpack(key, offset)[0]


def _key_printer(data, strsize):
    offset, size = data.offset, data.size
    if data.type.is_string:
        return lambda key: show_string(key[offset : offset + size], strsize + 1)
    code, layout = _KEY_FORMATS[size]
    unpack = struct.Struct("=" + code).unpack_from
    return lambda key: layout % unpack(key, offset)


def show_string(storage, dump_size):
    """A string key in its column, or as a dump where it holds what does not print.  dump_size:
    how many bytes of it dtrace dumps."""
    text = storage.split(b"\0", 1)[0]
    if all(32 <= byte <= 126 or 7 <= byte <= 13 for byte in text):
        return b"  %-50b" % text
    return dump(storage[:dump_size])


def dump(data):
    """A table of bytes in hexadecimal and as characters; pyusdt_text_dump() is the same in C."""
    digits = b"0123456789abcdef"
    lines = [b"\n" + 11 * b" " + b"".join(b"  %c" % digit for digit in digits) + b"  " + digits + b"\n"]
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        shown = bytes(byte if 32 <= byte <= 126 else 46 for byte in part)
        line = b"".join(b" %02x" % byte for byte in part)
        lines.append(b"     %5x:%-48b  %b\n" % (at, line, shown))
    return b"".join(lines)


# --- values ----------------------------------------------------------------
# Each function: decode(value bytes) -> what the others take; rank(it) -> for sorting; show(it) -> bytes.


def _decode_count(value):
    return struct.unpack_from("=q", value)[0]


def _decode_one(value):
    return struct.unpack_from("=q", value, 8)[0]


def _decode_average(value):
    count, total = struct.unpack_from("=qq", value)
    if count == 0:
        return 0
    return total // count if total >= 0 else -(-total // count)


def _decode_quantize(value):
    return struct.unpack_from(f"={_BUCKETS}q", value, 8)


def _bucket_value(bucket):
    if bucket == _ZERO:
        return 0
    return 1 << (bucket - _ZERO - 1) if bucket > _ZERO else -(1 << (_ZERO - 1 - bucket))


def _rank_number(number):
    return number


def _rank_quantize(counts):
    """By the sum of the buckets' values, then by how many were zero."""
    return sum(_bucket_value(bucket) * count for bucket, count in enumerate(counts) if count), counts[_ZERO]


def _show_number(number):
    return b" %16d" % number


def _show_quantize(counts):
    filled = [bucket for bucket, count in enumerate(counts) if count]
    if filled:
        first, last = max(filled[0] - 1, 0), min(filled[-1] + 1, _BUCKETS - 1)
    else:
        first, last = _ZERO - 1, _ZERO + 1
    shown = counts[first : last + 1]
    total = sum(shown)
    lines = [_DISTRIBUTION]
    for bucket, count in enumerate(shown, first):
        length = (2 * _BARS * count + total) // (2 * total) if total else 0  # rounded to nearest
        lines.append(b"%16d |%-40b %-9d\n" % (_bucket_value(bucket), length * b"@", count))
    return b"".join(lines)


_FUNCTIONS = {
    "count": (_decode_count, _rank_number, _show_number),
    "sum": (_decode_one, _rank_number, _show_number),
    "min": (_decode_one, _rank_number, _show_number),
    "max": (_decode_one, _rank_number, _show_number),
    "avg": (_decode_average, _rank_number, _show_number),
    "quantize": (_decode_quantize, _rank_quantize, _show_quantize),
}
