"""D's built-ins without a row, with the reasons, and the differences between engines of those
with one.

The compiler's hints and docs/reference/language.md come from these tables.
"""

_KERNEL_DATA = "it looks into the kernel's data, and the kernel is not traced"
_REGISTERS = "the kernel's registers are not recorded; use uregs[] for user mode"
_NAME_ONLY = 'dtrace 2.0 accepts the name and then refuses it as "not implemented"'

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
_KERNEL_ONLY = (
    "no: this structure is in the kernel's memory",
    "works",
)  # dlang/front/kernel_types.py
_EVERYWHERE = ("works", "works")  # dlang/front/cpu_types.py
DECLARED_VARIABLES = {
    "args": ("the probe's arguments, of the types that its provider declares", *_EVERYWHERE),
    "cwd": ("current directory; always the text `<unknown>`, as in dtrace 2.0", *_EVERYWHERE),
    "root": ("root directory; always the text `<unknown>`, as in dtrace 2.0", *_EVERYWHERE),
    "uregs": (
        "a register of the thread in user mode, as `uregs[R_RIP]` (only x86-64)",
        "no: an event carries arguments, not registers",
        "works",
    ),
    "curthread": ("the firing thread, a `struct task_struct *`", *_KERNEL_ONLY),
    "curpsinfo": ("the process of the firing thread, a `psinfo_t *`", *_KERNEL_ONLY),
    "curlwpsinfo": ("the firing thread, a `lwpsinfo_t *`", *_KERNEL_ONLY),
    "curcpu": ("the CPU that the probe fired on, a `cpuinfo_t *`", *_EVERYWHERE),
    "chip": ("number of the processor package (socket) that has the CPU", *_EVERYWHERE),
    "lgrp": ("locality group of the CPU; always 0, as in dtrace 2.0", *_EVERYWHERE),
    "pset": ("processor set of the CPU; always 0, as in dtrace 2.0", *_EVERYWHERE),
}

# Names with a row whose meaning differs in an engine: (embedded, kernel).
_READ_LATER = "reads only memory that the event captured; any other address is a run-time error"
_NATIVES = "native frames, and functions of Python and Erlang"
_NO_KERNEL_STACK = "0 or empty: an event has no frames of the kernel"
_WRITES = "works under `-w`, if the kernel has `bpf_probe_write_user`; not in BEGIN, END and ticks"
_LATER = "runs when pydtrace prints the record, which is after the firing"
ENGINE_NOTES = {
    **dict.fromkeys(("copyin", "copyinto", "copyinstr"), (_READ_LATER, "works")),
    **dict.fromkeys(("copyout", "copyoutstr"), ("no: an event is read after its firing", _WRITES)),
    "cleanpath": ("works", "no: no helper of the kernel cleans paths"),
    "progenyof": (
        "works with the ancestors at the process's registration, at most 16 generations",
        "works; at most 16 generations",
    ),
    "json": ("works", "no: no helper of the kernel reads JSON"),
    "term": (_READ_LATER, "no: no helper of the kernel reads terms"),
    "ustack": (f"prints {_NATIVES}", "works"),
    "ustackdepth": (f"counts {_NATIVES}", "works"),
    "ucaller": ("works; a function of Python or Erlang is a number, not an address", "works"),
    **dict.fromkeys(("stack", "caller", "stackdepth"), (_NO_KERNEL_STACK, "works")),
    "errno": ("0: no system call is traced", "works"),
    "execargs": ("no: an event does not carry the arguments", "works"),
    "ppid": ("works with the parent at the process's registration", "works"),
    **dict.fromkeys(("raise", "stop"), (_LATER, _LATER)),
    **dict.fromkeys(
        ("uid", "gid", "execname"),
        ("works with the value from when pydtrace first saw the process", "works"),
    ),
}
