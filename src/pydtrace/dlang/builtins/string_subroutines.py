"""Subroutines on strings and numbers, and their code.

The loops are routines of bpf/lib. Most of them leave a part of a string in r0: its first byte <<
32 | the number of its bytes, which is then copied.
"""

from __future__ import annotations

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
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.dlang.code.string_expressions import emit_null, is_null_constant, locate_string
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..ast import Call, Expr
    from ..code.emitter import Emitter

_LOOP_BYTES_MAX = 8192  # bytes of a string's storage: in a larger one a loop is too much for the kernel's verifier
_TABLE_BYTES = 256  # bytes of a table with one for each character


def _copy_to_state(g: Emitter, expr: Expr) -> StringSlot:
    """The Place of a string argument in the state block."""
    place = locate_string(g, expr)
    if not place.in_globals:
        return place
    own = StringSlot(False, g.alloc_scratch(g.layout.string_size), g.layout.string_size)
    g.copy_slot(place, own)
    return own


def emit_string_length(g: Emitter, place: StringSlot) -> None:
    """r0 = the length of the string there.  By way of the state block: the verifier would otherwise go
    through the rest of the program once for each length that there can be."""
    scratch = g.scratch
    if place.size > _LOOP_BYTES_MAX:
        g.load_state_address(R1, g.alloc_scratch(place.size))
        g.emit(mov_imm(R2, place.size))
        g.load_address(R3, place)
        g.call_helper("probe_read_kernel_str")  # copies it, and gives the length with the NUL
        g.emit(alu_imm("sub", R0, 1))
    else:
        g.load_address(R1, place)
        g.emit(mov_imm(R2, place.size))
        g.call_routine("string_length")
    unknown = g.alloc_scratch(8)
    g.emit(store(8, R6, unknown, R0), load(8, R0, R6, unknown))
    g.scratch = scratch


def _emit_bound(g: Emitter, reg: int, most: int) -> None:
    """reg is at most `most`: it is already, but the verifier has to see it."""
    done = Label()
    g.emit(jump_imm("jle", reg, most, done), mov_imm(reg, most))
    g.place_label(done)


def _emit_part_copy(g: Emitter, source: StringSlot, target: StringSlot, shift: int = 0) -> None:
    """Write the part of `source` that r0 says into `target`, at most a string's bytes.  shift: added to
    its first byte."""
    part = g.push_r0()
    g.zero_slot(target)
    g.load_temp(part, R4)
    g.emit(alu_imm("rsh", R4, 32))
    _emit_bound(g, R4, source.size)
    g.load_temp(part, R2)
    g.emit(alu_imm("lsh", R2, 32), alu_imm("rsh", R2, 32))
    _emit_bound(g, R2, min(g.layout.strsize - 1, target.size - 1))
    g.load_address(R3, source)
    g.emit(alu("add", R3, R4))
    if shift:
        g.emit(alu_imm("add", R3, shift))
    g.load_address(R1, target)
    g.call_helper("probe_read_kernel")
    g.release_temp(part)


# --- numbers of strings -----------------------------------------------------------------
def emit_strlen(g: Emitter, call: Call, target: None) -> None:
    emit_string_length(g, locate_string(g, call.args[0]))


def _emit_find(g: Emitter, call: Call, last: bool) -> StringSlot:
    """r0 = the place of the second argument in the first, from or up to the third; see bpf/lib/string_find.bpf."""
    a, b = _copy_to_state(g, call.args[0]), _copy_to_state(g, call.args[1])
    size = 1 << (g.layout.string_size - 1).bit_length()
    scratch = g.alloc_scratch(
        32 + 2 * size
    )  # which also lies behind the strings: so far they may be read
    if len(call.args) > 2:
        g.emit_value(call.args[2])
        kept = g.push_r0()
    else:
        g.emit(mov_imm(R0, g.layout.string_size if last else 0))
        kept = g.push_r0()
    emit_string_length(g, a)
    limited, positive, inside, end = Label(), Label(), Label(), Label()
    # r3: the place from the third argument, r0: the length; r4: what an empty string is found at
    g.load_temp(kept, R3)
    if not last:
        g.emit(jump("jsle", R3, R0, inside), mov_imm(R0, -1), ja(end))
        g.place_label(inside)
    g.emit(mov(R4, R3), jump("jsle", R4, R0, limited), mov(R4, R0))
    g.place_label(limited)
    g.emit(jump_imm("jsge", R4, 0, positive), mov_imm(R4, 0))
    g.place_label(positive)
    g.emit(mov(R0, R4), load(1, R1, R6, b.off), jump_imm("jeq", R1, 0, end))
    if last:
        g.emit(store_imm(8, R6, scratch, 0), store(8, R6, scratch + 8, R3))
    else:
        g.emit(store(8, R6, scratch, R4), store_imm(8, R6, scratch + 8, size))
    g.load_address(R1, a)
    g.load_address(R2, b)
    g.emit(mov_imm(R3, size - 1))
    g.load_state_address(R4, scratch)
    g.emit(mov_imm(R5, int(last)))
    g.call_routine("string_find")
    g.place_label(end)
    g.release_temp(kept)
    return a


