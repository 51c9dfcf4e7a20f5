"""Members of modules in another process, searched once and cached.

- The dict of modules is long, so it is searched only after it changed, within a budget of time: it
  can change at any time.
"""

from __future__ import annotations

from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget

from .remote_objects import RemoteObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .code_objects import CodeObjects
    from .remote_python import RemotePython

_KEPT = 64  # of interpreters
_AT_ONCE, _SHARE = 2.0, 20  # s


class RemoteModules:
    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._python, self._objects = python, RemoteObjects(python, codes)
        self._found: dict[
            tuple[int, str, str], int | None
        ] = {}  # {(interpreter, module, name): address}
        self._searched: dict[
            tuple[int, str, str], int
        ] = {}  # {the same: how many modules there were}
        self._time = CpuTimeBudget(_AT_ONCE, _SHARE)

    def find_member(self, interpreter: int, module: str, name: str) -> int | None:
        """The address of what a module has by this name, None while it is not loaded.  Raises OSError, LookupError if that is unknown."""
        key = interpreter, module, name
        if key in self._found:
            return self._found[key]
        modules = self._python.read_word(interpreter + self._python.layout["interp_modules"])
        count = self._objects.read_dict_size(modules)
        if self._searched.get(key) == count:
            return None
        if not self._time.is_available:
            raise LookupError("no time")
        with self._time.charge_time():
            return self._search_modules(key, modules, count)

    def _search_modules(self, key: tuple[int, str, str], modules: int, count: int) -> int | None:
        _, module, name = key
        if len(self._found) + len(self._searched) >= _KEPT:
            self._found.clear()
            self._searched.clear()
        try:
            found = self._objects.find_text_key(modules, module)
        except LookupError:
            self._searched[key] = count
            return None
        self._found[key] = self._objects.find_module_member(found, name)
        return self._found[key]
