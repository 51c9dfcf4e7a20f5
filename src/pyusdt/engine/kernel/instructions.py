"""Where the instructions of a function begin, for probes at offsets.

In: a function's bytes, ELF's number of the processor.  Out: the offsets of its instructions, ascending.
Always: what is not known ends the list, so that no probe is put into the middle of an instruction.
Source: Intel's Software Developer's Manual, volume 2, chapter 2 and appendix A; AMD's volume 3 for XOP.
"""

from __future__ import annotations

from .operands import AARCH64, X86_64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIXES = frozenset(b"\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65")
_NONE, _BYTE, _HALF, _WORD, _ENTER = 0, 1, 2, 4, 3  # immediate operands, in bytes; a word is a half under a prefix
_MODRM, _BAD = 16, 32  # flags beside these: a ModRM byte follows; there is no such instruction


def _rows(text: str, otherwise: int) -> list[int]:
    """A table by opcode.  text: `first[-last] what …`."""
    table = [otherwise] * 256
    words = text.split()
    names = {"-": _NONE, "b": _BYTE, "h": _HALF, "w": _WORD, "e": _ENTER, "m": _MODRM, "mb": _MODRM | _BYTE, "mw": _MODRM | _WORD, "x": _BAD}
    for span, what in zip(words[::2], words[1::2]):
        first, _, last = span.partition("-")
        for opcode in range(int(first, 16), int(last or first, 16) + 1):
            table[opcode] = names[what]
    return table


_ARITHMETIC = " ".join(f"{at:x}-{at + 3:x} m {at + 4:x} b {at + 5:x} w {at + 6:x}-{at + 7:x} x" for at in range(0, 0x40, 8))
_ONE = _rows(f"""{_ARITHMETIC} 60-62 x 63 m 68 w 69 mw 6a b 6b mb 70-7f b 80 mb 81 mw 82 x 83 mb 84-8f m 9a x a8 b a9 w b0-b7 b b8-bf w
    c0-c1 mb c2 h c4-c5 x c6 mb c7 mw c8 e ca h cd b ce x d0-d3 m d4-d6 x d8-df m e0-e7 b e8-e9 w ea x eb b f6-f7 m fe-ff m""", _NONE)
_TWO = _rows("""4 x 5-9 - a x b - c x e - f mb 24-27 x 30-37 - 39 x 3b-3f x 70-73 mb 77 - 80-8f w a0-a2 - a4 mb a6-a7 x a8-aa - ac mb ba mb
    c2 mb c4-c6 mb c8-cf -""", _MODRM)
_VECTOR = {1: _rows("70-73 mb 77 - c2 mb c4-c6 mb", _MODRM), 2: [_MODRM] * 256, 3: [_MODRM | _BYTE] * 256, 5: [_MODRM] * 256,
           6: [_MODRM] * 256, 8: [_MODRM | _BYTE] * 256, 9: [_MODRM] * 256, 10: [_MODRM | _WORD] * 256}  # by VEX's, EVEX's, XOP's map


def offsets(code: bytes, machine: int) -> Iterator[int]:
    """Where the instructions begin."""
    if machine == AARCH64:
        yield from range(0, len(code) - 3, 4)
    elif machine == X86_64:
        at, padded = 0, code + bytes(16)
        while at < len(code):
            size = _length(padded, at)
            if not size or at + size > len(code):
                return
            yield at
            at += size


def _length(code: bytes, start: int) -> int:
    """Of the instruction of x86-64 that begins there, 0 where it is none."""
    at, half, wide, short = start, False, False, False
    while (byte := code[at]) in _PREFIXES:
        half, short = half or byte == 0x66, short or byte == 0x67
        at += 1
        if at - start > 14:
            return 0
    if byte & 0xF0 == 0x40:
        wide = bool(byte & 8)
        at += 1
        byte = code[at]
    opcode, table = byte, _ONE
    if byte == 0x0F:
        opcode, table, at = code[at + 1], _TWO, at + 1
        if opcode in (0x38, 0x3A):
            opcode, table, at = code[at + 1], _VECTOR[2 if opcode == 0x38 else 3], at + 1
    elif byte in (0xC5, 0xC4, 0x62) or (byte == 0x8F and code[at + 1] & 0x1F >= 8):
        size = {0xC5: 2, 0x62: 4}.get(byte, 3)
        known = _VECTOR.get(1 if byte == 0xC5 else code[at + 1] & (0x07 if byte == 0x62 else 0x1F))
        if known is None:
            return 0
        opcode, table, at, half = code[at + size], known, at + size, False
    kind = table[opcode]
    at += 1
    if kind & _BAD:
        return 0
    if table is _ONE and opcode in (0xF6, 0xF7) and code[at] >> 3 & 7 < 2:  # test, which alone of its group has one
        kind |= _BYTE if opcode == 0xF6 else _WORD
    if table is _ONE and 0xA0 <= opcode <= 0xA3:
        at += 4 if short else 8  # the address itself
    if kind & _MODRM:
        at += _operand(code, at)
    immediate = kind & 7
    if immediate == _WORD:
        if table is _ONE and 0xB8 <= opcode <= 0xBF and wide:
            immediate = 8
        elif half and not wide and not (opcode in (0xE8, 0xE9) if table is _ONE else 0x80 <= opcode <= 0x8F):
            immediate = 2
    at += immediate
    return at - start if at - start <= 15 else 0


def _operand(code: bytes, at: int) -> int:
    """The size of a ModRM byte and what belongs to it."""
    mode, base = code[at] >> 6, code[at] & 7
    if mode == 3:
        return 1
    size = 1
    if base == 4:
        base, size = code[at + 1] & 7, 2
    if mode == 1:
        return size + 1
    return size + 4 if mode == 2 or base == 5 else size
