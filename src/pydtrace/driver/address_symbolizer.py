"""Names for addresses in records and keys: stacks, usym() and its like, %a, %A and %k.

- The text is dtrace's. Keys that print alike are one key.
- Where a process has ended, or a file cannot be read or is damaged, the address is printed; the
  record is never lost.
- The map of a process is read again if an address is in none of its files.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_right
from collections import OrderedDict

from pydtrace.dtrace_text.address_text import AddressFormatter, replace_addresses, replace_storage
from pydtrace.process import maps
from pydtrace.program.d_types import SYMBOL_AND_OFFSET
from pydtrace.symbols import elf
from pydtrace.symbols.demangle import demangle
from pydtrace.symbols.file_symbols import NO_SYMBOLS, SYMBOL_CACHE, FileSymbols
from pydtrace.symbols.perf_map import PerfMaps
from pydtrace.symbols.symbol_table import Table
from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget
from pydtrace.untrusted.io_worker import read_process_user
from pydtrace.untrusted.responsive_fs import RESPONSIVE_FS
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pydtrace.untrusted.user_quota import ROOT, canonical_uid
from pydtrace.unwind import python_frame_words
from pydtrace.unwind.merge_frames import interleave_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from pydtrace.program.d_types import Naming
    from pydtrace.program.program import Data

    Found = tuple[str | None, str | None, int]

_SIGNAL_RETURNS = (
    "__restore_rt",
    "__restore",
)  # what a signal's handler returns to, which nobody has called
_CODE_KINDS = "tTwW"  # kinds of /proc/kallsyms
_OWN_BURST, _OTHERS_BURST, _SHARE = (
    30.0,
    3.0,
    20,
)  # seconds at once and one of how many, to read what a user's processes and files say
_MAPS_LIMIT, _PROCESS_SIZE = (
    16 << 20,
    1 << 10,
)  # bytes of the maps of all processes; of one that has none
_MAX_REPRESENTATIVES = 1 << 18  # names of addresses that others stand for
_MAX_FILES = 1 << 14  # of processes, that are remembered
_REQUIRED_MODE = (
    stat.S_IROTH if hasattr(os, "geteuid") and os.geteuid() == 0 else 0
)  # of the mode of a file that a process, or a recording, names


class _ProcessMaps:
    """The files that a process has mapped."""

    def __init__(self, pid: int, lines: Sequence[str]) -> None:
        self.pid, self.user = pid, read_process_user(pid)
        self.put(lines)

    def put(self, lines: Sequence[str]) -> None:
        """What its maps say now."""
        self.size = _PROCESS_SIZE + sum(map(len, lines))
        self._maps = [each for each in map(maps.parse_mapping, lines) if each]
        self._starts = [each.start for each in self._maps]
        self._of_files = {(each.device, each.inode): each for each in self._maps}

    def find_mapping(self, address: int) -> maps.Mapping | None:
        at = bisect_right(self._starts, address) - 1
        return self._maps[at] if at >= 0 and address < self._maps[at].end else None

    def find_same_file(self, mapping: maps.Mapping) -> maps.Mapping | None:
        """A mapping of the file that the process says it has, or None."""
        return self._of_files.get((mapping.device, mapping.inode))


# Who knows the names of code that lies in no file, that of a just-in-time compiler or an interpreter, say: makers of
# f(pid, address) -> text or None.  The first that knows an address names it.  `late` of one are users for whose names it had no time.
FRAME_RESOLVERS = [PerfMaps]


class AddressSymbolizer(AddressFormatter):
    """options: noresolve, demangle, stackindent; maps_of: Engine.maps_of, for processes that have ended; name_of: Engine.name_of; code_of:
    Engine.code_of.
    Process ids are the traced ones', 0 the kernel's."""

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        maps_of: Callable[[int], Sequence[str]] = lambda pid: (),
        name_of: Callable[[int, int], str | None] = lambda pid, address: None,
        code_of: Callable[[int], tuple[maps.Mapping | None, int] | None] = lambda address: None,
    ) -> None:
        super().__init__(options or {})
        self._maps_of, self._name_of, self._code_of = maps_of, name_of, code_of
        self._resolvers = [make() for make in FRAME_RESOLVERS]
        self._files: dict[tuple[bool, tuple[str, int, str]], FileSymbols] = {}
        self._processes: OrderedDict[int, _ProcessMaps] = OrderedDict()
        self._maps_size = 0  # bytes of all their maps
        self._budgets: dict[int, CpuTimeBudget] = {}  # by user
        self._late_users: set[int] = set()  # users for whose names there was no time left
        self._kernel_table: Table | None = None
        self._representatives: dict[
            tuple[int, str], int
        ] = {}  # (pid, name) -> the address that stands for it
        self._representative_bytes: dict[
            tuple[int, Naming, tuple[str, ...]], bytes
        ] = {}  # (size, …, names) -> the bytes that stand for them, of all processes

    # --- finding ----------------------------------------------------------------------
    def _find_process(self, pid: int) -> _ProcessMaps:
        found = self._processes.get(pid)
        if found is None:
            found = _ProcessMaps(pid, self._read_maps(pid))
            self._store_process(found, 0)
        self._processes.move_to_end(pid)
        return found

    def _read_maps(self, pid: int) -> Sequence[str]:
        try:
            found = maps.read_maps(pid)
        except OSError:
            found = []
        return found or self._maps_of(pid)

    def _store_process(self, process: _ProcessMaps, before: int) -> None:
        """before: the size that it had."""
        self._processes[process.pid] = process
        self._maps_size += process.size - before
        while self._maps_size > _MAPS_LIMIT and len(self._processes) > 1:
            self._maps_size -= self._processes.popitem(last=False)[1].size

    def warnings(self) -> list[str]:
        """What could not be named in time, each reported once."""
        for resolver in self._resolvers:
            self._late_users |= getattr(resolver, "late", set())
        messages = [
            f"names of functions of user {user}'s processes were not all read: their files and maps take too long"
            for user in sorted(self._late_users)
        ]
        for late in (self._late_users, *(getattr(each, "late", set()) for each in self._resolvers)):
            late.clear()
        messages += RESPONSIVE_FS.drain_messages()
        return messages

    def _user_budget(self, user: int) -> CpuTimeBudget:
        if user not in self._budgets:
            self._budgets[user] = CpuTimeBudget(
                _OWN_BURST if user in (ROOT, canonical_uid(os.getuid())) else _OTHERS_BURST, _SHARE
            )
        return self._budgets[user]

    def _find_location(self, pid: int, address: int) -> tuple[maps.Mapping | None, int]:
        """(Mapping, the offset in its file), or None and the address."""
        process = self._find_process(pid)
        found = process.find_mapping(address)
        if found is None:
            found = self._refresh_and_find(process, address)
        return (found, address - found.start + found.offset) if found else (None, address)

    def _refresh_and_find(self, process: _ProcessMaps, address: int) -> maps.Mapping | None:
        """By what its maps say now."""
        time = self._user_budget(process.user)
        if not time.is_available:
            self._late_users.add(process.user)
            return None
        with time.charge_time():
            lines, before = self._read_maps(process.pid), process.size
            if lines:  # of one that has ended what was known stays
                process.put(lines)
                self._store_process(process, before)
            return process.find_mapping(address)

    def _load_symbols(self, pid: int, where: maps.Mapping) -> FileSymbols:
        """Of the file of a mapping.  Files are distinguished as in the kernel: in another mount namespace another one may have the same
        path."""
        process = self._find_process(pid)
        real = where if where.address_range else process.find_same_file(where)
        key = real is None, (real or where).file_key
        if key in self._files:
            return self._files[key]
        place = maps.find_mapped_file(pid, real or where, RESPONSIVE_FS)
        found = (
            SYMBOL_CACHE.find_or_read(
                *place, self._user_budget(process.user), 0 if real else _REQUIRED_MODE
            )
            if place
            else NO_SYMBOLS
        )
        if found is None:
            self._late_users.add(process.user)
            return NO_SYMBOLS
        if len(self._files) >= _MAX_FILES:
            self._files.clear()
        self._files[key] = found
        return found

    def find_symbol(self, pid: int, address: int, inner: int = 0) -> Found:
        """(module, symbol, distance to it) of an address; module None: unknown; symbol None: distance is from the
        beginning of the file.  inner: the frame that is to return there, 0 where none is: the call may be its function's last instruction."""
        if not pid:
            return self._find_kernel_symbol(address)
        where, offset = self._code_of(address) or self._find_location(pid, address)
        if where is None:
            return None, None, offset
        file = self._load_symbols(pid, where)
        linked = elf.linked_address(file.segments, where.access, offset)
        linked = offset if linked is None else linked
        symbol = None if self.options.get("noresolve") else file.table.find(linked)
        if (
            inner
            and (symbol is None or symbol[0] == linked)
            and not self.options.get("noresolve")
            and not self._is_signal_return(pid, symbol, inner)
        ):
            symbol = file.table.find(linked - 1) or symbol
        if symbol is None:
            return where.module_name, None, linked
        return (
            where.module_name,
            demangle(symbol[1]) if self.options.get("demangle", True) else symbol[1],
            linked - symbol[0],
        )

    def _is_signal_return(self, pid: int, symbol: tuple[int, str] | None, inner: int) -> bool:
        """Whether a symbol, or the frame inside of it, is what a signal's handler returns to, which nobody has called."""
        return symbol is not None and (
            symbol[1] in _SIGNAL_RETURNS or self.find_symbol(pid, inner)[1] in _SIGNAL_RETURNS
        )

    def _find_kernel_symbol(self, address: int) -> Found:
        if self._kernel_table is None:
            self._kernel_table = _read_kernel_symbols()
        found = self._kernel_table.find(address) if not self.options.get("noresolve") else None
        if found is None:
            return None, None, address
        name, _, module = found[1].partition("\t")
        return module or "vmlinux", name, address - found[0]

    def make_key_grouper(self, named: Sequence[Data]) -> Callable[[bytes], bytes]:
        """A function from a key of an aggregation to the one that stands for all keys that print alike, of whatever process;
        named: the key's Data that are Stacks or Symbols.  It is for one look: what a process maps may change."""
        known: dict[tuple[Naming, int, int], int] = {}
        texts: dict[tuple[Naming, int, int, int], str] = {}

        def one(naming: Naming, pid: int, address: int) -> int:
            found = known.get((naming, pid, address))
            if found is None:
                found = known[naming, pid, address] = self.find_representative(naming, pid, address)
            return found

        def text(naming: Naming, pid: int, address: int, inner: int) -> str:
            found = texts.get((naming, pid, address, inner))
            if found is None:
                found = texts[naming, pid, address, inner] = self._name_unescaped(
                    pid, address, naming, inner
                )
            return found

        def stand(naming: Naming, pid: int, addresses: Sequence[int], storage: bytes) -> bytes:
            names = tuple(
                [
                    text(naming, pid, address, inner)
                    for address, inner in zip(addresses, (0, *addresses))
                ]
            )
            return self._representative_bytes.setdefault((len(storage), naming, names), storage)

        return lambda key: replace_storage(replace_addresses(key, named, one), named, stand)

    def forget_representatives(self) -> None:
        """Which addresses stand for others, where these are many: keys that were grouped before are other keys then."""
        if (
            len(self._representatives) > _MAX_REPRESENTATIVES
            or len(self._representative_bytes) > _MAX_REPRESENTATIVES
        ):
            self._representatives.clear()
            self._representative_bytes.clear()

    def find_representative(self, naming: Naming, pid: int, address: int) -> int:
        """The address that stands for all of a process that are printed by one name: in a function its beginning, as in dtrace,
        else the first that was seen."""
        if name := self._name_of(pid, address):
            return self._representatives.setdefault((pid, name), address)
        _, name, distance = self.find_symbol(pid, address)
        first = (
            address - distance
            if name and naming.by_symbol and self._code_of(address) is None
            else address
        )
        return self._representatives.setdefault(
            (pid, self._name_unescaped(pid, address, naming)), first
        )

    # --- text -------------------------------------------------------------------------
    def name_address(self, pid: int, address: int, naming: Naming = SYMBOL_AND_OFFSET) -> str:
        """Text of one address."""
        return escape_for_terminal(self._name_unescaped(pid, address, naming))

    def name_addresses(self, pid: int, frames: Sequence[int]) -> list[str]:
        """Where an interpreter's frames follow the native ones, they stand in the place of its own functions."""
        texts = [
            escape_for_terminal(self._name_unescaped(pid, frame, SYMBOL_AND_OFFSET, inner))
            for frame, inner in zip(frames, (0, *frames))
        ]
        native = (
            next((at for at, frame in enumerate(frames) if python_frame_words.is_frame(frame)), 0)
            if pid
            else 0
        )
        return (
            interleave_texts(texts[:native], texts[native:], frames[native:]) if native else texts
        )

    def _name_unescaped(self, pid: int, address: int, naming: Naming, inner: int = 0) -> str:
        if name := self._name_of(pid, address):
            return name
        module, symbol, distance = self.find_symbol(pid, address, inner)
        if module is None:
            return self._resolve_frame(pid, distance) or f"0x{distance:x}"
        if naming.module:
            return module
        if symbol is None:
            return (
                f"{module}:0x{distance:x}"
                if self.options.get("noresolve")
                else f"{module}`0x{distance if self._code_of(address) else address:x}"
            )
        if naming.distance and distance:
            return f"{module}`{symbol}+0x{distance:x}"
        return f"{module}`{symbol}"

    def _resolve_frame(self, pid: int, address: int) -> str | None:
        if not pid or self.options.get("noresolve"):
            return None
        return next(
            (text for text in (resolve(pid, address) for resolve in self._resolvers) if text), None
        )


def _read_kernel_symbols() -> Table:
    """Of /proc/kallsyms: a symbol reaches to the next; none where the kernel hides the addresses."""
    found, texts = [], bytearray()
    try:
        with open("/proc/kallsyms") as file:
            for line in file:
                address, kind, name, *module = line.split()
                if kind in _CODE_KINDS:
                    found.append((int(address, 16), len(texts)))
                    texts += f"{name}\t{''.join(module).strip('[]')}\0".encode()
    except (OSError, ValueError):
        return Table()
    found.sort()
    if not found or not found[-1][0]:
        return Table()
    ends = [row[0] for row in found[1:]] + [found[-1][0] + 4096]
    return Table(
        ((start, end - start, name) for (start, name), end in zip(found, ends)), bytes(texts)
    )
