# mypy: ignore-errors
"""The names that files give to their code and data.

In: paths of files.  Out: tables of their symbols.  Always: a file is read once as long as there is room for all of them together; what was not
asked for longest goes first.  What can not be read, is damaged or too large has no names.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict

from .elf import BadFile, File
from .symbol_table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from pydtrace.untrusted.cpu_time_budget import Allowance

    from .elf import Segment

    Segments = list[Segment]

_ROOM = 256 << 20  # bytes of all
_LEAST = 4096  # bytes that a file takes, whatever it has
_SEGMENT = 200
_LARGEST = 64 << 20  # bytes of a file's table: 2.8 million symbols
_KINDS = (1, 2, 10)  # ELF: data, functions, functions chosen at run time


class Known:
    """What was read of a file.  segments: as elf.File has them."""

    __slots__ = ("segments", "table")

    def __init__(self, table: Table, segments: Segments) -> None:
        self.table, self.segments = table, segments

    @property
    def size(self) -> int:
        """Bytes, more or less."""
        return _LEAST + self.table.size + _SEGMENT * len(self.segments)


NOTHING = Known(Table(), [])


def read(path: str, inode: int | None = None, mode: int = 0) -> Known:
    """inode, mode: as elf.File."""
    try:
        file = File(path, inode, mode)
    except (BadFile, OSError):
        return NOTHING
    try:
        others: list[tuple[int, int, int]] = []
        texts = b""
        for more in file.more():
            with contextlib.closing(more), contextlib.suppress(BadFile):
                rows, texts = _rows(more, 0)
                others = list(rows)
        rows, names = _rows(
            file, len(texts)
        )  # of one place the file's own name is the last, and meant
        table = Table(itertools.chain(others, rows), texts + names)
        return Known(table if table.size <= _ROOM // 2 else NOTHING.table, file.segments)
    except BadFile:
        return Known(NOTHING.table, file.segments)
    finally:
        file.close()


def _rows(file: File, first: int) -> tuple[Iterator[tuple[int, int, int]], bytes]:
    """What Table takes.  first: where the names will stand."""
    rows, texts = file.symbols(_LARGEST)
    return (
        (row[4], row[5], row[0] + first)
        for row in rows
        if row[1] & 15 in _KINDS and row[3] and row[4]
    ), texts


class Files:
    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, ...], Known] = OrderedDict()
        self._taken = 0

    def known(self, status: os.stat_result) -> Known | None:
        """Of a file that was read; None: it was not, or there was no room for it any more."""
        found = self._known.get(_key(status))
        if found is not None:
            self._known.move_to_end(_key(status))
        return found

    def get(
        self, path: str, status: os.stat_result, time: Allowance, mode: int = 0
    ) -> Known | None:
        """Of any; None: there is no time left to read it.  mode: as elf.File."""
        if status.st_mode & mode != mode:
            return NOTHING
        found = self.known(status)
        if found is not None or not time.left:
            return found
        with time.spent():
            found = self._known[_key(status)] = read(path, status.st_ino, mode)
        self._taken += found.size
        while self._taken > _ROOM:
            self._taken -= self._known.popitem(last=False)[1].size
        return found


def _key(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


FILES = Files()
