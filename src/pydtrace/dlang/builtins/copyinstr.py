# mypy: ignore-errors
"""copyinstr(), and what it is as an aggregation's key under -x pyusdt: strings that only differ behind strsize stay apart.

Always: of such a key all that a producer captures of a string is read; what is longer than strsize is cut, and ends with
`~` and the hash of the whole string, so that no two are taken for one, whoever prints or reads the key.
"""

from pydtrace.bpf.insn import R0, R1, R2, R3, jump_imm, mov, mov_imm, store_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.argument_demand import STRING_LIMIT
from pydtrace.dlang.code.emitter import Place
from pydtrace.dlang.code.integer_expressions import constant
from pydtrace.dlang.code.string_expressions import count_cut_string
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import program as p

from .subroutine_base import SubroutineRow

WHOLE = 1024  # bytes that a producer delivers at most, with the NUL
_MARK = 17


def _check(g, call, address, target):
    """r0 is the helper's answer: a length, or that there is nothing at the address, which is a fault; of ARGUMENT an absent string
    is the empty one."""
    fault, there = g.fault(p.FAULT_BADADDR, address), Label()
    g.mark(call.loc)
    if call.row not in _ABSENT_IS_EMPTY:
        g.emit(jump_imm("jslt", R0, 0, fault))
        return
    g.emit(jump_imm("jsge", R0, 0, there))
    g.get(address, R1)
    g.emit(jump_imm("jne", R1, 0, fault))
    g.address(R1, target)
    g.emit(store_imm(1, R1, 0, 0), mov_imm(R0, 1))
    g.place(there)


def emit_copyinstr(g, call, target):
    """The second argument, an unsigned number, bounds the bytes with the NUL."""
    strsize = g.layout.strsize
    padding = g.pad(target)  # the helper writes the string and no padding
    g.value(call.args[0])
    address = g.push()
    if len(call.args) > 1:
        bounded = Label()
        g.value(call.args[1])
        g.mark(call.loc)
        g.emit(
            jump_imm("jeq", R0, 0, g.fault(p.FAULT_BADADDR, address)),
            jump_imm("jle", R0, strsize, bounded),
            mov_imm(R0, strsize),
        )
        g.place(bounded)
        g.emit(mov(R2, R0))
    else:
        g.emit(mov_imm(R2, strsize))
    g.address(R1, target)
    g.get(address, R3)
    g.helper("probe_read_user_str")
    _check(g, call, address, target)
    count_cut_string(g, address)
    g.keep_length(target, padding)
    g.release(address)


def emit_whole_key(g, call, target):
    """The helper returns the string's length with its NUL."""
    strsize = g.layout.strsize
    if strsize < 2 * _MARK:
        raise CompileError(
            "D_UNSUPPORTED",
            call.loc,
            f"keys under -x pyusdt need a strsize of {2 * _MARK} at least",
        )
    whole = Place(False, g.alloc(WHOLE), WHOLE)
    g.zero(whole)
    g.value(call.args[0])
    address = g.push()
    g.address(R1, whole)
    g.emit(mov_imm(R2, WHOLE))
    g.get(address, R3)
    g.helper("probe_read_user_str")
    _check(g, call, address, whole)
    g.release(address)
    length = g.push()
    g.copy(Place(False, whole.off, target.size), target)
    fits = Label()
    g.get(length, R0)
    g.release(length)
    g.emit(jump_imm("jle", R0, strsize, fits))
    kept = (strsize - 1 - _MARK) // 8 * 8
    g.zero(Place(False, target.off + kept, target.size - kept))
    g.address(R1, whole)
    g.state_address(R2, target.off + kept)
    g.routine("string_mark")
    g.place(fits)


def _reads(call, strsize):
    bound = constant(call.args[1]) if len(call.args) > 1 else None
    return strsize if bound is None else min(bound & (1 << 64) - 1, strsize)


def _place_whole(layout):
    layout.zeros_size = max(layout.zeros_size, WHOLE)


def _whole_key():
    return SubroutineRow(
        "copyinstr",
        "string(uintptr_t)",
        emit_whole_key,
        "the string at an address, cut so that no two are alike",
        place=_place_whole,
        reads=lambda call, strsize: STRING_LIMIT,
    )


_WHOLE_KEY, _WHOLE_ARGUMENT = _whole_key(), _whole_key()


def _as_key(call, options):
    """The row for an aggregation's key: the string is read whole, where the program asks for it."""
    if options.get("pyusdt") and options.get("strsize", 0) < WHOLE and len(call.args) == 1:
        return _WHOLE_ARGUMENT if call.row is ARGUMENT else _WHOLE_KEY
    return call.row


def _copyinstr():
    return SubroutineRow(
        "copyinstr",
        "string(uintptr_t, [size_t])",
        emit_copyinstr,
        "the NUL-terminated string at an address of the firing process; a second argument bounds its bytes, the NUL among them",
        reads=_reads,
        keeps_length=True,
        as_key=_as_key,
    )


ROWS = [_copyinstr()]
# args[i] and arg.name where they are strings: the same, but that an absent string is "" (types/probe_arguments.py)
ARGUMENT = _copyinstr()
_ABSENT_IS_EMPTY = (ARGUMENT, _WHOLE_ARGUMENT)
