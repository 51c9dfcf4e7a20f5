# mypy: ignore-errors
"""The running kernel's own types: its structs, unions, enumerations and typedefs, and what its raw tracepoints are given.

In: who reads the kernel's type information (engine/kernel/kernel_structs.KernelBtf).  Out: types.Type, as a program's own ones are.
Always: a struct's members are read when they are first asked for, since each leads to thousands of others; what the program itself
declares by a name is meant first.  Members are where the kernel has them, which is C's way and not D's.
Source of the format: Linux Documentation/bpf/btf.rst.
"""

from pydtrace.program import d_types as t

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
_SAME = frozenset(
    [9, 10, 11, 18]
)  # volatile, const, restrict, tags of types: as what they are put before
_KINDS = {"struct": STRUCT, "union": UNION, "enum": ENUM}
_SIGNED, _BOOL = 1, 4  # of an integer's encoding
_ORDER = ("unsigned", "signed", "short", "char", "int", "long", "_Bool")
_TYPEDEFS = frozenset(["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"])
_DEEPEST = 8  # unnamed structs in unnamed structs


class KernelTypes:
    """structs: engine/kernel/kernel_structs.KernelBtf."""

    def __init__(self, structs):
        self._structs = structs
        self._known = {}

    def tagged(self, kind, tag):
        """The type that `struct tag` and its like is in the kernel, or None."""
        ident = self._structs.find_type(_KINDS[kind], tag)
        return ident and self._type(ident)

    def typedef(self, name):
        """The kernel's type of this name, or None.  Of those that D has not, only such are looked for whose names say that they are
        types: a variable may be called as one of the kernel's thousands."""
        if not name.endswith("_t") and name.removeprefix("__") not in _TYPEDEFS:
            return None
        ident = self._structs.find_type(TYPEDEF, name)
        return ident and self._type(ident)

    def enumerator(self, name):
        """The value of one of the kernel's enumerators, or None."""
        return self._structs.enumerator_value(name)

    def tracepoint(self, name):
        """[type] of what a raw tracepoint is given, or None where that is not known."""
        found = self._structs.tracepoint_types(name)
        return found and [self._type(of) for of in found]

    def system_call(self, name):
        """[type] of a system call's arguments, or None where that is not known."""
        found = self._structs.syscall_types(name)
        return found and [self._spoken(words) for words in found]

    def _spoken(self, text):
        """The type that C's words for it mean; of what has no meaning here, a number or an address."""
        words = [
            word
            for word in text.replace("*", " * ").split()
            if word not in ("const", "volatile", "restrict")
        ]
        pointers = words.count("*")
        words = words[: len(words) - pointers]
        if words == ["unsigned"]:
            found = t.make_typedef("unsigned", t.UINT)
        elif words[0] in _KINDS:
            found = self.tagged(*words[:2])
        else:
            name = " ".join(words)
            ident = (
                None
                if name in t.BASIC or name in t.TYPEDEFS
                else self._structs.find_type(TYPEDEF, name)
            )
            found = t.BASIC.get(name) or t.TYPEDEFS.get(name) or ident and self._type(ident)
        found = found or (t.VOID if pointers else t.INT64)
        for _ in range(pointers):
            found = t.Pointer(found)
        return found

    def _type(self, ident):
        found = self._known.get(ident)
        if found is None:
            found = self._known[ident] = self._make(ident)
        return found

    def _make(self, ident):
        row = ident and self._structs.read_type(ident)
        if not row:
            return t.VOID
        if row.kind in _SAME:
            return self._type(row.type)
        if row.kind == TYPEDEF:
            of = self._type(row.type)
            return t.make_typedef(row.name, of) if not (of.is_void or of.is_function) else of
        if row.kind == POINTER:
            to = self._type(row.type)
            return t.FUNCTION_POINTER if to is t.FUNCTION else t.Pointer(to)
        return _MAKERS.get(row.kind, _function)(self, ident, row)

    def _integer(self, _, row):
        encoding = self._structs.read_word(row.place) >> 24
        words = [word for word in _ORDER for _ in range(row.name.split().count(word))]
        spelled = " ".join(word for word in words if word != "int" or len(words) == 1)
        if row.size > 8 or encoding & _BOOL or spelled not in t.BASIC:
            base = {1: "char", 2: "short", 4: "int"}.get(row.size, "long")
            spelled = base if encoding & _SIGNED else f"unsigned {base}"
        return t.make_typedef(row.name, t.BASIC[spelled])

    def _real(self, _, row):
        return t.FLOATS["float" if row.size == 4 else "double"]

    def _array(self, _, row):
        of, _, count = self._structs.read_words(row.place, 3)
        return t.Array(self._type(of), count)

    def _enumeration(self, _, row):
        made = t.Enum(row.name or None)
        width = 3 if row.kind == ENUM64 else 2
        made.values = {
            self._structs.read_text(name): value - (1 << 32) if row.flag and value >> 31 else value
            for name, value, *_ in self._structs.read_members(row, width)
        }
        return made

    def _forward(self, _, row):
        kind = "union" if row.flag else "struct"
        ident = self._structs.find_type(_KINDS[kind], row.name)
        return self._type(ident) if ident else t.Record(kind, row.name)

    def _record(self, ident, row):
        made = t.Record("struct" if row.kind == STRUCT else "union", row.name or "(anon)")
        self._known[ident] = made  # before its members, which may point to it
        made.body = t.KernelBody(lambda: self._fields(row), row.size)
        return made

    def _fields(self, row, base=0, depth=0):
        """{name: Field}; those of unnamed structs in it, too.  base: where it begins, in bits."""
        found = {}
        for name, of, place in self._structs.read_members(row, 3):
            bits, place = (place >> 24, place & 0xFFFFFF) if row.flag else (0, place)
            text, type = self._structs.read_text(name), self._type(of)
            if not text and type.is_record and depth < _DEEPEST:
                found.update(
                    self._fields(self._structs.read_type(self._behind(of)), base + place, depth + 1)
                )
            elif text:
                found[text] = _field(text, type, base + place, bits)
        return found

    def _behind(self, ident):
        """The id of the type behind qualifiers."""
        row = self._structs.read_type(ident)
        return self._behind(row.type) if row.kind in _SAME or row.kind == TYPEDEF else ident


def _function(*_):
    return t.FUNCTION


def _field(name, type, place, bits):
    """place: in bits."""
    if not bits:
        return t.Field(name, type, place // 8)
    shift = place % 8
    field = t.Field(name, type, place // 8, bits + shift)
    field.shift = shift
    return field


_MAKERS = {
    INT: KernelTypes._integer,
    ARRAY: KernelTypes._array,
    STRUCT: KernelTypes._record,
    UNION: KernelTypes._record,
    ENUM: KernelTypes._enumeration,
    ENUM64: KernelTypes._enumeration,
    FORWARD: KernelTypes._forward,
    FLOAT: KernelTypes._real,
}
