"""Arguments and local variables of the frames of another process.

- A frame's slots have the names of its code object. Code of a class or of exec() keeps its names
  in a mapping, and a module's in its globals.
- A frame that runs other code than when its stack was read has no variables; one that has gone on
  meanwhile is marked.
- Untrusted: of a frame at most MAX_VARIABLES are read.
"""

from __future__ import annotations

import functools

from .code_objects import LocatedFrame
from .remote_python import StackReadError, unpack_word
from .remote_values import RemoteValues, ValueBudget, ValueLimits, shorten_name
from .value import CHANGED, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydtrace.program.secret_names import SecretNames

    from .remote_python import RemotePython

MAX_VARIABLES = 256
_OPTIMIZED, _VARARGS, _VARKEYWORDS = 1, 4, 8  # co_flags
_CELL, _FREE = 0x40, 0x80  # kinds of a variable, from 3.11 on
_KEPT = 1 << 14
_ERRORS = (OSError, ValueError)
# of a module's names those that are no data
_NO_DATA = {"module", "function", "type", "builtin_function_or_method"}

# marks
GONE = "gone"  # the frame had ended before its variables were read
LATER = "later"  # it has gone on: its values may be later than its line
NO_ROOM = "no room"  # there was none for its variables


class Variable:
    __slots__ = ("is_argument", "name", "value")

    def __init__(self, name: str, value: Value, is_argument: bool) -> None:
        self.name, self.value, self.is_argument = name, value, is_argument


class FrameVariables:
    """more: how many variables were left out; mark: GONE, LATER, NO_ROOM or None."""

    __slots__ = ("mark", "more", "variables")

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.more = 0
        self.mark: str | None = None


class CodeVariables:
    """slots: [(number, name, whether a cell has its value, whether it is an argument)] of a code object's variables; more: further ones."""

    __slots__ = ("flags", "more", "slots")

    def __init__(self, flags: int, slots: list[tuple[int, str, bool, bool]]) -> None:
        self.flags, self.slots = flags, slots[:MAX_VARIABLES]
        self.more = len(slots[MAX_VARIABLES:])


