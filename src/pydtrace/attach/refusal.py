"""Why a process cannot be attached to, and what to do: one sentence for a person."""

from __future__ import annotations

import errno
import os
import time

from pydtrace.process.cgroups import has_frozen_cgroup
from pydtrace.process.identity import is_alive, read_comm
from pydtrace.process.proc_status import (
    effective_capabilities,
    read_ptrace_scope,
    read_status,
    read_tracer,
)
from pydtrace.suggestions import append_hint
from pydtrace.untrusted.terminal_escape import escape_for_terminal

_CAP_SYS_PTRACE = 19
_OWN_CHILDREN = "pyusdt-attach", "pyusdt-hold"  # of pyusdt, which trace for a moment
_MOMENT, _POLL = 2.0, 0.005  # s
_SECCOMP_STRICT, _SECCOMP_FILTER = "1", "2"


class NotAttached(Exception):
    """The message says why, and in a line of its own what to do; it is safe for a terminal."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(append_hint(escape_for_terminal(message), hint))


class NoPython(NotAttached):
    """There is no CPython in the process, or nothing was brought into it: nothing is to be done."""


class PathTooLong(NotAttached):
    """The statement does not fit into the memory that there is for it."""


def check_state(pid: int) -> None:
    """Raises NotAttached if the process has ended, is stopped, or has another tracer."""
    status = read_status(pid)
    if not is_alive(pid) or not status:
        raise NotAttached(f"process {pid} has ended" if status else f"there is no process {pid}")
    end = time.monotonic() + _MOMENT
    while is_traced_by_pyusdt(pid) and time.monotonic() < end:
        time.sleep(_POLL)
    if tracer := read_tracer(pid):
        raise make_traced_refusal(pid, tracer)
    if pid == os.getpid():
        raise NotAttached(f"process {pid} is this tracer")
    if status.get("Seccomp") == _SECCOMP_STRICT:
        raise NotAttached(
            f"process {pid} is in seccomp's strict mode: the kernel would kill it for what pyusdt does"
        )
    if has_frozen_cgroup(pid):
        raise NotAttached(
            f"process {pid} is frozen with its control group, so it runs nothing",
            "let it go on: docker unpause, systemctl thaw, or what has frozen it",
        )
    if status.get("State", "").startswith("T"):
        raise NotAttached(
            f"process {pid} is stopped (SIGSTOP, Ctrl-Z), so it runs nothing",
            f"let it go on: kill -CONT {pid}",
        )


def is_traced_by_pyusdt(pid: int) -> bool:
    """Another attach, or a look at the stacks: it ends by itself."""
    tracer = read_tracer(pid)
    return tracer != 0 and read_comm(tracer) in _OWN_CHILDREN


def has_brief_tracer(pid: int) -> bool:
    """The same, or its tracer has ended by now."""
    tracer = read_tracer(pid)
    return not tracer or read_comm(tracer) in (*_OWN_CHILDREN, "")


def make_traced_refusal(pid: int, tracer: int = 0) -> NotAttached:
    """tracer: if it is known."""
    tracer = tracer or read_tracer(pid)
    name = read_comm(tracer) if tracer else ""
    by = f"process {tracer} ({name})" if name else "another process"
    return NotAttached(
        f"process {pid} is traced by {by}, and Linux lets only one process do that",
        "end gdb, strace or what it is first",
    )


def make_forbidden_refusal(pid: int) -> NotAttached:
    """Linux has refused: what keeps this user from it."""
    if tracer := read_tracer(pid):
        return make_traced_refusal(pid, tracer)
    return NotAttached(*_explain_forbidden(f"process {pid}: no right to trace it", pid))


def _explain_forbidden(start: str, pid: int) -> tuple[str, str]:
    """(message, hint)"""
    ours, theirs = read_status("self"), read_status(pid)
    may_trace_others = bool(effective_capabilities() >> _CAP_SYS_PTRACE & 1)
    if _uids(theirs) - {str(os.geteuid())} and not may_trace_others:
        owner = theirs.get("Uid", "?").split()[0]
        return (
            f"{start}: it is of user {owner}, and this is user {os.geteuid()}",
            "be root, or that user",
        )
    if _has_other_users(pid):
        return (
            f"{start}: it is in another user namespace",
            "attach from inside of the container, or as root",
        )
    scope = read_ptrace_scope()
    if scope == 3:
        return (
            f"{start}: kernel.yama.ptrace_scope is 3",
            "it stays so until the machine starts again",
        )
    if scope and not may_trace_others:
        return (
            f"{start}: kernel.yama.ptrace_scope is {scope}",
            "be root, or: sysctl kernel.yama.ptrace_scope=0",
        )
    if ours.get("Seccomp") == _SECCOMP_FILTER:
        return (
            f"{start}: a seccomp filter of this process forbids ptrace",
            "start this container with --cap-add SYS_PTRACE",
        )
    if not may_trace_others:
        return (
            f"{start}: it has more rights than this user, or has forbidden it (PR_SET_DUMPABLE)",
            "be root",
        )
    return (
        f"{start}: the system forbids it even to root",
        "look for a security module, or a container without CAP_SYS_PTRACE",
    )


def _uids(status: dict[str, str]) -> set[str]:
    return set(status.get("Uid", "").split())


def _has_other_users(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user")
    except OSError:
        return False


def make_stop_refusal(pid: int, number: int) -> NotAttached:
    """For an errno of stopping the threads (c/attach/stop_process.h)."""
    if number == errno.EBUSY:
        return make_traced_refusal(pid)
    if number in (errno.EPERM, errno.EACCES):
        return make_forbidden_refusal(pid)
    if number == errno.ESRCH:
        return NotAttached(f"process {pid} has ended")
    if number == errno.ESTALE:
        return NotAttached(
            f"process {pid} has become another program meanwhile (exec)", "try again"
        )
    if number == errno.EAGAIN:
        return NotAttached(
            f"process {pid}: one of its threads does not stop: it waits in the kernel or for a processor",
            "try again",
        )
    return NotAttached(f"process {pid}: its threads cannot be stopped: {os.strerror(number)}")
