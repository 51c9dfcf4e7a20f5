"""Subroutines that print network addresses: inet_ntoa(), inet_ntoa6(), inet_ntop(), link_ntop().

The loops are routines of bpf/lib. They write to a work area whose first 64 bytes are the text.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R2, R3, R6, alu_imm, jump_imm, load, mov, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.dlang.code.integer_expressions import constant_value
from pydtrace.dlang.code.memory_objects import ObjectAddress, emit_pointer
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import program as p

from .string_subroutines import copy_truncated
from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...bpf.insn import Insn
    from ..code.emitter import Emitter

_TEXT, _WORK = 64, 112
_AF_INET, _AF_INET6 = 2, 10
_ETHER, _INFINIBAND = 1, 32
_LENGTHS = {_ETHER: 6, _INFINIBAND: 20}


def _copy_bytes(g: Emitter, expr: ast.Expr, size: int) -> int:
    """Copy `size` bytes at an address to a work area; the area's offset: the text's, the bytes behind it."""
    work = g.alloc_scratch(_WORK + 24)
    g.zero_slot(StringSlot(False, work, _WORK + 24))
    g.emit_value(expr)
    base, off = emit_pointer(g, ObjectAddress(R0, 0, True), size, expr.loc)
    g.emit(mov(R3, base), alu_imm("add", R3, off))
    g.copy_from_r3(StringSlot(False, work + _WORK, size), size)
    return work


def _call_routine(g: Emitter, routine: str, work: int, first: int = 0, *more: Insn) -> None:
    g.load_state_address(R1, work + _WORK + first)
    g.load_state_address(R2, work)
    g.emit(*more)
    g.call_routine(routine)


def _copy_text(g: Emitter, work: int, target: StringSlot) -> None:
    source = StringSlot(False, work, _TEXT)
    if source.size <= target.size:
        g.copy_slot(source, target)
    else:
        copy_truncated(g, source, target)


def emit_inet_ntoa(g: Emitter, call: ast.Call, target: StringSlot) -> None:
    work = _copy_bytes(g, call.args[0], 4)
    _call_routine(g, "inet4_text", work)
    _copy_text(g, work, target)


def _emit_inet6(g: Emitter, work: int, strict: bool) -> None:
    """The text of 16 bytes; strict: the parts before an IPv4 address are shown."""
    bytes_at = work + _WORK
    plain, mapped, dotted, end = Label(), Label(), Label(), Label()
    g.emit(
        load(8, R0, R6, bytes_at),
        jump_imm("jne", R0, 0, plain),
        load(4, R0, R6, bytes_at + 8),
        jump_imm("jeq", R0, 0, mapped),
        load(2, R0, R6, bytes_at + 8),
        jump_imm("jne", R0, 0, plain),
        load(2, R0, R6, bytes_at + 10),
        jump_imm("jeq", R0, 0xFFFF, dotted),
        jump_imm("jne", R0, -1, plain),
    )
    g.place_label(mapped)  # an IPv4 address, but for :: and ::1 and their like
    g.emit(load(2, R0, R6, bytes_at + 12), jump_imm("jeq", R0, 0, plain))
    g.place_label(dotted)
    if strict:
        _call_routine(g, "inet6_text", work, 0, mov_imm(R3, 6))
    _call_routine(g, "inet4_text", work, 12)
    g.jump_to(end)
    g.place_label(plain)
    _call_routine(g, "inet6_text", work, 0, mov_imm(R3, 8))
    g.place_label(end)


def _require_constant(call: ast.Call) -> None:
    """The second argument of inet_ntoa6()."""
    if type(call.args[-1]) is not ast.IntLit and len(call.args) > 1:
        message = "inet_ntoa6( ) argument #2 is incompatible with prototype:\n\tprototype: integer constant\n"
        refuse("D_PROTO_ARG", call.loc, message + f"\t argument: {call.args[-1].type}")


def emit_inet_ntoa6(g: Emitter, call: ast.Call, target: StringSlot) -> None:
    work = _copy_bytes(g, call.args[0], 16)
    _emit_inet6(g, work, len(call.args) > 1 and constant_value(call.args[1]) != 0)
    _copy_text(g, work, target)


def emit_inet_ntop(g: Emitter, call: ast.Call, target: StringSlot) -> None:
    g.emit_value(call.args[0])
    kind = g.push_r0()
    six, end = Label(), Label()
    g.load_temp(kind, R0)
    g.mark_location(call.loc)
    g.emit(
        jump_imm("jeq", R0, _AF_INET6, six),
        jump_imm("jne", R0, _AF_INET, g.fault_label(p.FAULT_ILLOP)),
    )
    g.release_temp(kind)
    mark = g.scratch
    work = _copy_bytes(g, call.args[1], 4)
    _call_routine(g, "inet4_text", work)
    _copy_text(g, work, target)
    g.jump_to(end)
    g.scratch = mark
    g.place_label(six)
    work = _copy_bytes(g, call.args[1], 16)
    _emit_inet6(g, work, True)
    _copy_text(g, work, target)
    g.place_label(end)


def emit_link_ntop(g: Emitter, call: ast.Call, target: StringSlot) -> None:
    g.emit_value(call.args[0])
    kind = g.push_r0()
    end = Label()
    labels = {number: Label() for number in _LENGTHS}
    g.load_temp(kind, R0)
    g.mark_location(call.loc)
    g.emit(*[jump_imm("jeq", R0, number, label) for number, label in labels.items()])
    g.jump_opaquely(g.fault_label(p.FAULT_ILLOP))
    g.release_temp(kind)
    mark = g.scratch
    for number, label in labels.items():
        g.scratch = mark
        g.place_label(label)
        work = _copy_bytes(g, call.args[1], _LENGTHS[number])
        _call_routine(g, "bytes_text", work, 0, mov_imm(R3, _LENGTHS[number]))
        _copy_text(g, work, target)
        g.jump_to(end)
    g.place_label(end)


ROWS = [
    SubroutineRow("inet_ntoa", "string(ipaddr_t *)", emit_inet_ntoa, "an IPv4 address as text"),
    SubroutineRow(
        "inet_ntoa6",
        "string(struct in6_addr *, [int])",
        emit_inet_ntoa6,
        "an IPv6 address as text",
        check_arguments=_require_constant,
    ),
    SubroutineRow(
        "inet_ntop",
        "string(int, void *)",
        emit_inet_ntop,
        "a network address as text; the first argument is the address family",
    ),
    SubroutineRow("link_ntop", "string(int, void *)", emit_link_ntop, "a hardware address as text"),
]