class FrameVariablesReader:
    """Of one process.  Raises StackReadError where its version's objects are not known."""

    def __init__(
        self,
        python: RemotePython,
        secrets: SecretNames,
        limits: ValueLimits | None = None,
        budget: ValueBudget | None = None,
    ) -> None:
        self._budget = budget or ValueBudget()
        self._limits = limits or ValueLimits()
        self.values = RemoteValues(python, secrets, self._limits, self._budget)
        self._layout, self._offsets = python.layout, self.values.layout
        self._memory = self.values.memory
        if not self._offsets.is_known:
            build = " without the GIL" if self._offsets.is_free_threaded else ""
            raise StackReadError(
                f"process {python.pid}: pyusdt does not know the objects of CPython 3.{self._offsets.minor}{build}, so --locals is not available"
            )
        self._tags = 3 if self._offsets.has_tagged_values else 0
        self._known: dict[int, CodeVariables] = {}

    def read_frames(self, frames: Iterable[object]) -> None:
        """Fills the variables of those that are LocatedFrames in."""
        for frame in frames:
            if isinstance(frame, LocatedFrame):
                frame.variables = self._read_frame(frame)

    def _read_frame(self, frame: LocatedFrame) -> FrameVariables:
        found = FrameVariables()
        if self._budget.is_spent:
            found.mark = NO_ROOM
            return found
        try:
            code = self.read_code_variables(frame.code)
            if not self._has_code(frame):
                raise ValueError("another frame")
            self._fill(found, frame, code)
            if not self._has_code(frame):
                raise ValueError("another frame")
            found.mark = None if self._read_position(frame) == frame.instr else LATER
        except _ERRORS:
            found = FrameVariables()
            found.mark = GONE
        return found

    def _fill(self, found: FrameVariables, frame: LocatedFrame, code: CodeVariables) -> None:
        for number, name, is_cell, is_argument in code.slots:
            at = frame.address + self._offsets.frame_locals + 8 * number
            value = self.values.read_named(name, self._make_slot_reader(at, is_cell))
            found.variables.append(Variable(shorten_name(name), value, is_argument))
        found.more = code.more
        if not code.flags & _OPTIMIZED:
            self._fill_from_mapping(found, frame)

    # --- slots ------------------------------------------------------------------------

    def _make_slot_reader(self, at: int, is_cell: bool) -> Callable[[], int]:
        def read_slot() -> int:
            address = self._memory.read_word(at) & ~self._tags
            if is_cell and address:
                kind = self.values.types.read_type_of(address)
                if kind.name == "cell" and not kind.is_heap:  # else the cell is not made yet
                    return self._memory.read_word(address + self._offsets.cell_value)
            return address

        return read_slot

    # --- names in mappings ------------------------------------------------------------

    def _fill_from_mapping(self, found: FrameVariables, frame: LocatedFrame) -> None:
        memory, offsets = self._memory, self._offsets
        memory.reads = []
        mapping = memory.read_word(frame.address + offsets.frame_mapping)
        is_module = mapping == memory.read_word(frame.address + offsets.frame_globals)
        if not mapping or self.values.types.read_type_of(mapping).storage != "dict":
            return
        names = [
            (name, address)
            for name, address in self._iter_names(mapping)
            if not is_module or self._is_data(name, address)
        ]
        read = names[: self._limits.items]
        made = [
            Variable(
                shorten_name(name),
                self.values.read_named(name, functools.partial(int, address)),
                False,
            )
            for name, address in read
        ]
        memory.reads = []
        now = set(self._iter_names(mapping))
        for each, pair in zip(made, read, strict=True):
            if pair not in now:
                each.value.set_no_value(CHANGED)
        found.variables += made
        found.more += len(names) - len(read)

    def _iter_names(self, mapping: int) -> Iterator[tuple[str, int]]:
        for number, (key, address) in enumerate(self.values.dicts.iter_entries(mapping)):
            if number >= 4 * MAX_VARIABLES:
                return
            yield self.values.read_key(key), address

    def _is_data(self, name: str, address: int) -> bool:
        if name.startswith("__"):
            return False
        return self.values.types.read_type_of(address).storage not in _NO_DATA

    # --- code objects -----------------------------------------------------------------

    def _has_code(self, frame: LocatedFrame) -> bool:
        data = self._memory.read_unrecorded(frame.address + self._layout["frame_code"], 8)
        return unpack_word(data, 0) & ~self._tags == frame.code

    def _read_position(self, frame: LocatedFrame) -> int:
        at = frame.address + self._layout["frame_instr"]
        if self._offsets.minor >= 11:
            return unpack_word(self._memory.read_unrecorded(at, 8), 0)
        data = self._memory.read_unrecorded(at, 4)
        return int.from_bytes(data, "little", signed=True) & (1 << 64) - 1

    def read_code_variables(self, code: int) -> CodeVariables:
        found = self._known.get(code)
        if found is None:
            self._memory.reads = []
            found = self._read_names(code)
            if not self._memory.is_unchanged(self._memory.reads):
                raise ValueError("another code object")
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[code] = found
        return found

    def _read_names(self, code: int) -> CodeVariables:
        memory, offsets = self._memory, self._offsets
        flags = memory.read_signed(code + offsets.code_flags, 4)
        arguments = memory.read_signed(code + offsets.code_argcount, 4)
        arguments += memory.read_signed(code + offsets.code_kwonlyargcount, 4)
        arguments += bool(flags & _VARARGS) + bool(flags & _VARKEYWORDS)
        names = self._read_names_tuple(code + offsets.code_names)
        if not offsets.code_kinds:
            return CodeVariables(flags, self._place_cells(code, names, arguments))
        kinds, _ = self.values.scalars.read_bytes(
            memory.read_word(code + offsets.code_kinds), 2 * MAX_VARIABLES
        )
        slots = [
            (number, name, bool(kind & (_CELL | _FREE)), number < arguments)
            for number, (name, kind) in enumerate(zip(names, kinds, strict=False))
        ]
        return CodeVariables(flags, slots)

    def _place_cells(
        self, code: int, names: list[str], arguments: int
    ) -> list[tuple[int, str, bool, bool]]:
        """The slots before 3.11: an argument that is in a cell has a slot behind the others, too, and its value there."""
        cells = self._read_names_tuple(code + self._offsets.code_cells)
        free = self._read_names_tuple(code + self._offsets.code_free)
        slots = {name: (number, False, number < arguments) for number, name in enumerate(names)}
        for number, name in enumerate(cells + free, len(names)):
            slots[name] = (number, True, name in slots and slots[name][2])
        return [(number, name, is_cell, first) for name, (number, is_cell, first) in slots.items()]

    def _read_names_tuple(self, at: int) -> list[str]:
        """The first names of a tuple, whose address is at an address."""
        address = self._memory.read_word(at)
        count = max(self._memory.read_signed(address + self._offsets.head), 0)
        start = address + self._offsets.tuple_items
        data = self._memory.read(start, 8 * min(count, 2 * MAX_VARIABLES))
        return [self.values.read_key(unpack_word(data, at)) for at in range(0, len(data), 8)]
