"""Records with trimmed strings: a record takes no more of the ring buffer than its strings need.

A string whose length the code knows (program.Data.length) ends behind its NUL, rounded up to 8
bytes; the rest of the record follows.

- The clause's own instructions stay at their index.
- The consumer restores the records (c/kernel/record_untrim.c), so no other code sees a trimmed one.
- The zeros behind a trimmed string are not written.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import PROBE_READ_KERNEL, RINGBUF_OUTPUT
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R6,
    R7,
    R8,
    alu,
    alu_imm,
    atomic,
    call,
    call_sub,
    exit_,
    ja,
    jump_imm,
    ld_map,
    ld_map_value,
    load,
    mov,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.insn import Insn
    from pydtrace.program.program import Program

_WORD_BY_WORD = 64  # bytes that are copied so; more is cheaper with a helper


def trimmed_strings(clause: p.Clause) -> list[p.Data]:
    """The strings of the record that are cut, in order."""
    if clause.emits is None:
        return []
    data = [data for action in clause.actions for data in action.data if data.length is not None]
    return sorted(data, key=lambda data: data.offset)


def trim_table(program: Program) -> list[tuple[int | None, int, int, int]]:
    """What the consumer has to know: (clause, bytes of its whole record, offset, size) of each string that is cut."""
    return [
        (clause.index, clause.record_size, data.offset, data.size)
        for clause in program.clauses
        for data in trimmed_strings(clause)
    ]


def call_trim(clause: p.Clause, code: list[Insn]) -> tuple[list[Insn], int | None]:
    """(The clause's code with a call instead of what emits the record, the place of the call); (code, None) where
    nothing is cut."""
    found = trimmed_strings(clause)
    if not found:
        return code, None
    assert clause.emits
    first, end, _ = clause.emits
    code = list(code)
    for data in found:
        assert data.padding
        code[slice(*data.padding)] = [ja(0) for _ in range(*data.padding)]
    code[first:end] = [mov(R1, R6), call_sub(0), *[ja(0) for _ in range(end - first - 2)]]
    return code, first + 1


def make_trim_function(clause: p.Clause) -> list[Insn]:
    """The code that is called: r1 = the state block; r0 = what the helper answered.  A drop is counted."""
    g = CodeBuilder()
    assert clause.emits
    record = clause.emits[2]
    found = trimmed_strings(clause)
    ends = [data.offset for data in found[1:]] + [clause.record_size]
    g.emit(mov(R6, R1), mov_imm(R7, found[0].offset))  # r7: bytes of the cut record
    for data, end in zip(found, ends):
        known = Label()
        assert data.length is not None  # trimmed_strings() has those with a length
        g.emit(
            load(8, R8, R6, data.length),
            jump_imm("jle", R8, data.size, known),
            mov_imm(R8, data.size),
        )
        g.place_label(known)
        if data is not found[0]:
            g.emit(
                mov(R1, R6),
                alu("add", R1, R7),
                alu_imm("add", R1, record),
                mov(R2, R8),
                mov(R3, R6),
                alu_imm("add", R3, record + data.offset),
                call(PROBE_READ_KERNEL),
            )
        g.emit(alu("add", R7, R8), alu_imm("add", R7, 7), alu_imm("and", R7, -8))
        _emit_move(g, record, data.offset + data.size, end)
    done = Label()
    g.emit(
        ld_map(R1, p.MAP_OUTPUT),
        mov(R2, R6),
        alu_imm("add", R2, record),
        mov(R3, R7),
        mov_imm(R4, 0),
        call(RINGBUF_OUTPUT),
        jump_imm("jeq", R0, 0, done),
        ld_map_value(R1, p.MAP_GLOBALS, p.DROP_RECORD),
        mov_imm(R2, 1),
        atomic("atomic_add", R1, 0, R2),
    )
    g.place_label(done)
    g.emit(exit_())
    return g.finish()


def _emit_move(g: CodeBuilder, record: int, start: int, end: int) -> None:
    """Move the bytes from start to end of the whole record to r7, which goes on by as many."""
    if end - start > _WORD_BY_WORD:
        g.emit(
            mov(R1, R6),
            alu("add", R1, R7),
            alu_imm("add", R1, record),
            mov_imm(R2, end - start),
            mov(R3, R6),
            alu_imm("add", R3, record + start),
            call(PROBE_READ_KERNEL),
            alu_imm("add", R7, end - start),
        )
    elif end > start:
        g.emit(mov(R2, R6), alu("add", R2, R7))
        for offset in range(start, end, 8):
            g.emit(load(8, R1, R6, record + offset), store(8, R2, record + offset - start, R1))
        g.emit(alu_imm("add", R7, end - start))
