"""The filter for a policy's processes: programs run only in those, and read only their memory.

- A process is its id and its start time, so a later process with the same id is another one.
- Clauses cannot read the kernel's memory, which holds data of all processes.
- The probes that the tracer fires itself (BEGIN, END, ticks) read nothing of the tracer.
"""

from __future__ import annotations

import errno
import os
import struct

from pydtrace.bpf import syscalls
from pydtrace.bpf.helpers import GET_CURRENT_TASK, HELPERS, MAP_LOOKUP_ELEM
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R9,
    R10,
    alu,
    alu_imm,
    call,
    const,
    jump,
    jump_imm,
    ld_map,
    load,
    mov,
    mov_imm,
    store,
)
from pydtrace.engine import NotAllowed
from pydtrace.engine.kernel.probes.raw_tracepoints import KernelInfo
from pydtrace.program import program as p

from .read_kernel_memory import emit_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydtrace.bpf.insn import Insn
    from pydtrace.bpf.program_builder import CodeBuilder, Label

    from ..linker import MapIndexes

_USER_READS = [call(HELPERS[name].number) for name in ("probe_read_user", "probe_read_user_str")]
_KERNEL_USES = frozenset(
    ("thread", "kernel")
)  # of Program.uses: pointers into the kernel are followed
_HINT = "this host's policy allows only some processes"


def map_definition(count: int) -> p.MapDef:
    """The map of so many: id -> when it began, in the system's ticks."""
    return p.MapDef("allowed", "hash", 4, 8, max(1, count))


def fill_map(fd: int, allowed: Mapping[int, int]) -> None:
    """Fill that map."""
    for pid, began in allowed.items():
        syscalls.map_update(fd, struct.pack("=I", pid), struct.pack("=Q", began))


def check_probes(program: p.Program, probes: Mapping[tuple[str, str, str, str], object]) -> None:
    """probes: of the system side that the script stands for.  Raises NotAllowed."""
    others = sorted(
        {
            ":".join(names)
            for names, probe in probes.items()
            if not getattr(probe, "is_of_running_process", False)
        }
    )
    if others:
        more = f" and {len(others) - 1} more probes" if len(others) > 1 else ""
        raise NotAllowed(
            f"{_HINT}, and {others[0]}{more} cannot be limited to them: use syscall, profile, pid or USDT probes"
        )
    if program.uses & _KERNEL_USES:
        raise NotAllowed(
            f"{_HINT}, and what curthread, curpsinfo, curlwpsinfo and pointers to the kernel's structs lead to can be of any"
        )


def emit_filter(g: CodeBuilder, maps: MapIndexes, left: Label) -> None:
    """Go to `left` unless the running process is allowed."""
    boot, divisor = _boottime_offset(), 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    member = KernelInfo().member_offset
    assert maps.allowed is not None
    maps.emit_pids(g)
    g.emit(
        alu_imm("rsh", R0, 32),
        store(4, R10, -8, R0),
        ld_map(R1, maps.allowed),
        mov(R2, R10),
        alu_imm("add", R2, -8),
        call(MAP_LOOKUP_ELEM),
        jump_imm("jeq", R0, 0, left),
        load(8, R9, R0, 0),
        call(GET_CURRENT_TASK),
    )
    emit_read(g, 8, R0, member("task_struct", "group_leader"))
    emit_read(g, 8, R0, member("task_struct", "start_boottime"))
    g.emit(
        const(R1, boot % (1 << 64)),
        alu("add", R0, R1),
        alu_imm("div", R0, divisor),
        jump("jne", R0, R9, left),
    )


def _boottime_offset() -> int:
    """ns that this process's time namespace adds to when a process began."""
    try:
        with open("/proc/self/timens_offsets", encoding="ascii") as file:
            seconds, nanoseconds = next(
                line.split()[1:] for line in file if line.startswith("boottime")
            )
    except (OSError, StopIteration, ValueError):  # the kernel has no such namespaces
        return 0
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def deny_user_reads(code: Iterable[Insn]) -> list[Insn]:
    """A function's code in which every address of a process is one where nothing is."""
    return [mov_imm(R0, -errno.EFAULT) if insn in _USER_READS else insn for insn in code]
