"""Reads ELF files as far as a tracer needs them: USDT notes, file offsets, symbols.

- A file is untrusted. A damaged one raises BadFile and nothing else.
- No loop is longer than the file, and no part larger than SECTION_LIMIT is read at once.
- Files are read, not mapped: their owner may truncate them meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import struct
from array import array
from bisect import bisect_right

from pydtrace.untrusted.safe_open import open_regular

from .symbol_table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    from pydtrace.process.maps import Mapping

    class HasSegments(Protocol):
        @property
        def segments(self) -> list[Segment]: ...


_HEADER = struct.Struct("=16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("=IIQQQQIIQQ")
_SEGMENT = struct.Struct("=IIQQQQQQ")
_SYMBOL = struct.Struct("=IBBHQQ")
_NOTE = struct.Struct("=III")
_RELOCATION = struct.Struct("=QQq")
_IRELATIVE = {62: 37, 183: 1032}  # {e_machine: R_…_IRELATIVE}
_LOAD, _INTERPRETER, _THREAD_LOCAL = 1, 3, 7  # program headers
_STT_FUNC, _STT_IFUNC = 2, 10
_SYMTAB = 2
_BUILD_ID, _MINI_DEBUG = ".note.gnu.build-id", ".gnu_debugdata"
DEBUG_FILES = "/usr/lib/debug/.build-id"
_UNPACKED_LIMIT, _UNPACK_MEMORY = 32 << 20, 64 << 20  # bytes of packed symbols, of memory for them
_HIDDEN = 0x8000  # of a symbol's version: it is not the default
_SYMBOL_TABLES = ".symtab", ".dynsym"
_MAX_SECTION_NAME = 128  # bytes, at most
_MAX_SECTIONS = 1024
_MAX_PATH = 4096
_INDEX_HEAD = 12  # bytes of .eh_frame_hdr before its rows
_MAX_SEGMENTS = 1024  # no kernel starts a program with more
SECTION_LIMIT = 128 << 20  # bytes of a section: five million symbols
_NOTES_LIMIT = (
    16 << 20
)  # bytes of all notes, of which each becomes an object that is many times its size


class BadFile(Exception):
    """Not an ELF file that can be traced; the message says why."""


class Segment:
    """A part of a file that is loaded.  address: as linked; size: bytes in the file; flags: EXECUTES, WRITES; room: bytes in memory, those
    that the file has no content for among them."""

    __slots__ = ("address", "offset", "size", "flags", "room")

    def __init__(self, address: int, offset: int, size: int, flags: int, room: int = 0) -> None:
        self.address, self.offset, self.size, self.flags = address, offset, size, flags
        self.room = max(size, room)


EXECUTES, WRITES = 1, 2


def linked_address(segments: Iterable[Segment], access: str, offset: int) -> int | None:
    """The address as linked of what is at an offset of a file that is mapped so, or None.  access: of the mapping, as maps have it ("r-xp"),
    "" where it is not known.  A segment lies in the file as the linker likes: one page of the file may hold parts of several, each of which
    is mapped with all of the page; what the page has besides belongs to the segment that it is mapped for."""
    if "x" in access:
        groups = [[each for each in segments if each.flags & EXECUTES]]
    elif "w" in access:
        groups = [[each for each in segments if each.flags & WRITES]]
    elif access:  # read alone are some of those that are written until the program is linked, too
        groups = [
            [each for each in segments if not each.flags & (EXECUTES | WRITES)],
            [each for each in segments if each.flags & WRITES],
        ]
    else:
        groups = [[each for each in segments if each.flags & EXECUTES]]
    for group in (*groups, [] if access else segments):
        for each in group:
            if each.offset <= offset < each.offset + each.size:
                return each.address - each.offset + offset
    for group in (*groups, segments) if access else ():
        for each in group:
            begin, end = (
                each.offset & -mmap.PAGESIZE,
                each.offset + each.size + mmap.PAGESIZE - 1 & -mmap.PAGESIZE,
            )
            if begin <= offset < end:
                return each.address - each.offset + offset
    return None


class UsdtNote:
    """A USDT site.  provider, name: as D names them, the provider without a pid; address, semaphore: as
    linked, semaphore 0 where there is none; arguments: the operand string."""

    __slots__ = ("provider", "name", "address", "semaphore", "arguments")

    def __init__(
        self, provider: str, name: str, address: int, semaphore: int, arguments: str
    ) -> None:
        self.provider, self.name, self.address = provider, name, address
        self.semaphore, self.arguments = semaphore, arguments


def dtrace_name(name: str) -> str:
    """What D calls a probe of this name in a note or in C."""
    return name.replace("__", "-")


class ElfFile:
    """One ELF file, read lazily.  machine: ELF's number of the processor; entry: where a program begins, as linked; shared: it has no fixed address; size: bytes.
    inode: the number that it must have, or None for any; mode: as open_regular()."""

    _fd = -1

    def __init__(self, path: str, inode: int | None = None, mode: int = 0) -> None:
        self._fd = open_regular(path, mode=mode)
        self._sections: dict[str, tuple[int, int, int, int, int]] | None = None
        self._functions: Table | None = None
        self._frames: tuple[array[int], array[int]] | None = None
        self._resolvers: dict[str, int] | None = None
        status = os.fstat(self._fd)
        if inode is not None and status.st_ino != inode:
            raise BadFile("another file is in its place")
        self.size, self.device = status.st_size, status.st_dev
        self._read_header()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close

    @property
    def path(self) -> str:
        """A path of the very file that is open, whatever has come into its place since.  Not after close()."""
        return f"/proc/self/fd/{self._fd}"

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the file, all of them."""
        if not 0 <= offset <= self.size - size or size > SECTION_LIMIT:
            raise BadFile("it is cut off" if size <= SECTION_LIMIT else "a part of it is too large")
        try:
            data = os.pread(self._fd, size, offset)
        except OSError as error:
            raise BadFile(f"cannot be read: {error.strerror}") from None
        if len(data) < size:
            raise BadFile("it is cut off")
        return data

    def _read_rows(self, shape: struct.Struct, offset: int, n: int) -> list[tuple[Any, ...]]:
        return list(shape.iter_unpack(self.read(offset, n * shape.size)))

    def _read_header(self) -> None:
        [
            (
                ident,
                kind,
                self.machine,
                _,
                self.entry,
                segments,
                self._table,
                _,
                _,
                size,
                n,
                section_size,
                sections,
                names,
            )
        ] = self._read_rows(_HEADER, 0, 1)
        if ident[:5] != b"\x7fELF\x02":
            raise BadFile("not a 64-bit ELF file")
        if n and size != _SEGMENT.size or sections and section_size != _SECTION.size:
            raise BadFile("headers of an unknown size")
        if n > _MAX_SEGMENTS or sections > _MAX_SECTIONS:
            raise BadFile("it has too many segments or sections")
        self._count, self._names = sections, names
        self.shared = kind == 3
        rows = self._read_rows(_SEGMENT, segments, n) if n else []
        self.segments = [
            Segment(row[3], row[2], row[5], row[1], row[6]) for row in rows if row[0] == _LOAD
        ]
        thread_local = next(
            ((row[6], row[7]) for row in rows if row[0] == _THREAD_LOCAL), (0, 1)
        )  # size in memory, alignment
        align = max(thread_local[1], 1)
        self.thread_local = min(-(-thread_local[0] // align) * align, SECTION_LIMIT)
        self.interpreter = next(
            (
                _read_string(self.read(row[2], min(row[5], _MAX_PATH)), 0)
                for row in rows
                if row[0] == _INTERPRETER and row[5]
            ),  # a file of symbols alone has nothing there
            None,
        )

    @property
    def sections(self) -> dict[str, tuple[int, int, int, int, int]]:
        """{name: (type, address, offset, size, link)}; of sections with one name the last."""
        if self._sections is None:
            self._section_rows = rows = (
                self._read_rows(_SECTION, self._table, self._count) if self._count else []
            )
            names = self._read_string_table(self._names)
            self._sections = {
                _read_string(names, row[0], _MAX_SECTION_NAME): (
                    row[1],
                    row[3],
                    row[4],
                    row[5],
                    row[6],
                )
                for row in rows
            }
        return self._sections

    def _read_string_table(self, number: int) -> bytes:
        """The bytes of a section of texts, by its number."""
        if number >= len(self._section_rows):
            return b""
        return self.read(self._section_rows[number][4], self._section_rows[number][5])

    def file_offset(self, address: int) -> int | None:
        """Where an address as linked lies in the file, or None."""
        for each in self.segments:
            if each.address <= address < each.address + each.size:
                return address - each.address + each.offset
        return None

    # --- notes -----------------------------------------------------------------------

    @property
    def notes_size(self) -> int:
        """Bytes of .note.stapsdt, as far as the file has them."""
        return min(self.sections.get(".note.stapsdt", (0, 0, 0, 0))[3], self.size)

    def read_notes(self) -> list[UsdtNote]:
        """[Note] of .note.stapsdt, addresses corrected for prelinking."""
        section = self.sections.get(".note.stapsdt")
        if section is None:
            return []
        base = self.sections.get(".stapsdt.base", (0, None))[1]
        data, place = self.read(section[2], section[3]), 0
        if len(data) > _NOTES_LIMIT:
            raise BadFile("its notes are too large")
        found = []
        while place + _NOTE.size <= len(data):
            name_size, size, kind = _NOTE.unpack_from(data, place)
            name = place + _NOTE.size
            content = name + (name_size + 3 & ~3)
            place = content + (size + 3 & ~3)
            if content + size > len(data):
                raise BadFile("a note is cut off")
            if kind == 3 and data[name : name + name_size] == b"stapsdt\0":
                found.append(self._parse_note(data[content : content + size], base))
        return found

    @staticmethod
    def _parse_note(content: bytes, base: int | None) -> UsdtNote:
        texts = content[24:].split(b"\0")
        if len(content) < 24 or len(texts) < 3:
            raise BadFile("a note is too short")
        address, note_base, semaphore = struct.unpack_from("=QQQ", content)
        moved = base - note_base if base is not None else 0
        provider, name, arguments = (text.decode("utf-8", "replace") for text in texts[:3])
        return UsdtNote(
            provider,
            dtrace_name(name),
            address + moved,
            semaphore + moved if semaphore else 0,
            arguments,
        )

    # --- symbols ---------------------------------------------------------------------

    def open_debug_files(self) -> list[ElfFile]:
        """[File] of the symbols that a stripped file has left elsewhere: what distributions keep for debuggers, by the number of its build, or
        packed in itself.  Whoever asks closes them."""
        if self.sections.get(_SYMBOL_TABLES[0], (0,))[0] == _SYMTAB:
            return []
        found = []
        with contextlib.suppress(BadFile, OSError):
            if path := self._debug_path():
                found.append(ElfFile(path))
            elif _MINI_DEBUG in self.sections:
                _, _, offset, size, _ = self.sections[_MINI_DEBUG]
                found.append(_unpack_symbols(self.read(offset, size)))
        return found

    def _debug_path(self) -> str | None:
        """Of the file for debuggers, None: there is none."""
        if _BUILD_ID not in self.sections:
            return None
        _, _, offset, size, _ = self.sections[_BUILD_ID]
        number = self.read(offset, min(size, 64))[16:].hex()
        path = f"{DEBUG_FILES}/{number[:2]}/{number[2:]}.debug"
        return path if number and os.path.exists(path) else None

    def read_symbols(self, limit: int = SECTION_LIMIT) -> tuple[Iterator[tuple[int, ...]], bytes]:
        """(name, info, other, section, address, size) of all symbols, name an offset in the bytes that hold the names, and
        these: of .symtab, or of .dynsym where the file is stripped.  most: bytes."""
        for table in _SYMBOL_TABLES:
            if table in self.sections:
                _, _, offset, size, link = self.sections[table]
                if size > limit:
                    raise BadFile("its table of symbols is too large")
                return _SYMBOL.iter_unpack(
                    self.read(offset, size - size % _SYMBOL.size)
                ), self._read_string_table(link)
        return iter(()), b""

    @property
    def symbols_size(self) -> int:
        """Bytes of the table that read_symbols() reads, as far as the file has them."""
        table = next(
            (self.sections[name] for name in _SYMBOL_TABLES if name in self.sections), None
        )
        return min(table[3], self.size) if table else 0

    def read_functions(self) -> list[tuple[int, int, str]]:
        """[(address, size, name)] of the functions that a probe can be put on, ascending.  Of a name with several versions it is the default's."""
        rows, names = self.read_symbols()
        found: dict[tuple[int, str], int] = {}
        older: dict[tuple[int, str], int] = {}
        choosers: dict[str, int] = {}
        room = 4 * self.size
        for row, is_older in zip(rows, self._hidden_versions()):
            if row[1] & 15 == _STT_FUNC and row[3] and row[4]:
                name = _read_string(names, row[0])
                room -= len(name)
                if room < 0:  # they are parts of one long text
                    raise BadFile("its names are longer than it is")
                name, at, version = name.partition("@")  # a table for the linker has them so
                if is_older or (at and not version.startswith("@")):
                    older[row[4], name] = row[5]
                else:
                    found[row[4], name] = row[5]
            elif row[1] & 15 == _STT_IFUNC and row[3] and not is_older:
                choosers[_read_string(names, row[0]).partition("@")[0]] = row[4]
        self._resolvers = choosers
        current = {
            *choosers,
            *(name for _, name in found),
        }  # what a chooser's name stands for now is no function at one address
        found.update({key: size for key, size in older.items() if key[1] not in current})
        return sorted((address, size, name) for (address, name), size in found.items())

    def ifunc_resolvers(self) -> dict[str, int]:
        """{name: the code that chooses} of the names that stand for one of several functions, chosen when the file is loaded (STT_IFUNC)."""
        if self._resolvers is None:
            self.read_functions()
        assert self._resolvers is not None
        return self._resolvers

    def ifunc_slots(self, resolvers: set[int]) -> dict[int, int]:
        """{the code that chooses: where a process has the address that it has chosen}, both as linked, of the file's own calls; choosers:
        a set, of which is asked."""
        found: dict[int, int] = {}
        for name in (".rela.plt", ".rela.dyn"):
            if name in self.sections:
                _, _, offset, size, _ = self.sections[name]
                rows = _RELOCATION.iter_unpack(self.read(offset, size - size % _RELOCATION.size))
                found.update(
                    (chooser, where)
                    for where, kind, chooser in rows
                    if kind == _IRELATIVE.get(self.machine) and chooser in resolvers
                )
        return found

    def _hidden_versions(self) -> Iterable[bool]:
        """For each symbol that read_symbols() has whether it is of a version that nothing new is linked with."""
        if _SYMBOL_TABLES[0] in self.sections or ".gnu.version" not in self.sections:
            return itertools.repeat(False)
        _, _, offset, size, _ = self.sections[".gnu.version"]
        versions = memoryview(self.read(offset, size - size % 2)).cast("H")
        return itertools.chain(
            (version & _HIDDEN != 0 for version in versions), itertools.repeat(False)
        )

    def find_function_name(self, address: int) -> str:
        """The name of the function that an address as linked lies in, or ""."""
        if self._functions is None:
            rows, texts = self.read_symbols()
            self._functions = Table(
                (
                    (row[4], row[5], row[0])
                    for row in rows
                    if row[1] & 15 in (_STT_FUNC, _STT_IFUNC) and row[3]
                ),
                texts,
            )
        found = self._functions.find(address)
        return found[1] if found else ""

    def find_frame(self, address: int) -> tuple[int, int] | None:
        """(begin, end) of the code with this address that one entry of the tables of frames (.eh_frame) is about, or None; None, too, where
        the file has no index of them, or not the usual one."""
        if self._frames is None:
            self._frames = self._read_frame_index()
        starts, entries = self._frames
        at = bisect_right(starts, address) - 1
        if at < 0:
            return None
        base = self.sections[".eh_frame"][1]
        where = entries[at] - base + self.sections[".eh_frame"][2]
        start, size = struct.unpack(
            "=iI", self.read(where + 8, 8)
        )  # behind its length and its kind
        end = starts[at] + size
        return (
            (starts[at], end) if entries[at] + 8 + start == starts[at] and address < end else None
        )

    def _read_frame_index(self) -> tuple[array[int], array[int]]:
        """What .eh_frame_hdr says: where code begins, ascending, and where the entry of each is."""
        _, address, offset, size, _ = self.sections.get(".eh_frame_hdr", (0, 0, 0, 0, 0))
        head = (
            self.read(offset, size) if size >= _INDEX_HEAD and ".eh_frame" in self.sections else b""
        )
        if (
            head[:4] != b"\x01\x1b\x03\x3b"
        ):  # numbers of 4 bytes; pairs of them from the beginning on, sorted
            return array("q"), array("q")
        [count] = struct.unpack_from("=I", head, 8)
        rows = memoryview(head)[12 : 12 + 8 * min(count, (size - 12) // 8)].cast("i")
        return array("q", [address + each for each in rows[::2]]), array(
            "q", [address + each for each in rows[1::2]]
        )

    def find_symbol(self, name: str) -> int | None:
        """The address of a symbol of this name, or None."""
        wanted = name.encode() + b"\0"
        rows, names = self.read_symbols()
        places: set[int] = (
            set()
        )  # a linker stores a name within a longer one that ends with it, too
        at = names.find(wanted)
        while at >= 0 and len(places) < _SAME_NAMES:
            places.add(at)
            at = names.find(wanted, at + 1)
        return next((row[4] for row in rows if row[0] in places and row[3]), None)


_SAME_NAMES = 1024  # a hostile file may be full of one name


def _unpack_symbols(data: bytes) -> ElfFile:
    """The File that is packed in .gnu_debugdata."""
    try:
        import lzma  # few files need it, and not every Python has it
    except ImportError as error:
        raise BadFile(str(error)) from None
    try:
        content = lzma.LZMADecompressor(memlimit=_UNPACK_MEMORY).decompress(data, _UNPACKED_LIMIT)
    except (EOFError, lzma.LZMAError) as error:
        raise BadFile(f"its packed symbols cannot be read: {error}") from None
    fd = os.memfd_create("pyusdt-symbols", os.MFD_CLOEXEC)
    try:
        os.write(fd, content)
        return ElfFile(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def _read_string(texts: bytes, offset: int, limit: int = 1 << 16) -> str:
    """The NUL-terminated text at an offset; limit: how long it may be, lest many in one long text take forever."""
    end = texts.find(b"\0", offset, offset + limit)
    if end < 0:
        raise BadFile("a text is cut off")
    return texts[offset:end].decode("utf-8", "replace")


def load_bias(file: HasSegments, mapping: Mapping) -> int:
    """What a mapping adds to the addresses of its file as linked.  file: one with segments; mapping: of process.maps."""
    address = linked_address(file.segments, mapping.access, mapping.offset)
    if address is None:
        raise BadFile("it is not mapped as it says")
    return mapping.start - address
