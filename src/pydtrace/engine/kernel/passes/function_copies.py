"""The library functions that clauses call, separated from the clauses: linked clauses share one
copy of each.

- Equal functions are one Function.  The kernel takes 256 functions in a program, and this limits
  the number of clauses.
"""

from __future__ import annotations

from pydtrace.bpf.insn import PSEUDO_CALL, Insn, call_sub

_CALL = call_sub(0).opcode


class Function:
    """insns: its instructions; calls: [(place in them, the Function that is called there)]."""

    __slots__ = ("insns", "calls")

    def __init__(self, insns: list[Insn], calls: list[tuple[int, Function]]) -> None:
        self.insns, self.calls = insns, calls

    def copy_instructions(self) -> list[Insn]:
        return [Insn(i.opcode, i.dst, i.src, i.off, i.imm) for i in self.insns]


class FunctionLibrary:
    """The functions of all clauses of a program."""

    def __init__(self) -> None:
        self._known: dict[object, Function] = {}  # by content

    def split_functions(
        self, code: list[Insn], but: int | None = None
    ) -> tuple[list[Insn], list[tuple[int, Function]]]:
        """(instructions of the function at the beginning, [(place, Function)]); but: a call of the caller's own."""
        starts = sorted(
            {0}
            | {
                _call_target(code, at)
                for at, insn in enumerate(code)
                if _is_call(insn) and at != but
            }
        )
        ends = dict(zip(starts, [*starts[1:], len(code)]))
        function = self._extract_function(code, 0, ends, but, True)
        return function.insns, function.calls

    def intern_function(self, code: list[Insn]) -> Function:
        """The Function of this code, which calls no other."""
        return self._extract_function(code, 0, {0: len(code)}, None, False)

    def _extract_function(
        self,
        code: list[Insn],
        start: int,
        ends: dict[int, int],
        but: int | None,
        is_clause: bool = False,
    ) -> Function:
        insns, calls = list(code[start : ends[start]]), []
        for at, insn in enumerate(insns, start):
            if _is_call(insn) and at != but:
                calls.append(
                    (at - start, self._extract_function(code, _call_target(code, at), ends, but))
                )
                insns[at - start] = call_sub(0)
        if is_clause:
            return Function(insns, calls)
        content = (
            tuple((i.opcode, i.dst, i.src, i.off, i.imm) for i in insns),
            tuple((at, id(each)) for at, each in calls),
        )
        return self._known.setdefault(content, Function(insns, calls))


def _is_call(insn: Insn) -> bool:
    return bool(insn.opcode == _CALL and insn.src == PSEUDO_CALL)


def _call_target(code: list[Insn], at: int) -> int:
    return int(at + 1 + code[at].imm)
