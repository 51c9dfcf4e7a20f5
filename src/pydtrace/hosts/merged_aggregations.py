"""Aggregations of several hosts, merged as their rows come.

- Rows have the form of docs/reference/json.md, schema 2, and are untrusted.
- merge_values.py merges words; the C core adds distributions, of which rows have only the buckets
  that are not empty.
"""

from __future__ import annotations

import struct

from pydtrace import _tracer
from pydtrace.aggregation.int64 import pack_words, unpack_words
from pydtrace.aggregation.merge_values import encode_words, merge_words

from . import host_protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_MAX_WAITING = 64  # values of a key
_WAITING_LIMIT, _VALUE_SIZE = (
    16 << 20,
    120,
)  # bytes of values of all keys, about; of one without its buckets


class NumberValues:
    """Of a function that is no distribution: its words, as they are."""

    def __init__(self, row: Any, params: Any) -> None:
        self._row, self._size = row, row.count_words(params)
        self._pack = struct.Struct(f"={self._size}q").pack

    def check_words(self, words: Any) -> Sequence[int]:
        """words, perhaps untrusted.  ValueError: too many, no integers, more than 64 bits, less than no data points."""
        try:
            self._pack(*words)
            if words[0] >= 0:
                return words  # type: ignore[no-any-return]
        except (struct.error, TypeError):
            pass
        raise ValueError(f"{self._size} words of 64 bits are wanted")

    def merge_values(self, several: list[Sequence[int]]) -> Sequence[int]:
        """What all that went into several values makes."""
        return merge_words(self._row, several)

    encode_words = staticmethod(pack_words)


class DistributionValues:
    """The same of those, whose words lines have sparse: those before the buckets, then pairs; kept as bytes."""

    def __init__(self, row: Any, params: Any) -> None:
        sparse = _tracer.Sparse(row.header_words, row.count_words(params))
        self._row, self._add, self.check_words, self.encode_words = (
            row,
            sparse.add,
            sparse.check,
            sparse.dense,
        )
        self._heads = struct.Struct(f"={row.header_words}q").unpack_from

    def merge_values(self, several: list[bytes]) -> bytes:
        if len(several) == 1:
            return several[0]
        made: bytes = self._add(several, merge_words(self._row, [*map(self._heads, several)]))
        return made


def value_merger(row: Any, params: Any) -> Any:
    """Those of a function."""
    return (DistributionValues if row.is_distribution else NumberValues)(row, params)


class MergedAggregation:
    """One aggregation, merged as the rows of several hosts come.  room: keys that one host may bring.

    Values are as check_words() gives them.  Those of a key wait until somebody looks, or there are many: merge_values() takes them at once."""

    def __init__(self, definition: Any, max_keys: int) -> None:
        self._definition, self._max_keys = definition, max_keys
        self._decode_key, self._values = (
            host_protocol.reader(definition.keys),
            value_merger(definition.row, definition.params),
        )
        self._waiting_bytes = 0  # bytes of values, about
        self._slots: dict[bytes, list[Any]] = {}
        self._owners: dict[bytes, int] = {}  # who brought a key
        self._keys_by_host: dict[int, int] = {}
        self._slots_by_parts: dict[Any, list[Any]] = {}  # by the keys as they were said

    def add_rows(self, rows: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]) -> int:
        """How many of the rows had no room.  pack: makes a key's bytes of its parts.  ValueError, TypeError: these are no rows."""
        known, check, dropped = self._slots_by_parts, self._values.check_words, 0
        for keys, words in rows:
            found = check(words)
            try:
                slot = known.get(tuple(keys))
            except TypeError:  # a part is a list, or an object
                slot = None
            if slot is None:
                slot = self._add_key(keys, host, pack)
            if slot is None:
                dropped += 1
                continue
            slot.append(found)
            self._waiting_bytes += _VALUE_SIZE + (len(found) if found.__class__ is bytes else 0)
            if len(slot) > _MAX_WAITING:
                slot[:] = [self._values.merge_values(slot)]
        if self._waiting_bytes > _WAITING_LIMIT:
            self._merge_waiting()
        return dropped

    def _merge_waiting(self) -> None:
        """Of each key one value is left."""
        for slot in self._slots.values():
            if len(slot) > 1:
                slot[:] = [self._values.merge_values(slot)]
        self._waiting_bytes = 0

    def _add_key(
        self, keys: Any, host: int, pack: Callable[[tuple[Any, ...]], bytes]
    ) -> list[Any] | None:
        """The slot of keys that were not said in this way before; None: no room."""
        packed = pack(self._decode_key(keys))
        if packed not in self._slots:
            if self._keys_by_host.get(host, 0) >= self._max_keys:
                return None
            self._slots[packed], self._owners[packed] = [], host
            self._keys_by_host[host] = self._keys_by_host.get(host, 0) + 1
        slot = self._slots[packed]
        if all(part.__class__ in (str, int) for part in keys):
            self._slots_by_parts[tuple(keys)] = slot
        return slot

    def add_items(self, items: list[tuple[bytes, bytes]]) -> None:
        """What was counted here."""
        for key, value in items:
            self._slots.setdefault(key, []).append(
                self._values.check_words(encode_words(self._definition.row, unpack_words(value)))
            )

    def items(self) -> list[tuple[bytes, bytes]]:
        """[(key, value)] as an engine has them."""
        for slot in self._slots.values():
            slot[:] = [self._values.merge_values(slot)]
        return [(key, self._values.encode_words(words)) for key, (words,) in self._slots.items()]

    def clear(self) -> None:
        """The keys stay."""
        row = self._definition.row
        for slot in self._slots.values():
            slot[:] = [
                self._values.check_words(
                    encode_words(row, (0,) * row.count_words(self._definition.params))
                )
            ]

    def remove(self, keys: list[bytes]) -> None:
        self._slots_by_parts.clear()
        for key in keys:
            if (
                self._slots.pop(key, None) is not None
                and (host := self._owners.pop(key, None)) is not None
            ):
                self._keys_by_host[host] -= 1
