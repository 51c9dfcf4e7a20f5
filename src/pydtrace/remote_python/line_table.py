"""The source line of an instruction of CPython.

- An invalid table gives None or a wrong number, never an error.

Formats: Objects/lnotab_notes.txt (3.9), PEP 626 (3.10), Objects/locations.md (3.11 and later) of
CPython.
"""

from __future__ import annotations


def find_line(minor: int, table: bytes, first: int, offset: int) -> int | None:
    """minor: of 3.minor; first: the function's line; offset: in bytes."""
    if offset < 0:  # it has not begun yet
        return first
    if minor >= 11:
        return _find_since_3_11(table, first, offset)
    return (
        _find_in_3_10(table, first, offset) if minor == 10 else _find_in_3_9(table, first, offset)
    )


def _to_signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _find_in_3_9(table: bytes, line: int, offset: int) -> int:
    """Pairs: bytes of code that are still of the line, how far the next line is."""
    at = 0
    for more, lines in zip(table[::2], table[1::2], strict=False):
        at += more
        if at > offset:
            break
        line += _to_signed(lines)
    return line


def _find_in_3_10(table: bytes, line: int, offset: int) -> int | None:
    """Pairs: bytes of code, how far their line is from that of the pair before; -128: they have none."""
    end = 0
    for size, lines in zip(table[::2], table[1::2], strict=False):
        end += size
        if lines == 128:
            if offset < end:
                return None
            continue
        line += _to_signed(lines)
        if offset < end:
            return line
    return None


def _find_since_3_11(table: bytes, line: int, offset: int) -> int | None:
    """Entries: a byte with the highest bit set (kind, code units - 1), then bytes without it."""
    end = at = 0
    while at < len(table):
        kind = table[at] >> 3 & 15
        end += 2 * ((table[at] & 7) + 1)
        line += _line_delta(kind, table, at + 1)
        if offset < end:
            return None if kind == 15 else line
        at += 1
        while at < len(table) and not table[at] & 0x80:
            at += 1
    return None


def _line_delta(kind: int, table: bytes, at: int) -> int:
    """How far the line of an entry is from that of the one before."""
    if kind in (13, 14):
        value = _read_varint(table, at)
        return -(value >> 1) if value & 1 else value >> 1
    return kind - 10 if 10 <= kind <= 12 else 0


def _read_varint(table: bytes, at: int) -> int:
    """Six bits a byte, the lowest first; a seventh says that there are more."""
    value = shift = 0
    for byte in table[at : at + 6]:
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value
