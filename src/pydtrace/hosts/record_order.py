"""Puts the records of several hosts into one order: by the middles of their times' intervals.

- A record waits until every host has passed its time, but no longer than `timeout`. One that comes
  later is released at once, and counted as late.
- If the interval of a record overlaps that of an earlier record of another host, their order is
  unsure: the record is marked (RECORD_UNSURE) and counted.
"""

from __future__ import annotations

import sys
from heapq import heappop, heappush

from pydtrace.program import program as p


class IntervalEnds:
    """Where the intervals end of what was given out: the latest end, and whose it is, and the latest of all others."""

    def __init__(self) -> None:
        self._ends = [(-1, -1), (-1, -1)]

    def latest_of_others(self, host: int) -> int:
        (end, whose), (second, _) = self._ends
        return second if whose == host else end

    def note_end(self, end: int, host: int) -> None:
        mine = end, host
        if self._ends[0][1] == host:
            self._ends[0] = max(self._ends[0], mine)
        elif mine > self._ends[0]:
            self._ends = [mine, self._ends[0]]
        else:
            self._ends[1] = max(self._ends[1], mine)


def mark_unsure(record: bytes) -> bytes:
    """It may belong before what was given out before it."""
    clause = (
        int.from_bytes(record[p.RECORD_CLAUSE : p.RECORD_CLAUSE + 4], sys.byteorder)
        | p.RECORD_UNSURE
    )
    return (
        record[: p.RECORD_CLAUSE]
        + clause.to_bytes(4, sys.byteorder)
        + record[p.RECORD_CLAUSE + 4 :]
    )


_OVERHEAD = 250  # bytes that a record takes besides its own


class RecordOrder:
    """late, unsure: how many there were; held: bytes that wait."""

    def __init__(self, timeout: int) -> None:
        self._timeout = timeout
        self._heap: list[
            tuple[int, int, int, int, int, bytes]
        ] = []  # (time, number, error, host, when it came, record)
        self._number = 0
        self._last = 0  # time of what was given out last
        self._ends = IntervalEnds()
        self.late = self.unsure = self.held_bytes = 0

    def add_record(self, time: int, error: int, host: int, record: bytes, now: int) -> None:
        self._number += 1
        self.held_bytes += len(record) + _OVERHEAD
        heappush(self._heap, (time, self._number, error, host, now, record))

    def release_records(self, until: int, now: int) -> bytes:
        """The records of up to that time, and those that have waited enough, with what is before them."""
        heap, found = self._heap, []
        while heap and (heap[0][0] <= until or heap[0][4] + self._timeout <= now):
            time, _, error, host, _, record = heappop(heap)
            found.append(self._check_order(time, error, host, record))
        made = b"".join(found)
        self.held_bytes -= len(made) + _OVERHEAD * len(found)
        return made

    def _check_order(self, time: int, error: int, host: int, record: bytes) -> bytes:
        unsure = time - error <= self._ends.latest_of_others(host)
        self.late += time < self._last
        self._last = max(self._last, time)
        self._ends.note_end(time + error, host)
        self.unsure += unsure
        return mark_unsure(record) if unsure else record
