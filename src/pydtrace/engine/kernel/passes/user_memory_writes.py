"""copyout() on the kernel engine: whether a program may write into processes, and the guard around
each write.

- Nothing is written into the tracer.  BEGIN, END and ticks fire in the tracer, so each address is
  a fault there.  A probe that fires in the tracer anyway (one of its system calls) finds the
  tracer's process id, and that is a fault, too.
"""

from __future__ import annotations

import errno
import os

from pydtrace.bpf import syscalls
from pydtrace.bpf.helpers import HELPERS
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    R6,
    R7,
    R8,
    R10,
    alu_imm,
    call,
    call_sub,
    exit_,
    jump_imm,
    mov,
    mov_imm,
    store_imm,
)
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.engine import EngineError
from pydtrace.engine.kernel.kernel_errors import missing_capabilities
from pydtrace.program.program import WRITES

from .clause_analysis import find_process_writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.insn import Insn
    from pydtrace.program.program import Clause, Program

    from ..linker import MapIndexes
    from .function_copies import Function, FunctionLibrary

LOCKDOWN = "/sys/kernel/security/lockdown"
_WRITE = call(HELPERS["probe_write_user"].number)
_SELF_FIRED = ("BEGIN", "END", "tick-")


def guard_writes(
    code: list[Insn],
    calls: list[tuple[int, Function]],
    own: bool,
    library: FunctionLibrary,
    maps: MapIndexes,
) -> tuple[list[Insn], list[tuple[int, Function]]]:
    """A clause's code and what it calls, as Linker._make_function returns them.  own: the tracer fires the probe."""
    for at in find_process_writes(code):
        if own:
            code[at] = mov_imm(R0, -errno.EFAULT)
        else:
            code[at] = call_sub(0)
            calls = [*calls, (at, library.intern_function(_make_guard(maps)))]
    return code, calls


def _make_guard(maps: MapIndexes) -> list[Insn]:
    """A function with the helper's arguments and its answer."""
    g, tracer = CodeBuilder(), Label()
    g.emit(mov(R6, R1), mov(R7, R2), mov(R8, R3))
    maps.emit_pids(g)
    g.emit(
        alu_imm("rsh", R0, 32),
        jump_imm("jeq", R0, os.getpid(), tracer),
        mov(R1, R6),
        mov(R2, R7),
        mov(R3, R8),
        _WRITE,
        exit_(),
    )
    g.place_label(tracer)
    g.emit(mov_imm(R0, -errno.EFAULT), exit_())
    return g.finish()


def check_writes(program: Program) -> None:
    """Raise EngineError where a clause is to write into a process and the kernel has no such helper for this process."""
    if WRITES not in program.uses or not any(
        find_process_writes(clause.code) for clause in _clauses_outside_tracer(program.clauses)
    ):
        return
    try:
        os.close(
            syscalls.prog_load(
                [
                    store_imm(8, R10, -8, 0),
                    mov_imm(R1, 0),
                    mov(R2, R10),
                    alu_imm("add", R2, -8),
                    mov_imm(R3, 8),
                    _WRITE,
                    mov_imm(R0, 0),
                    exit_(),
                ]
            )
        )
    except OSError as error:
        raise EngineError(
            f"could not enable tracing: copyout() and copyoutstr() need the kernel's helper bpf_probe_write_user, which it "
            f"does not give: {_explain_refusal(error)}"
        ) from None


def _clauses_outside_tracer(clauses: list[Clause]) -> list[Clause]:
    """The clauses that may fire in another process than the tracer; ERROR does where such a clause has a fault."""
    found = [
        clause
        for clause in clauses
        if not all(desc.name.startswith((*_SELF_FIRED, "ERROR")) for desc in clause.probes)
    ]
    return found + [
        clause
        for clause in clauses
        if found and any(desc.name == "ERROR" for desc in clause.probes)
    ]


def _explain_refusal(error: OSError) -> str:
    """What is in the way, and what to do about it."""
    if lacks := missing_capabilities("write"):
        return f"{' and '.join(lacks)} needed: run pydtrace as root"
    try:
        with open(LOCKDOWN) as file:
            mode = file.read().partition("[")[2].partition("]")[0]
    except OSError:
        return (
            f"{error.strerror}. Most likely the kernel is locked down; {LOCKDOWN} shows it after: mount -t securityfs none "
            "/sys/kernel/security"
        )
    if mode in ("", "none"):
        return f"{error.strerror} (it is not locked down: {LOCKDOWN})"
    return (
        f"it is locked down ({LOCKDOWN}: {mode}), by Secure Boot or the boot parameter lockdown=: writing needs a kernel "
        "that was started without it"
    )
