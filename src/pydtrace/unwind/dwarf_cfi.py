"""Call frame information: the tables of .eh_frame that compilers write for exceptions.

- The file is untrusted: invalid data raise elf.BadFile or IndexError, every table is bounded, and
  no loop is longer than its bytes.
- Only tables with the index that linkers make (.eh_frame_hdr, sorted, 4 bytes each) are read.  A
  row costs a search in the index and one entry, whatever the size of the file.
- Static programs have no index, so one is built from all entries.

Formats: "Exception Frames" of the Linux Standard Base; DWARF 5, 6.4 and 2.5.
"""

from __future__ import annotations

import struct

from pydtrace.symbols.elf import BadFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from pydtrace.symbols.elf import ElfFile

    Rule = tuple[
        Any, Any
    ]  # (OFFSET, distance) and the like; of CFA (register, distance) or (EXPRESSION, bytes)
    Rules = dict[int, Rule | None]

CFA = -1  # the place of the rule for where the caller's frame begins among those of registers
OFFSET, VALUE, REGISTER, AT, EXPRESSION = "offset", "value", "register", "at", "expression"
_ENTRY = 1 << 16  # bytes of one, at most
_ENTRIES = 1 << 18  # of a file that has no index of them
_INDEX = struct.Struct("=ii")
_POINTERS = {0: "Q", 2: "H", 3: "I", 4: "Q", 10: "h", 11: "i", 12: "q"}
_RELATIVE = 0x10
_REGISTERS = 128
_STATES = 256  # that are remembered at once
_CIE_LIMIT = 256  # that are kept
_INSTRUCTIONS = (
    1 << 16
)  # bytes of a function's, where all functions of a file are read: each may become a row
_DEEP = 64  # values of an expression


class CfiRow:
    """rules: {register: (kind, …)}, CFA among them; a register without a rule is the caller's as it is, one with None is lost.
    returns: the register that holds the address to return to; signal: the frame is a signal's, and its caller no call;
    start: of the function."""

    __slots__ = ("returns", "rules", "signal", "start")

    def __init__(self, rules: Rules, returns: int, signal: bool, start: int) -> None:
        self.rules, self.returns, self.signal, self.start = rules, returns, signal, start


