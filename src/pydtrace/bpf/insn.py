"""The opcode table: eBPF as Linux 5.15 knows it, one row for each instruction.

- The assembler, the disassembler and the constructors below come from ROWS, and so do the
  opcodes of the C interpreter (c/generate_bpf.py).
- One Insn is one 8-byte slot, so an index into a list of Insn is a program counter. The 64-bit
  load takes two slots.

Source of the numbers: Linux Documentation/bpf/standardization/instruction-set.rst (RFC 9669).
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .program_builder import Label

# --- instruction classes, the low three bits of the opcode -------------------
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)
K, X = 0x00, 0x08  # second operand of ALU and JMP: the immediate or the source register
SIZES = {"b": (0x10, 1), "h": (0x08, 2), "w": (0x00, 4), "dw": (0x18, 8)}  # bits, bytes
IMM, MEM, ATOMIC = 0x00, 0x60, 0xC0  # mode bits of LD, LDX, ST, STX
PSEUDO_MAP_FD, PSEUDO_MAP_VALUE = 1, 2  # src of lddw
PSEUDO_CALL = 1  # src of call: to a function of the same program
PSEUDO_FUNC = 4  # src of lddw: the address of such a function
FETCH = 0x01  # of an atomic's imm: the old value goes to the source register

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 = range(11)


class Opcode:
    """One instruction.  name: its mnemonic; opcode: the first byte; form: what its operands are
    (FORMS); sub: what else tells it from others of the same opcode: imm for atomics and byte
    swaps, src for lddw and call, else 0; size: bytes of memory it touches, 0 if none;
    ident: its name in C, unique."""

    __slots__ = ("name", "opcode", "form", "sub", "size", "ident")

    def __init__(
        self, name: str, cls: int, op: int, source: int, form: str, sub: int = 0, size: int = 0
    ) -> None:
        self.name, self.opcode, self.form, self.sub, self.size = (
            name,
            cls | op | source,
            form,
            sub,
            size,
        )
        self.ident = name.upper() + {
            "dst_imm": "_K",
            "jump_imm": "_K",
            "dst_src": "_X",
            "jump_reg": "_X",
        }.get(form, "")


# Operand forms: the operands in the order of the assembly text.  "mem_src" and "mem_dst" are
# [register+off]; "target" a label; what is not named (but `sub`) is 0 in the slot.
FORMS = {
    "dst_src": ("dst", "src"),
    "dst_imm": ("dst", "imm"),
    "dst": ("dst",),
    "swap": ("dst",),  # imm is the width
    "load": ("dst", "mem_src"),
    "store": ("mem_dst", "src"),
    "store_imm": ("mem_dst", "imm"),
    "atomic": ("mem_dst", "src"),  # imm is the operation
    "jump_reg": ("dst", "src", "target"),
    "jump_imm": ("dst", "imm", "target"),
    "jump": ("target",),
    "wide": ("dst", "wide"),
    "map": ("dst", "map"),
    "map_value": ("dst", "map", "offset"),
    "call": ("helper",),
    "call_sub": ("function",),
    "exit": (),
}

_ALU = [
    ("add", 0x00),
    ("sub", 0x10),
    ("mul", 0x20),
    ("div", 0x30),
    ("or", 0x40),
    ("and", 0x50),
    ("lsh", 0x60),
    ("rsh", 0x70),
    ("mod", 0x90),
    ("xor", 0xA0),
    ("mov", 0xB0),
    ("arsh", 0xC0),
]
_JMP = [
    ("jeq", 0x10),
    ("jgt", 0x20),
    ("jge", 0x30),
    ("jset", 0x40),
    ("jne", 0x50),
    ("jsgt", 0x60),
    ("jsge", 0x70),
    ("jlt", 0xA0),
    ("jle", 0xB0),
    ("jslt", 0xC0),
    ("jsle", 0xD0),
]
_ATOMIC = [
    ("add", 0x00),
    ("or", 0x40),
    ("and", 0x50),
    ("xor", 0xA0),
    ("fetch_add", 0x00 | FETCH),
    ("fetch_or", 0x40 | FETCH),
    ("fetch_and", 0x50 | FETCH),
    ("fetch_xor", 0xA0 | FETCH),
    ("xchg", 0xE0 | FETCH),
    ("cmpxchg", 0xF0 | FETCH),
]

ROWS = [
    Opcode(name + suffix, cls, op, source, form)
    for cls, suffix in ((ALU64, ""), (ALU, "32"))
    for name, op in _ALU
    for source, form in ((K, "dst_imm"), (X, "dst_src"))
]
ROWS += [Opcode("neg", ALU64, 0x80, K, "dst"), Opcode("neg32", ALU, 0x80, K, "dst")]
ROWS += [
    Opcode(f"{order}{bits}", ALU, 0xD0, source, "swap", bits)
    for order, source in (("le", K), ("be", X))
    for bits in (16, 32, 64)
]
ROWS += [
    Opcode(name + suffix, cls, op, source, form)
    for cls, suffix in ((JMP, ""), (JMP32, "32"))
    for name, op in _JMP
    for source, form in ((K, "jump_imm"), (X, "jump_reg"))
]
ROWS += [Opcode("ldx" + s, LDX, bits, MEM, "load", 0, size) for s, (bits, size) in SIZES.items()]
ROWS += [Opcode("stx" + s, STX, bits, MEM, "store", 0, size) for s, (bits, size) in SIZES.items()]
ROWS += [Opcode("st" + s, ST, bits, MEM, "store_imm", 0, size) for s, (bits, size) in SIZES.items()]
ROWS += [
    Opcode(f"atomic_{name}{suffix}", STX, bits, ATOMIC, "atomic", op, size)
    for suffix, (bits, size) in (("", SIZES["dw"]), ("32", SIZES["w"]))
    for name, op in _ATOMIC
]
ROWS += [
    Opcode("lddw", LD, 0x18, IMM, "wide"),
    Opcode("ldmap", LD, 0x18, IMM, "map", PSEUDO_MAP_FD),
    Opcode("ldmapval", LD, 0x18, IMM, "map_value", PSEUDO_MAP_VALUE),
    Opcode("ja", JMP, 0x00, K, "jump"),
    Opcode("call", JMP, 0x80, K, "call"),
    Opcode("callsub", JMP, 0x80, K, "call_sub", PSEUDO_CALL),
    Opcode("exit", JMP, 0x90, K, "exit"),
]

# Opcodes by mnemonic: the one with a register, or without second operand, and the one with an immediate.
_REGISTER_FORM = {
    row.name: row.opcode for row in ROWS if row.form != "dst_imm" and row.form != "jump_imm"
}
_IMMEDIATE_FORM = {
    row.name: row.opcode for row in ROWS if row.form == "dst_imm" or row.form == "jump_imm"
}
_SUB = {row.name: row.sub for row in ROWS if row.form in ("atomic", "swap")}
_SIZED = {1: "b", 2: "h", 4: "w", 8: "dw"}
_LOAD = {n: _REGISTER_FORM["ldx" + s] for n, s in _SIZED.items()}
_STORE = {n: _REGISTER_FORM["stx" + s] for n, s in _SIZED.items()}
_STORE_IMM = {n: _REGISTER_FORM["st" + s] for n, s in _SIZED.items()}
_LDDW = _REGISTER_FORM["lddw"]
_CALL = _REGISTER_FORM["call"]


class Insn:
    """One slot.  While a program is being built `off` of a jump may be a program_builder.Label and `imm` of a
    callsub the name of a function; CodeBuilder.finish() puts numbers there, so all others see numbers.
    comment: for the disassembly."""

    __slots__ = ("opcode", "dst", "src", "off", "imm", "comment")
    off: int
    imm: int

    def __init__(
        self,
        opcode: int,
        dst: int = 0,
        src: int = 0,
        off: Label | int = 0,
        imm: int | str = 0,
        comment: str | None = None,
    ) -> None:
        self.opcode, self.dst, self.src = opcode, dst, src
        self.off, self.imm, self.comment = off, imm, comment  # type: ignore[assignment]  # until finish()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Insn) and (
            self.opcode,
            self.dst,
            self.src,
            self.off,
            self.imm,
        ) == (other.opcode, other.dst, other.src, other.off, other.imm)

    __hash__ = None  # type: ignore[assignment]  # how Python spells that there is none

    def __repr__(self) -> str:
        return f"Insn({self.opcode:#04x}, dst={self.dst}, src={self.src}, off={self.off}, imm={self.imm})"


# --- constructors: each returns one Insn; the wide ones return a tuple of two --
def alu(name: str, dst: int, src: int) -> Insn:
    """`name` is "add", "mov32", …: dst = dst op src."""
    return Insn(_REGISTER_FORM[name], dst, src)


def alu_imm(name: str, dst: int, value: int) -> Insn:
    """dst = dst op value; value fits a signed 32-bit integer (it is sign-extended)."""
    return Insn(_IMMEDIATE_FORM[name], dst, 0, 0, value)


def mov(dst: int, src: int) -> Insn:
    return Insn(_REGISTER_FORM["mov"], dst, src)


def mov_imm(dst: int, value: int) -> Insn:
    return Insn(_IMMEDIATE_FORM["mov"], dst, 0, 0, value)


def neg(dst: int) -> Insn:
    return Insn(_REGISTER_FORM["neg"], dst)


def swap(name: str, dst: int) -> Insn:
    """`name` is "be16" … "le64"."""
    return Insn(_REGISTER_FORM[name], dst, 0, 0, _SUB[name])


def load(size: int, dst: int, base: int, off: int) -> Insn:
    """dst = the `size` (1, 2, 4, 8) bytes at base + off, zero-extended."""
    return Insn(_LOAD[size], dst, base, off)


def is_load(insn: Insn) -> bool:
    return insn.opcode & 7 == 1  # BPF_LDX


def store(size: int, base: int, off: int, src: int) -> Insn:
    return Insn(_STORE[size], base, src, off)


def store_imm(size: int, base: int, off: int, value: int) -> Insn:
    """value is a signed 32-bit integer, sign-extended to `size`."""
    return Insn(_STORE_IMM[size], base, 0, off, value)


def atomic(name: str, base: int, off: int, src: int) -> Insn:
    """`name` is "atomic_add", "atomic_fetch_add32", …"""
    return Insn(_REGISTER_FORM[name], base, src, off, _SUB[name])


def jump(name: str, dst: int, src: int, target: Label | int) -> Insn:
    """`name` is "jeq", "jslt32", …; target: a Label, or the offset from the next slot."""
    return Insn(_REGISTER_FORM[name], dst, src, target)


def jump_imm(name: str, dst: int, value: int, target: Label | int) -> Insn:
    return Insn(_IMMEDIATE_FORM[name], dst, 0, target, value)


def ja(target: Label | int) -> Insn:
    return Insn(_REGISTER_FORM["ja"], 0, 0, target)


def call(number: int) -> Insn:
    """Call the helper of that number (helpers.HELPERS[name].number)."""
    return Insn(_CALL, 0, 0, 0, number)


def call_sub(target: int | str) -> Insn:
    """Call a function of the program: its name in bpf/lib, or the offset from the next slot."""
    return Insn(_CALL, 0, PSEUDO_CALL, 0, target)


def exit_() -> Insn:
    return Insn(_REGISTER_FORM["exit"])


def _make_wide(dst: int, src: int, low: int, high: int) -> tuple[Insn, Insn]:
    return Insn(_LDDW, dst, src, 0, low), Insn(0, 0, 0, 0, high)


def _wrap_s32(value: int) -> int:
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def ld_imm64(dst: int, value: int) -> tuple[Insn, Insn]:
    """Two slots: dst = value, modulo 2^64."""
    return _make_wide(dst, 0, _wrap_s32(value), _wrap_s32(value >> 32))


def ld_map(dst: int, index: int) -> tuple[Insn, Insn]:
    """Two slots: dst = the handle of map `index` of the program, for helpers."""
    return _make_wide(dst, PSEUDO_MAP_FD, index, 0)


def ld_map_value(dst: int, index: int, off: int = 0) -> tuple[Insn, Insn]:
    """Two slots: dst = the address of element 0 of the array map `index`, plus off."""
    return _make_wide(dst, PSEUDO_MAP_VALUE, index, _wrap_s32(off))


def ld_function(dst: int) -> tuple[Insn, Insn]:
    """Two slots: dst = the address of a function of the program, which whoever links it puts there as call_sub()'s."""
    return _make_wide(dst, PSEUDO_FUNC, 0, 0)


