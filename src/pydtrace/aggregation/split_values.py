"""Aggregations with two map elements for a value: one for what is below 0, one for the rest
(Aggregating.is_split).

- The key of such a map ends with a word: 1 for the half below 0, else 0.
- A half without values has no element.
"""

from __future__ import annotations

from .int64 import pack_words, unpack_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from pydtrace.program.program import Program

_SIDES = pack_words((0,)), pack_words((1,))
_SIZE = len(_SIDES[0])


class SplitValueMaps:
    """Of the maps of a program."""

    def __init__(self, program: Program) -> None:
        self._rows: dict[int, Any] = {
            each.map: each.row for each in program.aggregations if each.row.is_split
        }

    def join_items(
        self, index: int, elements: list[tuple[bytes, bytes]]
    ) -> list[tuple[bytes, bytes]]:
        """[(key, value)] of the aggregation with this map, whose elements these are."""
        row = self._rows.get(index)
        if row is None:
            return elements
        found: dict[bytes, dict[bytes, bytes]] = {}
        for key, value in elements:
            found.setdefault(key[:-_SIZE], {})[key[-_SIZE:]] = value
        return [(key, self._join_halves(row, halves)) for key, halves in found.items()]

    @staticmethod
    def _join_halves(row: Any, halves: dict[bytes, bytes]) -> bytes:
        absent = bytes(len(next(iter(halves.values()))))
        above, below = (unpack_words(halves.get(side, absent)) for side in _SIDES)
        return pack_words(row.join_halves(below, above))

    def split_keys(self, index: int, keys: Iterable[bytes]) -> Iterable[bytes]:
        """The keys of the map's elements that these of the aggregation have."""
        return (key + side for key in keys for side in _SIDES) if index in self._rows else keys