class _ByteReader:
    """Bytes that are read one after the other; IndexError, struct.error where there are no more.  address: of the first, as linked."""

    def __init__(self, data: bytes, address: int = 0) -> None:
        self._data, self._address, self.at = data, address, 0

    def __bool__(self) -> bool:
        return self.at < len(self._data)

    def read_byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def read_number(self, shape: str) -> int:
        [value] = struct.unpack_from(f"={shape}", self._data, self.at)
        self.at += struct.calcsize(f"={shape}")
        return int(value)

    def read_uleb(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.read_byte()
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                break
            if shift > 63:
                raise BadFile("a number of its tables is too large")
        return value - (1 << shift) if signed and byte & 64 else value

    def read_sleb(self) -> int:
        return self.read_uleb(signed=True)

    def read_register(self) -> int:
        number = self.read_uleb()
        if number >= _REGISTERS:
            raise BadFile("a register of its tables is none")
        return number

    def read_pointer(self, encoding: int) -> int:
        """An address, which may be relative to its own place."""
        shape, here = _POINTERS.get(encoding & 15), self._address + self.at
        if shape is None or encoding & 0x60:
            raise BadFile("a pointer of its tables has an unknown form")
        return (
            self.read_number(shape) + (here if encoding & 0x70 == _RELATIVE else 0) & (1 << 64) - 1
        )

    def read_block(self) -> bytes:
        size = self.read_uleb()
        if self.at + size > len(self._data):
            raise BadFile("a part of its tables is cut off")
        self.at += size
        return self._data[self.at - size : self.at]

    def read_text(self) -> bytes:
        end = self._data.index(b"\0", self.at)
        self.at, start = end + 1, self.at
        return self._data[start:end]

    def read_rest(self) -> bytes:
        return self._data[self.at :]


class _Cie:
    """What the entries of several functions have in common (a CIE)."""

    def __init__(self, data: _ByteReader) -> None:
        self.encoding, self.signal, self.augmented = 0, False, False
        if data.read_byte() not in (1, 3, 4):
            raise BadFile("its tables are of an unknown version")
        letters = data.read_text()
        self.code, self.data, self.returns = data.read_uleb(), data.read_sleb(), data.read_uleb()
        if letters[:1] == b"z":
            self.augmented = True
            self._read_augmentation(letters[1:], data)
        elif letters:
            raise BadFile("its tables have an unknown augmentation")
        self.instructions = data.read_rest()

    def _read_augmentation(self, letters: bytes, data: _ByteReader) -> None:
        size = data.read_uleb()
        end = data.at + size
        for letter in letters:
            if letter == ord("R"):
                self.encoding = data.read_byte()
            elif letter == ord("P"):
                data.read_pointer(data.read_byte() & 0x7F)
            elif letter == ord("L"):
                data.read_byte()
            elif letter == ord("S"):
                self.signal = True
        data.at = end


class _PreloadedFile:
    """Parts of a file, read once.  parts: [(offset, size)]."""

    def __init__(self, file: ElfFile | _PreloadedFile, parts: Iterable[tuple[int, int]]) -> None:
        self._parts = [(offset, file.read(offset, size)) for offset, size in parts]

    def read(self, offset: int, size: int) -> bytes:
        for start, data in self._parts:
            if start <= offset and offset + size <= start + len(data):
                return data[offset - start : offset - start + size]
        raise BadFile("its tables lead elsewhere")


class FrameTables:
    """Of one file, which has to stay open.  Raises BadFile where it has none."""

    def __init__(self, file: ElfFile) -> None:
        self._file: ElfFile | _PreloadedFile = file
        self._commons: dict[int, _Cie] = {}
        sections = self._sections = file.sections
        if ".eh_frame" not in sections:
            raise BadFile("it has no tables of frames")
        _, self._address, self._offset, self._size, _ = sections[".eh_frame"]
        self._made = None if ".eh_frame_hdr" in sections else self._build_index()
        if self._made is not None:
            self._count = len(self._made)
            return
        _, self._index_address, offset, size, _ = sections[".eh_frame_hdr"]
        head = _ByteReader(file.read(offset, min(size, 32)), self._index_address)
        try:
            version, frames, count, table = (head.read_byte() for _ in range(4))
            if version != 1 or count != 3 or table != 0x3B:
                raise BadFile("the index of its tables is of an unknown form")
            head.read_pointer(frames)
            self._count, self._first = head.read_number("I"), offset + head.at
        except (IndexError, struct.error):
            raise BadFile("the index of its tables is cut off") from None
        if self._first + self._count * _INDEX.size > offset + size:
            raise BadFile("the index of its tables is cut off")

    def find_row(self, address: int) -> CfiRow | None:
        """The Row for an address as linked; None where no function is known there.  Raises BadFile, IndexError, ValueError, struct.error."""
        entry = self._find_entry(address)
        if entry is None:
            return None
        common, start, size, instructions = self._read_fde(entry)
        if not start <= address < start + size:
            return None
        machine = _CfaMachine(common, start)
        for _, end in machine.iter_steps(instructions):
            if end > address:
                break
        return CfiRow(machine.rules, common.returns, common.signal, start)

    def iter_functions(self) -> Iterator[Iterator[tuple[int, int, CfiRow]]]:
        """For each function, in the order of their addresses, its (begin, end, Row) one after the other, addresses as linked, ascending: of each
        address in a part what find_row() has of it.  Where there is nothing, what makes no sense, or too much for one function, no part is.  Raises
        BadFile where the file has too much."""
        _, _, offset, size, _ = self._sections.get(".eh_frame_hdr", (0, 0, 0, 0, 0))
        held = self._file
        self._file = _PreloadedFile(held, [(offset, size), (self._offset, self._size)])
        try:
            following = self._index_entry(0) if self._count else (0, 0)
            for number in range(1, self._count + 1):
                (start, entry), following = (
                    following,
                    self._index_entry(number) if number < self._count else (1 << 64, 0),
                )
                yield self._iter_rows(entry, start, following[0])
        finally:
            self._file = held

    def _iter_rows(self, entry: int, first: int, last: int) -> Iterator[tuple[int, int, CfiRow]]:
        """Of the function of an entry, as far as it lies between two addresses.  One at a time: all rows of a function, each with a rule for
        every register, are hundreds of megabytes."""
        try:
            common, start, size, instructions = self._read_fde(entry)
            if len(instructions) + len(common.instructions) > _INSTRUCTIONS:
                raise BadFile("a function has too many instructions")
            machine, end = _CfaMachine(common, start), min(start + size, last)
            for at, until in machine.iter_steps(instructions):
                begin, until = max(at, first), min(until, end)
                if begin < until:
                    yield (
                        begin,
                        until,
                        CfiRow(dict(machine.rules), common.returns, common.signal, start),
                    )
                if until >= end:
                    break
        except (BadFile, IndexError, KeyError, ValueError, struct.error):
            pass  # the rows before it are valid

    def _find_entry(self, address: int) -> int | None:
        """The address of the entry of the function that begins last before an address."""
        low, high = 0, self._count
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (middle + 1, high) if self._index_entry(middle)[0] <= address else (low, middle)
            )
        return self._index_entry(low - 1)[1] if low else None

    def _build_index(self) -> list[tuple[int, int]]:
        """[(where a function begins, the address of its entry)], ascending.  Raises BadFile."""
        data, found, at = self._file.read(self._offset, self._size), [], 0
        try:
            while at + 8 <= len(data):
                size, distance = struct.unpack_from("=II", data, at)
                if size == 0 or size == 0xFFFFFFFF:  # the last one; one of more than 4 GiB
                    break
                if distance:
                    entry = self._address + at
                    common = self._read_cie(entry, distance)
                    found.append(
                        (
                            _ByteReader(data[at + 8 : at + 24], entry + 8).read_pointer(
                                common.encoding
                            ),
                            entry,
                        )
                    )
                at += 4 + size
                if len(found) > _ENTRIES:
                    raise BadFile("it has too many tables of frames")
        except (IndexError, struct.error):
            raise BadFile("its tables are cut off") from None
        if not found:
            raise BadFile("it has no tables of frames")
        return sorted(found)

    def _index_entry(self, number: int) -> tuple[int, int]:
        if self._made is not None:
            return self._made[number]
        start, entry = _INDEX.unpack(
            self._file.read(self._first + number * _INDEX.size, _INDEX.size)
        )
        return self._index_address + start, self._index_address + entry

    def _read_entry(self, address: int) -> _ByteReader:
        """The bytes of an entry behind its length."""
        at = address - self._address
        if not 0 <= at <= self._size - 4:
            raise BadFile("its tables lead elsewhere")
        [size] = struct.unpack("=I", self._file.read(self._offset + at, 4))
        if not 4 <= size <= min(_ENTRY, self._size - at - 4):
            raise BadFile("an entry of its tables has no such length")
        return _ByteReader(self._file.read(self._offset + at + 4, size), address + 4)

    def _read_fde(self, entry: int) -> tuple[_Cie, int, int, bytes]:
        """(_Common, where the function begins, its bytes, the instructions) of an entry."""
        data = self._read_entry(entry)
        common = self._read_cie(entry, data.read_number("I"))
        start = data.read_pointer(common.encoding)
        size = data.read_pointer(common.encoding & 15)
        if common.augmented:
            data.read_block()
        return common, start, size, data.read_rest()

    def _read_cie(self, entry: int, distance: int) -> _Cie:
        address = entry + 4 - distance
        if address not in self._commons:
            data = self._read_entry(address)
            if data.read_number("I") != 0:
                raise BadFile("its tables lead elsewhere")
            if len(self._commons) >= _CIE_LIMIT:
                self._commons.clear()
            self._commons[address] = _Cie(data)
        return self._commons[address]


