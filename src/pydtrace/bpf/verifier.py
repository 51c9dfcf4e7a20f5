# mypy: ignore-errors
"""The kernel's verdict on a program: BPF_PROG_LOAD without attaching anything.

    verdict = verify(clause.code, program.maps)
    verdict.status is OK, REFUSED (verdict.log says why) or CANNOT (this process or this
    machine may not load programs at all; verdict.log says what failed)

Everything that is made in the kernel is given back before `verify` returns.
"""

import os

from .helpers import OWN
from .insn import PSEUDO_CALL, call, exit_, mov_imm
from .syscalls import KPROBE, PER_CPU_MOST, Loaded, Refused, load, map_create

_CALL = call(0).opcode
OK, REFUSED, CANNOT = "ok", "refused", "cannot"


class Verdict:
    __slots__ = ("status", "log")

    def __init__(self, status, log=""):
        self.status, self.log = status, log

    def __repr__(self):
        return f"Verdict({self.status}, {self.log[-500:]!r})"


_reason = None  # why nothing can be loaded here; "" if it can; None: not asked yet


def cannot():
    """Why this process can not load programs, or "" if it can."""
    global _reason
    if _reason is None:
        try:
            Loaded([mov_imm(0, 0), exit_()]).close()
            _reason = ""
        except (OSError, Refused) as error:
            _reason = f"BPF_PROG_LOAD of an empty program: {error}"
    return _reason


def verify(insns, maps=(), prog_type=KPROBE):
    """insns: a finished program, maps by index; maps: its definitions (program.MapDef)."""
    if cannot():
        return Verdict(CANNOT, cannot())
    try:
        Loaded(insns, maps, prog_type).close()
    except Refused as error:
        return Verdict(REFUSED, str(error))
    except OSError as error:
        return Verdict(REFUSED, f"BPF_MAP_CREATE: {error}")
    return Verdict(OK)


def _kind(definition):
    """A large state block is in an array, as the kernel engine has it."""
    return (
        "array"
        if definition.kind == "percpu_array" and definition.value_size > PER_CPU_MOST
        else definition.kind
    )


def verify_program(program):
    """{clause index: Verdict} of a compiled program.Program.  The maps, which take longer to make than a clause to be
    looked at, are made once."""
    if cannot() or not program.clauses:
        return {clause.index: Verdict(CANNOT, cannot()) for clause in program.clauses}
    fds = []
    try:
        for definition in program.maps:
            fds.append(map_create(definition, kind=_kind(definition)))
        return {
            clause.index: Verdict(CANNOT, "it calls what only the embedded engine has")
            if calls_own(clause.code)
            else _verdict(clause.code, fds)
            for clause in program.clauses
        }
    except OSError as error:
        return {
            clause.index: Verdict(REFUSED, f"BPF_MAP_CREATE: {error}") for clause in program.clauses
        }
    finally:
        for fd in fds:
            os.close(fd)


def calls_own(insns):
    """Whether a program calls a helper that no kernel has."""
    return any(
        insn.opcode == _CALL and insn.src != PSEUDO_CALL and insn.imm >= OWN for insn in insns
    )


def _verdict(insns, fds):
    try:
        os.close(load(insns, fds))
    except Refused as error:
        return Verdict(REFUSED, str(error))
    return Verdict(OK)
