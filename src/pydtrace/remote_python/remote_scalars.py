"""Numbers, texts, dates and the like of another process, read by the layout of their types.

- Only memory is read. A part that is not there raises OSError.
- Untrusted: a text or a number is read up to the limit that it is asked with.
"""

from __future__ import annotations

import datetime
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .object_layout import ObjectLayout
    from .recorded_memory import RecordedMemory

_CODECS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_DIGIT = 30  # bits
_DECIMAL_WORD = 19  # digits of a word of a Decimal
_NEGATIVE, _INFINITE, _NAN, _SIGNALLING = 1, 2, 4, 8
# of numpy's scalars: {name behind "numpy.": format}
NUMPY_SCALARS = {
    "bool": "?",
    "bool_": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "longlong": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "ulonglong": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}
_DIMENSIONS = 32


class RemoteScalars:
    """Of one process.  layout: RemotePython's."""

    def __init__(
        self, memory: RecordedMemory, layout: dict[str, int], objects: ObjectLayout
    ) -> None:
        self._memory, self._layout, self._objects = memory, layout, objects
        self._head = objects.head

    # --- numbers ----------------------------------------------------------------------

    def read_int(self, address: int, most_bits: int) -> tuple[int, int]:
        """(the int, how many of its bits); where it has more than most_bits, (its highest ones, all)."""
        size = self._memory.read_signed(address + self._objects.int_size)
        if self._objects.minor >= 12:
            count, negative = (size & (1 << 64) - 1) >> 3, size & 3 == 2
        else:
            count, negative = abs(size), size < 0
        read = min(count, most_bits // _DIGIT + 2)
        digits = address + self._objects.int_digits
        data = self._memory.read(digits + 4 * (count - read), 4 * read)
        found = 0
        for digit in reversed(struct.unpack(f"={read}I", data)):
            found = found << _DIGIT | digit & (1 << _DIGIT) - 1
        bits = found.bit_length() + _DIGIT * (count - read)
        if bits > most_bits:
            found >>= max(found.bit_length() - most_bits, 0)
        return -found if negative else found, bits

    def read_float(self, address: int) -> float:
        [found] = struct.unpack("=d", self._memory.read(address + self._head, 8))
        return float(found)

    def read_complex(self, address: int) -> complex:
        return complex(*struct.unpack("=dd", self._memory.read(address + self._head, 16)))

    def read_decimal(self, address: int, most: int) -> tuple[str, int]:
        """(the text that decimal.Decimal has for it, its length); a longer one is "", its digits."""
        head = address + self._head + 8
        flags = self._memory.read(head, 1)[0]
        exponent, digits, length = struct.unpack("=qqq", self._memory.read(head + 8, 24))
        sign = "-" if flags & _NEGATIVE else ""
        if flags & _INFINITE:
            return f"{sign}Infinity", 0
        if digits > most or length > most // _DECIMAL_WORD + 1 or min(digits, length) < 0:
            return "", digits
        words = struct.unpack(
            f"={length}Q", self._memory.read(self._memory.read_word(head + 40), 8 * length)
        )
        number = sum(word * 10 ** (_DECIMAL_WORD * at) for at, word in enumerate(words))
        if flags & (_NAN | _SIGNALLING):
            payload = str(number) if number else ""
            return f"{sign}{'s' if flags & _SIGNALLING else ''}NaN{payload}", 0
        return sign + format_decimal(str(number), exponent), 0

    # --- texts ------------------------------------------------------------------------

    def read_text(self, address: int, most: int) -> tuple[str, int]:
        """(the first characters of a str, its length).  Raises ValueError if it is none."""
        layout = self._layout
        length = self._memory.read_signed(address + layout["unicode_length"])
        state = self._memory.read(address + layout["unicode_state"], 1)[0]
        kind, is_compact, is_ascii = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
        if kind not in _CODECS or length < 0:
            raise ValueError("no text")
        if not is_compact:
            data = self._memory.read_word(address + self._objects.text_data)
        else:
            data = address + layout["unicode_ascii_data" if is_ascii else "unicode_data"]
        shown = min(length, most)
        return _decode_characters(self._memory.read(data, shown * kind), kind, shown), length

    def read_bytes(self, address: int, most: int) -> tuple[bytes, int]:
        size = max(self._memory.read_signed(address + self._layout["bytes_size"]), 0)
        return self._memory.read(address + self._layout["bytes_data"], min(size, most)), size

    def read_bytearray(self, address: int, most: int) -> tuple[bytes, int]:
        size = max(self._memory.read_signed(address + self._head), 0)
        start = self._memory.read_word(address + self._objects.bytearray_start) if size else 0
        return self._memory.read(start, min(size, most)), size

    # --- dates ------------------------------------------------------------------------

    def read_date(self, address: int) -> str:
        return repr(datetime.date(*_decode_date(self._memory.read(address + self._head + 9, 4))))

    def read_datetime(self, address: int) -> tuple[str, int]:
        """(its text without the time zone, the time zone's address or 0)."""
        data = self._memory.read(address + self._head + 9, 11)
        made = datetime.datetime(*_decode_date(data), *_decode_time(data[4:10]), fold=data[10] & 1)
        return repr(made), self._read_zone(address, self._head + 24)

    def read_time(self, address: int) -> tuple[str, int]:
        """The same of a time of day."""
        data = self._memory.read(address + self._head + 9, 7)
        made = datetime.time(*_decode_time(data), fold=data[6] & 1)
        return repr(made), self._read_zone(address, self._head + 16)

    def _read_zone(self, address: int, offset: int) -> int:
        has_zone = self._memory.read(address + self._head + 8, 1) != b"\0"
        return self._memory.read_word(address + offset) if has_zone else 0

    def read_timedelta(self, address: int) -> datetime.timedelta:
        return datetime.timedelta(
            *struct.unpack("=iii", self._memory.read(address + self._head + 8, 12))
        )

    # --- numpy ------------------------------------------------------------------------

    def read_numpy_scalar(self, address: int, name: str) -> bool | int | float:
        form = NUMPY_SCALARS[name]
        data = self._memory.read(address + self._head, struct.calcsize(f"={form}"))
        found: bool | int | float = struct.unpack(f"={form}", data)[0]
        return found

    def read_numpy_array(self, address: int) -> tuple[list[int], int]:
        """(the shape of an array, the address of its elements' type)."""
        dimensions = int.from_bytes(self._memory.read(address + self._head + 8, 4), "little")
        if dimensions > _DIMENSIONS * 2:
            raise ValueError("no array")
        shape = self._memory.read_word(address + self._head + 16)
        kind = self._memory.read_word(
            self._memory.read_word(address + self._head + 40) + self._head
        )
        data = self._memory.read(shape, 8 * dimensions)
        return list(struct.unpack(f"={dimensions}q", data)), kind


def _decode_characters(data: bytes, kind: int, count: int) -> str:
    """A str may hold both halves of a surrogate pair, which a decoder would join."""
    if kind == 1:
        return data.decode("latin-1")
    text = data.decode(_CODECS[kind], "surrogatepass")
    return text if len(text) == count else "".join(map(chr, struct.unpack(f"={count}H", data)))


def _decode_date(data: bytes) -> tuple[int, int, int]:
    return data[0] << 8 | data[1], data[2], data[3]


def _decode_time(data: bytes) -> tuple[int, int, int, int]:
    return data[0], data[1], data[2], data[3] << 16 | data[4] << 8 | data[5]


def format_decimal(digits: str, exponent: int) -> str:
    """As decimal.Decimal.__str__() has it."""
    places = exponent + len(digits)
    point = places if exponent <= 0 and places > -6 else 1
    if point <= 0:
        whole, fraction = "0", "." + "0" * -point + digits
    elif point >= len(digits):
        whole, fraction = digits + "0" * (point - len(digits)), ""
    else:
        whole, fraction = digits[:point], "." + digits[point:]
    return whole + fraction + (f"E{places - point:+d}" if places != point else "")
