"""copyinstr() as an aggregation's key under -x pyusdt: strings that only differ behind strsize stay apart.

Always: all that a producer captures of a string is read; what is longer than strsize is cut, and ends with `~` and the
hash of the whole string, so that no two are taken for one, whoever prints or reads the key.
"""

from ...bpf.code import Label
from ...bpf.insn import R0, R1, R2, R3, jump_imm, mov_imm
from ...data import program as p
from ...data import types as t
from .. import ast
from ..code.emit import Place
from ..errors import CompileError
from .row import SubroutineRow

WHOLE = 1024  # bytes that a producer delivers at most, with the NUL
_MARK = 17


def emit_whole_key(g, call, target):
    """The helper returns the string's length with its NUL."""
    strsize = g.layout.strsize
    if strsize < 2 * _MARK:
        raise CompileError("D_UNSUPPORTED", call.loc, f"keys under -x pyusdt need a strsize of {2 * _MARK} at least")
    whole = Place(False, g.alloc(WHOLE), WHOLE)
    g.zero(whole)
    g.value(call.args[0])
    address = g.push()
    g.address(R1, whole)
    g.emit(mov_imm(R2, WHOLE))
    g.get(address, R3)
    g.helper("probe_read_user_str")
    g.mark(call.loc)
    g.emit(jump_imm("jslt", R0, 0, g.fault(p.FAULT_BADADDR, address)))
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


ROW = SubroutineRow("copyinstr", t.STRING, emit_whole_key, "the string at an address, cut so that no two are alike")


def mark(keys, options):
    """Let the strings among an aggregation's typed keys be read whole, where the program asks for it."""
    if not options.get("pyusdt") or options.get("strsize", 0) >= WHOLE:
        return
    for key in keys:
        if key.__class__ is ast.Call and key.name == "copyinstr" and len(key.args) == 1:
            key.row = ROW
