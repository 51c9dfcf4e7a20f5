"""Reads of another process's memory that are confirmed by reading the same bytes again.

- The process runs meanwhile. Bytes that were the same before and after what they lead to was read
  were so all the time, unless they changed and changed back.
- Parts that change without a change of the value (counts of references, hashes) are not recorded.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace._tracer import Memory

    Reads = list[tuple[int, bytes]]

_PAGE = 4096


class RecordedMemory:
    """memory: _tracer.Memory; reads: where each read is noted, [(address, bytes)]; the caller replaces it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.reads: Reads = []

    def read(self, address: int, size: int) -> bytes:
        """Raises OSError if not all bytes are there."""
        data = self._memory.read(address, size) if size else b""
        self.reads.append((address, data))
        return data

    def read_word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")

    def read_signed(self, address: int, size: int = 8) -> int:
        return int.from_bytes(self.read(address, size), "little", signed=True)

    def read_unrecorded(self, address: int, size: int) -> bytes:
        return self._memory.read(address, size)

    def read_c_string(self, address: int, most: int) -> bytes:
        """The bytes before the first 0, at most so many; no page is read that has none of them."""
        data = b""
        while len(data) < most:
            at = address + len(data)
            part = self.read(at, min(64, most - len(data), _PAGE - at % _PAGE))
            if b"\0" in part:
                return data + part.partition(b"\0")[0]
            data += part
        return data

    def is_unchanged(self, reads: Reads) -> bool:
        """Whether all these bytes are there now."""
        return self._memory.has_same([each for each in reads if each[1]])
