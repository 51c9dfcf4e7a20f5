# mypy: ignore-errors
"""uregs[]: the registers that the running thread had when it left user mode, for the kernel engine.

In: where in the state block they belong, how many.  Out: code that puts them there.
Always: D numbers them as the kernel's pt_regs of x86-64 lie; what follows (R_DS …) the kernel keeps in the thread.
"""

from __future__ import annotations

from pydtrace.bpf.helper_numbers import GET_CURRENT_TASK
from pydtrace.bpf.insn import R0, R7, R8, call, mov, store
from pydtrace.engine.kernel.probes.raw_tracepoints import Kernel

from .read_kernel_memory import read, user_registers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SAVED = 21  # R_R15 … R_SS
_KEPT = (
    ("ds", 2),
    ("es", 2),
    ("fsbase", 8),
    ("gsbase", 8),
    ("trap_nr", 8),
)  # of thread_struct: R_DS …; bytes


def emit(g: Any, offset: int, count: int) -> None:
    """The first `count` registers behind the word at an offset in the state block, r7; r6 is kept."""
    start = offset + 8
    user_registers(g, R7, start, 8 * min(count, _SAVED))
    if count <= _SAVED:
        return
    member = Kernel().member
    thread = member("task_struct", "thread")
    g.emit(call(GET_CURRENT_TASK), mov(R8, R0))
    for place, (name, size) in enumerate(_KEPT[: count - _SAVED], _SAVED):
        read(g, size, R8, thread + member("thread_struct", name))
        g.emit(store(8, R7, start + 8 * place, R0))
