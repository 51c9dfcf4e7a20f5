"""The unwind table of a file, in the form in which programs in the kernel search it
(unwind_rows.py).

- Rules of x86-64 that a row cannot express, and code without tables, use the frame pointer.
- Time and size of a file's table are bounded.
"""

from __future__ import annotations

import array
import time

from . import dwarf_cfi, unwind_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.symbols import elf

_TIME_LIMIT = 20.0  # seconds of a processor
_RULES = 1 << 12  # different ones that are cached: the C library has 300
_BP, _SP, _PC = 6, 7, 16
_WORD = 8
_RETURNS = (dwarf_cfi.OFFSET, -_WORD)
# rsp + 8, and 8 more from the 11th byte of 16 on, where a jump of the linker's has pushed its number
_JUMP = bytes((0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22))


class NoTable(Exception):
    """The file has no table; the message says why."""


class UnwindTable:
    """base: the address, as linked, that the rows count from; rows: bytes, unwound.ROW each; segments: of the file."""

    __slots__ = ("base", "rows", "segments")

    def __init__(self, base: int, rows: bytes, segments: list[elf.Segment]) -> None:
        self.base, self.rows, self.segments = base, rows, segments

    def __len__(self) -> int:
        return len(self.rows) // unwind_rows.ROW.size


def build_table(
    file: elf.ElfFile, most: int = unwind_rows.ROWS, beat: Callable[[], None] = lambda: None
) -> UnwindTable:
    """most: rows; beat: called for each function.  Raises Left, elf.BadFile."""
    words, base, end, last, until = array.array("I"), None, 0, -1, time.thread_time() + _TIME_LIMIT
    known: dict[object, int] = {}
    for function in dwarf_cfi.FrameTables(file).iter_functions():
        beat()
        if time.thread_time() > until:
            raise NoTable("its tables take too long to read")
        for begin, following, row in function:
            base = begin if base is None else base
            if begin < end or following - base >= 1 << 32:
                raise NoTable("its tables are not in order, or of too much code")
            if begin > end and words and last != unwind_rows.POINTER:
                words.extend((end - base, unwind_rows.POINTER))
                last = unwind_rows.POINTER
            key = (
                row.rules.get(dwarf_cfi.CFA),
                row.rules.get(_BP),
                row.rules.get(row.returns, 0),
                row.returns,
                row.signal,
            )
            rule = known.get(key)
            if rule is None:
                if len(known) == _RULES:  # an untrusted file may have millions
                    known.clear()
                rule = known[key] = encode_rule(row)
            if rule != last:
                words.extend((begin - base, rule))
                last = rule
            end = following
        if len(words) > 2 * most - 4:
            raise NoTable(f"its tables have more than {most:,} rows")
    if base is None:
        raise NoTable("it has no tables")
    words.extend((end - base, unwind_rows.POINTER))
    return UnwindTable(base, words.tobytes(), file.segments)


def encode_rule(row: dwarf_cfi.CfiRow) -> int:
    """What a row says, for a program."""
    rules, begin = row.rules, row.rules.get(dwarf_cfi.CFA)
    if row.signal:
        return (
            unwind_rows.SIGNAL
            if begin == _signal_cfa(unwind_rows.SIGNAL_SP) and _are_signal_rules(row)
            else unwind_rows.POINTER
        )
    if row.returns == _PC and rules.get(_PC, _RETURNS) is None:
        return unwind_rows.OUTERMOST
    if begin is None or row.returns != _PC or rules.get(_PC) != _RETURNS:
        return unwind_rows.POINTER
    saved = _saved_words(rules.get(_BP))
    if saved is None:
        return unwind_rows.POINTER
    if begin[0] is dwarf_cfi.EXPRESSION:
        return (
            unwind_rows.rule(unwind_rows.JUMP, 0, saved)
            if begin[1] == _JUMP
            else unwind_rows.POINTER
        )
    register, distance = begin
    if register not in (_SP, _BP) or distance % _WORD:
        return unwind_rows.POINTER
    try:
        return unwind_rows.rule(
            unwind_rows.BY_SP if register == _SP else unwind_rows.BY_BP, distance // _WORD, saved
        )
    except ValueError:
        return unwind_rows.POINTER


def _saved_words(rule: dwarf_cfi.Rule | None) -> int | None:
    """How many words below the frame's begin rbp is, 0: it is the caller's; None where it is elsewhere."""
    if rule is None:
        return 0
    kind, where = rule
    if (
        kind is not dwarf_cfi.OFFSET
        or where >= 0
        or where % _WORD
        or -where // _WORD > unwind_rows.SAVED_MOST
    ):
        return None
    return int(-where // _WORD)


def _signal_cfa(offset: int) -> tuple[str, bytes]:
    """The rule of a frame that begins where a word at this distance from rsp says."""
    return dwarf_cfi.EXPRESSION, _above_rsp(offset) + b"\x06"


def _above_rsp(offset: int) -> bytes:
    """An expression: rsp, and so much more, as the C library writes it."""
    return (
        bytes((0x77, offset & 0x7F | 0x80, offset >> 7)) if offset > 63 else bytes((0x77, offset))
    )


def _are_signal_rules(row: dwarf_cfi.CfiRow) -> bool:
    return all(
        row.rules.get(register) == (dwarf_cfi.AT, _above_rsp(offset))
        for register, offset in ((_BP, unwind_rows.SIGNAL_BP), (_PC, unwind_rows.SIGNAL_PC))
    )
