"""What Linux says of a process's rights: /proc/PID/status, and the setting that limits ptrace()."""

from __future__ import annotations


def read_status(pid: int | str) -> dict[str, str]:
    """The lines of /proc/PID/status; {} if they cannot be read.  pid: or "self"."""
    try:
        with open(f"/proc/{pid}/status", errors="replace") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in lines}


def read_tracer(pid: int) -> int:
    """The process that traces this one by ptrace(); 0: none, or that is not known."""
    tracer = read_status(pid).get("TracerPid", "0")
    return int(tracer) if tracer.isdigit() else 0


def effective_capabilities() -> int:
    """The effective capabilities of this process, as a bit mask; 0 without /proc."""
    return int(read_status("self").get("CapEff", "0"), 16)


def read_ptrace_scope() -> int:
    """kernel.yama.ptrace_scope; 0 if the kernel does not have it."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0
