"""Values of aggregations merged: those of sessions, processes and hosts, and what came of a value between two looks.

In: aggregating functions (dlang/builtins/aggregation.py), words as an engine keeps them, or as lines of JSON have them
(docs/guide/json.md, schema 2).  Out: words.  Always: what several counted, merged, is what one would have counted that saw it all;
who merges values does it here.
"""

from __future__ import annotations

import struct

from . import wire
from .buckets import MergeError
from .words import packed, unpacked, wrap

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
    """A function from what said() gave, maybe of a stranger, to the words; ValueError, as checker()'s."""
    check = checker(row, params)
    return lambda words: _dense(row, params, check(words))


def checker(row: Any, params: Any) -> Callable[[Any], Sequence[int]]:
    """A function that gives back what said() gave, maybe of a stranger.  It raises ValueError where that can not be words of this
    function: too many, no integers, more than 64 bits, less than no data points."""
    return _distribution(row, row.words(params)) if row.is_distribution else _number(row.words(params))


def _number(size: int) -> Callable[[Any], Sequence[int]]:
    pack = struct.Struct(f"={size}q").pack

    def check(words: Any) -> Sequence[int]:
        try:
            pack(*words)
            if words[0] >= 0:
                return words  # type: ignore[no-any-return]
        except (struct.error, TypeError):
            pass
        raise ValueError(f"{size} words of 64 bits are wanted")

    return check


def _distribution(row: Any, size: int) -> Callable[[Any], Sequence[int]]:
    head, buckets = row.head, size - row.head
    packs = [struct.Struct(f"={head + 2 * pairs}q").pack for pairs in range(buckets + 1)]

    def check(words: Any) -> Sequence[int]:
        try:
            packs[(len(words) - head) // 2](*words)
            if words[0] >= 0 and (len(words) == head or (min(words[head::2]) >= 0 and max(words[head::2]) < buckets)):
                return words  # type: ignore[no-any-return]
        except (struct.error, TypeError, IndexError, KeyError):
            pass
        raise ValueError(f"{head} words are wanted, and pairs of the number of a bucket and its count")

    return check


def _dense(row: Any, params: Any, words: Sequence[int]) -> Words:
    """The words of what said() gave."""
    if not row.is_distribution:
        return tuple(words)
    counts = [0] * (row.words(params) - row.head)
    for bucket, count in zip(words[row.head :: 2], words[row.head + 1 :: 2]):
        counts[bucket] = wrap(counts[bucket] + count)
    return *words[: row.head], *counts


def _joined(row: Any, several: list[Sequence[int]]) -> Sequence[int]:
    """together(), of what said() gave: of distributions few buckets are used, and counts add."""
    if not row.is_distribution or len(several) < 2:
        return together(row, several)
    counts: dict[int, int] = {}
    for words in several:
        for bucket, count in zip(words[row.head :: 2], words[row.head + 1 :: 2]):
            counts[bucket] = counts.get(bucket, 0) + count
    found = list(together(row, [words[: row.head] for words in several]))
    for pair in counts.items():
        found += pair
    return found


class Merged:
    """One aggregation, merged as the rows of several hosts come.  room: keys that one host may bring.

    Values are as said() gives them.  Those of a key wait until somebody looks, or there are many: merged() takes them at once."""

    def __init__(self, definition: Any, room: int) -> None:
        self._definition, self._room = definition, room
        self._key, self._check = wire.reader(definition.keys), checker(definition.row, definition.params)
        self._slots: dict[bytes, list[Sequence[int]]] = {}
        self._owners: dict[bytes, int] = {}  # who brought a key
        self._brought: dict[int, int] = {}
        self._known: dict[Any, list[Sequence[int]]] = {}  # by the keys as they were said

    def add(self, rows: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]) -> int:
        """How many of the rows had no room.  pack: makes a key's bytes of its parts.  ValueError, TypeError: these are no rows."""
        known, check, dropped = self._known, self._check, 0
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
            if len(slot) > _WAITING:
                slot[:] = [_joined(self._definition.row, slot)]
        return dropped

    def _new(self, keys: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]) -> list[Sequence[int]] | None:
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
            self._slots.setdefault(key, []).append(said(self._definition.row, unpacked(value)))

    def items(self) -> list[tuple[bytes, bytes]]:
        """[(key, value)] as an engine has them."""
        for slot in self._slots.values():
            slot[:] = [_joined(self._definition.row, slot)]
        row, params = self._definition.row, self._definition.params
        return [(key, packed(_dense(row, params, words))) for key, (words,) in self._slots.items()]

    def clear(self) -> None:
        """The keys stay."""
        row = self._definition.row
        for slot in self._slots.values():
            slot[:] = [said(row, (0,) * row.words(self._definition.params))]

    def remove(self, keys: list[bytes]) -> None:
        self._known.clear()
        for key in keys:
            if self._slots.pop(key, None) is not None and (host := self._owners.pop(key, None)) is not None:
                self._brought[host] -= 1
