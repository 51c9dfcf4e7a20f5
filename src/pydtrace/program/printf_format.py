"""printf formats: source bytes in, a Format (checked list of conversions) out.

`parse` knows every conversion of dtrace's printf; `check` compares them with the types of
the arguments.  Both raise FormatError with dtrace's tag and words.  A Format says nothing
about the arguments' sizes and signs: these come from the record's layout (formatter_table.py).

Source of the rules: the DTrace guide, "Output Formatting", and dtrace 2.0's answers.
"""

from __future__ import annotations

from . import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Accepts = Callable[[Any], bool]

MAX_WIDTH = (
    0xFFFFFF  # of all widths and precisions together; dtrace has no bound, and takes the memory
)
MAX_STAR = 0xFFFF  # of one that an argument gives, as c/format/format_program.h has it

# Flags of a conversion.
ALT, ZERO, LEFT, PLUS, GROUP, SPACE = 1, 2, 4, 8, 16, 32
_FLAGS = {ord("#"): ALT, ord("+"): PLUS, ord("'"): GROUP, ord(" "): SPACE}

# What a conversion prints; c/format/formatter.h has the same numbers.
PERCENT, SIGNED, UNSIGNED, BY_TYPE, CHAR, STRING, ESCAPED, TIME, TIME822 = range(9)
KERNEL_ADDRESS, USER_ADDRESS, STACK, FLOAT, CODE_POINT = NAMED = range(
    100, 105
)  # not C's business: driver/formatted_text.py has them

_INTEGER = "char, short, int, long, or long long"
_SMALL = "char, short, or int"
_STRING = "char [] or string (or use stringof)"
_FLOAT = "float, double, or long double"
_WIDE = "wchar_t []"
_USER_ADDRESS = "pointer or integer (with -p/-c) or _usymaddr (without -p/-c)"


class FormatError(Exception):
    """A format that D refuses.  tag: dtrace's; message: dtrace's, without the place;
    index: the argument it is about (0 = the first after the format), or None."""

    def __init__(self, tag: Any, message: str, index: int | None = None) -> None:
        super().__init__(tag, message, index)  # what pickle makes another one of
        self.tag, self.message, self.index = tag, message, index

    def __str__(self) -> str:
        return self.message


class ConversionRow:
    """One conversion: name without the %; letter: C's, as printed; kind: how it is printed; accepts(type) -> bool;
    proto: the accepted types in words, of which D has none where nothing is accepted."""

    __slots__ = ("name", "letter", "kind", "accepts", "proto")

    def __init__(self, name: str, letter: str, kind: int, accepts: Accepts, proto: str) -> None:
        self.name, self.letter, self.kind = name, letter, kind
        self.accepts, self.proto = accepts, proto


def _is_integer(type: Any) -> Any:
    return type.is_integer


def _is_small_integer(type: Any) -> Any:
    return type.is_integer and type.size <= 4


def _is_address(type: Any) -> Any:
    return type.is_pointer or type.is_integer or isinstance(type, t.Symbol) and not type.user


def _is_user_address(type: Any) -> Any:
    return type.is_pointer or type.is_integer or isinstance(type, t.Symbol) and type.user


def _is_float(type: Any) -> Any:
    return isinstance(type, t.Float) and type.size <= 8


def _is_stack(type: Any) -> bool:
    return isinstance(type, t.Stack)


def _is_string(type: Any) -> Any:
    return (
        type.is_string or type.is_array and t.is_text(type)
    )  # an array: as the key that printa() prints


def _is_time(type: Any) -> Any:
    return type.is_integer and type.size == 8


def _accept_nothing(type: Any) -> bool:
    return False


def _accept_exactly(size: int, signed: bool) -> Accepts:
    return lambda type: type.is_integer and type.size == size and type.signed == signed


def _accept_size(size: int, signed: bool) -> Accepts:
    """The same, and enumerations, which go with h, l and ll."""
    return lambda type: (
        type.is_integer and (type.is_enum or type.size == size and type.signed == signed)
    )


def _accept_basic(*names: str) -> Accepts:
    """Types that are one of C's basic ones, under whatever name."""
    return lambda type: type.is_integer and type.base in names


_is_long_long = _accept_basic("long long", "unsigned long long")


def _is_hex_long_long(type: Any) -> Any:
    return _is_long_long(type) or type.name in ("int64_t", "uint64_t")


