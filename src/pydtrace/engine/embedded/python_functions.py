"""The functions of running Pythons that descriptions of the provider `python` match, with their variables.

- They are read from the memory of the processes, which need no provider yet.
- Only descriptions that name a module or a function are looked up: a program has thousands.
- A process whose memory cannot be read has no functions here, and `warn` gets the reason.
"""

from __future__ import annotations

from pydtrace import _tracer
from pydtrace.remote_python.module_functions import ModuleFunctions
from pydtrace.remote_python.remote_python import StackReadError

from .young_processes import is_python_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from pydtrace.remote_python.module_functions import ModuleFunction

    Warn = Callable[[str], None]

PROBES = ("function-entry", "function-return", "line", "exception-raise", "exception-handled")


class FunctionProbe(tuple[str, str, str, str]):
    """(provider, module, function, name) with the function's arguments and other variables."""

    function: ModuleFunction


def _ignore(_: str) -> None:
    """Warn of nothing."""


def _names_code(description: Any) -> bool:
    return is_python_probe(description) and bool(description.module or description.function)


class PythonFunctions:
    """Of the processes of these ids; each is read at the first question."""

    def __init__(self, pids: Iterable[int], warn: Warn = _ignore) -> None:
        self._pids, self._warn = list(dict.fromkeys(pids)), warn
        self._readers: dict[int, ModuleFunctions | None] = {}
        self._found: dict[tuple[str, str, str], list[tuple[int, ModuleFunction]]] = {}

    def find(self, description: Any) -> list[tuple[int, ModuleFunction]]:
        """(process, function): those that a description matches."""
        if not _names_code(description):
            return []
        key = description.provider, description.module, description.function
        if key not in self._found:
            self._found[key] = [
                (pid, each)
                for pid in self._pids
                if _tracer.glob(description.provider, f"python{pid}")
                for each in self._find_in(pid, description)
            ]
        return self._found[key]

    def _find_in(self, pid: int, description: Any) -> list[ModuleFunction]:
        try:
            if pid not in self._readers:
                self._readers[pid] = None
                self._readers[pid] = ModuleFunctions(pid)
            reader = self._readers[pid]
            if reader is None:
                return []
            found = reader.find(
                lambda name: _tracer.glob(description.module, name),
                lambda name: _tracer.glob(description.function, name),
            )
        except (StackReadError, OSError) as error:
            self._warn(f"functions of process {pid} are not listed: {error}")
            return []
        if not reader.is_complete:
            self._warn(f"process {pid} has more functions than are listed")
        return found


def list_function_probes(
    pids: Iterable[int], descriptions: Sequence[Any], warn: Warn
) -> list[FunctionProbe]:
    """The probes of functions that descriptions match, each once."""
    functions = PythonFunctions(pids, warn)
    found: dict[FunctionProbe, FunctionProbe] = {}
    for description in descriptions:
        names = [each for each in PROBES if _tracer.glob(description.name, each)]
        for pid, function in functions.find(description) if names else ():
            for name in names:
                made = FunctionProbe((f"python{pid}", function.module, function.name, name))
                made.function = function
                found.setdefault(made, made)
    return list(found.values())
