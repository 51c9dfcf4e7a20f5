"""uregs[]: the registers of the running thread when it left user mode.

- D numbers them in the order of the kernel's pt_regs on x86-64.  The kernel keeps the rest (R_DS
  …) in thread_struct.
"""

from __future__ import annotations

from pydtrace.bpf.helpers import GET_CURRENT_TASK
from pydtrace.bpf.insn import R0, R7, R8, call, mov, store
from pydtrace.engine.kernel.probes.raw_tracepoints import KernelInfo

from .read_kernel_memory import emit_read, emit_user_registers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.program_builder import CodeBuilder

_SAVED = 21  # R_R15 … R_SS
_KEPT = (
    ("ds", 2),
    ("es", 2),
    ("fsbase", 8),
    ("gsbase", 8),
    ("trap_nr", 8),
)  # of thread_struct: R_DS …; bytes


def emit_uregs(g: CodeBuilder, offset: int, count: int) -> None:
    """The first `count` registers behind the word at an offset in the state block, r7; r6 is kept."""
    start = offset + 8
    emit_user_registers(g, R7, start, 8 * min(count, _SAVED))
    if count <= _SAVED:
        return
    member = KernelInfo().member_offset
    thread = member("task_struct", "thread")
    g.emit(call(GET_CURRENT_TASK), mov(R8, R0))
    for place, (name, size) in enumerate(_KEPT[: count - _SAVED], _SAVED):
        emit_read(g, size, R8, thread + member("thread_struct", name))
        g.emit(store(8, R7, start + 8 * place, R0))