def emit_index(g: Emitter, call: Call, target: None) -> None:
    _emit_find(g, call, False)


def emit_rindex(g: Emitter, call: Call, target: None) -> None:
    _emit_find(g, call, True)


def emit_strtoll(g: Emitter, call: Call, target: None) -> None:
    place = locate_string(g, call.args[0])
    _emit_base(g, call)
    g.emit(mov(R3, R0))
    g.load_address(R1, place)
    g.emit(mov_imm(R2, place.size))
    g.call_routine("text_integer")


def _emit_base(g: Emitter, call: Call) -> None:
    """r0 = the base in the second argument, 10 where it is left out; one that can not be is a fault."""
    if len(call.args) < 2:
        g.emit(mov_imm(R0, 10))
        return
    g.emit_value(call.args[1])
    g.emit(mov(R1, R0), alu_imm("sub", R1, 2))
    g.mark_location(call.loc)
    g.emit(jump_imm("jgt", R1, 34, g.fault_label(p.FAULT_ILLOP)))


# --- strings of strings -----------------------------------------------------------------
def emit_lltostr(g: Emitter, call: Call, target: StringSlot) -> None:
    """A base other than 10 shows the number without sign."""
    g.emit_value(call.args[0])
    value = g.push_r0()
    _emit_base(g, call)
    digits = g.alloc_scratch(72)
    unsigned = Label()
    g.emit(mov(R3, R0), mov_imm(R4, 1), jump_imm("jeq", R3, 10, unsigned), mov_imm(R4, 0))
    g.place_label(unsigned)
    g.load_state_address(R1, digits)
    g.load_temp(value, R2)
    g.call_routine("integer_text")
    g.release_temp(value)
    _emit_part_copy(g, StringSlot(False, digits, 72), target)


def emit_strjoin(g: Emitter, call: Call, target: StringSlot) -> None:
    a, b = locate_string(g, call.args[0]), locate_string(g, call.args[1])
    g.alloc_scratch(
        g.layout.string_size
    )  # the verifier sees only that both strings fit behind the target's begin
    if a.size <= target.size:
        g.copy_slot(a, target)
    else:
        copy_truncated(g, a, target)
    emit_string_length(g, b)
    length = g.push_r0()
    emit_string_length(g, target)
    _emit_bound(g, R0, g.layout.strsize - 1)
    fits = Label()
    g.load_temp(length, R2)
    g.emit(mov_imm(R4, g.layout.strsize - 1), alu("sub", R4, R0), jump("jle", R2, R4, fits))
    g.count_drop(p.COUNT_CUT)
    g.emit(mov(R2, R4))
    g.place_label(fits)
    _emit_bound(g, R2, g.layout.strsize - 1)
    g.load_address(R1, target)
    g.emit(alu("add", R1, R0))
    g.load_address(R3, b)
    g.call_helper("probe_read_kernel")
    g.release_temp(length)


def copy_truncated(g: Emitter, source: StringSlot, target: StringSlot) -> None:
    """Copy a string into a smaller place."""
    emit_string_length(g, source)
    _emit_part_copy(g, source, target)


def emit_substr(g: Emitter, call: Call, target: StringSlot) -> None:
    source = locate_string(g, call.args[0])
    g.emit_value(call.args[1])
    index = g.push_r0()
    if len(call.args) > 2:
        g.emit_value(call.args[2])
    else:
        g.emit(mov_imm(R0, g.layout.strsize))
    count = g.push_r0()
    emit_string_length(g, source)
    g.emit(mov(R1, R0))
    g.load_temp(index, R2)
    g.load_temp(count, R3)
    g.call_routine("substring_range")
    g.release_temp(count)
    g.release_temp(index)
    _emit_part_copy(g, source, target)


