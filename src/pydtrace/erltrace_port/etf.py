"""Erlang's External Term Format, as far as erltrace and its port speak it.

In: bytes of a term, with the version byte 131; Python values.  Out: the one as the other.
    integer <-> int, float <-> float, atom <-> Atom, binary <-> bytes, list -> list, tuple <-> tuple, map <-> dict;
    a float that Erlang does not have becomes one of the atoms nan, infinity, '-infinity';
    a str becomes an Erlang string (a list of code points), a list of bytes comes as one: a str.
Always: what is not read is refused with ValueError; nothing is read beyond the bytes that are there.
Source: "External Term Format" of the ERTS guide.
"""

from __future__ import annotations

import struct
from math import isfinite, isnan
from typing import Any

from pydtrace.sinks.erlang_terms_sink import Atom

_VERSION = 131
_STRING_MOST = 0xFFFF


def encode(value: Any) -> bytes:
    parts = [bytes([_VERSION])]
    _put(value, parts)
    return b"".join(parts)


def _put(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, (bool, Atom)):
        name = str(value).lower() if isinstance(value, bool) else value
        raw = name.encode()
        parts.append(struct.pack(">BB", 119, len(raw)) + raw)
    elif isinstance(value, int):
        parts.append(_integer(int(value)))
    elif isinstance(value, float):
        if isfinite(value):
            parts.append(struct.pack(">Bd", 70, value))
        else:
            _put(Atom("nan" if isnan(value) else "infinity" if value > 0 else "-infinity"), parts)
    elif isinstance(value, str):
        _put_text(value, parts)
    elif isinstance(value, bytes):
        parts += [struct.pack(">BI", 109, len(value)), value]
    elif isinstance(value, tuple):
        parts.append(struct.pack(">BI", 105, len(value)))
        _put_all(value, parts)
    elif isinstance(value, list):
        if value:
            parts.append(struct.pack(">BI", 108, len(value)))
            _put_all(value, parts)
        parts.append(b"j")
    elif isinstance(value, dict):
        parts.append(struct.pack(">BI", 116, len(value)))
        _put_all((each for pair in value.items() for each in pair), parts)
    else:
        raise TypeError(f"{type(value).__name__} is no term")


def _put_all(values: Any, parts: list[bytes]) -> None:
    for value in values:
        _put(value, parts)


def _put_text(text: str, parts: list[bytes]) -> None:
    if text and len(text) <= _STRING_MOST and max(text) <= "\xff":
        parts.append(struct.pack(">BH", 107, len(text)) + text.encode("latin-1"))
    else:
        _put([ord(c) for c in text], parts)


def _integer(value: int) -> bytes:
    if 0 <= value <= 255:
        return bytes((97, value))
    if -(2**31) <= value < 2**31:
        return struct.pack(">Bi", 98, value)
    magnitude = abs(value)
    digits = magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "little")
    return struct.pack(">BBB", 110, len(digits), value < 0) + digits


def decode(data: bytes) -> Any:
    if data[:1] != bytes([_VERSION]):
        raise ValueError("no external term")
    try:
        value, end = _take(data, 1)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged term: {error}") from None
    if end != len(data):
        raise ValueError("more than a term")
    return value


def _take(data: bytes, at: int) -> tuple[Any, int]:
    """(value, where the next one begins)"""
    tag, at = data[at], at + 1
    reader = _READERS.get(tag)
    if reader is None:
        raise ValueError(f"a term of a kind that is not spoken here: {tag}")
    found: tuple[Any, int] = reader(data, at)
    return found


def _take_some(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
    if count > len(data) - at:
        raise ValueError("damaged term: it is longer than its bytes")
    found = []
    for _ in range(count):
        value, at = _take(data, at)
        found.append(value)
    return found, at


def _sized(layout: str, make: Any) -> Any:
    """A reader of bytes that a number of this layout counts."""
    header = struct.Struct(layout)

    def take(data: bytes, at: int) -> tuple[Any, int]:
        (size,) = header.unpack_from(data, at)
        at += header.size
        if size > len(data) - at:
            raise ValueError("damaged term: it is longer than its bytes")
        return make(data[at : at + size]), at + size

    return take


def _fixed(layout: str) -> Any:
    whole = struct.Struct(layout)
    return lambda data, at: (whole.unpack_from(data, at)[0], at + whole.size)


def _counted(layout: str, make: Any, each: int = 1) -> Any:
    """A reader of terms that a number of this layout counts."""
    header = struct.Struct(layout)

    def take(data: bytes, at: int) -> tuple[Any, int]:
        (count,) = header.unpack_from(data, at)
        found, at = _take_some(data, at + header.size, count * each)
        return make(found), at

    return take


def _big(data: bytes, at: int) -> tuple[int, int]:
    size, negative = data[at], data[at + 1]
    digits = data[at + 2 : at + 2 + size]
    if len(digits) < size:
        raise ValueError("damaged term: it is longer than its bytes")
    value = int.from_bytes(digits, "little")
    return -value if negative else value, at + 2 + size


def _list(data: bytes, at: int) -> tuple[list[Any], int]:
    (count,) = struct.unpack_from(">I", data, at)
    found, at = _take_some(data, at + 4, count)
    tail, at = _take(data, at)
    if tail != []:
        raise ValueError("an improper list")
    return found, at


def _atom(raw: bytes) -> Any:
    name = raw.decode()
    return name == "true" if name in ("true", "false") else Atom(name)


def _map(found: list[Any]) -> dict[Any, Any]:
    return dict(zip(found[::2], found[1::2]))


_READERS = {
    70: _fixed(">d"), 97: _fixed(">B"), 98: _fixed(">i"), 110: _big,
    100: _sized(">H", lambda raw: _atom(raw.decode("latin-1").encode())), 118: _sized(">H", _atom), 119: _sized(">B", _atom),
    104: _counted(">B", tuple), 105: _counted(">I", tuple), 116: _counted(">I", _map, 2),
    106: lambda data, at: ([], at), 107: _sized(">H", lambda raw: raw.decode("latin-1")),
    108: _list, 109: _sized(">I", bytes),
}  # fmt: skip