class _CfaMachine:
    """What the instructions of an entry make of the rules, one address after the other."""

    def __init__(self, common: _Cie, start: int) -> None:
        self._common, self._at = common, start
        self.rules: Rules = {}
        self.initial: Rules = {}
        self._kept: list[tuple[Rules, tuple[int, int] | None]] = []
        self._begin: tuple[int, int] | None = (
            None  # (register, distance): the last CFA that was said so, which an expression leaves as it is
        )

    def iter_steps(self, instructions: bytes) -> Iterator[tuple[int, int]]:
        """Each (begin, end) of addresses for which the rules are as they are then; the last has no end."""
        yield from self._run_instructions(self._common.instructions)
        self.initial = dict(self.rules)
        yield from self._run_instructions(instructions)
        yield self._at, 1 << 65

    def _run_instructions(self, instructions: bytes) -> Iterator[tuple[int, int]]:
        data = _ByteReader(instructions)
        while data:
            byte = data.read_byte()
            high, low = byte >> 6, byte & 63
            if high == 0 and low not in _ADVANCES:
                self._run_other(low, data)
            elif high == 2:
                self.rules[low] = (OFFSET, data.read_uleb() * self._common.data)
            elif high == 3:
                self._restore_rule(low)
            else:
                end = (
                    self._at
                    + (low if high else data.read_number(_ADVANCES[low])) * self._common.code
                )
                yield self._at, end
                self._at = end

    def _restore_rule(self, register: int) -> None:
        if register in self.initial:
            self.rules[register] = self.initial[register]
        else:
            self.rules.pop(register, None)

    def _set_cfa(self, register: int, offset: int) -> None:
        self.rules[CFA] = self._begin = (register, offset)

    def _require_cfa(self) -> tuple[int, int]:
        if self._begin is None:
            raise BadFile("its tables change undefined rules")
        return self._begin

    def _set_cfa_offset(self, offset: int) -> None:
        """Of the register's; unwinders leave an expression in its place."""
        self._begin = (self._require_cfa()[0], offset)
        begin = self.rules[CFA]
        if begin is None or begin[0] is not EXPRESSION:
            self.rules[CFA] = self._begin

    def _run_other(self, code: int, data: _ByteReader) -> None:
        factor = self._common.data
        if code == 0x00:  # nothing, to fill up
            return
        if code in (
            0x05,
            0x11,
            0x14,
            0x15,
        ):  # saved at, or is, the frame's begin and a distance; 0x11, 0x15: signed
            register, number = data.read_register(), data.read_uleb(signed=code in (0x11, 0x15))
            self.rules[register] = (OFFSET if code in (0x05, 0x11) else VALUE, number * factor)
        elif code == 0x06:
            self._restore_rule(data.read_register())
        elif code == 0x07:
            self.rules[data.read_register()] = None
        elif code == 0x08:
            self.rules.pop(data.read_register(), None)
        elif code == 0x09:
            register = data.read_register()
            self.rules[register] = (REGISTER, data.read_register())
        elif code == 0x0A:
            if len(self._kept) == _STATES:
                raise BadFile("its tables remember too much")
            self._kept.append((dict(self.rules), self._begin))
        elif code == 0x0B:
            self.rules, self._begin = self._kept.pop()
        elif code in (0x0C, 0x12):
            register = data.read_register()
            self._set_cfa(register, data.read_sleb() * factor if code == 0x12 else data.read_uleb())
        elif code == 0x0D:
            self._set_cfa(data.read_register(), self._require_cfa()[1])
        elif code in (0x0E, 0x13):
            self._set_cfa_offset(data.read_sleb() * factor if code == 0x13 else data.read_uleb())
        elif code == 0x0F:
            self.rules[CFA] = (EXPRESSION, data.read_block())
        elif code in (0x10, 0x16):
            register = data.read_register()
            self.rules[register] = (AT if code == 0x10 else EXPRESSION, data.read_block())
        elif code == 0x2E:  # how much of the stack are arguments
            data.read_uleb()
        elif code != 0x2D:  # aarch64: whether the address to return to is signed
            raise BadFile("its tables have an unknown instruction")


