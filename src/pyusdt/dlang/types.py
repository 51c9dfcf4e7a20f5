"""D types: what the types pass gives to expressions and code generation lays out.

Sizes and signs are those of LP64 Linux, the data model of every platform that is
supported.  Source of the rules: the DTrace guide, "Types, Operators, and Expressions".
"""


class Type:
    """Base of all types.  `size` is in bytes, `align` in bytes, `name` as D spells it."""

    __slots__ = ("name", "size", "align")
    is_integer = is_string = is_pointer = is_void = False

    def __init__(self, name, size, align=None):
        self.name, self.size, self.align = name, size, align or max(1, size)

    def __str__(self):
        return self.name

    __repr__ = __str__


class Integer(Type):
    """rank: which of two types an operator's result has, the greater one: by size, then
    unsigned over signed, then `base`, the place of its basic type in C's order."""

    __slots__ = ("signed", "rank")
    is_integer = True

    def __init__(self, name, size, signed, base=0):
        super().__init__(name, size)
        self.signed = signed
        self.rank = (size, not signed, base)


class String(Type):
    """D's string; its storage is the strsize option's bytes and one for the NUL."""

    __slots__ = ()
    is_string = True

    def __init__(self):
        super().__init__("string", 0, 1)


class Pointer(Type):
    """A pointer into the traced process's memory."""

    __slots__ = ("to",)
    is_pointer = True

    def __init__(self, to):
        super().__init__(f"{to} *", 8)
        self.to = to


class Void(Type):
    __slots__ = ()
    is_void = True

    def __init__(self):
        super().__init__("void", 0, 1)


VOID = Void()
STRING = String()

# C's basic integer types, in the order that decides between equals.
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
BASIC = {row[0]: Integer(*row, base) for base, row in enumerate(_basic)}

# D's own typedefs of LP64, and those of <sys/types.h> that D programs use.
_typedefs = """
    int8_t=signed char int16_t=short int32_t=int int64_t=long intptr_t=long ssize_t=long
    uint8_t=unsigned char uint16_t=unsigned short uint32_t=unsigned int uint64_t=unsigned long
    uchar_t=unsigned char ushort_t=unsigned short uint_t=unsigned int ulong_t=unsigned long
    u_longlong_t=unsigned long long ptrdiff_t=long uintptr_t=unsigned long size_t=unsigned long
    id_t=int pid_t=int processorid_t=int uid_t=unsigned int gid_t=unsigned int dev_t=unsigned int mode_t=unsigned short
    off_t=long loff_t=long long clockid_t=int bool=_Bool u_char=unsigned char u_int=unsigned int
    u_long=unsigned long u_short=unsigned short u8=unsigned char u16=unsigned short u32=unsigned int
    u64=unsigned long long s8=signed char s16=short s32=int s64=long long
    uint=unsigned int ushort=unsigned short ulong=unsigned long
"""


def _read_typedefs(text):
    found, name = {}, None
    for word in text.split():
        if "=" in word:
            name, word = word.split("=")
            found[name] = word
        else:
            found[name] += " " + word
    return {name: typedef(name, BASIC[base]) for name, base in found.items()}


def typedef(name, type):
    """A named copy of a type: the same in every way but how messages call it."""
    copy = object.__new__(type.__class__)
    for cls in type.__class__.__mro__:
        for slot in getattr(cls, "__slots__", ()):
            setattr(copy, slot, getattr(type, slot))
    copy.name = name
    return copy


TYPEDEFS = _read_typedefs(_typedefs)

CHAR, SHORT, INT, LONG = BASIC["char"], BASIC["short"], BASIC["int"], BASIC["long"]
UINT, ULONG = BASIC["unsigned int"], BASIC["unsigned long"]
INT64, UINT64 = TYPEDEFS["int64_t"], TYPEDEFS["uint64_t"]
INT32, UINT32 = TYPEDEFS["int32_t"], TYPEDEFS["uint32_t"]
PID_T, SIZE_T = TYPEDEFS["pid_t"], TYPEDEFS["size_t"]


def promote(left, right):
    """The type of an operator's result.  As in dtrace, and unlike C, nothing is widened to int."""
    return left if left.rank >= right.rank else right


class Dynamic(Type):
    """The type of what has no value of its own: an aggregation.  `name` is the kind."""

    __slots__ = ()

    def __init__(self, name):
        super().__init__(name, 0, 1)


AGGREGATION = Dynamic("aggregation")
AGGREGATING = Dynamic("aggregating function")


def is_scalar(type):
    return type.is_integer or type.is_pointer


def compatible(left, right):
    """True if two types are the same but for typedef names."""
    if left.is_integer and right.is_integer:
        return left.rank == right.rank
    return left is right or left.is_string and right.is_string
