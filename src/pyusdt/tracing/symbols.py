"""Names for addresses: stacks, usym() and its like, %a, %A and %k.

In: raw addresses out of records and keys, and the process they belong to.  Out: text, dtrace's own; of keys that print
alike one that stands for all of them.
Always: a process that has ended, a file that can not be read or is damaged costs the name, never the record: then the
address is printed.  A process's map is read again where an address lies in none of its files.
"""

from __future__ import annotations

from bisect import bisect_right

from ..data import walked
from ..data.addresses import Addresses, grouped
from ..data.harmless import harmless
from ..data.types import PLACE
from ..engine import mapped
from .beside import beside
from .perf_map import PerfMaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from ..data.program import Data
    from ..data.types import Naming

    Found = tuple[str | None, str | None, int]
    Segments = list[tuple[int, int, int]]
    Files = dict[tuple[str, int, str], tuple["_Table", Segments]]

_NAMED = (1, 2, 10)  # ELF: data, functions, functions chosen at run time
_NAME = 1 << 16  # bytes of one; a longer one is none
_ROOM = 4  # times a file's size: so much its names may be together, many of which may be parts of one long text
_TEXT = "tTwW"  # kinds of /proc/kallsyms


class _Table:
    """The symbols of one file or of the kernel, by address."""

    __slots__ = ("starts", "rows")

    def __init__(self, rows: Iterable[tuple[int, int, str]]) -> None:
        """rows: (address, size, name)."""
        self.rows = sorted(rows, key=lambda row: (row[0], row[1]))
        self.starts = [row[0] for row in self.rows]

    def find(self, address: int) -> tuple[int, str] | None:
        """(start, name) of what the address lies in, or None."""
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        start, size, name = self.rows[at]
        return (start, name) if address < start + max(size, 1) else None


_NOTHING = _Table(())


def _table_of(path: str, inode: int | None = None) -> tuple[_Table, Segments]:
    """The _Table of an ELF file's symbols, and its segments; inode: as elf.File."""
    from ..engine.elf import BadFile, File

    try:
        file = File(path, inode)
    except (BadFile, OSError):
        return _NOTHING, []
    try:
        rows, names = file.symbols()
        found, room = [], _ROOM * file.size
        for name, info, _, section, address, size in rows:
            if info & 15 in _NAMED and section and address and room > 0:
                end = names.find(b"\0", name, name + _NAME)
                room -= end - name if end >= 0 else _NAME
                if end >= 0:
                    found.append((address, size, names[name:end].decode("utf-8", "replace")))
        return _Table(found), file.segments
    except BadFile:
        return _NOTHING, []
    finally:
        file.close()


class _Process:
    """The files that a process has mapped."""

    def __init__(self, pid: int, files: Files, maps_of: Callable[[int], Sequence[str]]) -> None:
        self.pid, self._files, self._maps_of = pid, files, maps_of
        self.read()

    def read(self) -> None:
        """[(first address, end, offset in the file, Mapping)] ascending."""
        try:
            lines = mapped.lines(self.pid)
        except OSError:
            lines = []
        found = map(mapped.mapping, lines or self._maps_of(self.pid))
        self.maps = [(each.start, each.end, each.offset, each) for each in found if each]

    def find(self, address: int) -> tuple[mapped.Mapping, int] | None:
        """(Mapping, address as linked in that file), or None."""
        for low, high, offset, where in self.maps:
            if low <= address < high:
                return self.linked(where, address - low + offset)
        return None

    def linked(self, where: mapped.Mapping, in_file: int) -> tuple[mapped.Mapping, int]:
        """(where, the address of what is there in the file)."""
        for start, begin, size in self.table(where)[1]:
            if begin <= in_file < begin + size + 4096:
                return where, in_file - begin + start
        return where, in_file

    def table(self, where: mapped.Mapping) -> tuple[_Table, Segments]:
        """Files are told apart as the kernel does: in another mount namespace another one may have the same path."""
        if where.file not in self._files:
            found = mapped.find(self.pid, where)
            self._files[where.file] = _table_of(found[0], found[1].st_ino) if found else (_NOTHING, [])
        return self._files[where.file]


# Who knows the names of code that lies in no file, that of a just-in-time compiler or an interpreter, say: makers of
# f(pid, address) -> text or None.  The first that knows an address names it.
FRAME_RESOLVERS = [PerfMaps]


