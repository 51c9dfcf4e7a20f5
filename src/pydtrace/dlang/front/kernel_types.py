"""The kernel's D library for tasks: psinfo_t, lwpsinfo_t, their translators, the arguments of
proc and sched.

The text is that of dtrace's procfs.d and sched.d, "" if the running kernel lacks the members.
The structs are the kernel's own (types/kernel_btf.py).

Sources: the DTrace guide's "proc" and "sched" providers, the members that dtrace 2.0 translates,
and its definitions of curpsinfo, curlwpsinfo and curthread.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MEMBERS = {
    "task_struct": ("__state", "prio", "pid", "tgid", "comm", "real_parent", "cred", "signal"),
    "cred": ("uid", "gid", "euid", "egid"),
    "signal_struct": ("pids",),
    "pid": ("numbers",),
}

_TRANSLATORS = """
typedef struct psinfo {
    int pr_nlwp; int pr_pid; int pr_ppid; int pr_pgid; int pr_sid; unsigned int pr_uid; unsigned int pr_euid;
    unsigned int pr_gid; unsigned int pr_egid; uintptr_t pr_addr; string pr_fname; string pr_psargs; int pr_wstat; char pr_dmodel;
} psinfo_t;
typedef struct lwpsinfo {
    int pr_flag; int pr_lwpid; uintptr_t pr_addr; uintptr_t pr_wchan; char pr_stype; char pr_state; char pr_sname; int pr_pri;
    string pr_name;
} lwpsinfo_t;
translator psinfo_t < struct task_struct *T > {
    pr_nlwp = 1; pr_pid = T->tgid; pr_ppid = T->real_parent->tgid; pr_pgid = T->signal->pids[2]->numbers[0].nr;
    pr_sid = T->signal->pids[3]->numbers[0].nr; pr_uid = T->cred->uid.val; pr_euid = T->cred->euid.val; pr_gid = T->cred->gid.val;
    pr_egid = T->cred->egid.val; pr_addr = (uintptr_t)T; pr_fname = stringof(T->comm);
    pr_psargs = (uintptr_t)T == __curthread ? execargs : "<unknown>"; pr_wstat = 0;
    pr_dmodel = 2;
};
translator lwpsinfo_t < struct task_struct *T > {
    pr_flag = T->__state & 4 ? 1 : 0; pr_lwpid = T->pid; pr_addr = (uintptr_t)T; pr_wchan = 0; pr_stype = 0;
    pr_state = T->__state & 3 ? 1 : T->__state & 12 ? 4 : T->__state & 0xb0 ? 3 : T->__state & 0x300 ? 7 : 2;
    pr_sname = T->__state & 3 ? 'S' : T->__state & 12 ? 'T' : T->__state & 0xb0 ? 'Z' : T->__state & 0x300 ? 'W' : 'R';
    pr_pri = T->prio; pr_name = stringof(T->comm);
};
inline struct task_struct *curthread = (struct task_struct *)__curthread;
inline psinfo_t *curpsinfo = xlate < psinfo_t * > (curthread);
inline lwpsinfo_t *curlwpsinfo = xlate < lwpsinfo_t * > (curthread);
provider proc {
    probe create(struct task_struct *T) : (psinfo_t *T);
    probe exec(string path);
    probe exec__failure(int error);
    probe exec__success();
    probe exit(int reason);
    probe lwp__create(struct task_struct *T) : (lwpsinfo_t *T, psinfo_t *T);
    probe lwp__exit();
    probe lwp__start();
    probe signal__clear(int number);
    probe signal__discard(struct task_struct *T, int number) : (lwpsinfo_t *T, psinfo_t *T, int number);
    probe signal__handle(int number);
    probe signal__send(struct task_struct *T, int number) : (lwpsinfo_t *T, psinfo_t *T, int number);
    probe start();
};
provider sched {%s
    probe off__cpu(struct task_struct *T) : (lwpsinfo_t *T, psinfo_t *T);
    probe on__cpu();
    probe surrender(struct task_struct *T) : (lwpsinfo_t *T, psinfo_t *T);
    probe tick(struct task_struct *T) : (lwpsinfo_t *T, psinfo_t *T);
    probe wakeup(struct task_struct *T) : (lwpsinfo_t *T, psinfo_t *T);
};
"""


# Of dtrace's alone, which puts them on functions of the kernel: a script compiles, and the error says that the probes are not here.
_QUEUES = """
    probe dequeue(struct task_struct *T, processorid_t C) : (lwpsinfo_t *T, psinfo_t *T, cpuinfo_t *C);
    probe enqueue(struct task_struct *T, processorid_t C, int how) : (lwpsinfo_t *T, psinfo_t *T, cpuinfo_t *C, int how);"""


def library_text(kernel: Any, queues: bool) -> str:
    """kernel.offset(structure, member): in the running kernel's struct, None where it has none.  queues: what names
    cpuinfo_t is declared, too."""
    if any(
        kernel.member_offset(name, member) is None
        for name, members in _MEMBERS.items()
        for member in members
    ):
        return ""
    return _TRANSLATORS % (_QUEUES if queues else "")