_ADVANCES = {0x02: "B", 0x03: "H", 0x04: "I"}


# --- expressions ---------------------------------------------------------------------------

_TWO = {
    0x1A: lambda a, b: a & b,
    0x1C: lambda a, b: a - b,
    0x1E: lambda a, b: a * b,
    0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << min(b, 64),
    0x25: lambda a, b: a >> b,
    0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: a == b,
    0x2A: lambda a, b: a >= b,
    0x2B: lambda a, b: a > b,
    0x2C: lambda a, b: a <= b,
    0x2D: lambda a, b: a < b,
    0x2E: lambda a, b: a != b,
}
_NUMBERS = {
    0x03: "Q",
    0x08: "B",
    0x09: "b",
    0x0A: "H",
    0x0B: "h",
    0x0C: "I",
    0x0D: "i",
    0x0E: "Q",
    0x0F: "q",
}


def evaluate_expression(
    expression: bytes,
    registers: Mapping[int, int],
    word: Callable[[int], int],
    first: int | None = None,
) -> int:
    """The value of a DWARF expression without jumps.  registers: {number: value}; word: what is at an address; first: what it begins with.
    Raises BadFile, IndexError, KeyError, struct.error, and what word() does."""
    data, stack = _ByteReader(expression), [] if first is None else [first]
    while data:
        code = data.read_byte()
        if len(stack) > _DEEP:
            raise BadFile("an expression of its tables is too deep")
        if 0x70 <= code <= 0x8F:
            stack.append(registers[code - 0x70] + data.read_sleb())
        elif 0x30 <= code <= 0x4F:
            stack.append(code - 0x30)
        elif code in _NUMBERS:
            stack.append(data.read_number(_NUMBERS[code]))
        elif code in (0x10, 0x11):
            stack.append(data.read_uleb(signed=code == 0x11))
        elif code == 0x06:
            stack.append(word(stack.pop()))
        elif code == 0x12:
            stack.append(stack[-1])
        elif code == 0x23:
            stack.append(stack.pop() + data.read_uleb())
        elif code in _TWO:
            last = stack.pop()
            stack.append(int(_TWO[code](stack.pop(), last)))
        else:
            raise BadFile("an expression of its tables has an unknown operation")
        stack[-1] &= (1 << 64) - 1
    return stack[-1]