def _emit_rest(g: Emitter, source: StringSlot, target: StringSlot) -> None:
    """target = the string from the place in r0 on, or NULL where that is -1."""
    found, end = Label(), Label()
    g.emit(jump_imm("jne", R0, -1, found))
    emit_null(g, target)
    g.emit(ja(end))
    g.place_label(found)
    g.emit(mov_imm(R1, source.size), alu("sub", R1, R0), alu_imm("lsh", R0, 32), alu("or", R0, R1))
    _emit_part_copy(g, source, target)
    g.place_label(end)


def _make_char_emitter(last: bool) -> Callable[..., Any]:
    def emit(g: Emitter, call: Call, target: StringSlot) -> None:
        source = _copy_to_state(g, call.args[0])
        g.emit_value(call.args[1])
        g.emit(mov(R3, R0))
        g.load_address(R1, source)
        g.emit(mov_imm(R2, source.size), mov_imm(R4, int(last)))
        g.load_state_address(R5, g.alloc_scratch(8))
        g.call_routine("string_char")
        _emit_rest(g, source, target)

    return emit


def emit_strstr(g: Emitter, call: Call, target: StringSlot) -> None:
    source = _emit_find(g, call, False)
    _emit_rest(g, source, target)


def _make_case_emitter(first: str) -> Callable[..., Any]:
    def emit(g: Emitter, call: Call, target: StringSlot) -> None:
        source = locate_string(g, call.args[0])
        if source.size <= target.size:
            g.copy_slot(source, target)
        else:
            copy_truncated(g, source, target)
        g.load_address(R1, target)
        g.emit(mov_imm(R2, target.size), mov_imm(R3, ord(first)))
        g.call_routine("change_case")

    return emit


def _make_path_emitter(is_directory: bool) -> Callable[..., Any]:
    def emit(g: Emitter, call: Call, target: StringSlot) -> None:
        source = locate_string(g, call.args[0])
        g.load_address(R1, source)
        g.emit(mov_imm(R2, source.size), mov_imm(R3, int(is_directory)))
        g.load_state_address(R4, g.alloc_scratch(32))
        g.call_routine("path_part")
        plain, slash, end = Label(), Label(), Label()
        other = g.push_r0()
        g.zero_slot(target)
        g.load_temp(other, R0)
        g.release_temp(other)
        g.emit(jump_imm("jslt", R0, 0, slash), jump_imm("jne", R0, 0, plain))
        g.emit(store_imm(1, R6, target.off, ord(".")), ja(end))
        g.place_label(slash)
        g.emit(store_imm(1, R6, target.off, ord("/")), ja(end))
        g.place_label(plain)
        _emit_part_copy(g, source, target)
        g.place_label(end)

    return emit


def emit_strtok(g: Emitter, call: Call, target: StringSlot) -> None:
    """The rest of the string is kept until the firing ends; NULL goes on with it."""
    state = g.layout.tokens_offset
    assert state is not None  # place_tokens()
    size = g.layout.string_size
    if not is_null_constant(call.args[0]):
        g.copy_slot(locate_string(g, call.args[0]), StringSlot(False, state + 8, size))
        g.emit(store_imm(8, R6, state, 1))
    delimiters = _copy_to_state(g, call.args[1])
    table = StringSlot(False, g.alloc_scratch(_TABLE_BYTES), _TABLE_BYTES)
    g.zero_slot(table)
    g.load_state_address(R1, state)
    g.load_address(R2, delimiters)
    g.load_state_address(R3, table.off)
    g.emit(mov_imm(R4, size))
    g.call_routine("token_range")
    found, end = Label(), Label()
    g.emit(jump_imm("jne", R0, -1, found))
    emit_null(g, target)
    g.emit(ja(end))
    g.place_label(found)
    _emit_part_copy(g, StringSlot(False, state + 8, size), target)
    g.place_label(end)


# --- numbers ------------------------------------------------------------------------------
def _make_swap_emitter(bits: int) -> Callable[..., Any]:
    """The order of bytes of the network is big-endian."""

    def emit(g: Emitter, call: Call, target: None) -> None:
        g.emit_value(call.args[0])
        g.emit(swap(f"be{bits}", R0))

    return emit


