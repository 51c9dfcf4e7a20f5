"""Names of processes: the pids that a name behind -p may mean, and names for lists of processes.

Names come only from /proc; without /proc no process has a name. Hints also use the processes that
have published probes.
"""

from __future__ import annotations

import argparse
import os

MOST_PID = (1 << 31) - 1
_SHOWN = 10  # ids, at most
_NO_PROCESS = "no process is called "
_KEPT = 15  # bytes of a name that the kernel keeps
_SCRIPT = 30  # letters of a script's name that a table shows


def read_name(pid: int | str) -> str:
    """What the kernel calls a process: at most 15 bytes; "" where there is none."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().rstrip("\n")
    except OSError:  # it has ended, or this is no Linux
        return ""


def list_named() -> list[tuple[int, str]]:
    """(id, name) of each process but this one."""
    try:
        found = [int(entry) for entry in os.listdir("/proc") if entry.isascii() and entry.isdigit()]
    except OSError:
        return []
    return [
        (pid, called) for pid in sorted(found) if pid != os.getpid() and (called := read_name(pid))
    ]


def display_name(pid: int) -> str:
    """A process as a table shows it: of a Python with its script or module, since a host has many of them."""
    kernels = read_name(pid)
    script = _python_script(pid, kernels)[:_SCRIPT]
    return f"{kernels} {script}" if script else kernels


def describe_row(pid: int, elsewhere: str) -> str:
    """The same for a row of _tracer.list_probes() or list_ring_usage(); elsewhere: its last cell.  A pid of another namespace is not asked about
    here, where it may be anybody's."""
    return f"{elsewhere} (in another pid namespace)" if elsewhere else display_name(pid)


def _script_name(pid: int) -> str:
    """The script or module of an interpreter's process: the first word of its command line behind the interpreter that is no
    option; "" where it runs the text of -c."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="surrogateescape") as file:
            words = iter(file.read(4096).split("\0")[1:])
    except OSError:
        return ""
    for word in words:
        if word in ("-X", "-W"):
            next(words, "")
        elif word == "-c":
            return ""
        elif not word.startswith("-"):
            return word.rsplit("/", 1)[-1]
    return ""


def find_pids(part: str) -> list[int]:
    """The ids of the processes whose names contain this, as pgrep(1) finds them: without this process; where there is none, of
    those whose script does."""
    processes = list_named()
    kept = part[:_KEPT]
    return [pid for pid, called in processes if kept in called] or [
        pid for pid, _ in processes if part in _script_name(pid)
    ]


def find_named(name: str) -> list[int]:
    """The ids of the processes that the kernel, or a Python's script, calls exactly so; without this process."""
    kept = os.fsdecode(os.fsencode(name)[:_KEPT])
    return [
        pid for pid, called in list_named() if called == kept or name == _python_script(pid, called)
    ]


def _python_script(pid: int, called: str) -> str:
    return _script_name(pid) if called.startswith("python") else ""


def _name_matches(text: str) -> str:
    """Which processes have this name, for a message, and which of them have pyusdt in them; "" where none has the name."""
    found = find_pids(text)
    if not found:
        return ""
    traceable = sorted(_with_pyusdt().intersection(found))
    few = (
        f" (with pyusdt in them: {_join_pids(traceable)})"
        if 0 < len(traceable) < len(found)
        else ""
    )
    return f"called {text}: {_join_pids(found)}{few}"


def _join_pids(pids: list[int]) -> str:
    return ", ".join(map(str, pids[:_SHOWN])) + (" …" if len(pids) > _SHOWN else "")


def _with_pyusdt() -> set[int]:
    from pydtrace._tracer import list_probes

    try:
        return {row[0] for row in list_probes()}
    except OSError:
        return set()


def pid_hint(text: str) -> str | None:
    """The hint for a text behind -p that is no id; None if it can be no name either."""
    if not text[:1].isalpha():
        return None
    found = _name_matches(text)
    return (
        f"-p takes a process id; {found}"
        if found
        else f"-p takes a process id; {_NO_PROCESS}{text}; --wait {text} waits for one"
    )


def parse_pid(text: str) -> int:
    """The type of an argument of argparse's."""
    if text.isascii() and text.isdecimal() and 0 < int(text) <= MOST_PID:
        return int(text)
    found = f"; {_name_matches(text) or _NO_PROCESS + text}" if text[:1].isalpha() else ""
    raise argparse.ArgumentTypeError(f"expected a process id, got {text!r}{found}")
