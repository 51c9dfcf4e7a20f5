"""ELF files as a tracer needs them: USDT notes, file offsets, symbols.

In: the path of a 64-bit ELF file of this machine's byte order, or of any other file.  Out: File: its notes,
where an address lies in the file, which function an address belongs to.  Always: nothing is believed; a
damaged file raises BadFile, never anything else, and no loop is longer than the file.
"""

import mmap
import os
import struct

_HEADER = struct.Struct("=16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("=IIQQQQIIQQ")
_SEGMENT = struct.Struct("=IIQQQQQQ")
_SYMBOL = struct.Struct("=IBBHQQ")
_NOTE = struct.Struct("=III")
_LOAD, _INTERPRETER = 1, 3  # program headers
_STT_FUNC, _STT_IFUNC = 2, 10
_SECTION_NAME = 1024  # bytes, at most


class BadFile(Exception):
    """Not an ELF file that can be traced; the message says why."""


class Note:
    """A USDT site.  provider, name: as D names them, the provider without a pid; address, semaphore: as
    linked, semaphore 0 where there is none; arguments: the operand string."""

    __slots__ = ("provider", "name", "address", "semaphore", "arguments")

    def __init__(self, provider, name, address, semaphore, arguments):
        self.provider, self.name, self.address = provider, name, address
        self.semaphore, self.arguments = semaphore, arguments


def d_name(name):
    """What D calls a probe of this name in a note or in C."""
    return name.replace("__", "-")


class File:
    """One ELF file, read lazily.  machine: ELF's number of the processor; shared: it has no fixed address."""

    def __init__(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self.data = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as error:  # empty, or not a regular file
            raise BadFile(f"can not be mapped: {error}") from None
        finally:
            os.close(fd)
        self._sections = self._functions = None
        self._read_header()

    def close(self):
        self.data.close()

    def _unpack(self, shape, offset):
        if not 0 <= offset <= len(self.data) - shape.size:
            raise BadFile("it is cut off")
        return shape.unpack_from(self.data, offset)

    def _read_header(self):
        ident, kind, self.machine, _, _, segments, self._table, _, _, size, n, section_size, sections, names = (
            self._unpack(_HEADER, 0))
        if ident[:5] != b"\x7fELF\x02":
            raise BadFile("not a 64-bit ELF file")
        if n and size != _SEGMENT.size or sections and section_size != _SECTION.size:
            raise BadFile("headers of an unknown size")
        self._count, self._names = sections, names
        self.shared = kind == 3
        rows = [self._unpack(_SEGMENT, segments + i * size) for i in range(n)]
        self.segments = [(row[3], row[2], row[5]) for row in rows if row[0] == _LOAD]  # address, offset, file size
        self.interpreter = next((self._text(row[2]) for row in rows if row[0] == _INTERPRETER), None)

    def _text(self, offset, limit=1 << 16):
        """The NUL-terminated text at an offset; limit: how long it may be, lest many in one long text take forever."""
        end = self.data.find(b"\0", offset, offset + limit) if 0 <= offset < len(self.data) else -1
        if end < 0:
            raise BadFile("a text is cut off")
        return self.data[offset:end].decode("utf-8", "replace")

    @property
    def sections(self):
        """{name: (type, address, offset, size, link)}; of sections with one name the last."""
        if self._sections is None:
            self._rows = [self._unpack(_SECTION, self._table + i * _SECTION.size) for i in range(self._count)]
            names = self._rows[self._names][4] if self._names < len(self._rows) else 0
            self._sections = {self._text(names + row[0], _SECTION_NAME): (row[1], row[3], row[4], row[5], row[6])
                              for row in self._rows}
        return self._sections

    def offset(self, address):
        """Where an address as linked lies in the file, or None."""
        for start, offset, size in self.segments:
            if start <= address < start + size:
                return address - start + offset
        return None

    # --- notes -----------------------------------------------------------------------

    def notes(self):
        """[Note] of .note.stapsdt, addresses corrected for prelinking."""
        section = self.sections.get(".note.stapsdt")
        if section is None:
            return []
        base = self.sections.get(".stapsdt.base", (0, None))[1]
        place, end = section[2], min(section[2] + section[3], len(self.data))
        found = []
        while place + _NOTE.size <= end:
            name_size, size, kind = self._unpack(_NOTE, place)
            name = place + _NOTE.size
            content = name + (name_size + 3 & ~3)
            place = content + (size + 3 & ~3)
            if content + size > end:
                raise BadFile("a note is cut off")
            if kind == 3 and self.data[name : name + name_size] == b"stapsdt\0":
                found.append(self._note(content, size, base))
        return found

    def _note(self, content, size, base):
        texts = self.data[content + 24 : content + size].split(b"\0")
        if size < 24 or len(texts) < 3:
            raise BadFile("a note is too short")
        address, note_base, semaphore = struct.unpack_from("=QQQ", self.data, content)
        moved = base - note_base if base is not None else 0
        provider, name, arguments = (text.decode("utf-8", "replace") for text in texts[:3])
        return Note(provider, d_name(name), address + moved, semaphore + moved if semaphore else 0, arguments)

    # --- symbols ---------------------------------------------------------------------

    def symbols(self):
        """(name offset, info, other, section, address, size) of all symbols, and where their names are:
        of .symtab, or of .dynsym where the file is stripped."""
        for table in (".symtab", ".dynsym"):
            if table in self.sections:
                _, _, offset, size, link = self.sections[table]
                if link >= len(self._rows) or offset + size > len(self.data):
                    raise BadFile("its symbol table is cut off")
                rows = _SYMBOL.iter_unpack(self.data[offset : offset + size - size % _SYMBOL.size])
                return rows, self._rows[link][4]
        return iter(()), 0

    def functions(self):
        """[(address, name)] of the functions that a probe can be put on, ascending."""
        rows, names = self.symbols()
        found, room = set(), 4 * len(self.data)
        for row in rows:
            if row[1] & 15 == _STT_FUNC and row[3] and row[4]:
                name = self._text(names + row[0])
                room -= len(name)
                if room < 0:  # they are parts of one long text
                    raise BadFile("its names are longer than it is")
                found.add((row[4], name))
        return sorted(found)

    def function(self, address):
        """The name of the function that an address as linked lies in, or ""."""
        if self._functions is None:
            rows, names = self.symbols()
            self._functions = sorted(
                (row[4], row[5], names + row[0]) for row in rows if row[1] & 15 in (_STT_FUNC, _STT_IFUNC) and row[3])
        low, high = 0, len(self._functions)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._functions[middle][0] <= address else (low, middle)
        if low:
            start, size, name = self._functions[low - 1]
            if address < start + max(size, 1):
                return self._text(name)
        return ""

    def symbol(self, name):
        """The address of a symbol of this name, or None."""
        wanted = name.encode() + b"\0"
        rows, names = self.symbols()
        for row in rows:
            at = names + row[0]
            if row[3] and self.data[at : at + len(wanted)] == wanted:
                return row[4]
        return None
