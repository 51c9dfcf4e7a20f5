"""profile-n: a probe that fires at a rate on every CPU, from a timer interrupt.

- arg0 is the kernel's address, arg1 the process's; the one that was not running is 0.
"""

from __future__ import annotations

from pydtrace.bpf import syscalls
from pydtrace.bpf.insn import R1, R2, R6, R7, alu_imm, ja, jump_imm, load, store, store_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.program_builder import CodeBuilder

# in pt_regs: the instruction pointer, the word that tells the mode; of that the mask, and what it is in user mode
_PLACES = {"x86_64": (128, 136, 3, 3), "aarch64": (256, 264, 15, 0)}


def online_cpus() -> list[int]:
    with open("/sys/devices/system/cpu/online") as file:
        parts = [part.split("-") for part in file.read().strip().split(",")]
    return [cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)]


def emit_arguments(g: CodeBuilder, machine: str) -> None:
    """arg0 and arg1 of the state block in r7, from the context in r6."""
    pointer, mode, mask, user = _PLACES[machine]
    in_user, done = Label(), Label()
    arg0, arg1 = p.STATE_ARGS, p.STATE_ARGS + 8
    g.emit(
        store_imm(8, R7, arg0, 0),
        store_imm(8, R7, arg1, 0),
        load(8, R1, R6, pointer),
        load(8, R2, R6, mode),
        alu_imm("and", R2, mask),
        jump_imm("jeq", R2, user, in_user),
        store(8, R7, arg0, R1),
        ja(done),
    )
    g.place_label(in_user)
    g.emit(store(8, R7, arg1, R1))
    g.place_label(done)


def attach_timers(prog_fd: int, nanoseconds: int, cookie: int) -> list[int]:
    """Descriptors, an event and a link for each CPU."""
    fds = []
    try:
        for cpu in online_cpus():
            fds.append(syscalls.open_perf_clock(nanoseconds, cpu))
            fds.append(syscalls.link_perf(prog_fd, fds[-1], cookie))
    except OSError:
        syscalls.close_all(fds)
        raise
    return fds
