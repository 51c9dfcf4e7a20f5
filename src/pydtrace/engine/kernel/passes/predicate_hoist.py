"""Predicates run before anything else: a false predicate on the arguments or the process costs
almost nothing.

The code ends a firing for which every clause would end without an effect, before the firing takes
a state block.

- It consists of the clauses' own instructions, up to the first that does more than compute with
  the process id, with arguments in registers, or with constants.
- If one clause gets further, all clauses run as usual.
"""

from __future__ import annotations

from pydtrace.bpf.insn import (
    ALU,
    ALU64,
    JMP,
    JMP32,
    R0,
    R6,
    R10,
    Insn,
    alu_imm,
    const,
    exit_,
    ja,
    load,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.engine.kernel.probes import usdt_operands
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydtrace.bpf.program_builder import CodeBuilder

    from ..probes.usdt_operands import Operand

_NOTHING = [mov_imm(0, 0), exit_()]  # how a clause ends that has done nothing
_ARGUMENT, _HALF = load(8, 0, R6, 0).opcode, load(4, 0, R6, 0).opcode
_PID = -40  # where in the frame it is kept
_WIDE = const(0, 1 << 40)[0].opcode
_CALL, _EXIT = 0x80, 0x90  # of the opcodes of jumps, those that are none
_KEPT = (R6, R10)  # a clause's state block, or the context here; the frame


def emit_predicates(
    g: CodeBuilder,
    codes: Iterable[list[Insn]],
    start: int,
    arguments: Mapping[int, tuple[Operand, int]] | None,
    pids: Callable[[CodeBuilder], None] | None,
    done: Label,
) -> None:
    """Jump to `done` where all clauses end early; nothing is emitted where one of them can not.  codes: theirs, which
    begin at the instruction `start`; arguments: {index: (Operand, …)}, or None: they are not in registers; pids: a function that makes
    code for r0 = the ids of process and thread, or None: they are another's; r6 = the context.  Loses r0 … r5, r7 … r9."""
    ahead = [_HoistedPredicate(code, start, arguments, pids is not None) for code in codes]
    if not all(each.can_end for each in ahead):
        return
    if pids and any(each.reads_pid for each in ahead):
        pids(g)
        g.emit(alu_imm("rsh", R0, 32), store(8, R10, _PID, R0))
    some = Label()
    for each in ahead:
        ended = Label()
        each.emit_copy(g, ended, some)
        g.place_label(ended)
    g.emit(ja(done))
    g.place_label(some)


class _HoistedPredicate:
    """The instructions of a clause from `start` to the first that does more.  can_end: one of them jumps to where the
    clause ends."""

    def __init__(
        self,
        code: list[Insn],
        start: int,
        arguments: Mapping[int, tuple[Operand, int]] | None,
        has_pid: bool,
    ) -> None:
        self._code, self._start, self._end, self._arguments = code, start, start, arguments
        self._has_pid = has_pid
        while self._is_pure(code[self._end]):
            self._end += 2 if code[self._end].opcode == _WIDE else 1
        self.reads_pid = any(_is_pid(insn) for insn in code[start : self._end])
        self.can_end = any(
            _is_jump(code[at]) and self._is_clause_end(self._jump_target(at))
            for at in range(start, self._end)
        )

    def _is_pure(self, insn: Insn) -> bool:
        if _is_pid(insn):
            return self._has_pid and insn.dst not in _KEPT
        if insn.opcode == _ARGUMENT and insn.src == R6:
            return insn.dst not in _KEPT and self._find_operand(insn) is not None
        if insn.opcode == _WIDE:
            return insn.src == 0
        computes = insn.opcode & 7 in (ALU, ALU64) or (_is_jump(insn) and insn.off >= 0)
        return computes and insn.dst not in _KEPT and insn.src not in _KEPT

    def _find_operand(self, insn: Insn) -> Operand | None:
        """The Operand that an instruction loads; None for other parts of the state block and for what only a call can read."""
        if self._arguments is None or not p.STATE_ARGS <= insn.off < p.STATE_PPID:
            return None
        operand, _ = self._arguments.get((insn.off - p.STATE_ARGS) // 8, (usdt_operands.ABSENT, 0))
        return operand if usdt_operands.is_direct(operand) else None

    def _jump_target(self, at: int) -> int:
        return at + 1 + self._code[at].off

    def _is_clause_end(self, at: int) -> bool:
        return self._code[at : at + 2] == _NOTHING

    def emit_copy(self, g: CodeBuilder, ended: Label, goes_on: Label) -> None:
        labels: dict[int, Label] = {}
        at = self._start
        while at < self._end:
            if at in labels:
                g.place_label(labels[at])
            insn = self._code[at]
            if _is_jump(insn):
                target = self._jump_target(at)
                outside = ended if self._is_clause_end(target) else goes_on
                label = (
                    labels.setdefault(target, Label())
                    if target < self._end and outside is goes_on
                    else outside
                )
                g.emit(Insn(insn.opcode, insn.dst, insn.src, label, insn.imm))
            elif _is_pid(insn):
                g.emit(load(8, insn.dst, R10, _PID))
            elif insn.opcode == _ARGUMENT and insn.src == R6:
                operand = self._find_operand(insn)
                assert operand
                usdt_operands.emit_direct(g, operand, R6, insn.dst)
            else:
                g.emit(*self._code[at : at + (2 if insn.opcode == _WIDE else 1)])
            at += 2 if insn.opcode == _WIDE else 1
        g.emit(ja(goes_on))


def _is_pid(insn: Insn) -> bool:
    return (insn.opcode, insn.src, insn.off) == (_HALF, R6, p.STATE_PID)


def _is_jump(insn: Insn) -> bool:
    return insn.opcode & 7 in (JMP, JMP32) and insn.opcode & 0xF0 not in (_CALL, _EXIT)
