"""Names and lines of code objects in another process.

- An address without a code object is a frame "?".
- A name has at most LONGEST characters, a line table at most LARGEST bytes, and all together are
  bounded.
- A code object may be freed and replaced: a cached one is used only while it has the same name,
  file and line table.
"""

from __future__ import annotations

import struct

from .line_table import find_line
from .remote_python import unpack_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .frame_variables import FrameVariables
    from .remote_python import RemotePython

LONGEST = 1000  # characters
LARGEST = 1 << 20  # bytes
_KEPT = 1 << 16  # code objects
_TABLES = 1 << 26  # bytes of their tables
_LINES = 1 << 18  # that were looked up in them
_TEXTS = 1 << 25  # characters of names and files that are read between two expire_frames()
_KINDS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}


class Frame:
    """line: None where the instruction has none; code: the address of the code object that it was read of."""

    __slots__ = ("code", "file", "line", "name")

    def __init__(self, name: str, file: str, line: int | None, code: int = 0) -> None:
        self.name, self.file, self.line, self.code = name, file, line, code

    def __repr__(self) -> str:
        return f"{self.name} ({self.file}:{self.line})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and (self.name, self.file, self.line) == (
            other.name,
            other.file,
            other.line,
        )

    __hash__ = None  # type: ignore[assignment]  # mypy wants a method


class LocatedFrame(Frame):
    """A frame whose variables can be read: address: its own; instr: its position when the stack was read."""

    __slots__ = ("address", "instr", "variables")

    def __init__(self, frame: Frame, address: int, instr: int) -> None:
        super().__init__(frame.name, frame.file, frame.line, frame.code)
        self.address, self.instr = address, instr
        self.variables: FrameVariables | None = None  # None: not read


class _Code:
    """lines: {offset: line} of those that were looked up in its table, which takes long."""

    __slots__ = ("begin", "file", "first", "lines", "name", "same", "size", "table")
    begin: int
    file: str
    first: int
    lines: dict[int, int | None]
    name: str
    same: list[int]
    size: int
    table: bytes


_FREED = "?"


def unknown_frame(address: int = 0) -> Frame:
    """The frame of an address that is not a code object any more."""
    return Frame(_FREED, _FREED, None, address)


class CodeObjects:
    """Of one process."""

    def __init__(self, python: RemotePython) -> None:
        self._memory, self._layout = python.memory, python.layout
        self._known: dict[int, _Code | None] = {}
        self._frames: dict[tuple[int, int], Frame] = {}
        self._tables = self._lines = self._texts = 0
        layout = self._layout
        self._identity = (
            layout["code_qualname"] or layout["code_name"],
            layout["code_filename"],
            layout["code_linetable"],
        )
        # not more than the object has: its memory may end behind it
        self._size = 8 + max(*self._identity, layout["code_firstlineno"], layout["bytes_size"])

    def expire_frames(self) -> None:
        """The process has gone on: code objects may have been freed."""
        self._frames.clear()
        self._texts = 0

    def known_frame(self, address: int, instr: int) -> Frame | None:
        """The Frame of a code object as it was read, whatever is there now; None if it is not kept."""
        code = self._known.get(address)
        if code is None:
            return None
        return Frame(code.name, code.file, self._find_line(code, instr), address)

    def read_frame(self, address: int, instr: int) -> Frame:
        """The Frame of a code object and a position."""
        found = self._frames.get((address, instr))
        if found is None:
            code = self._find_code(address)
            found = (
                Frame(code.name, code.file, self._find_line(code, instr), address)
                if code
                else unknown_frame(address)
            )
            self._frames[address, instr] = found
        return found

    def interpreter_frame(self, address: int) -> Frame:
        """The frame behind those of a sub-interpreter: its id, as in `_interpreters.list_all()`."""
        try:
            number = str(unpack_word(self._memory.read(address + self._layout["interp_id"], 8), 0))
        except OSError:
            number = _FREED
        return Frame(f"[interpreter {number}]", "", None)

    def _find_line(self, code: _Code, instr: int) -> int | None:
        minor = self._layout["minor"]
        if minor < 11:
            offset = struct.unpack("=q", struct.pack("=Q", instr))[0] * (2 if minor == 10 else 1)
        else:
            offset = instr - code.begin
            if not -2 <= offset < code.size:
                return None
        line = code.lines.get(offset, ...)
        if line is ...:
            line = find_line(minor, code.table, code.first, offset)
            if self._lines < _LINES:
                self._lines += 1
                code.lines[offset] = line
        return line

    def _find_code(self, address: int) -> _Code | None:
        try:
            record = self._memory.read(address, self._size)
        except OSError:
            return None
        same = [unpack_word(record, offset) for offset in self._identity]
        known = self._known.get(address)
        if known is None or known.same != same:
            known = self._read_code(address, record, same)
            self._store_code(address, known)
        return known

    def forget_code(self, address: int) -> None:
        """Another code object replaced it; its name, file and lines may be at the same addresses."""
        self._known.pop(address, None)
        self._frames.clear()

    def _store_code(self, address: int, code: _Code | None) -> None:
        if len(self._known) == _KEPT or self._tables > _TABLES or self._lines >= _LINES:
            self._known.clear()
            self._tables = self._lines = 0
        self._known[address] = code
        self._tables += len(code.table) if code else 0

    def _read_code(self, address: int, record: bytes, same: list[int]) -> _Code | None:
        """A _Code, or None where there is none."""
        layout, code = self._layout, _Code()
        code.same = same
        try:
            code.name, code.file = self._read_kept_text(same[0]), self._read_kept_text(same[1])
            code.table = self.read_bytes(same[2])
        except (OSError, ValueError):
            return None
        code.lines = {}
        code.first = struct.unpack_from("=i", record, layout["code_firstlineno"])[0]
        code.begin = address + layout["code_instructions"]
        code.size = 2 * min(unpack_word(record, layout["bytes_size"]), LARGEST)
        return code

    def _read_kept_text(self, address: int) -> str:
        """A text that is kept.  Raises OSError, ValueError."""
        if self._texts > _TEXTS:
            raise ValueError("no room")
        text = self.read_text(address)
        self._texts += len(text)
        return text

    # --- objects ----------------------------------------------------------------------

    def read_text(self, address: int) -> str:
        """A str, cut to LONGEST characters.  Raises OSError, ValueError."""
        layout = self._layout
        head = self._memory.read(address, layout["unicode_ascii_data"])
        length, state = unpack_word(head, layout["unicode_length"]), head[layout["unicode_state"]]
        kind, compact, ascii_only = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
        if not compact or kind not in _KINDS:
            raise ValueError("no text")
        where = address + layout["unicode_ascii_data" if ascii_only else "unicode_data"]
        data: bytes = self._memory.read(where, min(length, LONGEST) * kind)
        return data.decode(_KINDS[kind], "replace") + ("…" if length > LONGEST else "")

    def read_bytes(self, address: int) -> bytes:
        """Raises OSError, ValueError."""
        layout = self._layout
        size = unpack_word(self._memory.read(address, layout["bytes_data"]), layout["bytes_size"])
        if size > LARGEST:
            raise ValueError("too long")
        data: bytes = self._memory.read(address + layout["bytes_data"], size)
        return data
