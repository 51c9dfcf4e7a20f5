# mypy: ignore-errors
"""Subroutines on strings, and the code that they become.

`emit(g, call, target)`: see subroutine_base.py.  The loops are routines of bpf/lib; what most of them leave in
r0 is a part of a string, its first byte << 32 | the number of its bytes, which is then copied.
"""

from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    alu,
    alu_imm,
    const,
    ja,
    jump,
    jump_imm,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
    swap,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import Place
from pydtrace.dlang.code.string_expressions import is_null, locate, set_null
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

_COUNTED = 8192  # bytes of a string's storage: in a larger one a loop is too much for the kernel's verifier
_TABLE = 256  # bytes of a table with one for each character


def _own(g, expr):
    """The Place of a string argument in the state block."""
    place = locate(g, expr)
    if not place.map:
        return place
    own = Place(False, g.alloc(g.layout.string_size), g.layout.string_size)
    g.copy(place, own)
    return own


def string_length(g, place):
    """r0 = the length of the string there.  By way of the state block: the verifier would otherwise go
    through the rest of the program once for each length that there can be."""
    scratch = g.scratch
    if place.size > _COUNTED:
        g.state_address(R1, g.alloc(place.size))
        g.emit(mov_imm(R2, place.size))
        g.address(R3, place)
        g.helper("probe_read_kernel_str")  # copies it, and gives the length with the NUL
        g.emit(alu_imm("sub", R0, 1))
    else:
        g.address(R1, place)
        g.emit(mov_imm(R2, place.size))
        g.routine("string_length")
    unknown = g.alloc(8)
    g.emit(store(8, R6, unknown, R0), load(8, R0, R6, unknown))
    g.scratch = scratch


def _bound(g, reg, most):
    """reg is at most `most`: it is already, but the verifier has to see it."""
    done = Label()
    g.emit(jump_imm("jle", reg, most, done), mov_imm(reg, most))
    g.place(done)


def _copy_part(g, source, target, shift=0):
    """Write the part of `source` that r0 says into `target`, at most a string's bytes.  shift: added to
    its first byte."""
    part = g.push()
    g.zero(target)
    g.get(part, R4)
    g.emit(alu_imm("rsh", R4, 32))
    _bound(g, R4, source.size)
    g.get(part, R2)
    g.emit(alu_imm("lsh", R2, 32), alu_imm("rsh", R2, 32))
    _bound(g, R2, min(g.layout.strsize - 1, target.size - 1))
    g.address(R3, source)
    g.emit(alu("add", R3, R4))
    if shift:
        g.emit(alu_imm("add", R3, shift))
    g.address(R1, target)
    g.helper("probe_read_kernel")
    g.release(part)


# --- numbers of strings -----------------------------------------------------------------
def emit_strlen(g, call, target):
    string_length(g, locate(g, call.args[0]))


def _find(g, call, last):
    """r0 = the place of the second argument in the first, from or up to the third; see bpf/lib/string_find.bpf."""
    a, b = _own(g, call.args[0]), _own(g, call.args[1])
    size = 1 << (g.layout.string_size - 1).bit_length()
    scratch = g.alloc(32 + 2 * size)  # which also lies behind the strings: so far they may be read
    if len(call.args) > 2:
        g.value(call.args[2])
        kept = g.push()
    else:
        g.emit(mov_imm(R0, g.layout.string_size if last else 0))
        kept = g.push()
    string_length(g, a)
    limited, positive, inside, end = Label(), Label(), Label(), Label()
    # r3: the place from the third argument, r0: the length; r4: what an empty string is found at
    g.get(kept, R3)
    if not last:
        g.emit(jump("jsle", R3, R0, inside), mov_imm(R0, -1), ja(end))
        g.place(inside)
    g.emit(mov(R4, R3), jump("jsle", R4, R0, limited), mov(R4, R0))
    g.place(limited)
    g.emit(jump_imm("jsge", R4, 0, positive), mov_imm(R4, 0))
    g.place(positive)
    g.emit(mov(R0, R4), load(1, R1, R6, b.off), jump_imm("jeq", R1, 0, end))
    if last:
        g.emit(store_imm(8, R6, scratch, 0), store(8, R6, scratch + 8, R3))
    else:
        g.emit(store(8, R6, scratch, R4), store_imm(8, R6, scratch + 8, size))
    g.address(R1, a)
    g.address(R2, b)
    g.emit(mov_imm(R3, size - 1))
    g.state_address(R4, scratch)
    g.emit(mov_imm(R5, int(last)))
    g.routine("string_find")
    g.place(end)
    g.release(kept)
    return a


def emit_index(g, call, target):
    _find(g, call, False)


def emit_rindex(g, call, target):
    _find(g, call, True)


def emit_strtoll(g, call, target):
    place = locate(g, call.args[0])
    _base(g, call)
    g.emit(mov(R3, R0))
    g.address(R1, place)
    g.emit(mov_imm(R2, place.size))
    g.routine("text_integer")


