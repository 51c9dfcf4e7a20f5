"""Entries of dicts, sets and instances in another process, in the order in which they are stored.

- Only memory is read: a dict of an instance that has none yet is not made.
- Untrusted: of one object at most _SCANNED rows are searched for entries that are in use.
"""

from __future__ import annotations

import struct

from .managed_dict import VALUES_HEAD, find_managed_dict
from .object_layout import ObjectLayout
from .remote_types import INLINE_VALUES, INT, MANAGED_DICT, RemoteType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .recorded_memory import RecordedMemory

_SCANNED = 1 << 13
_ROWS = 64  # that are read at once
_LARGEST = 40  # bits of a table's size
_GENERAL = 0  # dk_kind: entries have hashes


class RemoteDicts:
    """Of one process.  layout: RemotePython's.  Raises OSError."""

    def __init__(
        self, memory: RecordedMemory, layout: dict[str, int], objects: ObjectLayout
    ) -> None:
        self._memory, self._objects = memory, objects
        self._keys, self._values = layout["dict_keys"], layout["dict_values"]
        self._mask, self._table = layout["set_mask"], layout["set_table"]

    # --- dicts ------------------------------------------------------------------------

    def read_length(self, address: int) -> int:
        return max(self._memory.read_signed(address + self._objects.head), 0)

    def iter_entries(self, address: int) -> Iterator[tuple[int, int]]:
        """(key, value) of a dict."""
        values = self._memory.read_word(address + self._values)
        keys = self._memory.read_word(address + self._keys)
        if values and self._objects.minor >= 13:
            values += VALUES_HEAD
        return self._iter_keys(keys, values)

    def _iter_keys(self, keys: int, values: int) -> Iterator[tuple[int, int]]:
        """values: where they are, if not beside their keys."""
        start, count, size = self._read_shape(keys)
        for first in range(0, min(count, _SCANNED), _ROWS):
            rows = min(_ROWS, count - first)
            data = self._memory.read_unrecorded(start + first * size, rows * size)
            apart = self._memory.read(values + 8 * first, 8 * rows) if values else b""
            for number in range(rows):
                at = number * size + size - 16
                key, value = struct.unpack_from("=QQ", data, at)
                recorded = start + first * size + at
                if values:
                    [value] = struct.unpack_from("=Q", apart, 8 * number)
                    self._memory.reads.append((recorded, data[at : at + 8]))
                else:
                    self._memory.reads.append((recorded, data[at : at + 16]))
                if key and value:
                    yield key, value

    def _read_shape(self, keys: int) -> tuple[int, int, int]:
        """(where a table's entries begin, how many were used, the size of one)."""
        if self._objects.minor >= 11:
            head = self._memory.read_unrecorded(keys, 32)
            self._memory.reads += [(keys + 8, head[8:11]), (keys + 24, head[24:])]
            count = int.from_bytes(head[24:], "little", signed=True)
            start = keys + 32 + (1 << min(head[9], _LARGEST))
            return start, max(count, 0), 24 if head[10] == _GENERAL else 16
        size = max(self._memory.read_signed(keys + 8), 0)
        count = max(self._memory.read_signed(keys + 32), 0)
        width = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4 if size <= 0xFFFFFFFF else 8
        return keys + 40 + min(size, 1 << _LARGEST) * width, count, 24

    # --- sets -------------------------------------------------------------------------

    def read_set_length(self, address: int) -> int:
        return max(self._memory.read_signed(address + self._objects.set_used), 0)

    def iter_set(self, address: int) -> Iterator[int]:
        """What a set holds.  A removed element leaves a dummy, whose hash is -1."""
        count = self._memory.read_word(address + self._mask) + 1
        table = self._memory.read_word(address + self._table)
        for first in range(0, min(count, _SCANNED), _ROWS):
            rows = min(_ROWS, count - first)
            for key, hashed in struct.iter_unpack(
                "=Qq", self._memory.read(table + 16 * first, 16 * rows)
            ):
                if key and hashed != -1:
                    yield key

    # --- instances --------------------------------------------------------------------

    def iter_entries_of(self, address: int, kind: RemoteType) -> Iterator[tuple[int, int]]:
        """(key, value) of what an instance has in its __dict__, or would have."""
        if kind.flags & MANAGED_DICT:
            return self._iter_managed(address, kind)
        if not kind.dictoffset or self._objects.minor >= 11 and kind.dictoffset == -1:
            return iter(())
        own = self._memory.read_word(self._find_dict(address, kind))
        return self.iter_entries(own) if own else iter(())

    def _find_dict(self, address: int, kind: RemoteType) -> int:
        """Where the pointer to an instance's dict is."""
        if kind.dictoffset > 0:
            return address + kind.dictoffset
        items = self._memory.read_signed(address + self._objects.head)
        items = items >> 3 if kind.flags & INT and self._objects.minor >= 12 else abs(items)
        size = kind.basicsize + items * kind.itemsize
        return address + (size + 7 & ~7) + kind.dictoffset

    def _iter_managed(self, address: int, kind: RemoteType) -> Iterator[tuple[int, int]]:
        inline = kind.basicsize if kind.flags & INLINE_VALUES else 0
        values, own = find_managed_dict(self._memory, self._objects, address, inline)
        if values:
            return self._iter_keys(kind.keys, values)
        return self.iter_entries(own) if own else iter(())
