"""Keys and records as lines of JSON, schema 2 (docs/reference/json.md), and back.

Lines are untrusted. A value that comes back fits its field (a number its bits, a text its bytes and
their NUL, a stack its frames), or raises ValueError.
"""

from __future__ import annotations

from math import isfinite

from pydtrace.program import d_types as t
from pydtrace.program.fields import struct_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from pydtrace.program.program import Clause, Data

NAMES = 20_000  # of functions, that one host tells of
FRAMES = 256  # of a stack, as events have at most
LONGEST = 1024  # characters of a function's name, with its module and offset
_STACK = 16  # bytes before the frames


def data_of(clause: Clause) -> list[Data]:
    """All that a clause's record holds, in the order of the source."""
    return [data for action in clause.actions for data in action.data]


def encode_value(values: Iterable[Any]) -> list[Any]:
    return [_encode_value(value) for value in values]


def _encode_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float) and not isfinite(value):
        return {"float": str(value)}
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"hex": value.encode("utf-8", "surrogateescape").hex()}
    return value


def reader(fields: Sequence[Data]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from what encode_value() gave to the tuple; ValueError."""
    parts = [_part(data) for data in fields]

    def read(values: Any) -> tuple[Any, ...]:
        if values.__class__ is not list:
            raise ValueError("a list is wanted")
        return tuple([part(value) for part, value in zip(parts, values, strict=True)])

    return read


def _part(data: Data) -> Callable[[Any], Any]:
    """What reads one value."""
    if data.type.is_string:
        return lambda value: _raw(value, data.size - 1)
    if isinstance(data.type, t.Stack):
        return lambda value: _stack(value, (data.size - _STACK) // 8)
    if isinstance(data.type, t.Symbol):
        return name
    if t.is_real(data.type):
        return _real
    if struct_code(data).endswith("s"):
        return lambda value: _raw(value, data.size)
    bits = 8 * data.size
    is_signed = data.type.is_integer and data.type.signed
    return (
        _integer(-(1 << bits - 1), (1 << bits - 1) - 1)
        if is_signed
        else _integer(0, (1 << bits) - 1)
    )


def _integer(lowest: int, highest: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if value.__class__ is int and lowest <= value <= highest:
            return int(value)
        raise ValueError(f"an integer from {lowest} to {highest} is wanted")

    return read


def _raw(value: Any, most: int) -> bytes:
    """Text, or {"hex": …} of bytes that are none."""
    if value.__class__ is dict and value.keys() == {"hex"} and value["hex"].__class__ is str:
        found = bytes.fromhex(value["hex"])
    elif value.__class__ is str:
        found = value.encode("utf-8", "surrogateescape")
    else:
        raise ValueError("a text is wanted")
    if len(found) > most:
        raise ValueError(f"a text of more than {most} bytes")
    return found


def name(value: Any) -> str:
    """That of a function."""
    if value.__class__ is not str or len(value) > LONGEST:
        raise ValueError(f"the name of a function is wanted, of at most {LONGEST} characters")
    return str(value)


def _stack(value: Any, most: int) -> tuple[str, ...]:
    if value.__class__ is not list or len(value) > most:
        raise ValueError(f"at most {most} frames are wanted")
    return tuple(map(name, value))


def _real(value: Any) -> float:
    if value.__class__ is dict and value.get("float") in ("inf", "-inf", "nan"):
        return float(value["float"])
    if value.__class__ is not float:
        raise ValueError("a floating-point number is wanted")
    return float(value)
