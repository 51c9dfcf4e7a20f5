"""copyinstr(), also as an aggregation's key under -x pyusdt, where strings that differ only
after strsize stay apart.

The code for such a key reads everything that a target captures of a string. A string longer than
strsize is truncated and ends with `~` and the hash of the whole string, so no two keys coincide.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, jump_imm, mov, mov_imm, store_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.dlang.code.integer_expressions import constant_value
from pydtrace.dlang.code.string_expressions import count_truncated_string
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...options import Options
    from ..ast import Call
    from ..code.emitter import Emitter, Temp
    from ..code.layout import Layout

CAPTURED_MAX = 1024  # bytes that a producer delivers at most, with the NUL
_HASH_BYTES = 17


def _check_result(g: Emitter, call: Call, address: Temp, target: StringSlot) -> None:
    """r0 is the helper's answer: a length, or that there is nothing at the address, which is a fault; of ARGUMENT an absent string
    is the empty one."""
    fault, there = g.fault_label(p.FAULT_BADADDR, address), Label()
    g.mark_location(call.loc)
    if call.row not in _ABSENT_IS_EMPTY:
        g.emit(jump_imm("jslt", R0, 0, fault))
        return
    g.emit(jump_imm("jsge", R0, 0, there))
    g.load_temp(address, R1)
    g.emit(jump_imm("jne", R1, 0, fault))
    g.load_address(R1, target)
    g.emit(store_imm(1, R1, 0, 0), mov_imm(R0, 1))
    g.place_label(there)


def emit_copyinstr(g: Emitter, call: Call, target: StringSlot) -> None:
    """The second argument, an unsigned number, bounds the bytes with the NUL."""
    strsize = g.layout.strsize
    padding = g.pad_slot(target)  # the helper writes the string and no padding
    g.emit_value(call.args[0])
    address = g.push_r0()
    if len(call.args) > 1:
        bounded = Label()
        g.emit_value(call.args[1])
        g.mark_location(call.loc)
        g.emit(
            jump_imm("jeq", R0, 0, g.fault_label(p.FAULT_BADADDR, address)),
            jump_imm("jle", R0, strsize, bounded),
            mov_imm(R0, strsize),
        )
        g.place_label(bounded)
        g.emit(mov(R2, R0))
    else:
        g.emit(mov_imm(R2, strsize))
    g.load_address(R1, target)
    g.load_temp(address, R3)
    g.call_helper("probe_read_user_str")
    _check_result(g, call, address, target)
    count_truncated_string(g, address)
    g.store_length(target, padding)
    g.release_temp(address)


def emit_hashed_key(g: Emitter, call: Call, target: StringSlot) -> None:
    """The helper returns the string's length with its NUL."""
    strsize = g.layout.strsize
    if strsize < 2 * _HASH_BYTES:
        raise CompileError(
            "D_UNSUPPORTED",
            call.loc,
            f"keys under -x pyusdt need a strsize of {2 * _HASH_BYTES} at least",
        )
    whole = StringSlot(False, g.alloc_scratch(CAPTURED_MAX), CAPTURED_MAX)
    g.zero_slot(whole)
    g.emit_value(call.args[0])
    address = g.push_r0()
    g.load_address(R1, whole)
    g.emit(mov_imm(R2, CAPTURED_MAX))
    g.load_temp(address, R3)
    g.call_helper("probe_read_user_str")
    _check_result(g, call, address, whole)
    g.release_temp(address)
    length = g.push_r0()
    g.copy_slot(StringSlot(False, whole.off, target.size), target)
    fits = Label()
    g.load_temp(length, R0)
    g.release_temp(length)
    g.emit(jump_imm("jle", R0, strsize, fits))
    kept = (strsize - 1 - _HASH_BYTES) // 8 * 8
    g.zero_slot(StringSlot(False, target.off + kept, target.size - kept))
    g.load_address(R1, whole)
    g.load_state_address(R2, target.off + kept)
    g.call_routine("string_mark")
    g.place_label(fits)


def _read_limit(call: Call, strsize: int) -> int:
    bound = constant_value(call.args[1]) if len(call.args) > 1 else None
    return strsize if bound is None else min(bound & (1 << 64) - 1, strsize)


def _reserve_zeros(layout: Layout) -> None:
    layout.zeros_size = max(layout.zeros_size, CAPTURED_MAX)


def _hashed_key_row() -> SubroutineRow:
    return SubroutineRow(
        "copyinstr",
        "string(uintptr_t)",
        emit_hashed_key,
        "the string at an address, cut so that no two are alike",
        make_room=_reserve_zeros,
        read_limit=lambda call, strsize: p.STRING_LIMIT,
    )


_HASHED_KEY, _HASHED_ARGUMENT = _hashed_key_row(), _hashed_key_row()


def _choose_key_row(call: Call, options: Options) -> SubroutineRow:
    """The row for an aggregation's key: the string is read whole, where the program asks for it."""
    if options.get("pyusdt") and options.get("strsize", 0) < CAPTURED_MAX and len(call.args) == 1:
        return _HASHED_ARGUMENT if call.row is ARGUMENT else _HASHED_KEY
    row: SubroutineRow = call.row
    return row


def _copyinstr_row() -> SubroutineRow:
    return SubroutineRow(
        "copyinstr",
        "string(uintptr_t, [size_t])",
        emit_copyinstr,
        "the string at an address of the firing process; a second argument bounds its bytes",
        read_limit=_read_limit,
        knows_length=True,
        key_row=_choose_key_row,
    )


ROWS = [_copyinstr_row()]
# args[i] and arg.name where they are strings: the same, but that an absent string is "" (types/probe_arguments.py)
ARGUMENT = _copyinstr_row()
_ABSENT_IS_EMPTY = (ARGUMENT, _HASHED_ARGUMENT)
