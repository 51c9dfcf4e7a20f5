"""Encode and decode Erlang's External Term Format, as far as erltrace, its port and `pyusdt attach` use it.

    integer <-> int, float <-> float, atom <-> Atom, binary <-> bytes, list -> list, tuple <-> tuple, map <-> dict;
    a float that Erlang does not have becomes one of the atoms nan, infinity, '-infinity';
    a str becomes an Erlang string (a list of code points), a list of bytes is read as a str;
    a pid, port, reference or function <-> Opaque.

- Raises ValueError for what it does not read. Nothing is read beyond the end of the bytes.

Source: "External Term Format" of the ERTS guide.
"""

from __future__ import annotations

import struct
from math import isfinite, isnan
from typing import Any


class Atom(str):
    """An atom of Erlang's; True and False are such, too."""

    __slots__ = ()


class Opaque(bytes):
    """A term as its bytes, with the tag: what only a node can make sense of."""

    __slots__ = ()


_VERSION = 131
_MAX_STRING = 0xFFFF


def encode(value: Any) -> bytes:
    parts = [bytes([_VERSION])]
    _encode_term(value, parts)
    return b"".join(parts)


def _encode_term(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, (bool, Atom)):
        name = str(value).lower() if isinstance(value, bool) else value
        raw = name.encode()
        parts.append(struct.pack(">BB", 119, len(raw)) + raw)
    elif isinstance(value, Opaque):
        parts.append(value)
    elif isinstance(value, int):
        parts.append(_encode_integer(int(value)))
    elif isinstance(value, float):
        if isfinite(value):
            parts.append(struct.pack(">Bd", 70, value))
        else:
            _encode_term(
                Atom("nan" if isnan(value) else "infinity" if value > 0 else "-infinity"), parts
            )
    elif isinstance(value, str):
        _encode_text(value, parts)
    elif isinstance(value, bytes):
        parts += [struct.pack(">BI", 109, len(value)), value]
    elif isinstance(value, tuple):
        parts.append(struct.pack(">BI", 105, len(value)))
        _encode_terms(value, parts)
    elif isinstance(value, list):
        if value:
            parts.append(struct.pack(">BI", 108, len(value)))
            _encode_terms(value, parts)
        parts.append(b"j")
    elif isinstance(value, dict):
        parts.append(struct.pack(">BI", 116, len(value)))
        _encode_terms((each for pair in value.items() for each in pair), parts)
    else:
        raise TypeError(f"{type(value).__name__} is no term")


def _encode_terms(values: Any, parts: list[bytes]) -> None:
    for value in values:
        _encode_term(value, parts)


def _encode_text(text: str, parts: list[bytes]) -> None:
    if text and len(text) <= _MAX_STRING and max(text) <= "\xff":
        parts.append(struct.pack(">BH", 107, len(text)) + text.encode("latin-1"))
    else:
        _encode_term([ord(c) for c in text], parts)


def _encode_integer(value: int) -> bytes:
    if 0 <= value <= 255:
        return bytes((97, value))
    if -(2**31) <= value < 2**31:
        return struct.pack(">Bi", 98, value)
    magnitude = abs(value)
    digits = magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "little")
    return struct.pack(">BBB", 110, len(digits), value < 0) + digits


def decode(data: bytes) -> Any:
    value, rest = decode_first(data)
    if rest:
        raise ValueError("more than a term")
    return value


def decode_first(data: bytes) -> tuple[Any, bytes]:
    """(the first term, the bytes behind it)"""
    if data[:1] != bytes([_VERSION]):
        raise ValueError("no external term")
    try:
        value, end = _decode_term(data, 1)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged term: {error}") from None
    except RecursionError:
        raise ValueError("a term that is too deep") from None
    return value, data[end:]


def _decode_term(data: bytes, at: int) -> tuple[Any, int]:
    """(value, where the next one begins)"""
    tag, at = data[at], at + 1
    reader = _READERS.get(tag)
    if reader is None:
        raise ValueError(f"a term of a kind that is not spoken here: {tag}")
    found: tuple[Any, int] = reader(data, at)
    return found


