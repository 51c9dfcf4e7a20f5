"""Subroutines: functions that an expression may call, and the code that they become (row.py)."""

from ...bpf.code import Label
from ...bpf.insn import R0, R1, R2, R3, jump_imm, mov, mov_imm
from ...data import program as p
from ...data import types as t
from ..code import speculations
from . import erlang, heap, json, network, process, text
from .row import SubroutineRow


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
        g.emit(jump_imm("jeq", R0, 0, g.fault(p.FAULT_BADADDR, address)),
               jump_imm("jle", R0, strsize, bounded), mov_imm(R0, strsize))
        g.place(bounded)
        g.emit(mov(R2, R0))
    else:
        g.emit(mov_imm(R2, strsize))
    g.address(R1, target)
    g.get(address, R3)
    g.helper("probe_read_user_str")
    g.mark(call.loc)
    g.emit(jump_imm("jslt", R0, 0, g.fault(p.FAULT_BADADDR, address)))
    g.keep_length(target, padding)
    g.release(address)


_rows = [
    SubroutineRow("copyinstr", t.STRING, emit_copyinstr,
                  "the NUL-terminated string at an address of the firing process"),
    SubroutineRow("speculation", t.INT, speculations.emit_new, "a speculation's number, 0 where none is free"),
]

SUBROUTINES = {row.name: row for row in [*_rows, *heap.ROWS, *text.ROWS, *erlang.ROWS, *json.ROWS, *network.ROWS,
                                     *process.ROWS]}