def _base(g, call):
    """r0 = the base in the second argument, 10 where it is left out; one that can not be is a fault."""
    if len(call.args) < 2:
        g.emit(mov_imm(R0, 10))
        return
    g.value(call.args[1])
    g.emit(mov(R1, R0), alu_imm("sub", R1, 2))
    g.mark(call.loc)
    g.emit(jump_imm("jgt", R1, 34, g.fault(p.FAULT_ILLOP)))


# --- strings of strings -----------------------------------------------------------------
def emit_lltostr(g, call, target):
    """A base other than 10 shows the number without sign."""
    g.value(call.args[0])
    value = g.push()
    _base(g, call)
    digits = g.alloc(72)
    unsigned = Label()
    g.emit(mov(R3, R0), mov_imm(R4, 1), jump_imm("jeq", R3, 10, unsigned), mov_imm(R4, 0))
    g.place(unsigned)
    g.state_address(R1, digits)
    g.get(value, R2)
    g.routine("integer_text")
    g.release(value)
    _copy_part(g, Place(False, digits, 72), target)


def emit_strjoin(g, call, target):
    a, b = locate(g, call.args[0]), locate(g, call.args[1])
    g.alloc(
        g.layout.string_size
    )  # the verifier sees only that both strings fit behind the target's begin
    if a.size <= target.size:
        g.copy(a, target)
    else:
        copy_whole(g, a, target)
    string_length(g, b)
    length = g.push()
    string_length(g, target)
    _bound(g, R0, g.layout.strsize - 1)
    fits = Label()
    g.get(length, R2)
    g.emit(mov_imm(R4, g.layout.strsize - 1), alu("sub", R4, R0), jump("jle", R2, R4, fits))
    g.count_drop(p.COUNT_CUT)
    g.emit(mov(R2, R4))
    g.place(fits)
    _bound(g, R2, g.layout.strsize - 1)
    g.address(R1, target)
    g.emit(alu("add", R1, R0))
    g.address(R3, b)
    g.helper("probe_read_kernel")
    g.release(length)


def copy_whole(g, source, target):
    """Copy a string into a smaller place."""
    string_length(g, source)
    _copy_part(g, source, target)


def emit_substr(g, call, target):
    source = locate(g, call.args[0])
    g.value(call.args[1])
    index = g.push()
    if len(call.args) > 2:
        g.value(call.args[2])
    else:
        g.emit(mov_imm(R0, g.layout.strsize))
    count = g.push()
    string_length(g, source)
    g.emit(mov(R1, R0))
    g.get(index, R2)
    g.get(count, R3)
    g.routine("substring_range")
    g.release(count)
    g.release(index)
    _copy_part(g, source, target)


def _from_place(g, source, target):
    """target = the string from the place in r0 on, or NULL where that is -1."""
    found, end = Label(), Label()
    g.emit(jump_imm("jne", R0, -1, found))
    set_null(g, target)
    g.emit(ja(end))
    g.place(found)
    g.emit(mov_imm(R1, source.size), alu("sub", R1, R0), alu_imm("lsh", R0, 32), alu("or", R0, R1))
    _copy_part(g, source, target)
    g.place(end)


def _char(last):
    def emit(g, call, target):
        source = _own(g, call.args[0])
        g.value(call.args[1])
        g.emit(mov(R3, R0))
        g.address(R1, source)
        g.emit(mov_imm(R2, source.size), mov_imm(R4, int(last)))
        g.state_address(R5, g.alloc(8))
        g.routine("string_char")
        _from_place(g, source, target)

    return emit


def emit_strstr(g, call, target):
    source = _find(g, call, False)
    _from_place(g, source, target)


def _case(first):
    def emit(g, call, target):
        source = locate(g, call.args[0])
        if source.size <= target.size:
            g.copy(source, target)
        else:
            copy_whole(g, source, target)
        g.address(R1, target)
        g.emit(mov_imm(R2, target.size), mov_imm(R3, ord(first)))
        g.routine("change_case")

    return emit


def _path(is_directory):
    def emit(g, call, target):
        source = locate(g, call.args[0])
        g.address(R1, source)
        g.emit(mov_imm(R2, source.size), mov_imm(R3, int(is_directory)))
        g.state_address(R4, g.alloc(32))
        g.routine("path_part")
        plain, slash, end = Label(), Label(), Label()
        other = g.push()
        g.zero(target)
        g.get(other, R0)
        g.release(other)
        g.emit(jump_imm("jslt", R0, 0, slash), jump_imm("jne", R0, 0, plain))
        g.emit(store_imm(1, R6, target.off, ord(".")), ja(end))
        g.place(slash)
        g.emit(store_imm(1, R6, target.off, ord("/")), ja(end))
        g.place(plain)
        _copy_part(g, source, target)
        g.place(end)

    return emit


