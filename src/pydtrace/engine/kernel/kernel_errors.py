"""Errors for what the kernel refuses: the missing capability, or the D line of a program that the
verifier rejected.

A program that the verifier rejects is a bug of pyusdt, so its error names the file with the
verifier's log.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re

from pydtrace.bpf.helpers import FIRST_PYUSDT_HELPER
from pydtrace.bpf.insn import PSEUDO_CALL, call
from pydtrace.engine import EngineError, no_such_process
from pydtrace.process.proc_status import effective_capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.bpf.insn import Insn
    from pydtrace.bpf.syscalls import ProgramRejected
    from pydtrace.program.program import Clause, Program

# Found by test (tests/kernel/test_capabilities.py): what each step wants.  CAP_SYS_ADMIN has them all.
CAPABILITIES = {"CAP_BPF": 39, "CAP_PERFMON": 38, "CAP_SYS_ADMIN": 21}
_STEPS = {
    "map": ("make a map", ("CAP_BPF",)),
    "load": ("load a program", ("CAP_BPF", "CAP_PERFMON")),
    "write": ("write into a process", ("CAP_SYS_ADMIN",)),
    "multi": ("attach to a probe", ("CAP_PERFMON",)),
    "perf": ("attach to a probe", ("CAP_SYS_ADMIN",)),
    "raw": ("attach to the tracepoint", ("CAP_PERFMON",)),
    "clock": ("start the timers of", ("CAP_PERFMON",)),
}
_WITHOUT = "; profile-n of the embedded engine does without: -x engine=embedded"
_NO_TIMERS = (errno.ENOSYS, errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV)
_LOG, _LOGS, _LOG_SIZE = (
    "pyusdt-verifier-",
    5,
    1 << 18,
)  # how the file with a log is called, how many stay, characters of one
_TOO_MUCH = re.compile(r"jumps is too complex|program is too large|too many states")
_INSTRUCTION = re.compile(r"^(\d+): \(", re.MULTILINE)


def refuse_embedded_helpers(program: Program) -> None:
    """EngineError where a clause calls what only the embedded engine has."""
    for clause in program.clauses:
        if calls_pyusdt_helper(clause.code):
            raise EngineError(
                "the kernel engine can read neither Erlang terms nor JSON, cleans no paths, and has no "
                "floating-point arithmetic (it prints, compares and takes min() and max() of doubles): "
                "this needs -x engine=embedded"
            )


def check_sysfs() -> None:
    """EngineError if this mount namespace has no sysfs: it says which processors, uprobes and types the kernel has."""
    if not os.path.exists("/sys/devices/system/cpu"):
        raise EngineError(
            "the kernel engine reads /sys, which is not mounted here: mount -t sysfs sysfs /sys"
        )


def missing_capabilities(step: str) -> list[str]:
    """The capabilities that a step wants and this process lacks."""
    mask = effective_capabilities()
    if mask >> CAPABILITIES["CAP_SYS_ADMIN"] & 1:
        return []
    return [name for name in _STEPS[step][1] if not mask >> CAPABILITIES[name] & 1]


def make_step_error(step: str, error: OSError, what: str = "") -> EngineError:
    """The EngineError for an OSError of a step."""
    doing, _ = _STEPS[step]
    text = f"kernel engine: failed to {doing}{' ' + what if what else ''}: {error.strerror}"
    if error.errno in (errno.EPERM, errno.EACCES):
        lacks = missing_capabilities(step)
        if lacks:
            text += f" ({' and '.join(lacks)}, or root, needed)"
        elif step == "clock":
            text += f" (perf_event_open(2) is forbidden here, by a container's seccomp filter or the like){_WITHOUT}"
    elif step == "clock" and error.errno in _NO_TIMERS:
        text += f" (this kernel has no perf_event_open(2), or no clock for it){_WITHOUT}"
    return EngineError(text)


def make_access_error(error: OSError, pids: Sequence[int]) -> EngineError:
    """The EngineError for an OSError at looking at one of these processes in /proc."""
    if pids and error.errno in (errno.ESRCH, errno.ENOENT):
        return no_such_process(pids)
    parts = str(error.filename or "").split("/")
    if error.errno in (errno.EPERM, errno.EACCES) and parts[:2] == ["", "proc"]:
        return EngineError(f"process {parts[2]} may not be looked at: {error.strerror}")
    return EngineError(str(error.strerror))


def make_map_limit_error(most: int) -> EngineError:
    """The EngineError for a probe whose clauses need more maps than the kernel takes in one program."""
    return EngineError(
        f"kernel engine: the clauses of a probe use too many different kinds of aggregations, self-> variables and "
        f"associative arrays: the kernel takes {most} maps in one program, and only those whose keys and values have "
        "the same sizes can share one.  Give their keys the same types, or divide the clauses between several pydtrace"
    )


def make_size_error(error: Exception) -> EngineError:
    """The EngineError for a bpf.program_builder.CodeError of the clauses of a probe, linked."""
    return EngineError(
        f"kernel engine: the clauses of a probe are too large for one program of the kernel's ({error}).  Divide them between "
        "several pydtrace"
    )


def make_verifier_error(error: ProgramRejected, places: list[tuple[int, Clause]]) -> EngineError:
    """The EngineError for a syscalls.ProgramRejected of a linked program.  places: [(first instruction, program.Clause)]."""
    if error.error.errno == errno.EPERM:
        return make_step_error("load", error.error)
    if "too many subprograms" in error.log:
        return EngineError(
            f"kernel engine: a probe has {len(places)} clauses, more than the kernel takes in one program"
        )
    where = _find_line(error.log, places)
    if _TOO_MUCH.search(error.log):
        return EngineError(
            f"kernel engine: the clauses of a probe are more than the kernel's verifier looks at{where}: string functions "
            "are loops over all bytes of a string.  Use a smaller strsize, or fewer of them in a clause"
        )
    return EngineError(
        f"the kernel refused a program that pyusdt made{where}: {error.error.strerror}.  "
        f"This is a bug of pyusdt's; please report it with {_save_log(error.log)}"
    )


def _save_log(log: str) -> str:
    """Write the verifier's log into a file; its path.  Its end tells most, and of old logs few stay, so that they fill no disk."""
    import tempfile  # here, since it takes longer to import than a program to load

    folder = tempfile.gettempdir()
    mine = []
    for entry in os.scandir(folder):
        with contextlib.suppress(FileNotFoundError):
            if (
                entry.name.startswith(_LOG)
                and (found := entry.stat(follow_symlinks=False)).st_uid == os.geteuid()
            ):
                mine.append((found.st_mtime_ns, entry.path))
    for _, path in sorted(mine)[: max(0, len(mine) - _LOGS + 1)]:
        with contextlib.suppress(OSError):
            os.unlink(path)
    with tempfile.NamedTemporaryFile(
        "w", prefix=_LOG, suffix=".log", dir=folder, delete=False
    ) as file:
        file.write(log[-_LOG_SIZE:])
    return file.name


def _find_line(log: str, places: list[tuple[int, Clause]]) -> str:
    """The D line that the last instruction the verifier looked at was made for."""
    instructions = _INSTRUCTION.findall(log)
    inside = [
        (start, clause)
        for start, clause in places
        if instructions and start <= int(instructions[-1])
    ]
    if not inside:
        return ""
    start, clause = inside[-1]
    lines = [loc for first, loc in clause.lines if first <= int(instructions[-1]) - start]
    loc = lines[-1] if lines else clause.loc
    line = loc.source.find_position(loc.mark)[1]
    return f" for {loc.source.name or 'the command line'}, line {line}" if line else ""


_CALL = call(0).opcode


def calls_pyusdt_helper(insns: list[Insn]) -> bool:
    """Whether a program calls a helper that no kernel has."""
    return any(
        insn.opcode == _CALL and insn.src != PSEUDO_CALL and insn.imm >= FIRST_PYUSDT_HELPER
        for insn in insns
    )
