"""Stacks in the state block: by unwind tables (bpf_native_unwinder.py), by bpf_get_stack(), and of
Python (bpf_python_unwinder.py).

- A stack that the kernel cannot record has no frames.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import GET_STACK, PROBE_READ_KERNEL, PROBE_READ_USER
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R4,
    R6,
    R7,
    alu_imm,
    call,
    call_sub,
    ja,
    jump_imm,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.bpf.program_builder import Label
from pydtrace.engine.kernel.passes.return_check import SP_OF_CONTEXT

from .bpf_native_unwinder import AT_END, RETURNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydtrace.bpf.program_builder import CodeBuilder

    from ..linker import CallSites
    from ..passes.function_copies import Function
    from .bpf_native_unwinder import BpfNativeUnwinder
    from .bpf_python_unwinder import BpfPythonUnwinder

_USER_STACK = 1 << 8


def emit_stacks(
    g: CodeBuilder,
    stacks: Mapping[str, tuple[int, int]],
    wanted: Iterable[str],
    walks: Mapping[str, BpfPythonUnwinder],
    unwinds: Mapping[str, BpfNativeUnwinder],
    calls: CallSites,
    place: int = 0,
) -> None:
    """The stacks `wanted` (keys of `stacks`) of what is running; r6 is the context, r7 the state block.  walks: {whose: walk.Walk};
    unwinds: {whose: unwind.Unwind}; calls: of the program's, as Linker has them; place: unwind.AT_END where the function is at
    its end, with nothing on the stack, so that the first frame is its caller's, unwind.AT_BEGINNING at its beginning."""
    for whose in sorted(wanted):
        offset, frames = stacks[whose]
        alone, walked = whose == "language" and whose in walks, Label()
        if alone:
            # what can not be read is zeros, all of them: a key has the room behind the last frame, too
            g.emit(
                mov(R1, R7),
                alu_imm("add", R1, offset),
                mov_imm(R2, 8 + 8 * frames),
                mov_imm(R3, 0),
                call(PROBE_READ_KERNEL),
            )
        else:
            _emit_native(g, whose, offset, frames, unwinds, calls, place)
        if whose in walks:
            _emit_call(g, walks[whose].function, calls)
        if alone:
            g.emit(jump_imm("jne", R0, 0, walked))
            _emit_native(g, whose, offset, frames, unwinds, calls, place)
            g.place_label(walked)


def _emit_call(g: CodeBuilder, which: Function, calls: CallSites) -> None:
    g.emit(mov(R1, R7))
    calls.append((len(g.insns), which))
    g.emit(call_sub(0))


def _emit_native(
    g: CodeBuilder,
    whose: str,
    offset: int,
    frames: int,
    unwinds: Mapping[str, BpfNativeUnwinder],
    calls: CallSites,
    place: int,
) -> None:
    some, done, walked = Label(), Label(), Label()
    if whose in unwinds:
        g.emit(store_imm(8, R7, unwinds[whose].area_offset(RETURNED), place))
        _emit_call(g, unwinds[whose].function, calls)
        g.emit(jump_imm("jne", R0, 0, walked))
    g.emit(
        mov(R1, R6),
        mov(R2, R7),
        alu_imm("add", R2, offset + 8),
        mov_imm(R3, 8 * frames),
        mov_imm(R4, 0 if whose == "kernel" else _USER_STACK),
        call(GET_STACK),
        jump_imm("jsgt", R0, 0, some),
        mov_imm(R0, 0),
        ja(done),
    )
    g.place_label(some)
    g.emit(alu_imm("rsh", R0, 3))
    g.place_label(done)
    g.emit(store(8, R7, offset, R0))
    if place == AT_END and whose != "kernel":
        g.emit(
            jump_imm("jeq", R0, 0, walked),
            mov(R1, R7),
            alu_imm("add", R1, offset + 8),
            mov_imm(R2, 8),
            load(8, R3, R6, SP_OF_CONTEXT),
            call(PROBE_READ_USER),
        )
    g.place_label(walked)