_rows = [
    ConversionRow("a", "s", KERNEL_ADDRESS, _is_address, "pointer or integer"),
    ConversionRow("A", "s", USER_ADDRESS, _is_user_address, _USER_ADDRESS),
    ConversionRow("c", "c", CHAR, _is_small_integer, _SMALL),
    ConversionRow("C", "s", ESCAPED, _is_small_integer, _SMALL),
    ConversionRow("d", "d", BY_TYPE, _is_integer, _INTEGER),
    ConversionRow("i", "d", BY_TYPE, _is_integer, _INTEGER),
    ConversionRow("o", "o", UNSIGNED, _is_integer, _INTEGER),
    ConversionRow("u", "u", UNSIGNED, _is_integer, _INTEGER),
    ConversionRow("x", "x", UNSIGNED, _is_integer, _INTEGER),
    ConversionRow("X", "X", UNSIGNED, _is_integer, _INTEGER),
    ConversionRow("p", "x", UNSIGNED, _is_address, "pointer or integer"),
    ConversionRow("s", "s", STRING, _is_string, _STRING),
    ConversionRow("S", "s", ESCAPED, _is_string, _STRING),
    ConversionRow("T", "s", TIME822, _is_time, "int64_t"),
    ConversionRow("Y", "s", TIME, _is_time, "int64_t"),
    ConversionRow("k", "s", STACK, _is_stack, "dt_stack_t"),
    ConversionRow("lc", "s", CODE_POINT, _accept_exactly(4, True), "int"),
    ConversionRow("wc", "s", CODE_POINT, _accept_exactly(4, True), "int"),
    ConversionRow("ls", "s", STRING, _accept_nothing, _WIDE),
    ConversionRow("ws", "s", STRING, _accept_nothing, _WIDE),
    ConversionRow("%", "%", PERCENT, _accept_nothing, "void"),
]
for _prefix, _size, _type, _accepts_hex in (
    ("h", 2, "short", _accept_basic("short", "unsigned short")),
    ("l", 8, "long", _accept_basic("long", "unsigned long")),
    ("ll", 8, "long long", _is_hex_long_long),
):
    for _letter in "di":
        _rows.append(
            ConversionRow(_prefix + _letter, "d", SIGNED, _accept_size(_size, True), _type)
        )
    for _letter in "ou":
        _unsigned = _accept_size(_size, False)
        _rows.append(
            ConversionRow(_prefix + _letter, _letter, UNSIGNED, _unsigned, "unsigned " + _type)
        )
    for _letter in "xX":
        _rows.append(ConversionRow(_prefix + _letter, _letter, UNSIGNED, _accepts_hex, _type))
for _letter in "eEfgG":
    _rows.append(ConversionRow(_letter, _letter, FLOAT, _is_float, _FLOAT))
    _rows.append(ConversionRow("L" + _letter, _letter, FLOAT, _accept_nothing, "long double"))

CONVERSIONS = {row.name: row for row in _rows}


class Conversion:
    """One % of a format.  prefix: the literal bytes before it; row: its ConversionRow; flags;
    width, precision (0 = none); star_width, star_precision: True where an argument gives it;
    aggregate: True for %@, which takes the aggregation's value instead of an argument."""

    __slots__ = (
        "prefix",
        "row",
        "flags",
        "width",
        "precision",
        "star_width",
        "star_precision",
        "aggregate",
    )

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self.row: ConversionRow
        self.flags = self.width = self.precision = 0
        self.star_width = self.star_precision = self.aggregate = False

    @property
    def argument_count(self) -> int:
        """The number of arguments that it takes, stars first."""
        value = 0 if self.aggregate or self.row.kind == PERCENT else 1
        return value + self.star_width + self.star_precision


class Format:
    """A parsed format.  source: as given; conversions: list of Conversion; tail: the literal
    bytes after the last of them."""

    __slots__ = ("source", "conversions", "tail")

    def __init__(self, source: bytes, conversions: list[Conversion], tail: bytes) -> None:
        self.source, self.conversions, self.tail = source, conversions, tail

    @property
    def has_named_values(self) -> bool:
        """Whether there are addresses to name in it."""
        return any(c.row.kind in NAMED for c in self.conversions)

    @property
    def argument_count(self) -> int:
        return sum(c.argument_count for c in self.conversions)


def parse_format(source: bytes) -> Format:
    """Parse a format string, escapes already resolved, no NUL in it."""
    conversions: list[Conversion] = []
    start = 0
    while True:
        percent = source.find(b"%", start)
        if percent < 0:
            if sum(each.width + each.precision for each in conversions) > 2 * MAX_WIDTH:
                raise FormatError(
                    "D_UNSUPPORTED",
                    f"widths and precisions over {2 * MAX_WIDTH} together are not supported",
                )
            return Format(source, conversions, source[start:])
        conversion = Conversion(source[start:percent])
        start = _parse_conversion(source, percent + 1, conversion, len(conversions) + 1)
        conversions.append(conversion)


