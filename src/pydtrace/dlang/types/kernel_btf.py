"""The running kernel's types: its structs, unions, enumerations and typedefs, and the arguments
of its raw tracepoints.

- The members of a struct are read on first use, because each leads to thousands of others.
- Declarations of the program take precedence. Members lie where the kernel has them, by C's
  rules.

Source of the format: Linux Documentation/bpf/btf.rst.
"""

from __future__ import annotations

from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


INT, POINTER, ARRAY, STRUCT, UNION, ENUM, FORWARD, TYPEDEF, FLOAT, ENUM64 = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    16,
    19,
)
_QUALIFIERS = frozenset(
    [9, 10, 11, 18]
)  # volatile, const, restrict, tags of types: as what they are put before
_KINDS = {"struct": STRUCT, "union": UNION, "enum": ENUM}
_SIGNED, _BOOL = 1, 4  # of an integer's encoding
_ORDER = ("unsigned", "signed", "short", "char", "int", "long", "_Bool")
_TYPEDEFS = frozenset(["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"])
_NESTING_MAX = 8  # unnamed structs in unnamed structs


class KernelTypeResolver:
    """structs: engine/kernel/kernel_structs.KernelBtf."""

    def __init__(self, structs: Any) -> None:
        self._structs = structs
        self._types: dict[int, t.Type] = {}

    def find_tagged(self, kind: str, tag: str) -> t.Type | None:
        """The type that `struct tag` and its like is in the kernel, or None."""
        ident: int | None = self._structs.find_type(_KINDS[kind], tag)
        return self._find_type(ident) if ident else None

    def find_typedef(self, name: str) -> t.Type | None:
        """The kernel's type of this name, or None.  Of those that D has not, only such are looked for whose names say that they are
        types: a variable may be called as one of the kernel's thousands."""
        if not name.endswith("_t") and name.removeprefix("__") not in _TYPEDEFS:
            return None
        ident: int | None = self._structs.find_type(TYPEDEF, name)
        return self._find_type(ident) if ident else None

    def find_enumerator(self, name: str) -> int | None:
        """The value of one of the kernel's enumerators, or None."""
        value: int | None = self._structs.enumerator_value(name)
        return value

    def tracepoint_types(self, name: str) -> list[t.Type] | None:
        """[type] of what a raw tracepoint is given, or None where that is not known."""
        found = self._structs.tracepoint_types(name)
        return found and [self._find_type(of) for of in found]

    def syscall_types(self, name: str) -> list[t.Type] | None:
        """[type] of a system call's arguments, or None where that is not known."""
        found = self._structs.syscall_types(name)
        return found and [self._parse_c_type(words) for words in found]

    def _parse_c_type(self, text: str) -> t.Type:
        """The type that C's words for it mean; of what has no meaning here, a number or an address."""
        words = [
            word
            for word in text.replace("*", " * ").split()
            if word not in ("const", "volatile", "restrict")
        ]
        pointers = words.count("*")
        words = words[: len(words) - pointers]
        found: t.Type | None
        if words == ["unsigned"]:
            found = t.make_typedef("unsigned", t.UINT)
        elif words[0] in _KINDS:
            found = self.find_tagged(*words[:2])
        else:
            name = " ".join(words)
            ident = (
                None
                if name in t.BASIC or name in t.TYPEDEFS
                else self._structs.find_type(TYPEDEF, name)
            )
            found = t.BASIC.get(name) or t.TYPEDEFS.get(name)
            if ident:
                found = found or self._find_type(ident)
        type = found or (t.VOID if pointers else t.INT64)
        for _ in range(pointers):
            type = t.Pointer(type)
        return type

    def _find_type(self, ident: int) -> t.Type:
        found = self._types.get(ident)
        if found is None:
            found = self._types[ident] = self._make_type(ident)
        return found

    def _make_type(self, ident: int) -> t.Type:
        row = ident and self._structs.read_type(ident)
        if not row:
            return t.VOID
        if row.kind in _QUALIFIERS:
            return self._find_type(row.type)
        if row.kind == TYPEDEF:
            of = self._find_type(row.type)
            return t.make_typedef(row.name, of) if not (of.is_void or of.is_function) else of
        if row.kind == POINTER:
            to = self._find_type(row.type)
            return t.FUNCTION_POINTER if to is t.FUNCTION else t.Pointer(to)
        return _MAKERS.get(row.kind, _make_function)(self, ident, row)

    def _make_integer(self, _: int, row: Any) -> t.Integer:
        encoding = self._structs.read_word(row.place) >> 24
        words = [word for word in _ORDER for _ in range(row.name.split().count(word))]
        spelled = " ".join(word for word in words if word != "int" or len(words) == 1)
        if row.size > 8 or encoding & _BOOL or spelled not in t.BASIC:
            base = {1: "char", 2: "short", 4: "int"}.get(row.size, "long")
            spelled = base if encoding & _SIGNED else f"unsigned {base}"
        return t.make_typedef(row.name, t.BASIC[spelled])

    def _make_float(self, _: int, row: Any) -> t.Float:
        return t.FLOATS["float" if row.size == 4 else "double"]

    def _make_array(self, _: int, row: Any) -> t.Array:
        of, _, count = self._structs.read_words(row.place, 3)
        return t.Array(self._find_type(of), count)

    def _make_enum(self, _: int, row: Any) -> t.Enum:
        made = t.Enum(row.name or None)
        width = 3 if row.kind == ENUM64 else 2
        made.values = {
            self._structs.read_text(name): value - (1 << 32) if row.flag and value >> 31 else value
            for name, value, *_ in self._structs.read_members(row, width)
        }
        return made

    def _make_forward(self, _: int, row: Any) -> t.Type:
        kind = "union" if row.flag else "struct"
        ident = self._structs.find_type(_KINDS[kind], row.name)
        return self._find_type(ident) if ident else t.Record(kind, row.name)

    def _make_record(self, ident: int, row: Any) -> t.Record:
        made = t.Record("struct" if row.kind == STRUCT else "union", row.name or "(anon)")
        self._types[ident] = made  # before its members, which may point to it
        made.body = t.KernelBody(lambda: self._read_fields(row), row.size)
        return made

    def _read_fields(self, row: Any, base: int = 0, depth: int = 0) -> dict[str, t.Field]:
        """{name: Field}; those of unnamed structs in it, too.  base: where it begins, in bits."""
        found = {}
        for name, of, place in self._structs.read_members(row, 3):
            bits, place = (place >> 24, place & 0xFFFFFF) if row.flag else (0, place)
            text, type = self._structs.read_text(name), self._find_type(of)
            if not text and type.is_record and depth < _NESTING_MAX:
                found.update(
                    self._read_fields(
                        self._structs.read_type(self._skip_qualifiers(of)), base + place, depth + 1
                    )
                )
            elif text:
                found[text] = _make_field(text, type, base + place, bits)
        return found

    def _skip_qualifiers(self, ident: int) -> int:
        """The id of the type behind qualifiers."""
        row = self._structs.read_type(ident)
        return (
            self._skip_qualifiers(row.type)
            if row.kind in _QUALIFIERS or row.kind == TYPEDEF
            else ident
        )


def _make_function(*_: Any) -> t.Function:
    return t.FUNCTION


def _make_field(name: str, type: t.Type, place: int, bits: int) -> t.Field:
    """place: in bits."""
    if not bits:
        return t.Field(name, type, place // 8)
    shift = place % 8
    field = t.Field(name, type, place // 8, bits + shift)
    field.shift = shift
    return field


_MAKERS = {
    INT: KernelTypeResolver._make_integer,
    ARRAY: KernelTypeResolver._make_array,
    STRUCT: KernelTypeResolver._make_record,
    UNION: KernelTypeResolver._make_record,
    ENUM: KernelTypeResolver._make_enum,
    ENUM64: KernelTypeResolver._make_enum,
    FORWARD: KernelTypeResolver._make_forward,
    FLOAT: KernelTypeResolver._make_float,
}
