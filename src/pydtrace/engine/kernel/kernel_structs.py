"""The type information (BTF) of the running kernel: the members of its structs, and their types.

- It has some megabytes, so it is read on first use and kept only as long as its KernelTypes.
"""

from __future__ import annotations

import struct
from collections import namedtuple

from pydtrace import _tracer

from .probes import tracefs

BTF = "/sys/kernel/btf/vmlinux"
_ROW = struct.Struct("=III")
_POINTER, _TYPEDEF, _PROTOTYPE = 2, 8, 13  # kinds of types
_STRINGS = struct.Struct("=4xI8xI")  # of the header: its size; where the texts begin behind it


class BtfType(namedtuple("Row", ("kind", "name", "flag", "count", "size", "place"))):
    """A type.  flag: of its kind; count: of members; size or type, one number: which it is the kind says; place: of what follows it."""

    __slots__ = ()

    @property
    def type(self) -> int:
        number: int = self.size
        return number


class KernelBtf:
    __slots__ = ("_information", "_places", "_texts")

    def __init__(self) -> None:
        self._information: bytes | None = None
        self._places: memoryview[int] | None = None
        self._texts = 0

    def read_btf(self) -> bytes:
        """Raises OSError where the kernel has no type information."""
        if self._information is None:
            with open(BTF, "rb") as file:
                self._information = file.read()
        return self._information

    def member_offset(self, structure: str, member: str) -> int | None:
        """Of a member in its struct; None where this kernel has no such member, or does not say."""
        try:
            found: int | None = _tracer.btf_member(self.read_btf(), structure, member)
        except OSError:
            return None
        return found

    def struct_size(self, structure: str) -> int | None:
        """Of a struct, in bytes; None where there is none of this name.  Raises OSError where the kernel has no type information."""
        return _tracer.btf_size(self.read_btf(), structure)

    def find_type(self, kind: int, name: str) -> int | None:
        """The id of a type; None where this kernel has none of the kind and name, or does not say."""
        try:
            found: int | None = _tracer.btf_find(self.read_btf(), kind, name)
        except OSError:
            return None
        return found

    def enumerator_value(self, name: str) -> int | None:
        """The value of an enumerator; None where this kernel has none of the name, or several of different values, or does not say."""
        try:
            found: int | None = _tracer.btf_enumerator(self.read_btf(), name)
        except OSError:
            return None
        return found

    def tracepoint_types(self, name: str) -> list[int] | None:
        """[id of the type] of what a raw tracepoint is given, or None where that is not known."""
        ident = self.find_type(_TYPEDEF, f"btf_trace_{name}")
        for kind in (_TYPEDEF, _POINTER):
            row = self.read_type(ident) if ident else None
            if row is None or row.kind != kind:
                return None
            ident = row.type
        assert ident is not None
        row = self.read_type(ident)
        return [of for _, of in self.read_members(row, 2)[1:]] if row.kind == _PROTOTYPE else None

    @staticmethod
    def syscall_types(name: str) -> list[str] | None:
        """[C's words for the type] of its arguments, or None where that is not known."""
        return tracefs.read_argument_types(name)

    def read_type(self, ident: int) -> BtfType:
        """The Row of a type that is known to be there."""
        if self._places is None:
            self._places = memoryview(_tracer.btf_places(self.read_btf()) or b"").cast("I")
            header, texts = _STRINGS.unpack_from(self.read_btf())
            self._texts = header + texts
        place = self._places[ident - 1]
        name, info, size = _ROW.unpack_from(self.read_btf(), place)
        return BtfType(
            info >> 24 & 31,
            self.read_text(name),
            info >> 31,
            info & 0xFFFF,
            size,
            place + _ROW.size,
        )

    def read_words(self, place: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f"={count}I", self.read_btf(), place)

    def read_word(self, place: int) -> int:
        return self.read_words(place, 1)[0]

    def read_members(self, row: BtfType, width: int) -> list[tuple[int, ...]]:
        """[tuple of `width` words] of what follows a row."""
        words = self.read_words(row.place, row.count * width)
        return [words[at : at + width] for at in range(0, len(words), width)]

    def read_text(self, at: int) -> str:
        start, information = self._texts + at, self.read_btf()
        return information[start : information.index(b"\0", start)].decode("ascii", "replace")
