"""The start of a program at the end of a function (return_sites.py): was the jump taken, and does
the marked function end here?

- A marked function is identified by its thread, its stack pointer, the probe, and its return
  address.
- A function that finds no room in the map is counted as a drop.
"""

from __future__ import annotations

import os

from pydtrace.bpf.helpers import (
    GET_ATTACH_COOKIE,
    GET_CURRENT_PID_TGID,
    MAP_DELETE_ELEM,
    MAP_LOOKUP_ELEM,
    MAP_UPDATE_ELEM,
    PROBE_READ_USER,
)
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R6,
    R9,
    R10,
    alu,
    alu_imm,
    call,
    ja,
    jump,
    jump_imm,
    ld_map,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.engine.kernel.probes.return_sites import ALWAYS, CHECK, FIRE, MARK
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.bpf.program_builder import CodeBuilder

PENDING_RETURNS_MAP = p.MapDef(
    "leaving", "hash", 24, 8, 1 << 15
)  # {(thread, stack pointer, probe): the address to return to}
_KEY, _ADDRESS = -64, -72  # in the frame
_IS_ARM = os.uname().machine == "aarch64"
SP_OF_CONTEXT = 248 if _IS_ARM else 152  # in pt_regs
_LINK, _FLAGS = 240, 144  # x30; x86's flags
_O, _C, _Z, _S, _P = 11, 0, 6, 7, 2  # bits of the flags
__all__ = ["PENDING_RETURNS_MAP", "MARK", "SP_OF_CONTEXT", "emit_return_check"]


def emit_return_check(
    g: CodeBuilder,
    leaves: tuple[str, int],
    index: int,
    left: Label,
    count_lost: Callable[[CodeBuilder], None],
) -> None:
    """To `left` where it does not fire.  r6 is the context; index: of MAP.  Loses r0 … r5, r9."""
    does, condition = leaves
    if condition != ALWAYS:
        _emit_condition(g, condition, left)
    if does == FIRE:
        return
    g.emit(
        call(GET_CURRENT_PID_TGID),
        store(8, R10, _KEY, R0),
        load(8, R1, R6, SP_OF_CONTEXT),
        store(8, R10, _KEY + 8, R1),
        mov(R1, R6),
        call(GET_ATTACH_COOKIE),
        store(8, R10, _KEY + 16, R0),
    )
    if does == MARK:
        _emit_return_address(g, left)
        g.emit(
            ld_map(R1, index),
            mov(R2, R10),
            alu_imm("add", R2, _KEY),
            mov(R3, R10),
            alu_imm("add", R3, _ADDRESS),
            mov_imm(R4, 0),
            call(MAP_UPDATE_ELEM),
            jump_imm("jeq", R0, 0, left),
        )
        count_lost(g)
        g.emit(ja(left))
        return
    assert does == CHECK
    g.emit(
        ld_map(R1, index),
        mov(R2, R10),
        alu_imm("add", R2, _KEY),
        call(MAP_LOOKUP_ELEM),
        jump_imm("jeq", R0, 0, left),
        load(8, R9, R0, 0),
        ld_map(R1, index),
        mov(R2, R10),
        alu_imm("add", R2, _KEY),
        call(MAP_DELETE_ELEM),
    )
    _emit_return_address(g, left)
    g.emit(load(8, R1, R10, _ADDRESS), jump("jne", R1, R9, left))


def _emit_return_address(g: CodeBuilder, left: Label) -> None:
    """The address that the function returns to."""
    if _IS_ARM:
        g.emit(load(8, R1, R6, _LINK), store(8, R10, _ADDRESS, R1))
        return
    g.emit(
        store_imm(8, R10, _ADDRESS, 0),
        mov(R1, R10),
        alu_imm("add", R1, _ADDRESS),
        mov_imm(R2, 8),
        load(8, R3, R6, SP_OF_CONTEXT),
        call(PROBE_READ_USER),
        jump_imm("jne", R0, 0, left),
    )


def _emit_condition(g: CodeBuilder, condition: int, left: Label) -> None:
    """r1 = 1 where the flags say that x86's jump of this condition is taken."""
    kind, is_not = condition >> 1, condition & 1
    g.emit(load(8, R0, R6, _FLAGS), mov_imm(R1, 0))
    bits: tuple[int, ...] = {
        0: (_O,),
        1: (_C,),
        2: (_Z,),
        3: (_C, _Z),
        4: (_S,),
        5: (_P,),
        6: (_S, _O),
        7: (_S, _O),
    }[kind]
    for bit in bits:
        g.emit(
            mov(R2, R0),
            alu_imm("rsh", R2, bit),
            alu_imm("and", R2, 1),
            alu("or" if kind == 3 else "xor", R1, R2),
        )
    if kind == 7:  # less, or equal
        g.emit(mov(R2, R0), alu_imm("rsh", R2, _Z), alu_imm("and", R2, 1), alu("or", R1, R2))
    g.emit(jump_imm("jne" if is_not else "jeq", R1, 0, left))
