"""Floating-point values: their bits, their order, and their text.

- The text is that of C's %g, with up to six digits, as many as the value needs.
"""

from __future__ import annotations

import struct
from math import isfinite, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NOT_A_NUMBER = (-(1 << 63), (1 << 63) - 1)  # of what floats.ordered() makes, the second for max()
_DOUBLE, _WORD = struct.Struct("=d"), struct.Struct("=q")


def float_from_bits(word: int) -> float:
    return _DOUBLE.unpack(_WORD.pack(word))[0]  # type: ignore[no-any-return]


def float_to_bits(value: float) -> int:
    return _WORD.unpack(_DOUBLE.pack(value))[0]  # type: ignore[no-any-return]


def float_from_bytes(storage: bytes) -> float:
    """The value of a field: 4 bytes, or 8."""
    return struct.unpack("=f" if len(storage) == 4 else "=d", storage)[0]  # type: ignore[no-any-return]


def float_from_order(word: int) -> float:
    """The double of which floats.ordered() made this integer."""
    if word in _NOT_A_NUMBER:
        return nan
    return float_from_bits(word ^ (word >> 63) & 0x7FFFFFFFFFFFFFFF)


def format_float(value: float) -> bytes:
    """In the column of trace(), and of an aggregation."""
    return b" %16.6g" % value


def finite_or_none(value: float) -> float | None:
    """A value that JSON has, else None."""
    return value if isfinite(value) else None


def replace_nonfinite(value: Any) -> Any:
    """What print() shows, or a part of it, with finite_or_none() floats."""
    if isinstance(value, dict):
        return {name: replace_nonfinite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [replace_nonfinite(part) for part in value]
    return finite_or_none(value) if isinstance(value, float) else value