def _make_device_emitter(shift: int, mask: int) -> Callable[..., Any]:
    def emit(g: Emitter, call: Call, target: None) -> None:
        g.emit_value(call.args[0])
        g.emit(alu_imm("rsh", R0, shift)) if shift else None
        g.emit(const(R1, mask), alu("and", R0, R1))

    return emit


def emit_rand(g: Emitter, call: Call, target: None) -> None:
    """A linear congruential generator, stirred by the event's time; its upper bits are the better ones."""
    g.emit(
        ld_map_value(R1, p.MAP_GLOBALS, g.layout.place_random_state()),
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
        "the position at which a string contains another string first, or -1",
    ),
    SubroutineRow(
        "rindex",
        "int(const char *, const char *, [int])",
        emit_rindex,
        "the position at which a string contains another string last, or -1",
    ),
    SubroutineRow(
        "strstr",
        "string(const char *, const char *)",
        emit_strstr,
        "the rest of a string, from the first occurrence of another string, or NULL",
        is_nullable=True,
    ),
    SubroutineRow(
        "strchr",
        "string(const char *, char)",
        _make_char_emitter(False),
        "the rest of a string, from the first occurrence of a character, or NULL",
        is_nullable=True,
    ),
    SubroutineRow(
        "strrchr",
        "string(const char *, char)",
        _make_char_emitter(True),
        "the rest of a string, from the last occurrence of a character, or NULL",
        is_nullable=True,
    ),
    SubroutineRow(
        "strtok",
        "string(const char *, const char *)",
        emit_strtok,
        "the next part of a string between delimiters, or NULL",
        is_nullable=True,
        make_room=lambda layout: layout.place_tokens(),
    ),
    SubroutineRow("substr", "string(const char *, int, [int])", emit_substr, "a part of a string"),
    SubroutineRow(
        "strjoin",
        "string(const char *, const char *)",
        emit_strjoin,
        "the first string followed by the second",
    ),
    SubroutineRow(
        "tolower", "string(const char *)", _make_case_emitter("A"), "a string in small letters"
    ),
    SubroutineRow(
        "toupper", "string(const char *)", _make_case_emitter("a"), "a string in capital letters"
    ),
    SubroutineRow(
        "basename", "string(const char *)", _make_path_emitter(False), "the last part of a path"
    ),
    SubroutineRow(
        "dirname", "string(const char *)", _make_path_emitter(True), "a path without its last part"
    ),
    SubroutineRow("lltostr", "string(int64_t, [int])", emit_lltostr, "the digits of an integer"),
    SubroutineRow(
        "strtoll",
        "int64_t(const char *, [int])",
        emit_strtoll,
        "the integer at the beginning of a string",
    ),
    SubroutineRow(
        "htons",
        "uint16_t(uint16_t)",
        _make_swap_emitter(16),
        "16 bits in the network's order of bytes",
    ),
    SubroutineRow(
        "htonl",
        "uint32_t(uint32_t)",
        _make_swap_emitter(32),
        "32 bits in the network's order of bytes",
    ),
    SubroutineRow(
        "htonll",
        "uint64_t(uint64_t)",
        _make_swap_emitter(64),
        "64 bits in the network's order of bytes",
    ),
    SubroutineRow(
        "ntohs",
        "uint16_t(uint16_t)",
        _make_swap_emitter(16),
        "16 bits from the network's order of bytes",
    ),
    SubroutineRow(
        "ntohl",
        "uint32_t(uint32_t)",
        _make_swap_emitter(32),
        "32 bits from the network's order of bytes",
    ),
    SubroutineRow(
        "ntohll",
        "uint64_t(uint64_t)",
        _make_swap_emitter(64),
        "64 bits from the network's order of bytes",
    ),
    SubroutineRow("rand", "int()", emit_rand, "a random number from 0 to 2147483647"),
    SubroutineRow(
        "getmajor", "dev_t(dev_t)", _make_device_emitter(20, 0xFFF), "the major number of a device"
    ),
    SubroutineRow(
        "getminor", "dev_t(dev_t)", _make_device_emitter(0, 0xFFFFF), "the minor number of a device"
    ),
]
