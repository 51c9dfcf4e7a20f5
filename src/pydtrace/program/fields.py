"""A field of a record or a key: its place and its type, and how results/records.py reads its value."""

from __future__ import annotations

import os
import struct

from . import d_types as t

TYPE_CHECKING = False  # of typing, which the compiler does not import: this file is loaded with it
if TYPE_CHECKING:
    from typing import Any

_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}


class Field:
    """Where a value lies in a record, struct's code for it, and what makes the value of what struct gives, if anything does."""

    __slots__ = ("offset", "size", "code", "make")

    def __init__(self, offset: int, size: int, code: str, make: Any = None) -> None:
        self.offset, self.size, self.code, self.make = offset, size, code, make


def make_field(data: Any, symbols: Any) -> Field:
    """symbols: report.symbols.Symbols, None where only the places matter."""
    return Field(data.offset, data.size, struct_code(data), value_maker(data.type, symbols))


def make_memory_field(memory: Any, most: Any = None) -> Field:
    """Bytes; most: where the record has the number of those that are shown."""
    if most is None:
        return Field(memory.offset, memory.size, f"{memory.size}s")
    size, at = most.offset + most.size - memory.offset, most.offset - memory.offset
    number = struct.Struct("=" + struct_code(most))

    def shown(storage: bytes) -> bytes:
        count: int = number.unpack_from(storage, at)[0]
        return storage[: memory.size if count < 0 else min(count, memory.size)]

    return Field(memory.offset, size, f"{size}s", shown)


def value_maker(type: Any, symbols: Any) -> Any:
    """What makes a value of what struct gives for a field of a type; None where that is the value."""
    if type.is_string or type.is_array and t.is_text(type):
        return decode_text
    if isinstance(type, t.Stack):
        return lambda storage: tuple(symbols.name_frames(storage))
    if isinstance(type, t.Symbol):
        return lambda storage: symbols.format_symbol(type, storage).decode(
            "utf-8", "surrogateescape"
        )
    return None


def key_maker(type: Any, symbols: Any) -> Any:
    """As maker_of, for a key: no two keys become one value, so an array of char with bytes behind its NUL is all of them."""
    return _decode_key_text if type.is_array and t.is_text(type) else value_maker(type, symbols)


def _decode_key_text(storage: bytes) -> str | bytes:
    text = storage.rstrip(b"\0")
    return storage if 0 in text else decode_text(text)


def struct_code(data: Any) -> str:
    """struct's code for a field."""
    if t.is_real(data.type):
        return "f" if data.size == 4 else "d"
    code = _INTEGERS.get(data.size)
    if code is None or not (data.type.is_integer or data.type.is_pointer):
        return f"{data.size}s"
    return code if data.type.is_integer and data.type.signed else code.upper()


_ROUNDING = 8  # a field's size is a multiple of that, and its last byte may be a NUL


def decode_text(storage: bytes) -> str | bytes:
    """The string in a field: str, or bytes where it is not UTF-8."""
    text = storage[: storage.index(0)] if 0 in storage else storage
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        # where the field was too short for all of it, it may have been cut inside a character
        if (
            len(text) >= len(storage) - _ROUNDING
            and error.end == len(text)
            and error.reason == "unexpected end of data"
        ):
            return text[: error.start].decode()
        return text


def read_integer(data: Any, record: bytes) -> int:
    """The value of an integer or a pointer."""
    found: int = struct.unpack_from("=" + struct_code(data), record, data.offset)[0]
    return found


def read_string(data: Any, record: bytes) -> str:
    return os.fsdecode(record[data.offset : data.offset + data.size].split(b"\0", 1)[0])
