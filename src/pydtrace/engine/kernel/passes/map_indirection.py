"""Maps of maps, for a program that uses more maps than the kernel takes in one program.

Each use of a map behind an outer map becomes a call of a function behind the program, which looks
the map up and calls the helper.

- Instructions stay at their index, so that their places in the source stay right.
- Other programs pay nothing.
"""

from __future__ import annotations

from collections import defaultdict

from pydtrace.bpf.helpers import MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM
from pydtrace.bpf.insn import (
    PSEUDO_MAP_FD,
    PSEUDO_MAP_VALUE,
    R0,
    R1,
    R2,
    R3,
    R4,
    R6,
    R7,
    R8,
    R10,
    alu_imm,
    call,
    call_sub,
    exit_,
    ja,
    jump_imm,
    ld_map,
    mov,
    mov_imm,
    store,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.bpf.insn import Insn
    from pydtrace.program.program import MapDef

MAP_LIMIT = 64  # maps that the kernel takes in one program
_SHARED = ("hash", "percpu_hash", "percpu_array")  # kinds: those of variables and aggregations
_CALL, _LOAD = call(0).opcode, ld_map(R1, 0)[0].opcode


def used_maps(insns: list[Insn]) -> set[int]:
    """The indexes of the maps that a program uses."""
    return {
        insn.imm
        for insn in insns
        if insn.opcode == _LOAD and insn.src in (PSEUDO_MAP_FD, PSEUDO_MAP_VALUE)
    }


def group_maps(definitions: Mapping[int, MapDef]) -> list[list[int]]:
    """[[index]] of the maps that may stand behind one map: those of one shape.  definitions: {index: program.MapDef}."""
    found = defaultdict(list)
    for index, definition in definitions.items():
        if definition.kind in _SHARED:
            found[definition.kind, definition.key_size, definition.value_size].append(index)
    return [indexes for indexes in found.values() if len(indexes) > 1]


def use_outer_maps(insns: list[Insn], behind: Mapping[int, tuple[int, int]]) -> list[Insn]:
    """The program; behind: {index of a map: (index of the map that it stands behind, its number there)}."""
    insns = list(insns)
    asked: dict[tuple[int, int], list[int]] = {}  # {(map, helper): the calls}
    for at, insn in enumerate(insns):
        if insn.opcode == _LOAD and insn.src == PSEUDO_MAP_FD and insn.imm in behind:
            outer, number = behind[insn.imm]
            insns[at : at + 2] = [mov_imm(R1, number), ja(0)]
            end = next(i for i in range(at + 2, len(insns)) if insns[i].opcode == _CALL)
            asked.setdefault((outer, insns[end].imm), []).append(end)
    for (outer, helper), calls in asked.items():
        for at in calls:
            insns[at] = call_sub(0)
            insns[at].imm = len(insns) - at - 1
        insns += _make_lookup(outer, helper)
    return insns


def _make_lookup(outer: int, helper: int) -> list[Insn]:
    """A function: r1 = a map's number; else what the helper takes, and gives."""
    g, missing = CodeBuilder(), Label()
    g.emit(mov(R6, R2), *[mov(R7, R3), mov(R8, R4)] * (helper == MAP_UPDATE_ELEM))
    g.emit(
        store(4, R10, -8, R1),
        ld_map(R1, outer),
        mov(R2, R10),
        alu_imm("add", R2, -8),
        call(MAP_LOOKUP_ELEM),
        jump_imm("jeq", R0, 0, missing),
        mov(R1, R0),
        mov(R2, R6),
        *[mov(R3, R7), mov(R4, R8)] * (helper == MAP_UPDATE_ELEM),
        call(helper),
    )
    g.place_label(missing)
    g.emit(exit_())
    return g.finish()
