"""The kernel verifier's verdict on a program: BPF_PROG_LOAD without attaching anything.

    verdict = verify(clause.code, program.maps)
    verdict.status is OK, REFUSED (verdict.log has the reason) or CANNOT (this process or this
    machine may not load programs; verdict.log has the error)

`verify` closes everything that it makes in the kernel.
"""

from __future__ import annotations

import os

from pydtrace.bpf.insn import exit_, mov_imm
from pydtrace.bpf.syscalls import (
    KPROBE,
    PER_CPU_VALUE_MAX,
    LoadedProgram,
    ProgramRejected,
    load_program,
    map_create,
)
from pydtrace.engine.kernel.kernel_errors import calls_pyusdt_helper

OK, REFUSED, CANNOT = "ok", "refused", "cannot"


class Verdict:
    __slots__ = ("status", "log")

    def __init__(self, status, log=""):
        self.status, self.log = status, log

    def __repr__(self):
        return f"Verdict({self.status}, {self.log[-500:]!r})"


_not_loadable = None  # why nothing can be loaded here; "" if it can; None: not asked yet


def why_not_loadable():
    """Why this process can not load programs, or "" if it can."""
    global _not_loadable
    if _not_loadable is None:
        try:
            LoadedProgram([mov_imm(0, 0), exit_()]).close()
            _not_loadable = ""
        except (OSError, ProgramRejected) as error:
            _not_loadable = f"BPF_PROG_LOAD of an empty program: {error}"
    return _not_loadable


def verify(insns, maps=(), prog_type=KPROBE):
    """insns: a finished program, maps by index; maps: its definitions (program.MapDef)."""
    if why_not_loadable():
        return Verdict(CANNOT, why_not_loadable())
    try:
        LoadedProgram(insns, maps, prog_type).close()
    except ProgramRejected as error:
        return Verdict(REFUSED, str(error))
    except OSError as error:
        return Verdict(REFUSED, f"BPF_MAP_CREATE: {error}")
    return Verdict(OK)


def _map_kind(definition):
    """A large state block is in an array, as the kernel engine has it."""
    return (
        "array"
        if definition.kind == "percpu_array" and definition.value_size > PER_CPU_VALUE_MAX
        else definition.kind
    )


def verify_program(program):
    """{clause index: Verdict} of a compiled program.Program.  The maps, which take longer to make than a clause to be
    looked at, are made once."""
    if why_not_loadable() or not program.clauses:
        return {clause.index: Verdict(CANNOT, why_not_loadable()) for clause in program.clauses}
    fds = []
    try:
        for definition in program.maps:
            fds.append(map_create(definition, kind=_map_kind(definition)))
        return {
            clause.index: Verdict(CANNOT, "it calls what only the embedded engine has")
            if calls_pyusdt_helper(clause.code)
            else _verify_clause(clause.code, fds)
            for clause in program.clauses
        }
    except OSError as error:
        return {
            clause.index: Verdict(REFUSED, f"BPF_MAP_CREATE: {error}") for clause in program.clauses
        }
    finally:
        for fd in fds:
            os.close(fd)


def _verify_clause(insns, fds):
    try:
        os.close(load_program(insns, fds))
    except ProgramRejected as error:
        return Verdict(REFUSED, str(error))
    return Verdict(OK)
