# mypy: ignore-errors
"""speculation(), speculate(), commit() and discard().

Their code: a speculation is a word of the globals map, 0 while it is free; what its
clauses record goes out at once, marked with its number, and the consumer holds it back until the record
of a commit or discard comes.
Always: as in dtrace a clause ends at a speculate() of what is not active; a commit() or discard() of 0
or of what is not active does nothing, and one of what can not be is a fault.
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


def emit_new(g, call, target):
    """r0 = the number of a speculation, or 0."""
    found = Label()
    g.emit(
        ld_map_value(R1, p.MAP_GLOBALS, g.layout.speculations()),
        mov_imm(R2, g.layout.speculation_count),
    )
    g.routine("speculation_new")
    g.emit(jump_imm("jne", R0, 0, found))
    g.count_drop(p.DROP_SPECULATION)
    g.emit(mov_imm(R0, 0))
    g.place(found)


def _state_address(g, reg, number):
    """reg = the address of the state of the speculation whose number less 1 is in `number`, in bounds."""
    g.emit(
        ld_map_value(reg, p.MAP_GLOBALS, g.layout.speculations()),
        mov(R0, number),
        alu_imm("lsh", R0, 3),
        alu("add", reg, R0),
    )


class Speculate(Action):
    name, prototype, doc = "speculate", "void(int)", "what the clause records is held back"
    records = False
    speculates = True

    def follow(self, flow, call):
        for before, tag, name in (
            (flow.speculated, "D_SPEC_SPEC", "speculate( )"),
            (flow.committed, "D_SPEC_COMM", "commit( )"),
            (flow.data, "D_SPEC_DREC", "data-recording action(s)"),
        ):
            if before:
                refuse(tag, call.loc, f"speculate( ) may not follow {name}")
        flow.speculated = True

    def record(self, g, call, at, action):
        _speculate(g, call, at)


def _speculate(g, call, record):
    g.value(call.args[0])
    g.emit(
        mov(R2, R0), alu_imm("sub", R2, 1), jump_imm("jge", R2, g.layout.speculation_count, g.end)
    )
    _state_address(g, R1, R2)
    g.emit(
        load(8, R1, R1, 0),
        jump_imm("jeq", R1, 0, g.end),
        alu_imm("add", R2, 1),
        store(4, R6, record + p.RECORD_SPECULATION, R2),
    )


class Commit(Action):
    name, prototype, doc = "commit", "void(int)", "what a speculation holds back is released"
    records = False

    def follow(self, flow, call):
        if flow.data:
            refuse("D_COMM_DREC", call.loc, "commit( ) may not follow data-recording action(s)")
        flow.committed = True

    def record(self, g, call, at, action):
        _settle(g, call, True)


class Discard(Action):
    name, prototype, doc = "discard", "void(int)", "what a speculation holds back is forgotten"
    records = False

    def follow(self, flow, call):
        """It may follow anything."""

    def record(self, g, call, at, action):
        _settle(g, call, False)


def _settle(g, call, is_commit):
    done = Label()
    g.value(call.args[0])
    g.emit(jump_imm("jeq", R0, 0, done), mov(R3, R0), alu_imm("sub", R3, 1))
    g.mark(call.loc)
    g.emit(jump_imm("jge", R3, g.layout.speculation_count, g.fault(p.FAULT_ILLOP)))
    _state_address(g, R2, R3)
    g.emit(
        mov(R1, R6),
        alu_imm("add", R3, 1),
        mov_imm(R4, int(is_commit)),
        const(R5, p.RECORD_SETTLED | g.clause.index),
    )
    g.routine("settle_speculation")
    g.place(done)


SUBROUTINES = [
    SubroutineRow("speculation", "int()", emit_new, "a speculation's number, 0 where none is free")
]
ROWS = [Speculate(), Commit(), Discard()]
