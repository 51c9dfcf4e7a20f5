"""Values of aggregations merged: those of sessions, processes and hosts, and what came of a value between two looks.

In: aggregating functions (dlang/builtins/aggregation.py), words as an engine keeps them, or as lines of JSON have them
(docs/guide/json.md, schema 2).  Out: words.  Always: what several counted, merged, is what one would have counted that saw it all;
who merges values does it here.
"""

from __future__ import annotations

import struct

from . import wire
from .buckets import MergeError
from .words import packed, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Words = tuple[int, ...]

_WAITING = 64  # values of a key


def together(row: Any, several: Sequence[Sequence[int]]) -> Words:
    """The words of all that went into several values; those that clear() has left, or that nothing went into, are zeros.
    Raises MergeError."""
    filled = [words for words in several if any(words)]
    if len(filled) < 2:
        return tuple((filled or several)[0])
    if any(map(row.is_told, filled)):
        raise MergeError(f"of {row.called}() dtrace tells the value, not what it was made of: it can not be merged exactly")
    return tuple(row.merged(*filled))


def said(row: Any, words: Sequence[int]) -> list[int]:
    """Words for JSON: of a distribution, behind its first ones, the number of each bucket that is not empty, and its count."""
    if not row.is_distribution:
        return list(words)
    found = list(words[: row.head])
    for bucket, count in enumerate(words[row.head :]):
        if count:
            found += (bucket, count)
    return found


def reader(row: Any, params: Any) -> Callable[[Any], Words]:
    """A function from what said() gave, maybe of a stranger, to the words.  It raises ValueError where they can not be words of this
    function: too many, no integers, more than 64 bits, less than no data points."""
    return _distribution(row, row.words(params)) if row.is_distribution else _number(row.words(params))


def _number(size: int) -> Callable[[Any], Words]:
    pack = struct.Struct(f"={size}q").pack

    def read(words: Any) -> Words:
        try:
            pack(*words)
            if words[0] >= 0:
                return tuple(words)
        except (struct.error, TypeError):
            pass
        raise ValueError(f"{size} words of 64 bits are wanted")

    return read


def _distribution(row: Any, size: int) -> Callable[[Any], Words]:
    head = row.head
    empty = [0] * (size - head)
    first = _number(head)

    def read(words: Any) -> Words:
        try:
            counts = empty.copy()
            for bucket, count in zip(words[head::2], words[head + 1 :: 2], strict=True):
                if bucket < 0:
                    raise ValueError
                counts[bucket] = count
            struct.pack(f"={size - head}q", *counts)
            return *first(words[:head]), *counts
        except (struct.error, TypeError, IndexError, ValueError):
            raise ValueError(f"{head} words are wanted, and pairs of the number of a bucket and its count") from None

    return read


class Merged:
    """One aggregation, merged as the rows of several hosts come.  room: keys that one host may bring.

    Values of a key wait until somebody looks, or there are many: merged() takes them all at once."""

    def __init__(self, definition: Any, room: int) -> None:
        self._definition, self._room = definition, room
        self._key, self._words = wire.reader(definition.keys), reader(definition.row, definition.params)
        self._slots: dict[bytes, list[Words]] = {}
        self._owners: dict[bytes, int] = {}  # who brought a key
        self._brought: dict[int, int] = {}
        self._known: dict[Any, list[Words]] = {}  # by the keys as they were said

    def add(self, rows: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]) -> int:
        """How many of the rows had no room.  pack: makes a key's bytes of its parts.  ValueError, TypeError: these are no rows."""
        known, read, dropped = self._known, self._words, 0
        for keys, words in rows:
            found = read(words)
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
            if len(slot) > _WAITING:
                slot[:] = [together(self._definition.row, slot)]
        return dropped

    def _new(self, keys: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]) -> list[Words] | None:
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
            self._slots.setdefault(key, []).append(unpacked(value))

    def items(self) -> list[tuple[bytes, bytes]]:
        """[(key, value)] as an engine has them."""
        for slot in self._slots.values():
            slot[:] = [together(self._definition.row, slot)]
        return [(key, packed(words)) for key, (words,) in self._slots.items()]

    def clear(self) -> None:
        """The keys stay."""
        for slot in self._slots.values():
            slot[:] = [(0,) * self._definition.row.words(self._definition.params)]

    def remove(self, keys: list[bytes]) -> None:
        self._known.clear()
        for key in keys:
            if self._slots.pop(key, None) is not None and (host := self._owners.pop(key, None)) is not None:
                self._brought[host] -= 1
