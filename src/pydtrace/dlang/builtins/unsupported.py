"""D's built-ins without a row, with the reasons, and the differences between engines of those
with one.

The compiler's hints and docs/reference/language.md come from these tables.
"""

_KERNEL_DATA = "it looks into the kernel's data, and the kernel is not traced"
_REGISTERS = "the kernel's registers are not recorded; uregs[] has the thread's in user mode"
_NAME_ONLY = 'dtrace 2.0 knows no more than the name: "not implemented"'

# Variables and functions of dtrace 2.0 without a row: the reason.
UNSUPPORTED = {
    **dict.fromkeys(
        [
            "mutex_owned",
            "mutex_owner",
            "mutex_type_adaptive",
            "mutex_type_spin",
            "rw_iswriter",
            "rw_read_held",
            "rw_write_held",
            "d_path",
            "ddi_pathname",
            "msgdsize",
            "msgsize",
        ],
        _KERNEL_DATA,
    ),
    **dict.fromkeys(["pwd", "zonename", "vtimestamp"], _NAME_ONLY),
    "regs": _REGISTERS,
    "pcap": "packets belong to the kernel",
}

# The functions among them: (kind, prototype).
FUNCTION, AGGREGATING, ACTION = "function", "aggregating function", "tracing function"
PROTOTYPES = {
    "d_path": (FUNCTION, "string(struct path *)"),
    "ddi_pathname": (FUNCTION, "string(void *, int64_t)"),
    "msgdsize": (FUNCTION, "size_t(mblk_t *)"),
    "msgsize": (FUNCTION, "size_t(mblk_t *)"),
    "mutex_owned": (FUNCTION, "int(struct mutex *)"),
    "mutex_owner": (FUNCTION, "struct task_struct *(struct mutex *)"),
    "mutex_type_adaptive": (FUNCTION, "int(struct mutex *)"),
    "mutex_type_spin": (FUNCTION, "int(struct mutex *)"),
    "rw_iswriter": (FUNCTION, "int(rwlock_t *)"),
    "rw_read_held": (FUNCTION, "int(rwlock_t *)"),
    "rw_write_held": (FUNCTION, "int(rwlock_t *)"),
    "pcap": (ACTION, "void(void *, int)"),
}

# Variables that work without a row: what they are, in the embedded engine, in the kernel engine.
_KERNEL_ONLY = ("no: it is the kernel's", "works")  # dlang/front/kernel_types.py
_EVERYWHERE = ("works", "works")  # dlang/front/cpu_types.py
DECLARED_VARIABLES = {
    "args": ("the probe's arguments, of the types that its provider declares", *_EVERYWHERE),
    **dict.fromkeys(("cwd", "root"), ("`<unknown>`, as in dtrace 2.0", *_EVERYWHERE)),
    "uregs": (
        "a register of the thread in user mode, as `uregs[R_RIP]` (only x86-64)",
        "no: an event carries arguments, not registers",
        "works",
    ),
    "curthread": ("the firing thread, a `struct task_struct *`", *_KERNEL_ONLY),
    "curpsinfo": ("its process, a `psinfo_t *`", *_KERNEL_ONLY),
    "curlwpsinfo": ("the same thread, a `lwpsinfo_t *`", *_KERNEL_ONLY),
    "curcpu": ("the CPU that the probe fired on, a `cpuinfo_t *`", *_EVERYWHERE),
    "chip": ("its package", *_EVERYWHERE),
    "lgrp": ("its locality group: 0, as in dtrace 2.0", *_EVERYWHERE),
    "pset": ("its processor set: 0, as in dtrace 2.0", *_EVERYWHERE),
}

# Names with a row whose meaning differs in an engine: (embedded, kernel).
_READ_LATER = "reads what the event captured of it; another address is a fault"
_LANGUAGES = "functions of Python and Erlang"
_NATIVES = "native frames, and functions of Python and Erlang"
_NO_KERNEL_STACK = "no frames"
_WRITES = "works under `-w`, if the kernel has `bpf_probe_write_user`; not in BEGIN, END and ticks"
_LATER = "when the record is printed, which is after the firing"
ENGINE_NOTES = {
    **dict.fromkeys(("copyin", "copyinto", "copyinstr"), (_READ_LATER, "works")),
    **dict.fromkeys(("copyout", "copyoutstr"), ("no: an event is read after its firing", _WRITES)),
    "cleanpath": ("works", "no: no helper of the kernel cleans paths"),
    "progenyof": ("as it was when the process registered; 16 generations", "works; 16 generations"),
    "json": ("works", "no: no helper of the kernel reads JSON"),
    "term": (_READ_LATER, "no: no helper of the kernel reads terms"),
    "jstack": (_LANGUAGES, "works"),
    **dict.fromkeys(("ustack", "ucaller", "ustackdepth"), (_NATIVES, "works")),
    **dict.fromkeys(("stack", "caller", "stackdepth"), (_NO_KERNEL_STACK, "works")),
    "errno": ("0: no system call is traced", "works"),
    "execargs": ("no: the event does not carry it", "works"),
    "ppid": ("as it was when the process registered", "works"),
    **dict.fromkeys(("raise", "stop"), (_LATER, _LATER)),
    **dict.fromkeys(
        ("uid", "gid", "execname"), ("as it was when the process was first seen", "works")
    ),
}
