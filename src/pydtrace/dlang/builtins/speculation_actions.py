"""speculation(), speculate(), commit() and discard().

- A speculation is a word of the globals map, 0 while it is free. Its records go out at once,
  marked with its number; the consumer holds them until the record of a commit or discard comes.
- As in dtrace, a clause ends at a speculate() of an inactive speculation; commit() or discard()
  of 0 or of an inactive one does nothing, and of an impossible number is a fault.
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
    jump_imm,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import program as p

from .action_base import Action
from .subroutine_base import SubroutineRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ast import Call
    from ..code.emitter import Emitter
    from ..types.action_order import ActionOrder


def emit_speculation(g: Emitter, call: Call, target: None) -> None:
    """r0 = the number of a speculation, or 0."""
    found = Label()
    g.emit(
        ld_map_value(R1, p.MAP_GLOBALS, g.layout.place_speculations()),
        mov_imm(R2, g.layout.speculation_count),
    )
    g.call_routine("speculation_new")
    g.emit(jump_imm("jne", R0, 0, found))
    g.count_drop(p.DROP_SPECULATION)
    g.emit(mov_imm(R0, 0))
    g.place_label(found)


def _emit_state_address(g: Emitter, reg: int, number: int) -> None:
    """reg = the address of the state of the speculation whose number less 1 is in `number`, in bounds."""
    g.emit(
        ld_map_value(reg, p.MAP_GLOBALS, g.layout.place_speculations()),
        mov(R0, number),
        alu_imm("lsh", R0, 3),
        alu("add", reg, R0),
    )


class Speculate(Action):
    name, prototype, doc = "speculate", "void(int)", "pydtrace holds back the output of the clause"
    has_record = False
    speculates = True

    def check_order(self, order: ActionOrder, call: Call) -> None:
        for before, tag, name in (
            (order.has_speculate, "D_SPEC_SPEC", "speculate( )"),
            (order.has_commit, "D_SPEC_COMM", "commit( )"),
            (order.has_data, "D_SPEC_DREC", "data-recording action(s)"),
        ):
            if before:
                refuse(tag, call.loc, f"speculate( ) may not follow {name}")
        order.has_speculate = True

    def emit_record(self, g: Emitter, call: Call, at: int, action: p.Action | None) -> None:
        _emit_speculate(g, call, at)


def _emit_speculate(g: Emitter, call: Call, record: int) -> None:
    g.emit_value(call.args[0])
    g.emit(
        mov(R2, R0),
        alu_imm("sub", R2, 1),
        jump_imm("jge", R2, g.layout.speculation_count, g.end_label),
    )
    _emit_state_address(g, R1, R2)
    g.emit(
        load(8, R1, R1, 0),
        jump_imm("jeq", R1, 0, g.end_label),
        alu_imm("add", R2, 1),
        store(4, R6, record + p.RECORD_SPECULATION, R2),
    )


class Commit(Action):
    name, prototype, doc = "commit", "void(int)", "prints the output that a speculation holds back"
    has_record = False

    def check_order(self, order: ActionOrder, call: Call) -> None:
        if order.has_data:
            refuse("D_COMM_DREC", call.loc, "commit( ) may not follow data-recording action(s)")
        order.has_commit = True

    def emit_record(self, g: Emitter, call: Call, at: int, action: p.Action | None) -> None:
        _emit_settle(g, call, True)


class Discard(Action):
    name, prototype, doc = "discard", "void(int)", "drops the output that a speculation holds back"
    has_record = False

    def check_order(self, order: ActionOrder, call: Call) -> None:
        """It may follow anything."""

    def emit_record(self, g: Emitter, call: Call, at: int, action: p.Action | None) -> None:
        _emit_settle(g, call, False)


def _emit_settle(g: Emitter, call: Call, is_commit: bool) -> None:
    done = Label()
    g.emit_value(call.args[0])
    g.emit(jump_imm("jeq", R0, 0, done), mov(R3, R0), alu_imm("sub", R3, 1))
    g.mark_location(call.loc)
    g.emit(jump_imm("jge", R3, g.layout.speculation_count, g.fault_label(p.FAULT_ILLOP)))
    _emit_state_address(g, R2, R3)
    g.emit(
        mov(R1, R6),
        alu_imm("add", R3, 1),
        mov_imm(R4, int(is_commit)),
        const(R5, p.RECORD_SETTLED | g.clause.index),
    )
    g.call_routine("settle_speculation")
    g.place_label(done)


SUBROUTINES = [
    SubroutineRow(
        "speculation",
        "int()",
        emit_speculation,
        "the number of a new speculation, or 0 if none is free",
    )
]
ROWS = [Speculate(), Commit(), Discard()]