class Symbols(Addresses):
    """options: noresolve, stackindent; maps_of: Engine.maps_of, for processes that have ended; name_of: Engine.name_of; code_of:
    Engine.code_of.
    Process ids are the traced ones', 0 the kernel's."""

    def __init__(self, options: Mapping[str, Any] | None = None, maps_of: Callable[[int], Sequence[str]] = lambda pid: (),
                 name_of: Callable[[int, int], str | None] = lambda pid, address: None,
                 code_of: Callable[[int], tuple[mapped.Mapping | None, int] | None] = lambda address: None) -> None:
        super().__init__(options or {})
        self._maps_of, self._name_of, self._code_of = maps_of, name_of, code_of
        self._resolvers = [make() for make in FRAME_RESOLVERS]
        self._files: Files = {}
        self._processes: dict[int, _Process] = {}
        self._kernel: _Table | None = None
        self._alike: dict[tuple[int, str], int] = {}  # (pid, name) -> the address that stands for it

    # --- finding ----------------------------------------------------------------------
    def _process(self, pid: int) -> _Process:
        if pid not in self._processes:
            self._processes[pid] = _Process(pid, self._files, self._maps_of)
        return self._processes[pid]

    def _place(self, pid: int, address: int) -> tuple[mapped.Mapping, int] | None:
        process = self._process(pid)
        found = process.find(address)
        if found is None:
            kept = process.maps
            process.read()
            found = process.find(address)
            process.maps = process.maps or kept  # of one that has ended what was known stays
        return found

    def find(self, pid: int, address: int) -> Found:
        """(module, symbol, distance to it) of an address; module None: unknown; symbol None: distance is from the
        beginning of the file."""
        if not pid:
            return self._find_kernel(address)
        code = self._code_of(address)
        if code is None:
            found = self._place(pid, address)
        elif code[0] is None:
            return None, None, code[1]
        else:
            found = self._process(pid).linked(code[0], code[1])
        if found is None:
            return None, None, address
        where, linked = found
        symbol = None if self.options.get("noresolve") else self._process(pid).table(where)[0].find(linked)
        return (where.name, None, linked) if symbol is None else (where.name, symbol[1], linked - symbol[0])

    def _find_kernel(self, address: int) -> Found:
        if self._kernel is None:
            self._kernel = _Table(_kernel_symbols())
        found = self._kernel.find(address) if not self.options.get("noresolve") else None
        if found is None:
            return None, None, address
        name, _, module = found[1].partition("\t")
        return module or "vmlinux", name, address - found[0]

    def grouping(self, named: Sequence[Data]) -> Callable[[bytes], bytes]:
        """A function from a key of an aggregation to the one that stands for all keys of its process that print alike;
        named: the key's Data that are Stacks or Symbols.  It is for one look: what a process maps may change."""
        known: dict[tuple[Naming, int, int], int] = {}

        def one(naming: Naming, pid: int, address: int) -> int:
            found = known.get((naming, pid, address))
            if found is None:
                found = known[naming, pid, address] = self.group(naming, pid, address)
            return found

        return lambda key: grouped(key, named, one)

    def group(self, naming: Naming, pid: int, address: int) -> int:
        """The address that stands for all of a process that are printed by one name: in a function its beginning, as in dtrace,
        else the first that was seen."""
        if told := self._name_of(pid, address):
            return self._alike.setdefault((pid, told), address)
        _, name, distance = self.find(pid, address)
        first = address - distance if name and naming.whole and self._code_of(address) is None else address
        return self._alike.setdefault((pid, self._name(pid, address, naming)), first)

    # --- text -------------------------------------------------------------------------
    def name(self, pid: int, address: int, naming: Naming = PLACE) -> str:
        """Text of one address."""
        return harmless(self._name(pid, address, naming))

    def names(self, pid: int, frames: Sequence[int]) -> list[str]:
        """Where an interpreter's frames follow the native ones, they stand in the place of its own functions."""
        texts = super().names(pid, frames)
        native = next((at for at, frame in enumerate(frames) if walked.is_frame(frame)), 0) if pid else 0
        return beside(texts[:native], texts[native:], frames[native:]) if native else texts

    def _name(self, pid: int, address: int, naming: Naming) -> str:
        if told := self._name_of(pid, address):
            return told
        module, symbol, distance = self.find(pid, address)
        if module is None:
            return self._resolved(pid, distance) or f"0x{distance:x}"
        if naming.module:
            return module
        if symbol is None:
            return f"{module}:0x{distance:x}" if self.options.get("noresolve") else f"{module}`0x{distance if self._code_of(address) else address:x}"
        if naming.distance and distance:
            return f"{module}`{symbol}+0x{distance:x}"
        return f"{module}`{symbol}"

    def _resolved(self, pid: int, address: int) -> str | None:
        if not pid or self.options.get("noresolve"):
            return None
        return next((text for text in (resolve(pid, address) for resolve in self._resolvers) if text), None)


def _kernel_symbols() -> list[tuple[int, int, str]]:
    """Rows of /proc/kallsyms: a symbol reaches to the next; no rows where the kernel hides the addresses."""
    found = []
    try:
        with open("/proc/kallsyms") as file:
            for line in file:
                address, kind, name, *module = line.split()
                if kind in _TEXT:
                    found.append((int(address, 16), name + "\t" + "".join(module).strip("[]")))
    except (OSError, ValueError):
        return []
    found.sort()
    if not found or not found[-1][0]:
        return []
    ends = [row[0] for row in found[1:]] + [found[-1][0] + 4096]
    return [(start, end - start, name) for (start, name), end in zip(found, ends)]
