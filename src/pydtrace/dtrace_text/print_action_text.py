"""What print() shows: a value in memory with its types and its members' names, and the same as plain Python data.

In: a type (program/d_types.py), the bytes that a record holds of such a value, the address that they were read at.
Out: dtrace's text, or int, str, list and dict.
Always: no byte behind the given ones is looked at; members that are all zeros are not shown in the text, as in dtrace, and
are in the data.
"""

from __future__ import annotations

import sys

from pydtrace.program import d_types as t
from pydtrace.program.float_values import of_storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRINTSIZE = 8192  # the option's default: bytes of a value that are shown
_INDENT = 44  # columns before the outermost type
_DEPTH = 10  # levels of nesting; what is deeper is not shown


def _raw(type: Any, storage: bytes) -> int:
    """An enumeration's number is one of its enumerators', with its sign, as print() of dtrace has it."""
    return int.from_bytes(
        storage, sys.byteorder, signed=type.is_integer and (type.signed or type.is_enum)
    )


def _integer(field: t.Field | None, type: Any, storage: bytes) -> int:
    """The value of an integer, a pointer or a bit-field."""
    if field is None or field.width is None:
        return _raw(type, storage)
    bits = field.width - field.shift
    value = int.from_bytes(storage, sys.byteorder) >> field.shift & ((1 << bits) - 1)
    return value - (1 << bits) if type.signed and value >> (bits - 1) else value


def _enumerator(type: Any, value: int) -> str | None:
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
class _Cut(Exception):
    """The option printsize is reached, or the levels are."""


class _Printer:
    """lines: the text so far.  last: the level that was shown last; a struct's brace is closed when what follows it
    is shown, so that what cuts the output stands inside of it."""

    def __init__(self, storage: bytes, limit: int) -> None:
        self.storage, self.limit = storage, min(limit, len(storage))
        self.lines: list[str] = []
        self.last = 0

    def line(self, depth: int, text: str) -> None:
        """A line; a NUL character in it ends it, as in dtrace."""
        self.lines.append(" " * (_INDENT + depth) + text.partition("\0")[0])

    def close(self, depth: int) -> None:
        """Close the structs that are open inside of a level."""
        while self.last > depth:
            self.last -= 1
            self.line(self.last, "}" if self.last == 0 else "},")

    def show(
        self, name: str, type: Any, offset: int, depth: int = 0, field: t.Field | None = None
    ) -> None:
        """A value at an offset; name: of the member that it is."""
        if offset >= self.limit or depth >= _DEPTH:
            self.line(depth, "...")
            raise _Cut
        self.close(depth)
        size = field.size if field else t.extent(type)
        storage = self.storage[offset : offset + size]
        label = f".{name} = " if name else ""
        zero = depth > 0 and not any(storage)
        if type.is_record:
            if not zero:
                self.last = depth
                self.line(depth, f"{label}({type.name.rstrip()}) {{")
            self.members(type, offset, depth)
        elif not zero:
            self.last = depth
            if type.is_array or type.is_string:
                self.elements(label, type, offset, depth)
            else:
                shown = scalar(field, type, storage)
                if shown is not None:
                    self.line(depth, f"{label}({type.name.rstrip()}){shown},")

    def members(self, type: Any, offset: int, depth: int) -> None:
        for name, field in shown_members(type):
            self.show(
                "" if name.startswith("#") else name,
                field.type,
                offset + field.offset,
                depth + 1,
                field,
            )

    def elements(self, label: str, type: Any, offset: int, depth: int) -> None:
        of, count = (type.to, type.count) if type.is_array else (t.CHAR, t.STRING_EXTENT)
        self.line(depth, f"{label}({type.name}) [" + ("" if count else "],"))
        size = t.extent(of)
        try:
            for i in range(count):
                at = offset + i * size
                if is_characters(of) and not self.storage[at]:
                    break
                self.show("", of, at, depth + 1)
        finally:
            self.close(depth + 1)
            self.last = depth  # the array's own level has no brace
        if count:
            self.line(depth, "],")


def scalar(field: t.Field | None, type: Any, storage: bytes) -> str | None:
    """The text of a value that has no parts; None where it is not shown."""
    if t.is_real(type):
        return repr(of_storage(storage))
    if not t.is_scalar(type):
        return None
    value = _integer(field, type, storage)
    if type.is_pointer:
        return hex(value)
    if type.is_enum:
        return _enumerator(type, value) or str(value)
    if type.name == "char" and not (field and field.width):
        return f"'{chr(value & 0xFF)}'"
    return None if field and field.width and value == 0 else str(value)


def show(type: Any, storage: bytes, address: int, limit: int) -> bytes:
    """The text of print() as bytes; limit: bytes of the value that are shown at most."""
    printer = _Printer(storage, limit)
    try:
        printer.show("", type, 0)
        if type.is_record and printer.last == 0:
            printer.last = 1  # the outermost brace is closed although nothing stands in it
    except _Cut:
        pass
    printer.close(0)
    head = f"{address:#x}" if address else "(nil)"
    return "\n".join([f"{head} = *", *printer.lines, ""]).encode("latin-1")


# --- data ---------------------------------------------------------------------------------
def data_of(type: Any, storage: bytes, field: t.Field | None = None) -> Any:
    """The value as plain data: a struct is a dict, the members of one without a name among its own; an array a list;
    characters a str up to their NUL (bytes where they are no UTF-8); an enum its name, where it has one; a pointer
    and an integer an int."""
    if type.is_record:
        return _members(type, storage)
    if type.is_string or type.is_array and is_characters(type.to):
        text = bytes(storage).split(b"\0", 1)[0]
        try:
            return text.decode()
        except UnicodeDecodeError:
            return text
    if type.is_array:
        size = t.extent(type.to)
        return [data_of(type.to, storage[i * size : (i + 1) * size]) for i in range(type.count)]
    if t.is_real(type):
        return of_storage(storage)
    if not t.is_scalar(type):
        return bytes(storage)
    value = _integer(field, type, storage)
    return (_enumerator(type, value) or value) if type.is_enum else value


def _members(type: Any, storage: bytes) -> dict[str, Any]:
    found = {}
    for name, field in shown_members(type):
        value = data_of(field.type, storage[field.offset : field.offset + field.size], field)
        if name.startswith("#"):
            found.update(value)
        else:
            found[name] = value
    return found
