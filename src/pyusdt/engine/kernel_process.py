"""What the kernel knows of the running process, for the kernel engine: its parent.

In: where the kernel's structs have their members.  Out: code that fills the state block in r7.
Always: what can not be read is 0.
"""

from ..bpf.insn import R0, R7, call, store
from ..dlang import program as p
from .kernel_raw import Kernel, read

_CURRENT_TASK = 35


def emit_parent(g):
    kernel = Kernel()
    g.emit(call(_CURRENT_TASK))
    read(g, 8, R0, kernel.member("task_struct", "real_parent"))
    read(g, 4, R0, kernel.member("task_struct", "tgid"))
    g.emit(store(8, R7, p.STATE_PPID, R0))
