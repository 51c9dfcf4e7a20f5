"""The functions of the modules of another process, with the names of their variables.

- Functions are those that a module, its classes and the closures of its functions hold, and those
  that their code makes. Other objects that hold functions are not searched.
- A function's module is the one whose globals it has, as for the probes of the provider python.
- The process runs meanwhile: what changes while it is read is left out.
- Untrusted: objects and time are bounded; `is_complete` says whether a bound was met.
"""

from __future__ import annotations

import time

from pydtrace.program.secret_names import SecretNames

from .frame_variables import FrameVariablesReader
from .remote_python import RemotePython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OBJECTS, _SECONDS = 200_000, 3.0
_CONSTANTS = 1024  # of a code object that are searched for code
_LINE_BYTES = 4
_ERRORS = (OSError, ValueError)
# where objects of these types hold a function: words behind the head
_HOLDERS = {"staticmethod": (0,), "classmethod": (0,), "property": (0, 1, 2), "cell": (0,)}


class ModuleFunction:
    """arguments, variables: names; the variables that are no arguments, in the order of the code."""

    __slots__ = ("arguments", "file", "line", "module", "name", "variables")

    def __init__(
        self,
        module: str,
        name: str,
        file: str,
        line: int,
        arguments: list[str],
        variables: list[str],
    ) -> None:
        self.module, self.name, self.file, self.line = module, name, file, line
        self.arguments, self.variables = arguments, variables

    @property
    def names(self) -> list[str]:
        return self.arguments + self.variables


class ModuleFunctions:
    """Of one process.  Raises StackReadError."""

    def __init__(self, pid: int) -> None:
        self._python = RemotePython(pid)
        self._frames = FrameVariablesReader(self._python, SecretNames())
        self._values = self._frames.values
        self._memory, self._layout = self._values.memory, self._values.layout
        self._seen: set[int] = set()
        self._deadline = 0.0
        self.is_complete = True

    def find(
        self, is_module: Callable[[str], bool], is_function: Callable[[str], bool]
    ) -> list[ModuleFunction]:
        """Those of the main interpreter whose names both agree to."""
        self._seen, self._deadline = set(), time.monotonic() + _SECONDS
        self.is_complete = True
        found: dict[tuple[str, str, str, int], ModuleFunction] = {}
        modules = {own: name for name, own in self._iter_modules() if is_module(name)}
        for own in modules:
            for each in self._search_module(own, modules, is_function):
                found.setdefault((each.module, each.name, each.file, each.line), each)
        return list(found.values())

    # --- objects that hold functions --------------------------------------------------

    def _iter_modules(self) -> Iterator[tuple[str, int]]:
        """(name, address of its dict)."""
        try:
            main = self._python.read_word(
                self._python.runtime + self._python.layout["runtime_main"]
            )
            table = self._python.read_word(main + self._python.layout["interp_modules"])
            rows = list(self._values.dicts.iter_entries(table))
        except _ERRORS:
            return
        for key, module in rows:
            self._memory.reads = []
            try:
                if self._values.types.read_type_of(module).storage == "module":
                    own = self._memory.read_word(module + self._layout.head)
                    yield self._values.read_key(key), own
            except _ERRORS:
                continue

    def _search_module(
        self, own: int, modules: dict[int, str], is_function: Callable[[str], bool]
    ) -> Iterator[ModuleFunction]:
        waiting = self._read_dict(own)
        while waiting:
            address = waiting.pop()
            if address in self._seen:
                continue
            if self._has_enough():
                return
            self._seen.add(address)
            self._memory.reads = []
            try:
                kind = self._values.types.read_type_of(address)
                if kind.storage == "function":
                    waiting += self._read_closure(address)
                    module = modules.get(
                        self._memory.read_word(address + self._layout.function_globals)
                    )
                    if module is not None:
                        code = self._memory.read_word(address + self._layout.function_code)
                        yield from self._search_code(module, code, is_function)
                elif kind.storage == "type":
                    kind = self._values.types.read_type(address)
                    waiting += self._read_dict(kind.dict) if kind.is_heap else []
                else:
                    waiting += self._read_words(address, _HOLDERS.get(kind.storage, ()))
            except _ERRORS:
                continue

    def _has_enough(self) -> bool:
        """Whether a bound is met."""
        if len(self._seen) < _OBJECTS and time.monotonic() <= self._deadline:
            return False
        self.is_complete = False
        return True

    def _read_dict(self, address: int) -> list[int]:
        self._memory.reads = []
        try:
            return (
                [value for _, value in self._values.dicts.iter_entries(address)] if address else []
            )
        except _ERRORS:
            return []

    def _read_closure(self, function: int) -> list[int]:
        cells = self._memory.read_word(function + self._layout.function_closure)
        return self._read_tuple(cells) if cells else []

    def _read_words(self, address: int, numbers: tuple[int, ...]) -> list[int]:
        words = [self._memory.read_word(address + self._layout.head + 8 * n) for n in numbers]
        return [each for each in words if each]

    def _read_tuple(self, address: int) -> list[int]:
        count = max(self._memory.read_signed(address + self._layout.head), 0)
        data = self._memory.read(address + self._layout.tuple_items, 8 * min(count, _CONSTANTS))
        return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]

    # --- code objects -----------------------------------------------------------------

    def _search_code(
        self, module: str, code: int, is_function: Callable[[str], bool]
    ) -> Iterator[ModuleFunction]:
        """Of a code object, and of those among its constants."""
        waiting = [code]
        while waiting:
            code = waiting.pop()
            if code in self._seen:
                continue
            if self._has_enough():
                return
            self._seen.add(code)
            self._memory.reads = []
            try:
                waiting += self._read_inner_code(code)
                made = self._read_function(module, code)
            except _ERRORS:
                continue
            if is_function(made.name):
                yield made

    def _read_inner_code(self, code: int) -> list[int]:
        constants = self._read_tuple(self._memory.read_word(code + self._layout.code_consts))
        return [
            each for each in constants if self._values.types.read_type_of(each).storage == "code"
        ]

    def _read_function(self, module: str, code: int) -> ModuleFunction:
        layout = self._python.layout
        reads = self._memory.reads
        name = self._values.read_key(
            self._memory.read_word(code + (layout["code_qualname"] or layout["code_name"]))
        )
        file = self._values.read_key(self._memory.read_word(code + layout["code_filename"]))
        line = self._memory.read_signed(code + layout["code_firstlineno"], _LINE_BYTES)
        slots = self._frames.read_code_variables(code).slots
        if not self._memory.is_unchanged(reads):
            raise ValueError("another code object")
        shown = [each for each in slots if each[1].isidentifier()]
        return ModuleFunction(
            module,
            name,
            file,
            line,
            [each for _, each, _, is_argument in shown if is_argument],
            [each for _, each, _, is_argument in shown if not is_argument],
        )
