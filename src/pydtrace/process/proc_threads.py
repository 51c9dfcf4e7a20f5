"""The threads of a process, as /proc shows them: name, state, system call.

- A thread that ends meanwhile is skipped, and values that may not be read are None or empty.
"""

from __future__ import annotations

import os
from functools import cache

from . import syscall_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in the kernel",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": "ended",
    "X": "ended",
    "I": "idle",
}
FROZEN = "frozen"
_FREEZERS = (
    "__refrigerator",
    "do_freezer_trap",
    "get_signal",
)  # where the kernel keeps those whose cgroup is frozen, by version of cgroups
_MOST = 1 << 16  # threads


class KernelThread:
    """inner: its id as its process knows it; state: words; call: the system call that it is in, or None; halted: it does nothing, whatever
    comes, until somebody lets it go on."""

    __slots__ = ("_frozen", "syscall", "inner_tid", "state_letter", "name", "tid")

    def __init__(
        self, tid: int, inner: int, name: str, letter: str, call: str | None, where: str = ""
    ) -> None:
        self.tid, self.inner_tid, self.name, self.state_letter, self.syscall = (
            tid,
            inner,
            name,
            letter,
            call,
        )
        self._frozen = letter in "SD" and where in _FREEZERS

    @property
    def state(self) -> str:
        return FROZEN if self._frozen else _STATES.get(self.state_letter, "?")

    @property
    def is_stopped(self) -> bool:
        return self._frozen or self.state_letter in "Tt"


def list_thread_ids(pid: int) -> list[int]:
    """Thread ids; none where the process is not there."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")[:_MOST]]
    except OSError:
        return []


def read_kernel_threads(pid: int) -> dict[int, KernelThread]:
    """{thread id as the process knows it: Task}.  Raises OSError where the process is not there."""
    names = _syscall_names()
    found = (
        _read_kernel_thread(f"/proc/{pid}/task/{name}", int(name), names)
        for name in os.listdir(f"/proc/{pid}/task")[:_MOST]
    )
    return {each.inner_tid: each for each in found if each}


def read_state_letter(pid: int, tid: int) -> str | None:
    """The state of a thread; R: it runs, or would if there were a processor for it.  None: it is not there."""
    try:
        return _parse_stat(_read_text(f"/proc/{pid}/task/{tid}/stat"))[1]
    except (OSError, LookupError, ValueError):
        return None


def read_futex_address(pid: int, tid: int) -> int | None:
    """The address that a thread waits at in futex(), or None."""
    try:
        words = _read_text(f"/proc/{pid}/task/{tid}/syscall").split()
        number = syscall_numbers.syscall_numbers(os.uname().machine)["futex"]
        return int(words[1], 16) if len(words) > 2 and int(words[0]) == number else None
    except (OSError, LookupError, ValueError):
        return None


def read_wait(pid: int, tid: int) -> tuple[str, int] | None:
    """(the system call that a thread waits in, its first argument); ("", 0): it waits in none, for a page of memory.  None: it runs,
    or that may not be known."""
    try:
        words = _read_text(f"/proc/{pid}/task/{tid}/syscall").split()
        if words[0] == "-1":
            return "", 0
        if len(words) < 2:
            return None
        number = int(words[0])
        return _syscall_names().get(number, f"system call {number}"), int(words[1], 16)
    except (OSError, LookupError, ValueError):
        return None


def read_inner_pid(pid: int) -> int:
    """The id that a process has for itself."""
    try:
        return _parse_inner_tid(_read_text(f"/proc/{pid}/status"), pid)
    except (OSError, ValueError):
        return pid


@cache
def _syscall_names() -> dict[int, str]:
    """{number: name} of this processor's system calls."""
    return {
        number: name for name, number in syscall_numbers.syscall_numbers(os.uname().machine).items()
    }


def _read_kernel_thread(folder: str, tid: int, names: Mapping[int, str]) -> KernelThread | None:
    try:
        name, letter = _parse_stat(_read_text(f"{folder}/stat"))
        where = _read_wait_channel(folder) if letter in "SD" else ""
        return KernelThread(
            tid,
            _parse_inner_tid(_read_text(f"{folder}/status"), tid),
            name,
            letter,
            _read_syscall(folder, names),
            where,
        )
    except (OSError, LookupError, ValueError):
        return None


def _read_text(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


def _parse_stat(text: str) -> tuple[str, str]:
    """(name, letter of the state); the name may hold anything."""
    return text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2]


def _parse_inner_tid(status: str, tid: int) -> int:
    """The thread's id in the innermost of its namespaces."""
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return tid


def _read_wait_channel(folder: str) -> str:
    """The kernel's function that it waits in; "": that may not be known."""
    try:
        return _read_text(f"{folder}/wchan")
    except OSError:
        return ""


def _read_syscall(folder: str, names: Mapping[int, str]) -> str | None:
    """None: it is in none, or that may not be known."""
    try:
        first = _read_text(f"{folder}/syscall").split()[0]
        return names.get(int(first), f"system call {int(first)}") if first.isdigit() else None
    except (OSError, LookupError):
        return None


def list_children(pid: int) -> list[int]:
    """The processes that a process has started and that run."""
    found: list[int] = []
    for task in list_thread_ids(pid):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
        except (OSError, ValueError):  # the thread has ended
            pass
    return found


def list_descendants(pid: int) -> list[int]:
    """The same of their processes, and of theirs; parents first."""
    found, known = [], {pid}
    later = [pid]
    while later:
        for child in list_children(later.pop(0)):
            if child not in known:
                known.add(child)
                found.append(child)
                later.append(child)
    return found
