"""Arithmetic on the 64-bit words that an engine keeps for a key of an aggregation.

- As in dtrace, division rounds towards zero.
- Sums wrap at 64 bits, as everywhere in D.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


def wrap_int64(value: int) -> int:
    """A 64-bit register's signed value."""
    return (value & 0xFFFFFFFFFFFFFFFF ^ 1 << 63) - (1 << 63)


def unpack_words(value: bytes) -> tuple[int, ...]:
    """The words of a map's element."""
    return struct.unpack(f"={len(value) // 8}q", value)


def pack_words(words: Sequence[int]) -> bytes:
    """A map's element with these words."""
    return struct.pack(f"={len(words)}q", *words)


def add_words(*several: Sequence[int]) -> list[int]:
    """The sums of the first words, of the second ones, and so on."""
    return [wrap_int64(sum(column)) for column in zip(*several)]


def divide_toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def divide_like_dtrace(number: int, normal: int) -> int:
    """number / normal as dtrace computes it: without sign, shown with it."""
    return number if normal == 1 else wrap_int64((number & 0xFFFFFFFFFFFFFFFF) // normal)