def emit_strtok(g, call, target):
    """The rest of the string is kept until the firing ends; NULL goes on with it."""
    state = g.layout.tokens
    size = g.layout.string_size
    if not is_null(call.args[0]):
        g.copy(locate(g, call.args[0]), Place(False, state + 8, size))
        g.emit(store_imm(8, R6, state, 1))
    delimiters = _own(g, call.args[1])
    table = Place(False, g.alloc(_TABLE), _TABLE)
    g.zero(table)
    g.state_address(R1, state)
    g.address(R2, delimiters)
    g.state_address(R3, table.off)
    g.emit(mov_imm(R4, size))
    g.routine("token_range")
    found, end = Label(), Label()
    g.emit(jump_imm("jne", R0, -1, found))
    set_null(g, target)
    g.emit(ja(end))
    g.place(found)
    _copy_part(g, Place(False, state + 8, size), target)
    g.place(end)


# --- numbers ------------------------------------------------------------------------------
def _network(bits):
    """The order of bytes of the network is big-endian."""

    def emit(g, call, target):
        g.value(call.args[0])
        g.emit(swap(f"be{bits}", R0))

    return emit


def _device(shift, mask):
    def emit(g, call, target):
        g.value(call.args[0])
        g.emit(alu_imm("rsh", R0, shift)) if shift else None
        g.emit(const(R1, mask), alu("and", R0, R1))

    return emit


def emit_rand(g, call, target):
    """A linear congruential generator, stirred by the event's time; its upper bits are the better ones."""
    g.emit(
        ld_map_value(R1, p.MAP_GLOBALS, g.layout.random()),
        load(8, R0, R1, 0),
        load(8, R2, R6, p.STATE_TIME),
        alu("xor", R0, R2),
        const(R2, 6364136223846793005),
        alu("mul", R0, R2),
        const(R2, 1442695040888963407),
        alu("add", R0, R2),
        store(8, R1, 0, R0),
        alu_imm("rsh", R0, 33),
    )


ROWS = [
    SubroutineRow(
        "strlen", "size_t(const char *)", emit_strlen, "the length of a string, in bytes"
    ),
    SubroutineRow(
        "index",
        "int(const char *, const char *, [int])",
        emit_index,
        "where a string first occurs in another one, or -1",
    ),
    SubroutineRow(
        "rindex",
        "int(const char *, const char *, [int])",
        emit_rindex,
        "where a string last occurs in another one, or -1",
    ),
    SubroutineRow(
        "strstr",
        "string(const char *, const char *)",
        emit_strstr,
        "a string from the first occurrence of another one on, or NULL",
        nullable=True,
    ),
    SubroutineRow(
        "strchr",
        "string(const char *, char)",
        _char(False),
        "a string from the first occurrence of a character on, or NULL",
        nullable=True,
    ),
    SubroutineRow(
        "strrchr",
        "string(const char *, char)",
        _char(True),
        "a string from the last occurrence of a character on, or NULL",
        nullable=True,
    ),
    SubroutineRow(
        "strtok",
        "string(const char *, const char *)",
        emit_strtok,
        "the next part of a string between delimiters, or NULL",
        nullable=True,
        place=lambda layout: layout.place_tokens(),
    ),
    SubroutineRow("substr", "string(const char *, int, [int])", emit_substr, "a part of a string"),
    SubroutineRow(
        "strjoin",
        "string(const char *, const char *)",
        emit_strjoin,
        "two strings, one behind the other",
    ),
    SubroutineRow("tolower", "string(const char *)", _case("A"), "a string in small letters"),
    SubroutineRow("toupper", "string(const char *)", _case("a"), "a string in capital letters"),
    SubroutineRow("basename", "string(const char *)", _path(False), "the last part of a path"),
    SubroutineRow("dirname", "string(const char *)", _path(True), "a path without its last part"),
    SubroutineRow("lltostr", "string(int64_t, [int])", emit_lltostr, "the digits of an integer"),
    SubroutineRow(
        "strtoll",
        "int64_t(const char *, [int])",
        emit_strtoll,
        "the integer that a string begins with",
    ),
    SubroutineRow(
        "htons", "uint16_t(uint16_t)", _network(16), "16 bits in the network's order of bytes"
    ),
    SubroutineRow(
        "htonl", "uint32_t(uint32_t)", _network(32), "32 bits in the network's order of bytes"
    ),
    SubroutineRow(
        "htonll", "uint64_t(uint64_t)", _network(64), "64 bits in the network's order of bytes"
    ),
    SubroutineRow(
        "ntohs", "uint16_t(uint16_t)", _network(16), "16 bits from the network's order of bytes"
    ),
    SubroutineRow(
        "ntohl", "uint32_t(uint32_t)", _network(32), "32 bits from the network's order of bytes"
    ),
    SubroutineRow(
        "ntohll", "uint64_t(uint64_t)", _network(64), "64 bits from the network's order of bytes"
    ),
    SubroutineRow(
        "rand", "int()", emit_rand, "a number that can not be foretold easily, from 0 to 2147483647"
    ),
    SubroutineRow("getmajor", "dev_t(dev_t)", _device(20, 0xFFF), "the major number of a device"),
    SubroutineRow("getminor", "dev_t(dev_t)", _device(0, 0xFFFFF), "the minor number of a device"),
]
