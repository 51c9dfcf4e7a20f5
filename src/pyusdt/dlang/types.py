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
    __slots__ = ("signed",)
    is_integer = True

    def __init__(self, name, size, signed):
        super().__init__(name, size)
        self.signed = signed


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
CHAR = Integer("char", 1, True)
INT = Integer("int", 4, True)
UINT = Integer("unsigned int", 4, False)
LONG = Integer("long", 8, True)
INT64 = Integer("int64_t", 8, True)
UINT64 = Integer("uint64_t", 8, False)
INT32 = Integer("int32_t", 4, True)
UINT32 = Integer("uint32_t", 4, False)
PID_T = Integer("pid_t", 4, True)
