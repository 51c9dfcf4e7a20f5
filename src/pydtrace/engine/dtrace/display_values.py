"""Values that dtrace prints for people inside frames: stacks, names of addresses, tables of bytes.

The frame, not the text, says where such a text ends (script_rewriter.py): names come from the
traced program's files.
"""

from __future__ import annotations

import re
import sys

from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pydtrace.symbols.name_interning import Names

_HEADING = re.compile(rb"\n {5,}0  1  2 .*\n")  # of a table of bytes
_LINE = re.compile(rb" {5,}([0-9a-f]+):((?: [0-9a-f]{2}){1,16})")
_COLUMN = 50  # of a string in an aggregation's table


def encode_value(type: Any, size: int, text: bytes, names: Names) -> bytes:
    """The bytes of a value; size: how many there may be; names: symbols.name_interning.NameInterner, for what dtrace calls addresses."""
    if isinstance(type, t.Symbol):
        words: tuple[str, ...] = (_decode_text(text).strip(),)
    elif isinstance(type, t.Stack):
        words = parse_stack(text)
    else:
        return parse_dump(text, size)
    return names.storage(type, size, words)


def parse_stack(text: bytes) -> tuple[str, ...]:
    """The names of a stack's frames."""
    lines = [line.strip() for line in _decode_text(text).split("\n")]
    return tuple([line for line in lines if line])


def _decode_text(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def parse_dump(text: bytes, size: int) -> bytes:
    """The bytes of a table, or of the number that dtrace prints where there are 1, 2, 4 or 8 of them."""
    if text.count(b"\n") < 2:
        return (int(text) % (1 << 8 * size)).to_bytes(size, sys.byteorder)
    return b"".join(
        bytes.fromhex(match[2].decode()) for match in map(_LINE.match, text.split(b"\n")) if match
    )[:size]


def strip_strings(table: bytes, rows: Sequence[Sequence[bytes]], ending: bytes) -> bytes:
    """An aggregation's table without its first columns, which are strings: what is left has columns of one width.

    rows: the strings of each row; ending: what a row ends with.  Raises ValueError where the table has not just these rows.
    """
    found, at = [b"\n"], 1
    for strings in rows:
        for string in strings:
            at = _string_end(table, at, string)
        end = table.index(ending, at) + len(ending)
        found.append(table[at:end])
        at = end
    if table[at:].strip():
        raise ValueError(f"more than {len(rows)} rows")
    return b"".join(found)


def _string_end(table: bytes, at: int, string: bytes) -> int:
    """Where a string ends in a table: padded to its column or, where it is no text, as a table of its bytes."""
    plain = b"  " + string.ljust(_COLUMN)
    if table.startswith(plain, at):
        return at + len(plain)
    heading = _HEADING.match(table, at)
    end, size = heading.end() if heading else at, 0
    while (line := _LINE.match(table, end)) and int(line[1], 16) == size:
        end, size = table.index(b"\n", line.end()) + 1, size + len(line[2]) // 3
    if size <= len(string) or not parse_dump(table[at:end], size).startswith(string + b"\0"):
        raise ValueError(f"another string than {string!r}")
    return end
