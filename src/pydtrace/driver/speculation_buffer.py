"""Hold back the records of speculations until they are committed or discarded.

- The records of a commit come where the commit was.
- What finds no room (specsize) is lost and counted. What nothing committed is never printed.
"""

from __future__ import annotations

import struct

from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD = struct.Struct("=II")  # RECORD_SIZE, RECORD_CLAUSE
_SETTLED = struct.Struct("=II")  # number, 1 for a commit
DEFAULT_SIZE = 32 << 10


class SpeculationBuffer:
    """specsize: bytes that one speculation may hold back; lost: records for which that was too little."""

    def __init__(self, specsize: int) -> None:
        self.specsize = specsize
        self.dropped = 0
        self._records: dict[int, list[bytes]] = {}  # number -> list of records
        self._sizes: dict[int, int] = {}

    def filter_records(self, records: bytes) -> bytes:
        """The records of a buffer that are not held back."""
        out: list[bytes] = []
        offset = 0
        while offset + p.RECORD_DATA <= len(records):
            size, clause = _HEAD.unpack_from(records, offset)
            record = records[offset : offset + size]
            offset += size
            if size < p.RECORD_DATA:
                break
            if clause & p.RECORD_SPECULATIVE and not clause & p.RECORD_FAULT:
                self._hold_record(record, clause)
            elif clause & p.RECORD_SETTLED and not clause & p.RECORD_FAULT:
                out += self._end_speculation(record)
            else:
                out.append(record)
        return b"".join(out)

    def _hold_record(self, record: bytes, clause: int) -> None:
        number = struct.unpack_from("=I", record, p.RECORD_SPECULATION)[0]
        size = self._sizes.get(number, 0) + len(record)
        if size > self.specsize:
            self.dropped += 1
            return
        self._sizes[number] = size
        plain = struct.pack("=I", clause & ~p.RECORD_FLAGS)
        record = record[: p.RECORD_CLAUSE] + plain + record[p.RECORD_CLAUSE + 4 :]
        self._records.setdefault(number, []).append(record)

    def _end_speculation(self, record: bytes) -> Sequence[bytes]:
        number, commit = _SETTLED.unpack_from(record, p.RECORD_SPECULATION)
        self._sizes.pop(number, None)
        found = self._records.pop(number, ())
        return found if commit else ()
