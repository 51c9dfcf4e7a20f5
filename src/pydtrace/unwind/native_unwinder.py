"""The native unwinder: which C functions called each other, without frame pointers.

- Process and files are untrusted.
- Each step leads further out, or is the last.
- Frame pointers are followed only in code without tables (a vDSO, code made at run time).
  Elsewhere an unknown caller ends the stack, with the reason.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import struct

from pydtrace.process import maps
from pydtrace.symbols import elf
from pydtrace.symbols.demangle import demangle
from pydtrace.symbols.file_symbols import SYMBOL_CACHE
from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget

from . import dwarf_cfi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .dwarf_cfi import CfiRow, Rule
    from .thread_capture import ThreadCopy

    Word = Callable[[int], int]  # what is at an address

MOST = 2000  # frames of a thread
_FILES = 256  # that are open at once
_ROWS = 1 << 16  # that are kept
_NAMES = 30.0, 20  # seconds at once, and one of how many, to read the names of functions
_WRONG = (OSError, elf.BadFile, IndexError, KeyError, ValueError, struct.error)

_LINK: int | None
if os.uname().machine == "aarch64":
    SP, PC, FP, _LINK = 31, 32, 29, 30
else:
    SP, PC, FP, _LINK = 7, 16, 6, None
_ADDRESS = (
    (1 << 48) - 1 if _LINK else (1 << 64) - 1
)  # aarch64 signs addresses to return to in the bits above


class NativeFrame:
    """As code.Frame; file: of the machine code; address: as linked, or where no file is known as it is in memory; begin, end: its part
    of the stack, end None where that is not known."""

    __slots__ = ("address", "begin", "end", "file", "line", "name", "pc")
    code = 0  # it is of no code object

    def __init__(self, name: str, file: str, address: int, pc: int) -> None:
        self.name, self.file = name, file
        self.line: int | None = None
        self.address, self.pc = address, pc
        self.begin: int = 0
        self.end: int | None = None


class _MappedFile:
    """A file that is mapped.  rows: of all modules; time: an Allowance for names."""

    def __init__(
        self,
        pid: int,
        mapping: maps.Mapping,
        rows: dict[tuple[_MappedFile, int], CfiRow | None],
        time: CpuTimeBudget,
    ) -> None:
        self.path = mapping.path
        self._rows, self._time = rows, time
        found = maps.find_mapped_file(pid, mapping)
        self.file = elf.ElfFile(found[0], found[1].st_ino) if found else None
        self._tables, self._named = None, []  # (path, status) of what has names of its functions
        if self.file:
            self._named = [(self.file.path, os.stat(self.file.path))]
            with contextlib.suppress(*_WRONG):  # it has none
                self._tables = dwarf_cfi.FrameTables(self.file)

    def find_load_bias(self, mapping: maps.Mapping) -> int:
        return elf.load_bias(self.file, mapping) if self.file else mapping.start - mapping.offset

    def find_row(self, address: int) -> CfiRow | None:
        key = self, address
        if key not in self._rows:
            if len(self._rows) >= _ROWS:
                self._rows.clear()
            self._rows[key] = self._read_row(address)
        return self._rows[key]

    def _read_row(self, address: int) -> CfiRow | None:
        try:
            return self._tables.find_row(address) if self._tables else None
        except _WRONG:
            return None

    def find_name(self, address: int) -> str:
        """Of the function, or where it has no name the address at which it begins, if that is known."""
        for path, status in self._named:
            file = SYMBOL_CACHE.find_or_read(path, status, self._time)
            if file and (found := file.table.find(address)):
                return demangle(found[1])
        row = self.find_row(address)
        return f"{row.start if row else address:#x}"

    def close(self) -> None:
        if self.file:
            self.file.close()


def mapped_code(pid: int) -> list[tuple[maps.Mapping, bool]]:
    """[(Mapping, whether it is a file's)] of the machine code that a process has mapped, ascending.  Raises OSError."""
    parts = [
        (
            maps.Mapping(
                each[0], each[1], each[2], each[3], each[4], each[5] if len(each) == 6 else ""
            ),
            each[4] != "0",
        )
        for each in (line.rstrip("\n").split(None, 5) for line in maps.read_maps(pid))
        if len(each) >= 5
    ]
    return sorted((each for each in parts if "x" in each[0].access), key=lambda each: each[0].start)


class NativeCode:
    """The machine code that a process has mapped.  close() it."""

    def __init__(self, pid: int) -> None:
        self._pid, self._time = pid, CpuTimeBudget(*_NAMES)
        self._modules: dict[
            tuple[str, int, str], _MappedFile | None
        ] = {}  # None: the file cannot be read
        self._rows: dict[tuple[_MappedFile, int], CfiRow | None] = {}
        self.read_maps()

    def read_maps(self) -> None:
        """The process has loaded, or unloaded, files.  Raises OSError."""
        self._parts = [
            (each.start, each.end, each, of_file) for each, of_file in mapped_code(self._pid)
        ]
        self._starts = [start for start, *_ in self._parts]

    def find_mapping(self, pc: int) -> tuple[maps.Mapping, bool] | None:
        """(Mapping, whether it is a file's) of the code at an address, or None."""
        at = bisect.bisect_right(self._starts, pc) - 1
        return self._parts[at][2:] if at >= 0 and pc < self._parts[at][1] else None

    def find_file(self, mapping: maps.Mapping) -> _MappedFile | None:
        if mapping.file_key not in self._modules:
            if len(self._modules) == _FILES:
                self.close()
            try:
                self._modules[mapping.file_key] = _MappedFile(
                    self._pid, mapping, self._rows, self._time
                )
            except _WRONG:
                self._modules[mapping.file_key] = None
        return self._modules[mapping.file_key]

    def close(self) -> None:
        for each in self._modules.values():
            if each:
                each.close()
        self._modules.clear()
        self._rows.clear()

    def describe_address(self, pc: int, called: int) -> tuple[NativeFrame, CfiRow | None, bool]:
        """(NativeFrame, cfi.Row or None, whether it has code at all); called: the address is one to return to, behind a call."""
        part = self.find_mapping(pc - called)
        if part is None:
            return NativeFrame(f"{pc:#x}", "?", pc, pc), None, False
        mapping, of_file = part
        module = self.find_file(mapping) if of_file else None
        try:
            address = pc - called - module.find_load_bias(mapping) if module else pc
        except elf.BadFile:
            module, address = None, pc
        if module is None:
            return NativeFrame(f"{pc:#x}", mapping.path or "[made at run time]", pc, pc), None, True
        return (
            NativeFrame(module.find_name(address), module.path, address + called, pc),
            module.find_row(address),
            True,
        )


class NativeUnwinder:
    """Of one process.  code: its Code."""

    def __init__(self, code: NativeCode) -> None:
        self._code = code

    def unwind_copy(self, copy: ThreadCopy) -> tuple[list[NativeFrame], str | None]:
        """([NativeFrame], why it ends before the outermost, or None)."""
        registers, called = dict(copy.registers), 0
        found: list[NativeFrame] = []
        while len(found) < MOST:
            frame, row, has_code = self._code.describe_address(registers[PC], called)
            frame.begin = registers[SP]
            found.append(frame)
            if not has_code:
                return found, "it leads to where no code is"
            try:
                further = (
                    _step_by_table(registers, row, copy.read_word)
                    if row
                    else _step_by_pointer(registers, copy.read_word)
                )
            except KeyError:
                return found, "a register is not known"
            except _WRONG:
                return found, "its memory, or the tables of its file, make no sense"
            frame.end = further[SP]
            if not further.get(PC):
                return found, None if row else "this code has no tables"
            if further[SP] <= registers[SP] and len(found) > 1:
                return found, "it does not end in a function"
            registers, called = further, 0 if row and row.signal else 1
        return found, "there are more"


def _step_by_table(registers: Mapping[int, int], row: CfiRow, word: Word) -> dict[int, int]:
    """The registers of the caller, as far as they are known."""
    begins = row.rules[dwarf_cfi.CFA]
    if begins is None:
        raise KeyError(dwarf_cfi.CFA)
    begin = (
        dwarf_cfi.evaluate_expression(begins[1], registers, word)
        if begins[0] is dwarf_cfi.EXPRESSION
        else registers[begins[0]] + begins[1]
    )
    found = dict(registers)
    found.pop(PC, None)
    for register, rule in row.rules.items():
        if register == dwarf_cfi.CFA:
            continue
        known = _restore_register(rule, registers, begin, word)
        if known is None:
            found.pop(register, None)
        else:
            found[register] = known
    found[SP] = begin
    if row.returns in found:
        found[PC] = found[row.returns] & _ADDRESS
    return found


def _restore_register(
    rule: Rule | None, registers: Mapping[int, int], begin: int, word: Word
) -> int | None:
    if rule is None:
        return None
    kind, what = rule
    if kind is dwarf_cfi.OFFSET:
        return word(begin + what)
    if kind is dwarf_cfi.VALUE:
        return int(begin + what)
    if kind is dwarf_cfi.REGISTER:
        return registers.get(what)
    value = dwarf_cfi.evaluate_expression(what, registers, word, begin)
    return word(value) if kind is dwarf_cfi.AT else value


def _step_by_pointer(registers: Mapping[int, int], word: Word) -> dict[int, int]:
    pointer = registers[FP]
    return {**registers, FP: word(pointer), PC: word(pointer + 8) & _ADDRESS, SP: pointer + 16}


# --- with Python frames -----------------------------------------------------------------------

_EVAL = "_PyEval_EvalFrameDefault"


def interleave_frames(native: list[Any], calls: list[Any]) -> list[Any]:
    """Native and Python frames, innermost first: each call of the interpreter's C function is replaced by the frames that it runs.  calls: RawThread's
    calls().  That function is found by what it keeps on its stack, or else by its name, which not every program has."""
    if not calls:
        return native
    left = list(reversed(calls))
    found: list[Any] = []
    for frame in native:
        if left and _is_interpreter_frame(frame, left[-1][1]):
            found += left.pop()[0]
        elif not frame.name.startswith(_EVAL):
            found.append(frame)
    for frames, _ in reversed(left):
        found += frames
    return found


def _is_interpreter_frame(frame: NativeFrame, entry: int) -> bool:
    if entry:
        return frame.end is not None and frame.begin <= entry < frame.end
    return frame.name.startswith(_EVAL)
