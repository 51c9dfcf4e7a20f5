"""The symbols of a file or of the kernel, by address, in little memory.

The rows (addresses, sizes, offsets of names) may be damaged.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = 1024  # bytes of one; of a longer one the beginning
_SIZES = (1 << 32) - 1


class Table:
    __slots__ = ("_names", "_sizes", "_starts", "_texts")

    def __init__(self, rows: Iterable[tuple[int, int, int]] = (), texts: bytes = b"") -> None:
        """rows: (address, size, where its name is in the texts, which ends with a NUL)."""
        packed = sorted(
            address << 64 | min(size, _SIZES) << 32 | name for address, size, name in rows
        )
        self._starts = array("Q", (each >> 64 for each in packed))
        self._sizes = array("I", (each >> 32 & _SIZES for each in packed))
        self._names = array("I", (each & _SIZES for each in packed))
        self._texts = texts

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def size(self) -> int:
        """Bytes."""
        return 16 * len(self) + len(self._texts)

    def find(self, address: int) -> tuple[int, str] | None:
        """(start, name) of what the address lies in, or None."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._starts[at] + max(self._sizes[at], 1):
            return None
        name = self._names[at]
        text = (
            self._texts[name : name + _NAME].partition(b"\0")[0] if name < len(self._texts) else b""
        )
        return (self._starts[at], text.decode("utf-8", "replace")) if text else None
