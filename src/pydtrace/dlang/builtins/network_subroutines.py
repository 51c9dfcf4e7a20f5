# mypy: ignore-errors
"""Subroutines that show network addresses: inet_ntoa(), inet_ntoa6(), inet_ntop(), link_ntop().

`emit(g, call, target)`: see subroutine_base.py.  The loops are routines of bpf/lib; they write to a work area whose first
64 bytes are the text.
"""

from pydtrace.bpf.insn import R0, R1, R2, R3, R6, alu_imm, jump_imm, load, mov, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang import ast
from pydtrace.dlang.code.emitter import Place
from pydtrace.dlang.code.memory_objects import Spot, pointer
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import program as p

from .string_subroutines import copy_whole
from .subroutine_base import SubroutineRow

_TEXT, _WORK = 64, 112
_AF_INET, _AF_INET6 = 2, 10
_ETHER, _INFINIBAND = 1, 32
_LENGTHS = {_ETHER: 6, _INFINIBAND: 20}


def _bytes_at(g, expr, size):
    """Copy `size` bytes at an address to a work area; the area's offset: the text's, the bytes behind it."""
    work = g.alloc(_WORK + 24)
    g.zero(Place(False, work, _WORK + 24))
    g.value(expr)
    base, off = pointer(g, Spot(R0, 0, True), size, expr.loc)
    g.emit(mov(R3, base), alu_imm("add", R3, off))
    g.copy_from_r3(Place(False, work + _WORK, size), size)
    return work


def _run(g, routine, work, first=0, *more):
    g.state_address(R1, work + _WORK + first)
    g.state_address(R2, work)
    g.emit(*more)
    g.routine(routine)


def _finish(g, work, target):
    source = Place(False, work, _TEXT)
    if source.size <= target.size:
        g.copy(source, target)
    else:
        copy_whole(g, source, target)


def emit_inet_ntoa(g, call, target):
    work = _bytes_at(g, call.args[0], 4)
    _run(g, "inet4_text", work)
    _finish(g, work, target)


def _inet6(g, work, strict):
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
    g.place(mapped)  # an IPv4 address, but for :: and ::1 and their like
    g.emit(load(2, R0, R6, bytes_at + 12), jump_imm("jeq", R0, 0, plain))
    g.place(dotted)
    if strict:
        _run(g, "inet6_text", work, 0, mov_imm(R3, 6))
    _run(g, "inet4_text", work, 12)
    g.jump(end)
    g.place(plain)
    _run(g, "inet6_text", work, 0, mov_imm(R3, 8))
    g.place(end)


def _need_constant(call):
    """The second argument of inet_ntoa6()."""
    if type(call.args[-1]) is not ast.IntLit and len(call.args) > 1:
        message = "inet_ntoa6( ) argument #2 is incompatible with prototype:\n\tprototype: integer constant\n"
        refuse("D_PROTO_ARG", call.loc, message + f"\t argument: {call.args[-1].type}")


def emit_inet_ntoa6(g, call, target):
    work = _bytes_at(g, call.args[0], 16)
    _inet6(g, work, len(call.args) > 1 and call.args[1].value != 0)
    _finish(g, work, target)


def emit_inet_ntop(g, call, target):
    g.value(call.args[0])
    kind = g.push()
    six, end = Label(), Label()
    g.get(kind, R0)
    g.mark(call.loc)
    g.emit(
        jump_imm("jeq", R0, _AF_INET6, six), jump_imm("jne", R0, _AF_INET, g.fault(p.FAULT_ILLOP))
    )
    g.release(kind)
    mark = g.scratch
    work = _bytes_at(g, call.args[1], 4)
    _run(g, "inet4_text", work)
    _finish(g, work, target)
    g.jump(end)
    g.scratch = mark
    g.place(six)
    work = _bytes_at(g, call.args[1], 16)
    _inet6(g, work, True)
    _finish(g, work, target)
    g.place(end)


def emit_link_ntop(g, call, target):
    g.value(call.args[0])
    kind = g.push()
    end = Label()
    labels = {number: Label() for number in _LENGTHS}
    g.get(kind, R0)
    g.mark(call.loc)
    g.emit(*[jump_imm("jeq", R0, number, label) for number, label in labels.items()])
    g.jump_surely(g.fault(p.FAULT_ILLOP))
    g.release(kind)
    mark = g.scratch
    for number, label in labels.items():
        g.scratch = mark
        g.place(label)
        work = _bytes_at(g, call.args[1], _LENGTHS[number])
        _run(g, "bytes_text", work, 0, mov_imm(R3, _LENGTHS[number]))
        _finish(g, work, target)
        g.jump(end)
    g.place(end)


ROWS = [
    SubroutineRow("inet_ntoa", "string(ipaddr_t *)", emit_inet_ntoa, "an IPv4 address as text"),
    SubroutineRow(
        "inet_ntoa6",
        "string(struct in6_addr *, [int])",
        emit_inet_ntoa6,
        "an IPv6 address as text",
        accept=_need_constant,
    ),
    SubroutineRow(
        "inet_ntop", "string(int, void *)", emit_inet_ntop, "an address of a family as text"
    ),
    SubroutineRow("link_ntop", "string(int, void *)", emit_link_ntop, "a hardware address as text"),
]