def const(dst: int, value: int) -> tuple[Insn, ...]:
    """A tuple of one or two slots: dst = value, the shortest way."""
    value = (value & 0xFFFFFFFFFFFFFFFF ^ 1 << 63) - (1 << 63)
    return (mov_imm(dst, value),) if -0x80000000 <= value < 0x80000000 else ld_imm64(dst, value)


_slot = struct.Struct("=BBhi")


def encode(insns: Iterable[Insn]) -> bytes:
    """The bytes of a finished program, in the host's byte order, as bpf(2) takes them."""
    pack, shift = _slot.pack, 4
    if struct.pack("=H", 1) == b"\0\1":  # big-endian: the register nibbles are the other way round
        return b"".join([pack(i.opcode, i.dst << shift | i.src, i.off, i.imm) for i in insns])
    return b"".join([pack(i.opcode, i.dst | i.src << shift, i.off, i.imm) for i in insns])


def decode(data: bytes) -> list[Insn]:
    """The list of Insn in `data`."""
    big = struct.pack("=H", 1) == b"\0\1"
    out = []
    for opcode, regs, off, imm in _slot.iter_unpack(data):
        low, high = regs & 15, regs >> 4
        out.append(Insn(opcode, high, low, off, imm) if big else Insn(opcode, low, high, off, imm))
    return out


def find_opcode(insn: Insn) -> Opcode | None:
    """The row of an Insn, or None."""
    for row in _BY_OPCODE.get(insn.opcode, ()):
        if row.form in ("atomic", "swap"):
            if row.sub == insn.imm:
                return row
        elif row.form in ("wide", "map", "map_value", "call", "call_sub"):
            if row.sub == insn.src:
                return row
        else:
            return row
    return None


_BY_OPCODE: dict[int, list[Opcode]] = {}
for _row in ROWS:
    _BY_OPCODE.setdefault(_row.opcode, []).append(_row)
