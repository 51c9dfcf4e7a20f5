"""Inlining the calls of a clause: a return takes longer than the body of a short function.

- Instructions stay at their index, so that their places in the source stay right: a jump leads to
  the inlined code behind the clause, and another jump leads back.
- The clause does the same as before.

Kernels that guard returns (retpolines, safe RET) need about 7 ns for each.  The helper that zeros
the storage of a string is three calls deep: 35 ns, where 32 stores take 3 ns (x86-64, Linux 6.18).
"""

from __future__ import annotations

from pydtrace.bpf.helpers import PROBE_READ_KERNEL
from pydtrace.bpf.insn import (
    PSEUDO_MAP_FD,
    R1,
    R2,
    R3,
    R5,
    R6,
    alu_imm,
    call,
    exit_,
    ja,
    ld_map,
    mov,
    mov_imm,
    store_imm,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.bpf.insn import Insn

    from .function_copies import Function
    from .string_size_maps import SizeSplitMap

_SHORT = 40  # instructions of a function that is put in the place of its calls
_ZEROED = 512  # bytes that are zeroed word by word; of more the helper is as fast
_REACHED = 1 << 15  # of the state block, by the offset of a store
_FAR = 24_000  # instructions: a jump reaches 32,767
_CALL, _EXIT, _LOAD = call(0).opcode, exit_().opcode, ld_map(R1, 0)[0].opcode
_ADD, _SIZE = alu_imm("add", R1, 0).opcode, mov_imm(R2, 0).opcode


class InlinedClause:
    """insns: its own instructions; calls: [(place in them, functions.Function)] that are left."""

    def __init__(
        self,
        insns: list[Insn],
        calls: list[tuple[int, Function]],
        sized: Mapping[int, SizeSplitMap],
        zeros: int,
    ) -> None:
        """sized: {map: sized.Sized}."""
        self.insns, self.calls = list(insns), []
        for at, function in calls:
            if not (_is_short(function) and self._inline_at(at, function.copy_instructions())):
                self.calls.append((at, function))
        for at, insn in enumerate(insns):
            if insn == mov(R3, R6):
                self._inline_zeroing(at, zeros)
            elif insn.opcode == _LOAD and insn.src == PSEUDO_MAP_FD and insn.imm in sized:
                self._inline_map_choice(at, sized[insn.imm])

    def _inline_at(self, at: int, part: list[Insn]) -> bool:
        """Let `part` take the place of the instruction at `at`; where it exits it goes on behind that.  Whether a jump reaches it."""
        start = len(self.insns)
        if start > _FAR:
            return False
        self.insns[at] = ja(start - at - 1)
        self.insns += [
            ja(at - place) if insn.opcode == _EXIT else insn
            for place, insn in enumerate(part, start)
        ]
        return True

    def _inline_zeroing(self, at: int, zeros: int) -> None:
        """At `at` code that zeros a part of the state block may begin, as emit.zero() makes it."""
        code = self.insns[at : at + 6]
        like = [mov(R3, R6), alu_imm("add", R3, zeros), mov(R1, R6)]
        if (
            code[:3] == like
            and code[3].opcode == _ADD
            and code[4].opcode == _SIZE
            and code[5] == call(PROBE_READ_KERNEL)
            and code[4].imm <= _ZEROED
            and code[3].imm + code[4].imm <= _REACHED
        ):
            stores = [
                store_imm(8, R6, code[3].imm + offset, 0) for offset in range(0, code[4].imm, 8)
            ]
            self._inline_at(at + 5, [*stores, exit_()])

    def _inline_map_choice(self, at: int, sized: SizeSplitMap) -> None:
        """At `at` the address of a divided map is loaded, for the call that follows."""
        end = next(
            place for place in range(at, len(self.insns)) if self.insns[place].opcode == _CALL
        )
        if self._inline_at(end, sized.make_choice(self.insns[end].imm)):
            self.insns[at : at + 2] = [ja(0), ja(0)]


def _is_short(function: Function) -> bool:
    """Whether it calls nothing, goes forward only, and leaves alone what is its caller's: the stack, r6 to r9."""
    return (
        len(function.insns) <= _SHORT
        and not function.calls
        and all(
            insn.opcode != _CALL and insn.off >= 0 and insn.dst <= R5 and insn.src <= R5
            for insn in function.insns
        )
    )
