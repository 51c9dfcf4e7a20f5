"""The threads of a process, as /proc shows them: name, state, system call.

- A thread that ends meanwhile is skipped, and values that may not be read are None or empty.
"""

from __future__ import annotations

import os

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


class Task:
    """inner: its id as its process knows it; state: words; call: the system call that it is in, or None; halted: it does nothing, whatever
    comes, until somebody lets it go on."""

    __slots__ = ("_frozen", "call", "inner", "letter", "name", "tid")

    def __init__(
        self, tid: int, inner: int, name: str, letter: str, call: str | None, where: str = ""
    ) -> None:
        self.tid, self.inner, self.name, self.letter, self.call = tid, inner, name, letter, call
        self._frozen = letter in "SD" and where in _FREEZERS

    @property
    def state(self) -> str:
        return FROZEN if self._frozen else _STATES.get(self.letter, "?")

    @property
    def halted(self) -> bool:
        return self._frozen or self.letter in "Tt"


def ids(pid: int) -> list[int]:
    """Thread ids; none where the process is not there."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")[:_MOST]]
    except OSError:
        return []


def tasks(pid: int) -> dict[int, Task]:
    """{thread id as the process knows it: Task}.  Raises OSError where the process is not there."""
    names = _names()
    found = (
        _task(f"/proc/{pid}/task/{name}", int(name), names)
        for name in os.listdir(f"/proc/{pid}/task")[:_MOST]
    )
    return {each.inner: each for each in found if each}


def letter(pid: int, tid: int) -> str | None:
    """The state of a thread; R: it runs, or would if there were a processor for it.  None: it is not there."""
    try:
        return _stat(_read(f"/proc/{pid}/task/{tid}/stat"))[1]
    except (OSError, LookupError, ValueError):
        return None


def inner(pid: int) -> int:
    """The id that a process has for itself."""
    try:
        return _inner(_read(f"/proc/{pid}/status"), pid)
    except (OSError, ValueError):
        return pid


def _names() -> dict[int, str]:
    """{number: name} of this processor's system calls."""
    return {number: name for name, number in syscall_numbers.numbers(os.uname().machine).items()}


def _task(folder: str, tid: int, names: Mapping[int, str]) -> Task | None:
    try:
        name, letter = _stat(_read(f"{folder}/stat"))
        where = _where(folder) if letter in "SD" else ""
        return Task(
            tid, _inner(_read(f"{folder}/status"), tid), name, letter, _call(folder, names), where
        )
    except (OSError, LookupError, ValueError):
        return None


def _read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


def _stat(text: str) -> tuple[str, str]:
    """(name, letter of the state); the name may hold anything."""
    return text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2]


def _inner(status: str, tid: int) -> int:
    """The thread's id in the innermost of its namespaces."""
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return tid


def _where(folder: str) -> str:
    """The kernel's function that it waits in; "": that may not be known."""
    try:
        return _read(f"{folder}/wchan")
    except OSError:
        return ""


def _call(folder: str, names: Mapping[int, str]) -> str | None:
    """None: it is in none, or that may not be known."""
    try:
        first = _read(f"{folder}/syscall").split()[0]
        return names.get(int(first), f"system call {int(first)}") if first.isdigit() else None
    except (OSError, LookupError):
        return None


def children(pid: int) -> list[int]:
    """The processes that a process has started and that run."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except (OSError, ValueError):
        pass
    return found


def descendants(pid: int) -> list[int]:
    """The same of their processes, and of theirs; parents first."""
    found, known = [], {pid}
    later = [pid]
    while later:
        for child in children(later.pop(0)):
            if child not in known:
                known.add(child)
                found.append(child)
                later.append(child)
    return found
