"""Records of several hosts in one order: by the middles of the intervals that their times lie in.

In: records with their times by the coordinator's clock, and how sure these are; how far each host has come.  Out: the records in order.
Always: a record waits until every host that is there has come past it, but no longer than `patience`; one that comes later still is given
out at once, and counted.  Two of different hosts whose intervals overlap could be the other way round: these are counted, too.
"""

from __future__ import annotations

from heapq import heappop, heappush


class Order:
    """late, unsure: how many there were; held: bytes that wait."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._heap: list[tuple[int, int, int, int, int, bytes]] = []  # (time, number, error, host, when it came, record)
        self._number = 0
        self._last = 0, 0, -1  # (time, error, host) of what was given out last
        self.late = self.unsure = self.held = 0

    def add(self, time: int, error: int, host: int, record: bytes, now: int) -> None:
        self._number += 1
        self.held += len(record)
        heappush(self._heap, (time, self._number, error, host, now, record))

    def release(self, until: int, now: int) -> bytes:
        """The records of up to that time, and those that have waited enough, with what is before them."""
        heap, found = self._heap, []
        while heap and (heap[0][0] <= until or heap[0][4] + self._patience <= now):
            time, _, error, host, _, record = heappop(heap)
            self._compare(time, error, host)
            found.append(record)
        made = b"".join(found)
        self.held -= len(made)
        return made

    def _compare(self, time: int, error: int, host: int) -> None:
        last, its, other = self._last
        if time < last:
            self.late += 1
        elif other not in (host, -1) and time - last <= error + its:
            self.unsure += 1
        if time >= last:
            self._last = time, error, host