def _decode_terms(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
    if count > len(data) - at:
        raise ValueError("damaged term: it is longer than its bytes")
    found = []
    for _ in range(count):
        value, at = _decode_term(data, at)
        found.append(value)
    return found, at


def _make_bytes_reader(layout: str, make: Any) -> Any:
    """A reader of bytes that a number of this layout counts."""
    header = struct.Struct(layout)

    def read_bytes(data: bytes, at: int) -> tuple[Any, int]:
        (size,) = header.unpack_from(data, at)
        at += header.size
        if size > len(data) - at:
            raise ValueError("damaged term: it is longer than its bytes")
        return make(data[at : at + size]), at + size

    return read_bytes


def _make_number_reader(layout: str) -> Any:
    whole = struct.Struct(layout)
    return lambda data, at: (whole.unpack_from(data, at)[0], at + whole.size)


def _make_terms_reader(layout: str, make: Any, each: int = 1) -> Any:
    """A reader of terms that a number of this layout counts."""
    header = struct.Struct(layout)

    def read_terms(data: bytes, at: int) -> tuple[Any, int]:
        (count,) = header.unpack_from(data, at)
        found, at = _decode_terms(data, at + header.size, count * each)
        return make(found), at

    return read_terms


def _read_big_integer(data: bytes, at: int) -> tuple[int, int]:
    size, negative = data[at], data[at + 1]
    digits = data[at + 2 : at + 2 + size]
    if len(digits) < size:
        raise ValueError("damaged term: it is longer than its bytes")
    value = int.from_bytes(digits, "little")
    return -value if negative else value, at + 2 + size


def _read_list(data: bytes, at: int) -> tuple[list[Any], int]:
    (count,) = struct.unpack_from(">I", data, at)
    found, at = _decode_terms(data, at + 4, count)
    tail, at = _decode_term(data, at)
    if tail != []:
        raise ValueError("an improper list")
    return found, at


def _make_atom(raw: bytes) -> Any:
    name = raw.decode()
    return name == "true" if name in ("true", "false") else Atom(name)


def _make_identifier_reader(numbers: int, counted: bool = False) -> Any:
    """A reader of a pid, port or reference: the atom of a node, then numbers of 32 bits; counted: by the 16 bits before the atom, and
    one for the creation."""

    def read_identifier(data: bytes, at: int) -> tuple[Opaque, int]:
        begin, count = at - 1, numbers
        if counted:
            count, at = struct.unpack_from(">H", data, at)[0] + 1, at + 2
        _, end = _decode_term(data, at)
        end += 4 * count
        if end > len(data):
            raise ValueError("damaged term: it is longer than its bytes")
        return Opaque(data[begin:end]), end

    return read_identifier


def _read_function(data: bytes, at: int) -> tuple[Opaque, int]:
    (size,) = struct.unpack_from(">I", data, at)
    if not 4 <= size <= len(data) - at:
        raise ValueError("damaged term: it is longer than its bytes")
    return Opaque(data[at - 1 : at + size]), at + size


def _read_export(data: bytes, at: int) -> tuple[Opaque, int]:
    _, end = _decode_terms(data, at, 3)
    return Opaque(data[at - 1 : end]), end


def _make_map(found: list[Any]) -> dict[Any, Any]:
    return dict(zip(found[::2], found[1::2]))


_READERS = {
    70: _make_number_reader(">d"), 97: _make_number_reader(">B"), 98: _make_number_reader(">i"), 110: _read_big_integer,
    100: _make_bytes_reader(">H", lambda raw: _make_atom(raw.decode("latin-1").encode())), 118: _make_bytes_reader(">H", _make_atom), 119: _make_bytes_reader(">B", _make_atom),
    104: _make_terms_reader(">B", tuple), 105: _make_terms_reader(">I", tuple), 116: _make_terms_reader(">I", _make_map, 2),
    106: lambda data, at: ([], at), 107: _make_bytes_reader(">H", lambda raw: raw.decode("latin-1")),
    108: _read_list, 109: _make_bytes_reader(">I", bytes),
    88: _make_identifier_reader(3), 89: _make_identifier_reader(2), 120: _make_identifier_reader(3),
    90: _make_identifier_reader(0, counted=True), 112: _read_function, 113: _read_export,
}  # fmt: skip
