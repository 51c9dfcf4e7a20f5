"""A cache of the symbol tables of files.

- A file is read once as long as the cache has room; the least recently used one is removed first.
- A file that cannot be read, is damaged or too large has no symbols.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict

from .elf import BadFile, ElfFile
from .symbol_table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget

    from .elf import Segment

    Segments = list[Segment]

_CACHE_LIMIT = 256 << 20  # bytes of all
_MIN_FILE_SIZE = 4096  # bytes that a file takes, whatever it has
_SEGMENT_SIZE = 200
_TABLE_LIMIT = 64 << 20  # bytes of a file's table: 2.8 million symbols
_SYMBOL_TYPES = (1, 2, 10)  # ELF: data, functions, functions chosen at run time


class FileSymbols:
    """What was read of a file.  segments: as elf.ElfFile has them."""

    __slots__ = ("segments", "table")

    def __init__(self, table: Table, segments: Segments) -> None:
        self.table, self.segments = table, segments

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _MIN_FILE_SIZE + self.table.size + _SEGMENT_SIZE * len(self.segments)


NO_SYMBOLS = FileSymbols(Table(), [])


def read_file_symbols(path: str, inode: int | None = None, mode: int = 0) -> FileSymbols:
    """inode, mode: as elf.ElfFile."""
    try:
        file = ElfFile(path, inode, mode)
    except (BadFile, OSError):
        return NO_SYMBOLS
    try:
        others: list[tuple[int, int, int]] = []
        texts = b""
        for more in file.open_debug_files():
            with contextlib.closing(more), contextlib.suppress(BadFile):
                rows, texts = _symbol_rows(more, 0)
                others = list(rows)
        rows, names = _symbol_rows(
            file, len(texts)
        )  # of one place the file's own name is the last, and meant
        table = Table(itertools.chain(others, rows), texts + names)
        return FileSymbols(
            table if table.size <= _CACHE_LIMIT // 2 else NO_SYMBOLS.table, file.segments
        )
    except BadFile:
        return FileSymbols(NO_SYMBOLS.table, file.segments)
    finally:
        file.close()


def _symbol_rows(file: ElfFile, first: int) -> tuple[Iterator[tuple[int, int, int]], bytes]:
    """What Table takes.  first: where the names will stand."""
    rows, texts = file.read_symbols(_TABLE_LIMIT)
    return (
        (row[4], row[5], row[0] + first)
        for row in rows
        if row[1] & 15 in _SYMBOL_TYPES and row[3] and row[4]
    ), texts


class SymbolCache:
    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[int, ...], FileSymbols] = OrderedDict()
        self._used_bytes = 0

    def find_cached(self, status: os.stat_result) -> FileSymbols | None:
        """Of a file that was read; None: it was not, or there was no room for it any more."""
        found = self._cached.get(_cache_key(status))
        if found is not None:
            self._cached.move_to_end(_cache_key(status))
        return found

    def find_or_read(
        self, path: str, status: os.stat_result, time: CpuTimeBudget, mode: int = 0
    ) -> FileSymbols | None:
        """Of any; None: there is no time left to read it.  mode: as elf.ElfFile."""
        if status.st_mode & mode != mode:
            return NO_SYMBOLS
        found = self.find_cached(status)
        if found is not None or not time.is_available:
            return found
        with time.charge_time():
            found = self._cached[_cache_key(status)] = read_file_symbols(path, status.st_ino, mode)
        self._used_bytes += found.size
        while self._used_bytes > _CACHE_LIMIT:
            self._used_bytes -= self._cached.popitem(last=False)[1].size
        return found


def _cache_key(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


SYMBOL_CACHE = SymbolCache()
