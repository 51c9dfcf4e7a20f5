"""What print() prints: a value in memory with its types and the names of its members, and the same
as plain Python data.

- No byte outside of the given ones is read.
- Members that are all zeros are left out of the text, as in dtrace, and are in the data.
"""

from __future__ import annotations

import sys

from pydtrace.program import d_types as t
from pydtrace.program.float_values import float_from_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRINTSIZE = 8192  # the option's default: bytes of a value that are shown
_INDENT = 44  # columns before the outermost type
_DEPTH = 10  # levels of nesting; what is deeper is not shown


def _read_integer(type: Any, storage: bytes) -> int:
    """An enumeration's number is one of its enumerators', with its sign, as print() of dtrace has it."""
    return int.from_bytes(
        storage, sys.byteorder, signed=type.is_integer and (type.signed or type.is_enum)
    )


def _read_member(field: t.Field | None, type: Any, storage: bytes) -> int:
    """The value of an integer, a pointer or a bit-field."""
    if field is None or field.width is None:
        return _read_integer(type, storage)
    bits = field.width - field.shift
    value = int.from_bytes(storage, sys.byteorder) >> field.shift & ((1 << bits) - 1)
    return value - (1 << bits) if type.signed and value >> (bits - 1) else value


def _find_enumerator(type: Any, value: int) -> str | None:
    """The name of an enum's value, or None."""
    return next((name for name, number in (type.values or {}).items() if number == value), None)


def is_characters(type: Any) -> bool:
    """True for what is shown up to its NUL."""
    return t.is_char(type) and type.base != "_Bool"


def shown_members(type: Any) -> list[tuple[str, t.Field]]:
    """(name, Field) of a struct's members; a bit-field without a name is only padding."""
    return [
        (name, field)
        for name, field in (type.body.fields or {}).items()
        if not name.startswith("#") or field.type.is_record
    ]


# --- text ---------------------------------------------------------------------------------
class _LimitReached(Exception):
    """The option printsize is reached, or the levels are."""


class _Printer:
    """lines: the text so far.  last: the level that was shown last; a struct's brace is closed when what follows it
    is shown, so that what cuts the output stands inside of it."""

    def __init__(self, storage: bytes, limit: int) -> None:
        self.storage, self.limit = storage, min(limit, len(storage))
        self.lines: list[str] = []
        self.last = 0

    def add_line(self, depth: int, text: str) -> None:
        """A line; a NUL character in it ends it, as in dtrace."""
        self.lines.append(" " * (_INDENT + depth) + text.partition("\0")[0])

    def close_structs(self, depth: int) -> None:
        """Close the structs that are open inside of a level."""
        while self.last > depth:
            self.last -= 1
            self.add_line(self.last, "}" if self.last == 0 else "},")

    def show_value(
        self, name: str, type: Any, offset: int, depth: int = 0, field: t.Field | None = None
    ) -> None:
        """A value at an offset; name: of the member that it is."""
        if offset >= self.limit or depth >= _DEPTH:
            self.add_line(depth, "...")
            raise _LimitReached
        self.close_structs(depth)
        size = field.size if field else t.embedded_size(type)
        storage = self.storage[offset : offset + size]
        label = f".{name} = " if name else ""
        zero = depth > 0 and not any(storage)
        if type.is_record:
            if not zero:
                self.last = depth
                self.add_line(depth, f"{label}({type.name.rstrip()}) {{")
            self.show_members(type, offset, depth)
        elif not zero:
            self.last = depth
            if type.is_array or type.is_string:
                self.show_elements(label, type, offset, depth)
            else:
                shown = format_scalar(field, type, storage)
                if shown is not None:
                    self.add_line(depth, f"{label}({type.name.rstrip()}){shown},")

    def show_members(self, type: Any, offset: int, depth: int) -> None:
        for name, field in shown_members(type):
            self.show_value(
                "" if name.startswith("#") else name,
                field.type,
                offset + field.offset,
                depth + 1,
                field,
            )

    def show_elements(self, label: str, type: Any, offset: int, depth: int) -> None:
        of, count = (type.to, type.count) if type.is_array else (t.CHAR, t.STRING_EXTENT)
        self.add_line(depth, f"{label}({type.name}) [" + ("" if count else "],"))
        size = t.embedded_size(of)
        try:
            for i in range(count):
                at = offset + i * size
                if is_characters(of) and not self.storage[at]:
                    break
                self.show_value("", of, at, depth + 1)
        finally:
            self.close_structs(depth + 1)
            self.last = depth  # the array's own level has no brace
        if count:
            self.add_line(depth, "],")


def format_scalar(field: t.Field | None, type: Any, storage: bytes) -> str | None:
    """The text of a value that has no parts; None where it is not shown."""
    if t.is_real(type):
        return repr(float_from_bytes(storage))
    if not t.is_scalar(type):
        return None
    value = _read_member(field, type, storage)
    if type.is_pointer:
        return hex(value)
    if type.is_enum:
        return _find_enumerator(type, value) or str(value)
    if type.name == "char" and not (field and field.width):
        return f"'{chr(value & 0xFF)}'"
    return None if field and field.width and value == 0 else str(value)


def render_value(type: Any, storage: bytes, address: int, limit: int) -> bytes:
    """The text of print() as bytes; limit: bytes of the value that are shown at most."""
    printer = _Printer(storage, limit)
    try:
        printer.show_value("", type, 0)
        if type.is_record and printer.last == 0:
            printer.last = 1  # the outermost brace is closed although nothing stands in it
    except _LimitReached:
        pass
    printer.close_structs(0)
    head = f"{address:#x}" if address else "(nil)"
    return "\n".join([f"{head} = *", *printer.lines, ""]).encode("latin-1")


# --- data ---------------------------------------------------------------------------------
def to_plain_data(type: Any, storage: bytes, field: t.Field | None = None) -> Any:
    """The value as plain data: a struct is a dict, the members of one without a name among its own; an array a list;
    characters a str up to their NUL (bytes where they are no UTF-8); an enum its name, where it has one; a pointer
    and an integer an int."""
    if type.is_record:
        return _record_data(type, storage)
    if type.is_string or type.is_array and is_characters(type.to):
        text = bytes(storage).split(b"\0", 1)[0]
        try:
            return text.decode()
        except UnicodeDecodeError:
            return text
    if type.is_array:
        size = t.embedded_size(type.to)
        return [
            to_plain_data(type.to, storage[i * size : (i + 1) * size]) for i in range(type.count)
        ]
    if t.is_real(type):
        return float_from_bytes(storage)
    if not t.is_scalar(type):
        return bytes(storage)
    value = _read_member(field, type, storage)
    return (_find_enumerator(type, value) or value) if type.is_enum else value


def _record_data(type: Any, storage: bytes) -> dict[str, Any]:
    found = {}
    for name, field in shown_members(type):
        value = to_plain_data(field.type, storage[field.offset : field.offset + field.size], field)
        if name.startswith("#"):
            found.update(value)
        else:
            found[name] = value
    return found
