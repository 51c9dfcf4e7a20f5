"""Aggregations of several hosts, merged as their rows come.

In: rows as lines of JSON have them (docs/guide/json.md, schema 2), maybe of a stranger.  Out: keys and values as an engine has them.
Always: who merges values is aggregation/merge_values.py; of distributions, of which lines have the buckets that are not empty, the C core adds these.
"""

from __future__ import annotations

import struct

from pydtrace import _tracer
from pydtrace.aggregation.int64 import packed, unpacked
from pydtrace.aggregation.merge_values import said, together

from . import host_protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_WAITING = 64  # values of a key
_WAITING_ALL, _VALUE = (
    16 << 20,
    120,
)  # bytes of values of all keys, about; of one without its buckets


class Numbers:
    """Of a function that is no distribution: its words, as they are."""

    def __init__(self, row: Any, params: Any) -> None:
        self._row, self._size = row, row.words(params)
        self._pack = struct.Struct(f"={self._size}q").pack

    def check(self, words: Any) -> Sequence[int]:
        """words, maybe a stranger's.  ValueError: too many, no integers, more than 64 bits, less than no data points."""
        try:
            self._pack(*words)
            if words[0] >= 0:
                return words  # type: ignore[no-any-return]
        except (struct.error, TypeError):
            pass
        raise ValueError(f"{self._size} words of 64 bits are wanted")

    def joined(self, several: list[Sequence[int]]) -> Sequence[int]:
        """What all that went into several values makes."""
        return together(self._row, several)

    dense = staticmethod(packed)


class Distributions:
    """The same of those, whose words lines have sparse: those before the buckets, then pairs; kept as bytes."""

    def __init__(self, row: Any, params: Any) -> None:
        sparse = _tracer.Sparse(row.head, row.words(params))
        self._row, self._add, self.check, self.dense = row, sparse.add, sparse.check, sparse.dense
        self._heads = struct.Struct(f"={row.head}q").unpack_from

    def joined(self, several: list[bytes]) -> bytes:
        if len(several) == 1:
            return several[0]
        made: bytes = self._add(several, together(self._row, [*map(self._heads, several)]))
        return made


def words_of(row: Any, params: Any) -> Any:
    """Those of a function."""
    return (Distributions if row.is_distribution else Numbers)(row, params)


class Merged:
    """One aggregation, merged as the rows of several hosts come.  room: keys that one host may bring.

    Values are as check() gives them.  Those of a key wait until somebody looks, or there are many: joined() takes them at once."""

    def __init__(self, definition: Any, room: int) -> None:
        self._definition, self._room = definition, room
        self._key, self._words = (
            host_protocol.reader(definition.keys),
            words_of(definition.row, definition.params),
        )
        self._waits = 0  # bytes of values, about
        self._slots: dict[bytes, list[Any]] = {}
        self._owners: dict[bytes, int] = {}  # who brought a key
        self._brought: dict[int, int] = {}
        self._known: dict[Any, list[Any]] = {}  # by the keys as they were said

    def add(self, rows: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]) -> int:
        """How many of the rows had no room.  pack: makes a key's bytes of its parts.  ValueError, TypeError: these are no rows."""
        known, check, dropped = self._known, self._words.check, 0
        for keys, words in rows:
            found = check(words)
            try:
                slot = known.get(tuple(keys))
            except TypeError:  # a part is a list, or an object
                slot = None
            if slot is None:
                slot = self._new(keys, host, pack)
            if slot is None:
                dropped += 1
                continue
            slot.append(found)
            self._waits += _VALUE + (len(found) if found.__class__ is bytes else 0)
            if len(slot) > _WAITING:
                slot[:] = [self._words.joined(slot)]
        if self._waits > _WAITING_ALL:
            self._settle()
        return dropped

    def _settle(self) -> None:
        """Of each key one value is left."""
        for slot in self._slots.values():
            if len(slot) > 1:
                slot[:] = [self._words.joined(slot)]
        self._waits = 0

    def _new(
        self, keys: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]
    ) -> list[Any] | None:
        """The slot of keys that were not said in this way before; None: no room."""
        packed = pack(self._key(keys))
        if packed not in self._slots:
            if self._brought.get(host, 0) >= self._room:
                return None
            self._slots[packed], self._owners[packed] = [], host
            self._brought[host] = self._brought.get(host, 0) + 1
        slot = self._slots[packed]
        if all(part.__class__ in (str, int) for part in keys):
            self._known[tuple(keys)] = slot
        return slot

    def absorb(self, items: list[tuple[bytes, bytes]]) -> None:
        """What was counted here."""
        for key, value in items:
            self._slots.setdefault(key, []).append(
                self._words.check(said(self._definition.row, unpacked(value)))
            )

    def items(self) -> list[tuple[bytes, bytes]]:
        """[(key, value)] as an engine has them."""
        for slot in self._slots.values():
            slot[:] = [self._words.joined(slot)]
        return [(key, self._words.dense(words)) for key, (words,) in self._slots.items()]

    def clear(self) -> None:
        """The keys stay."""
        row = self._definition.row
        for slot in self._slots.values():
            slot[:] = [self._words.check(said(row, (0,) * row.words(self._definition.params)))]

    def remove(self, keys: list[bytes]) -> None:
        self._known.clear()
        for key in keys:
            if (
                self._slots.pop(key, None) is not None
                and (host := self._owners.pop(key, None)) is not None
            ):
                self._brought[host] -= 1
