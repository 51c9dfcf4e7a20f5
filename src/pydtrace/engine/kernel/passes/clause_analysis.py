"""What a clause does, as its instructions say: the parts of the event that it reads, whether it
can fault, write or exit.

- The source is the code itself, so a firing pays only for what the code does, whatever D it was
  made from.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import HELPERS
from pydtrace.bpf.insn import R1, R6, alu_imm, call, load, mov, store_imm
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydtrace.bpf.insn import Insn

_FIELDS = [
    ("time", p.STATE_TIME, p.STATE_PROBE), ("probe", p.STATE_PROBE, p.STATE_CPU), ("cpu", p.STATE_PROBE, p.STATE_PID),
    ("pid", p.STATE_PID, p.STATE_UID), ("uid", p.STATE_UID, p.STATE_WALL), ("wall", p.STATE_WALL, p.STATE_EXECNAME),
    ("execname", p.STATE_EXECNAME, p.STATE_PROBEPROV), ("names", p.STATE_PROBEPROV, p.STATE_ARGS),
]  # fmt: skip
LIVE_FIELDS = {"time", "cpu", "pid"}  # the parts that can be found out at any moment of a firing
_ADD = alu_imm("add", R1, 0).opcode
_WRITE = call(HELPERS["probe_write_user"].number)
_LOADS = {load(size, R1, R1, 0).opcode for size in (1, 2, 4, 8)}


class EventFieldUse:
    """Which parts of the event clauses read: sets of names of _FIELDS, each looked for once."""

    def __init__(self) -> None:
        self._found: dict[tuple[int | None, int], set[str]] = {}

    def fields_read(self, clause: p.Clause) -> set[str]:
        """The clause itself, whose state block is r6."""
        return self._find_fields(clause, R6)

    def fields_reported(self, clause: p.Clause) -> set[str]:
        """The routines that report a fault or a commit(), whose state block is r1."""
        return self._find_fields(clause, R1)

    def _find_fields(self, clause: p.Clause, state: int) -> set[str]:
        key = clause.index, state
        if key not in self._found:
            offsets = _touched_offsets(clause.code, state)
            self._found[key] = {
                name
                for name, start, end in _FIELDS
                if any(start <= offset < end for offset in offsets)
            }
        return self._found[key]


def _touched_offsets(code: list[Insn], state: int) -> set[int]:
    """The offsets in the event part, in a register, that the instructions of a clause load from or take the address of."""
    found, before = set(), None
    for insn in code:
        if insn.opcode in _LOADS and insn.src == state and insn.off < p.STATE_ARGS:
            found.add(insn.off)
        elif insn.opcode == _ADD and insn.imm < p.STATE_ARGS and before == mov(insn.dst, state):
            found.add(insn.imm)
        before = insn
    return found


def reported_sizes(code: list[Insn]) -> set[int]:
    """The sizes of the records that its routines report in STATE_FAULT."""
    begins = store_imm(4, R1, p.STATE_FAULT, 0)
    return {
        insn.imm
        for insn in code
        if (insn.opcode, insn.dst, insn.off) == (begins.opcode, begins.dst, begins.off)
    }


def can_fault(code: list[Insn]) -> bool:
    return p.FAULT_RECORD_SIZE in reported_sizes(code)


def find_process_writes(code: list[Insn]) -> list[int]:
    """The places where a clause writes into the process that fires."""
    return [at for at, insn in enumerate(code) if insn == _WRITE]


def has_exit(clause: p.Clause) -> bool:
    return any(action.row.ends_tracing for action in clause.actions)


def demanded_arguments(clauses: Iterable[p.Clause]) -> list[int]:
    """The arguments that any of the clauses reads, ascending."""
    return sorted(set().union(*[clause.demand for clause in clauses]))