def _parse_conversion(source: bytes, at: int, conversion: Conversion, number: int) -> int:
    """Parse what follows a %, from `at`; returns the place after it."""
    begin = at
    length = ""  # of h, l, L, w
    dots = False
    digits = False
    while True:
        if at >= len(source):
            raise _syntax_error(number, "name expected before end of format string")
        char = source[at]
        if char in b"0123456789":
            if char == 0x30 and not dots and not digits:
                conversion.flags = conversion.flags & ~LEFT | ZERO
                at += 1
                continue
            at = _parse_number(source, at, conversion, dots)
            digits = True
            continue
        at += 1
        if char in _FLAGS:
            conversion.flags |= _FLAGS[char]
        elif char == ord("-"):
            conversion.flags = conversion.flags & ~ZERO | LEFT
        elif char == ord("*"):
            _set_star(conversion, dots, number)
        elif char == ord("."):
            if dots:
                raise _syntax_error(number, "has more than one '.' specified")
            dots, digits = True, False
        elif char == ord("?"):
            conversion.width = 16
        elif char == ord("@"):
            conversion.aggregate = True
        elif char == ord("$"):
            raise _syntax_error(number, "uses unsupported positional format (%n$)")
        elif char in b"hlLw":
            if len(length) < 6:
                length += chr(char)
        else:
            if char == ord("%") and at - 1 != begin:
                raise _syntax_error(number, "cannot be combined with other format flags: %%")
            name = length + chr(char)
            if name not in CONVERSIONS:
                raise _syntax_error(number, f"is undefined: %{name}")
            conversion.row = CONVERSIONS[name]
            return at


def _parse_number(source: bytes, at: int, conversion: Conversion, is_precision: bool) -> int:
    end = at
    while end < len(source) and source[end] in b"0123456789":
        end += 1
    number = int(source[at:end])
    if number > MAX_WIDTH:
        raise FormatError(
            "D_UNSUPPORTED", f"a width or precision over {MAX_WIDTH} is not supported"
        )
    if is_precision:
        conversion.precision = number
    else:
        conversion.width = number
    return end


def _set_star(conversion: Conversion, is_precision: bool, number: int) -> None:
    what = "precision" if is_precision else "width"
    slot = "star_" + what
    if getattr(conversion, slot):
        raise _syntax_error(number, f"has more than one '*' specified for the output {what}")
    setattr(conversion, slot, True)


def _syntax_error(number: int, message: str) -> FormatError:
    return FormatError("D_SYNTAX", f"format conversion #{number} {message}")


def check_format(
    format: Format,
    types: list[Any],
    function: str = "printf",
    first: int = 2,
    value_types: Any = None,
) -> None:
    """Check a format against the types of its arguments (types.Type).

    function: the action's name, for messages; first: the number, counted from 1, of types[0]
    among the action's arguments; value_types: what each %@ prints (printa), the last of them also what
    follows; None where there is none.
    """
    if not format.source:
        raise FormatError("D_PRINTF_FMT_EMPTY", f"{function}( ) format string is empty")
    used = shown = 0
    for number, conversion in enumerate(format.conversions, 1):
        row = conversion.row
        if row.kind == PERCENT:
            continue
        if conversion.star_width:
            _check_star(function, types, used, first, number, "*", row)
            used += 1
        if conversion.star_precision:
            _check_star(function, types, used, first, number, ".*", row)
            used += 1
        if conversion.aggregate:
            if value_types is None:
                raise FormatError(
                    "D_PRINTF_AGG_CONV",
                    f"%@ conversion requires an aggregation and is not for use with {function}( )",
                )
            what, type, index = (
                "aggregating action",
                value_types[min(shown, len(value_types) - 1)],
                None,
            )
            shown += 1
        elif used < len(types):
            what, type, index = f"argument #{used + first}", types[used], used
            used += 1
        else:
            raise _missing_argument(function, number, row, "value")
        _check_value(function, what, type, index, number, row)
    if used < len(types) and value_types is None:  # printa() need not print all keys
        raise FormatError(
            "D_PRINTF_ARG_EXTRA",
            f"{function}( ) prototype mismatch: only {used} arguments required by this format string",
            used,
        )


def _check_star(
    function: str,
    types: list[Any],
    used: int,
    first: int,
    number: int,
    star: str,
    row: ConversionRow,
) -> None:
    if used >= len(types):
        raise _missing_argument(function, number, row, f'"{star}"')
    if not types[used].is_integer:
        raise FormatError(
            "D_PRINTF_DYN_TYPE",
            f"{function}( ) argument #{used + first} is incompatible with conversion #{number} prototype:\n"
            f"\tconversion: % {star} {row.name}\n\t prototype: int\n\t  argument: {types[used]}",
            used,
        )


def _missing_argument(function: str, number: int, row: ConversionRow, what: str) -> FormatError:
    tag = "D_PRINTF_ARG_PROTO" if what == "value" else "D_PRINTF_DYN_PROTO"
    text = f"conversion #{number} (%{row.name}) is missing a corresponding {what} argument"
    return FormatError(tag, f"{function}( ) prototype mismatch: {text}")


def _check_value(
    function: str, what: str, type: Any, index: int | None, number: int, row: ConversionRow
) -> None:
    if not row.accepts(type):
        raise FormatError(
            "D_PRINTF_ARG_TYPE",
            f"{function}( ) {what} is incompatible with conversion #{number} prototype:\n"
            f"\tconversion: %{row.name}\n\t prototype: {row.proto}\n\t  argument: {type}",
            index,
        )
