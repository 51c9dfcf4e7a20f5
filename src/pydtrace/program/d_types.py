"""D types: what the types pass gives to expressions and code generation lays out.

Sizes and signs are those of LP64 Linux, the data model of every platform that is
supported.  Source of the rules: the DTrace guide, "Types, Operators, and Expressions".
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", bound="Type")


class Type:
    """Base of all types.  `size` is in bytes, `align` in bytes, `name` as D spells it.

    What only one kind has is read behind the flag that says so: is_integer before `signed`, is_array before `count`."""

    if not TYPE_CHECKING:
        __slots__ = ("name", "size", "align")
    else:
        to: Type  # of pointers and arrays
        count: int  # of arrays
        body: Body  # of structs and unions
        signed: bool  # of integers
        rank: tuple[float, bool, bool]
        base: str
        values: dict[str, int] | None  # of enumerations
    is_integer = is_string = is_pointer = is_void = is_array = is_record = is_enum = is_function = (
        False
    )

    def __init__(self, name: str, size: int, align: int | None = None) -> None:
        self.name, self.size, self.align = name, size, align or max(1, size)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class Integer(Type):
    """rank: which of two types an operator's result has, the greater one: by size, then unsigned over
    signed, then _Bool; types of one rank (long, long long) are the same but for their names.
    base: the name of its basic type, which printf()'s %l and %ll tell apart."""

    __slots__ = ("signed", "rank", "base")
    is_integer = True

    def __init__(self, name: str, size: int, signed: bool) -> None:
        super().__init__(name, size)
        self.signed = signed
        self.rank = (size, not signed, name == "_Bool")
        self.base = name


class String(Type):
    """D's string; its storage is the strsize option's bytes and one for the NUL."""

    __slots__ = ()
    is_string = True

    def __init__(self) -> None:
        super().__init__("string", 0, 1)


class Pointer(Type):
    """A pointer into the traced process's memory."""

    __slots__ = ("to",)
    is_pointer = True

    def __init__(self, to: Type) -> None:
        super().__init__(f"{to}*" if to.is_pointer and to.name[-1] == "*" else f"{to} *", 8)
        self.to = to


class Array(Type):
    """`count` elements of the type `to`."""

    __slots__ = ("to", "count")
    is_array = True

    def __init__(self, to: Type, count: int) -> None:
        base, bracket, rest = to.name.partition("[") if to.is_array else (to.name, "", "")
        gap = "" if base.endswith(("*", " ")) else " "
        super().__init__(
            f"{base}{gap}[{count}]{bracket}{rest}", embedded_size(to) * count, to.align
        )
        self.to, self.count = to, count


class Enum(Integer):
    """values: {name: int} of its enumerators, None as long as only its tag is known.

    As in dtrace, its values are unsigned where they are stored, loaded or printed (-7 is 4294967289), and enumerators
    are registers with their sign."""

    __slots__ = ("values",)
    is_enum = True

    def __init__(self, tag: str | None) -> None:
        super().__init__(f"enum {tag or ''}", 4, False)
        self.rank = INT.rank
        self.values: dict[str, int] | None = None


class Function(Type):
    """All functions are one type, as in dtrace."""

    __slots__ = ()
    is_function = True

    def __init__(self) -> None:
        super().__init__("function", 0, 1)


