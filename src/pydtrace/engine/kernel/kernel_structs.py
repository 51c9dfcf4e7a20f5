# mypy: ignore-errors
"""The running kernel's own type information (BTF): where its structs have their members, and what they are.

In: /sys/kernel/btf/vmlinux.  Out: offsets and sizes for engine/kernel/probes/raw_tracepoints.py, rows for the compiler (dlang/types/kernel_btf.py).
Always: it is some megabytes, so it is read when it is first asked, and kept only as long as who asks keeps this.
"""

import struct
from collections import namedtuple

from pydtrace import _tracer

from .probes import tracefs

BTF = "/sys/kernel/btf/vmlinux"
_ROW = struct.Struct("=III")
_POINTER, _TYPEDEF, _PROTOTYPE = 2, 8, 13  # kinds of types
_STRINGS = struct.Struct("=4xI8xI")  # of the header: its size; where the texts begin behind it

# A type.  flag: of its kind; count: of members; size or type, one number: which it is the kind says; place: of what follows it.
Row = namedtuple("Row", ("kind", "name", "flag", "count", "size", "place"))
Row.type = property(lambda row: row.size)


class Structs:
    __slots__ = ("_information", "_places", "_texts")

    def __init__(self):
        self._information = self._places = None
        self._texts = 0

    def read(self):
        """Raises OSError where the kernel has no type information."""
        if self._information is None:
            with open(BTF, "rb") as file:
                self._information = file.read()
        return self._information

    def offset(self, structure, member):
        """Of a member in its struct; None where this kernel has no such member, or does not say."""
        try:
            return _tracer.btf_member(self.read(), structure, member)
        except OSError:
            return None

    def size(self, structure):
        """Of a struct, in bytes.  Raises OSError where the kernel has no type information."""
        return _tracer.btf_size(self.read(), structure)

    def find(self, kind, name):
        """The id of a type; None where this kernel has none of the kind and name, or does not say."""
        try:
            return _tracer.btf_find(self.read(), kind, name)
        except OSError:
            return None

    def enumerator(self, name):
        """The value of an enumerator; None where this kernel has none of the name, or several of different values, or does not say."""
        try:
            return _tracer.btf_enumerator(self.read(), name)
        except OSError:
            return None

    def tracepoint(self, name):
        """[id of the type] of what a raw tracepoint is given, or None where that is not known."""
        ident = self.find(_TYPEDEF, f"btf_trace_{name}")
        for kind in (_TYPEDEF, _POINTER):
            row = ident and self.row(ident)
            if not row or row.kind != kind:
                return None
            ident = row.type
        row = self.row(ident)
        return [of for _, of in self.members(row, 2)[1:]] if row.kind == _PROTOTYPE else None

    @staticmethod
    def system_call(name):
        """[C's words for the type] of its arguments, or None where that is not known."""
        return tracefs.arguments(name)

    def row(self, ident):
        """The Row of a type that is known to be there."""
        if self._places is None:
            self._places = memoryview(_tracer.btf_places(self._information) or b"").cast("I")
            header, texts = _STRINGS.unpack_from(self._information)
            self._texts = header + texts
        place = self._places[ident - 1]
        name, info, size = _ROW.unpack_from(self._information, place)
        return Row(
            info >> 24 & 31, self.text(name), info >> 31, info & 0xFFFF, size, place + _ROW.size
        )

    def words(self, place, count):
        return struct.unpack_from(f"={count}I", self._information, place)

    def word(self, place):
        return self.words(place, 1)[0]

    def members(self, row, width):
        """[tuple of `width` words] of what follows a row."""
        words = self.words(row.place, row.count * width)
        return [words[at : at + width] for at in range(0, len(words), width)]

    def text(self, at):
        start = self._texts + at
        return self._information[start : self._information.index(b"\0", start)].decode(
            "ascii", "replace"
        )