def _bytes_for(bits: int) -> int:
    """Of the smallest integer that has so many bits."""
    return 1 << (-(-bits // 8) - 1).bit_length()


class Field:
    """A member of a Record.  offset: in bytes; width: None, or the bits of a bit-field, with `shift` ones below it that are not
    its own: bit-fields share their bytes."""

    __slots__ = ("name", "type", "offset", "width", "shift")

    def __init__(self, name: str | None, type: Type, offset: int, width: int | None = None) -> None:
        self.name, self.type, self.offset, self.width = name, type, offset, width
        self.shift = 0

    @property
    def value_type(self) -> Type:
        """The type of its value: among operands a bit-field ranks by its bits, and a variable that is first assigned
        one has the bytes that the bit-field is read with, as in dtrace."""
        if self.width is None:
            return self.type
        narrow = make_typedef(self.type.name, self.type)
        bits = self.width - self.shift
        narrow.rank, narrow.size = (bits / 8, *self.type.rank[1:]), _bytes_for(bits)
        return narrow

    @property
    def size(self) -> int:
        """The bytes that it is read and written with."""
        return embedded_size(self.type) if self.width is None else _bytes_for(self.width)


class Body:
    """What a struct or union consists of, shared by all typedefs of it.  fields: {name: Field}, None
    while only the tag is known."""

    __slots__ = ("fields", "size", "align", "end", "free", "spread")

    def __init__(self) -> None:
        self.fields: dict[str, Field] | None = None
        self.size, self.align, self.end = 0, 1, 0
        self.free = 0  # bits of the last byte that the last member, a bit-field, leaves to the next
        self.spread = (
            0  # the end if bit-fields did not share bytes, as in dtrace, which decides the size
        )


class KernelBody(Body):
    """Of a struct of the running kernel's: read() gives its members when they are first wanted, since each leads to others."""

    __slots__ = ("_read", "_found")

    def __init__(self, read: Any, size: int) -> None:
        self._read: Any = None
        super().__init__()
        self._read, self.size, self.align, self.end = read, size, 8, size

    @property
    def fields(self) -> Any:
        if self._read is not None:
            read, self._read = self._read, None
            self._found = read()
        return self._found

    @fields.setter
    def fields(self, value: dict[str, Field] | None) -> None:
        self._found = value


class Record(Type):
    """A struct or union.  kind: "struct" or "union"; body: Body.

    Laid out as dtrace does it, which is not C's way everywhere: a struct is aligned as its first member is,
    nothing is added behind the last one.  Bit-fields lie where C has them, so that those of a traced program's structs are right;
    the size is dtrace's, whose bit-fields do not share bytes."""

    __slots__ = ("kind", "body")
    is_record = True

    def __init__(self, kind: str, tag: str | None) -> None:
        self.name = f"{kind} {tag or ''}"
        self.kind, self.body = kind, Body()

    @property
    def size(self) -> int:  # type: ignore[override]  # it grows with the members
        return self.body.size

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.body.align

    def add_member(self, name: str | None, type: Type, width: int | None = None) -> None:
        """The next member; width: bits of a bit-field.  name: None for one without a name."""
        body = self.body
        field = Field(name, type, 0, width)
        size = field.size
        align = type.align if width is None else size
        if self.kind == "struct":
            begin = -(-body.spread // align) * align
            body.spread = begin + (size if width is None else -(-width // 8))
            body.size = max(body.size, begin + size)
        if width is not None and self.kind == "struct":
            self._add_bits(field, width)
            return
        if self.kind == "struct":
            field.offset = -(-body.end // align) * align
        body.end, body.free = field.offset + (size if width is None else -(-width // 8)), 0
        body.size = max(body.size, field.offset + size)
        if self.kind == "union" or not body.fields:
            body.align = max(body.align, align)
        assert body.fields is not None  # whoever defines its members has begun
        body.fields[name or f"#{len(body.fields)}"] = field

    def _add_bits(self, field: Field, width: int) -> None:
        """A bit-field goes on where the last member ended, unless it would be in two of its type's units."""
        body, unit = self.body, 8 * field.type.size
        begin = 8 * body.end - body.free
        if begin // unit != (begin + width - 1) // unit:
            begin = -(-begin // unit) * unit
        first = begin // 8
        if 8 * (first + _bytes_for(begin % 8 + width)) > (begin // unit + 1) * unit:
            first = begin // unit * unit // 8
        field.offset, field.shift = first, begin - 8 * first
        field.width = field.shift + width
        body.end, body.free = -(-(begin + width) // 8), -(begin + width) % 8
        body.size = max(body.size, field.offset + field.size)
        if not body.fields:
            body.align = max(body.align, field.type.align)
        assert body.fields is not None
        body.fields[field.name or f"#{len(body.fields)}"] = field

    def end_unit(self, type: Type) -> None:
        """An unnamed bit-field of no bits: the next one begins a unit of this type."""
        self.body.end, self.body.free = -(-self.body.end // type.size) * type.size, 0


class Stack(Record):
    """A stack of at most `frames` addresses, the innermost first; its members are those of dtrace's type."""

    __slots__ = ("frames",)

    def __init__(self, frames: int) -> None:
        super().__init__("struct", None)
        self.name, self.frames, self.body.fields = "dt_stack_t", frames, {}
        for name in ("depth", "is_user", "pid", "strsz"):
            self.add_member(name, UINT32 if name != "pid" else PID_T)
        self.add_member("addrs", Array(UINT64, frames))
        self.body.align = 8

    def __reduce__(self) -> tuple[Any, ...]:
        return Stack, (self.frames,)


class Naming:
    """How an address is printed.  module: by its module alone; distance: with the distance to its symbol, where there is one;
    whole: the addresses of one symbol are one key of an aggregation."""

    __slots__ = ("module", "distance", "by_symbol")

    def __init__(
        self, module: bool = False, distance: bool = False, by_symbol: bool = False
    ) -> None:
        self.module, self.distance, self.by_symbol = module, distance, by_symbol


SYMBOL_AND_OFFSET = Naming(
    distance=True
)  # so are the frames of a stack printed, and what %a is given


class Symbol(Record):
    """An address that is to be printed by a name.  user: of a process, not the kernel."""

    __slots__ = ("naming", "user")

    def __init__(self, user: bool, naming: Naming) -> None:
        super().__init__("struct", None)
        self.user, self.naming, self.body.fields = user, naming, {}
        self.name = "_usymaddr" if user else "_symaddr"
        self.add_member("pid", UINT64)
        self.add_member("address", UINT64)

    def __reduce__(self) -> tuple[Any, ...]:
        return Symbol, (self.user, self.naming)


def known_record(name: str) -> Record | None:
    """A struct that every program has, or None."""
    if name == "struct in_addr":
        found = _make_record("struct", "in_addr", s_addr=UINT32)
    elif name == "struct in6_addr":
        parts = {
            "u6_addr8": Array(TYPEDEFS["uint8_t"], 16),
            "u6_addr16": Array(TYPEDEFS["uint16_t"], 8),
            "u6_addr32": Array(UINT32, 4),
        }
        found = _make_record("struct", "in6_addr", in6_u=_make_record("union", None, **parts))
    else:
        return None
    return found


def _make_record(kind: str, tag: str | None, **members: Type) -> Record:
    found = Record(kind, tag)
    found.body.fields = {}
    for name, type in members.items():
        found.add_member(name, type)
    return found


_stacks: dict[int, Stack] = {}
_symbols: dict[tuple[bool, Naming], Symbol] = {}


def stack_type(frames: int) -> Stack:
    """The one Stack of so many frames."""
    if frames not in _stacks:
        _stacks[frames] = Stack(frames)
    return _stacks[frames]


def symbol_type(user: bool, naming: Naming) -> Symbol:
    """The one Symbol of its kind."""
    if (user, naming) not in _symbols:
        _symbols[user, naming] = Symbol(user, naming)
    return _symbols[user, naming]


class Float(Type):
    """A floating-point type: it can be declared, measured and printed, and nothing else, as in dtrace; but see float_values.py."""

    __slots__ = ()
    signed = False  # its bits are no number that has a sign to extend


class Void(Type):
    __slots__ = ()
    is_void = True

    def __init__(self) -> None:
        super().__init__("void", 0, 1)


# A string inside a struct or an array takes this much, whatever the strsize option is; as in dtrace.
STRING_EXTENT = 256
VOID = Void()
FLOATS = {
    name: Float(name, size) for name, size in (("float", 4), ("double", 8), ("long double", 16))
}
STRING = String()
FUNCTION = Function()
FUNCTION_POINTER = Pointer(FUNCTION)
FUNCTION_POINTER.name = "function pointer"

# C's basic integer types: name, size, signed.
_basic = [
    ("signed", 4, True),
    ("unsigned", 4, False),
    ("char", 1, True),
    ("short", 2, True),
    ("int", 4, True),
    ("long", 8, True),
    ("long long", 8, True),
    ("signed char", 1, True),
    ("signed short", 2, True),
    ("signed int", 4, True),
    ("signed long", 8, True),
    ("signed long long", 8, True),
    ("unsigned char", 1, False),
    ("unsigned short", 2, False),
    ("unsigned int", 4, False),
    ("unsigned long", 8, False),
    ("unsigned long long", 8, False),
    ("_Bool", 1, False),
]
BASIC = {row[0]: Integer(*row) for row in _basic}

# D's own typedefs of LP64, and those of <sys/types.h> that D programs use.
_typedefs = """
    int8_t=signed char int16_t=short int32_t=int int64_t=long intptr_t=long ssize_t=long
    uint8_t=unsigned char uint16_t=unsigned short uint32_t=unsigned int uint64_t=unsigned long
    uchar_t=unsigned char ushort_t=unsigned short uint_t=unsigned int ulong_t=unsigned long
    u_longlong_t=unsigned long long ptrdiff_t=long uintptr_t=unsigned long size_t=unsigned long
    id_t=int pid_t=int processorid_t=int uid_t=unsigned int gid_t=unsigned int dev_t=unsigned int mode_t=unsigned short
    off_t=long loff_t=long long clockid_t=int bool=_Bool u_char=unsigned char u_int=unsigned int
    u_long=unsigned long user_addr_t=unsigned long u_short=unsigned short u8=unsigned char u16=unsigned short u32=unsigned int
    u64=unsigned long long s8=signed char s16=short s32=int s64=long long
    __u8=unsigned char __u16=unsigned short __u32=unsigned int __u64=unsigned long long
    __s8=signed char __s16=short __s32=int __s64=long long
    ipaddr_t=unsigned int uint=unsigned int ushort=unsigned short ulong=unsigned long _Bool=unsigned char
"""


def _read_typedefs(text: str) -> dict[str, Integer]:
    found: dict[str, str] = {}
    name = ""
    for word in text.split():
        if "=" in word:
            name, word = word.split("=")
            found[name] = word
        else:
            found[name] += " " + word
    return {name: make_typedef(name, BASIC[base]) for name, base in found.items()}


def make_typedef(name: str, type: T) -> T:
    """A named copy of a type: the same in every way but how messages call it."""
    copy: T = object.__new__(type.__class__)
    for cls in type.__class__.__mro__:
        for slot in getattr(cls, "__slots__", ()):
            if not isinstance(getattr(type.__class__, slot), property):
                setattr(copy, slot, getattr(type, slot))
    copy.name = name
    return copy


TYPEDEFS = _read_typedefs(_typedefs)

CHAR, SHORT, INT, LONG = BASIC["char"], BASIC["short"], BASIC["int"], BASIC["long"]
UINT, ULONG = BASIC["unsigned int"], BASIC["unsigned long"]
INT64, UINT64 = TYPEDEFS["int64_t"], TYPEDEFS["uint64_t"]
UINT32 = TYPEDEFS["uint32_t"]
PID_T, SIZE_T = TYPEDEFS["pid_t"], TYPEDEFS["size_t"]


def promote_types(left: Type, right: Type) -> Type:
    """The type of an operator's result.  As in dtrace, and unlike C, nothing is widened to int but enumerations."""
    left, right = (INT if type.is_enum else type for type in (left, right))
    return left if left.rank >= right.rank else right


class Dynamic(Type):
    """The type of what has no value of its own: an aggregation.  `name` is the kind."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, 0, 1)


AGGREGATION = Dynamic("aggregation")
AGGREGATING = Dynamic("aggregating function")


def embedded_size(type: Type) -> int:
    """The bytes of a type inside a struct or an array."""
    return STRING_EXTENT if type.is_string else type.size


def is_real(type: Type) -> bool:
    """True for the floating-point types whose values fit into a register, as bits."""
    return isinstance(type, Float) and type.size <= 8


def fits_register(type: Type) -> bool:
    """True for what is loaded and stored as a register is."""
    return bool(type.is_integer or type.is_pointer or is_real(type))


def is_scalar(type: Type) -> bool:
    return bool(type.is_integer or type.is_pointer)


def are_compatible(left: Type, right: Type) -> bool:
    """True if two types are the same but for their names."""
    if left.is_integer and right.is_integer:
        return (
            left.rank == right.rank
            and left.is_enum == right.is_enum
            and (not left.is_enum or left.values is right.values)
        )
    if left.is_pointer and right.is_pointer:
        return (
            left.to.is_enum or right.to.is_enum or are_compatible(left.to, right.to)
        )  # as in dtrace
    if left.is_array and right.is_array:
        return left.count == right.count and are_compatible(left.to, right.to)
    if left.is_record and right.is_record:
        either = left.body.fields is None or right.body.fields is None
        return left.body is right.body or either and left.name == right.name
    return left is right or left.is_string and right.is_string or left.is_void and right.is_void


def is_kernel_record(type: Type) -> bool:
    """True for a struct or union of the kernel's."""
    return bool(type.is_record and type.body.__class__ is KernelBody)


def is_text(type: Type) -> bool:
    """True for what may stand for a string: strings, pointers to char and arrays of char."""
    return type.is_string or (type.is_pointer or type.is_array) and is_char(type.to)


def is_char(type: Type) -> bool:
    return type.is_integer and type.size == 1 and not type.is_enum
