"""USDT operands: where the arguments of a probe are, as its note says.

The compiler writes operands like those of assembly: "-4@$12 8@%rdi 8@-16(%rbp,%rcx,8)", on aarch64
"8@x0 -4@[sp, 12]".

- An operand outside this grammar raises UnsupportedOperand, but only if a clause reads that
  argument.
"""

from __future__ import annotations

import re

from pydtrace.bpf.helpers import GET_CURRENT_TASK, HELPERS
from pydtrace.bpf.insn import (
    R0,
    R1,
    R2,
    R3,
    alu,
    alu_imm,
    call,
    const,
    load,
    mov,
    mov_imm,
    store,
    store_imm,
)
from pydtrace.engine.kernel.passes.read_kernel_memory import emit_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.bpf.program_builder import CodeBuilder

X86_64, AARCH64 = 62, 183  # ELF's numbers of processors


class UnsupportedOperand(Exception):
    """An operand that can not be read; the message says which and why."""


class Register:
    """Where a register is in the kernel's struct pt_regs: offset in bytes, its size in bytes, and by how
    many bits its value lies higher."""

    __slots__ = ("offset", "size", "shift")

    def __init__(self, offset: int, size: int, shift: int = 0) -> None:
        self.offset, self.size, self.shift = offset, size, shift


class Operand:
    """One argument.  size, signed: of its value; constant: an int, or None; register: a Register, or None; else
    it is the memory at base + (index << scale) + displacement, base and index each None or a Register, index_signed:
    index is sign-extended; symbol: a name whose address is added, relative: to the instruction pointer's; of_thread: to the running
    thread's own memory; is_float: its bits are a floating-point number's."""

    __slots__ = (
        "text",
        "size",
        "signed",
        "constant",
        "register",
        "base",
        "index",
        "index_signed",
        "scale",
        "displacement",
        "symbol",
        "relative",
        "of_thread",
        "is_float",
    )

    def __init__(self, text: str, size: int, signed: bool) -> None:
        self.text, self.size, self.signed = text, size, signed
        self.constant: int | None = None
        self.register: Register | None = None
        self.base: Register | None = None
        self.index: Register | None = None
        self.symbol: str | None = None
        self.index_signed = self.relative = self.of_thread = self.is_float = False
        self.scale = self.displacement = 0


ABSENT = Operand("", 8, False)  # what a probe does not have is 0
ABSENT.constant = 0


# --- registers ------------------------------------------------------------------------
# offset in pt_regs: names for 8, 4, 2, 1 bytes, and for the second byte
_X86_64 = [
    (80, "rax eax ax al ah"), (40, "rbx ebx bx bl bh"), (88, "rcx ecx cx cl ch"), (96, "rdx edx dx dl dh"),
    (104, "rsi esi si sil"), (112, "rdi edi di dil"), (32, "rbp ebp bp bpl"), (152, "rsp esp sp spl"),
    *[(offset, f"r{n} r{n}d r{n}w r{n}b")
      for offset, n in ((72, 8), (64, 9), (56, 10), (48, 11), (24, 12), (16, 13), (8, 14), (0, 15))],
]  # fmt: skip
_SHAPES = ((8, 0), (4, 0), (2, 0), (1, 0), (1, 8))  # size, shift of each name in a row
_IP = {X86_64: Register(128, 8), AARCH64: Register(256, 8)}
REGISTERS = {
    X86_64: {
        name: Register(offset, *shape)
        for offset, names in _X86_64
        for name, shape in zip(names.split(), _SHAPES)
    },
    AARCH64: {
        f"{letter}{i}": Register(8 * i, size)
        for i in range(31)
        for letter, size in (("x", 8), ("w", 4))
    },
}
REGISTERS[AARCH64].update(
    sp=Register(248, 8), wsp=Register(248, 4), fp=Register(232, 8), lr=Register(240, 8)
)
_ZERO = ("xzr", "wzr")
_OF_THREAD = "@tpoff"  # behind the name of a program's thread-local variable

# Where a function's arguments are at its entry, and what arg0 and arg1 are where it returns: 0 and its value
FUNCTION_ARGUMENTS = {
    X86_64: (
        "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9 8@8(%rsp) 8@16(%rsp) 8@24(%rsp) 8@32(%rsp)",
        "8@$0 8@%rax",
    ),
    AARCH64: ("8@x0 8@x1 8@x2 8@x3 8@x4 8@x5 8@x6 8@x7 8@[sp] 8@[sp, 8]", "8@0 8@x0"),
}

# --- grammar --------------------------------------------------------------------------
_PREFIX = re.compile(r"(-?)(\d+)(f?)@")
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+)\Z")
# sums of numbers and at most one symbol, in any order, as gas writes them
_TERM = re.compile(r"\s*([-+]*)\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_.$][\w.$@]*)")
_X86_MEMORY = re.compile(
    r"(?P<sum>[^(]*)\((?:%(?P<base>\w+))?\s*(?:,\s*(?:%(?P<index>\w+))?\s*(?:,\s*(?P<scale>\d))?)?\s*\)\Z"
)
_ARM_MEMORY = re.compile(r"\[\s*(?P<base>\w+)\s*(?:,\s*(?P<rest>[^\]]+?))?\s*\]\Z")
_ARM_INDEX = re.compile(
    r"(?P<index>\w+)\s*(?:,\s*(?P<how>lsl|sxtw|uxtw|sxtx|uxtx)\s*(?:#?(?P<scale>\d))?)?\Z"
)
_SCALES = {None: 0, "1": 0, "2": 1, "4": 2, "8": 3}


def split_operands(text: str) -> list[str]:
    """The operands of a note's string: blanks inside of brackets divide nothing."""
    found, depth, start = [], 0, None
    for i, char in enumerate(text):
        if char.isspace() and depth == 0:
            if start is not None:
                found.append(text[start:i])
            start = None
            continue
        start = i if start is None else start
        depth += (char in "[(") - (char in "])")
    if start is not None:
        found.append(text[start:])
    return found


def operand_types(text: str) -> list[str]:
    """The types of a note's operands, in D's words: as their sizes and signs say."""
    found = []
    for each in split_operands(text):
        match = _PREFIX.match(each)
        size, signed, is_float = (
            (int(match[2]), match[1] == "-", bool(match[3])) if match else (8, True, False)
        )
        floats, known = {4: "float", 8: "double"}, size in (1, 2, 4, 8)
        found.append(
            floats.get(size, "double")
            if is_float
            else f"{'' if signed else 'u'}int{8 * size if known else 64}_t"
        )
    return found


def parse_operand(text: str, machine: int) -> Operand:
    """The Operand of one operand's text."""
    match = _PREFIX.match(text)
    size, signed, body = 8, True, text
    if match:
        size, signed, body = int(match[2]), match[1] == "-", text[match.end() :]
        if size not in (1, 2, 4, 8):
            raise UnsupportedOperand(f"{text} has {size} bytes")
    operand = Operand(text, size, signed)
    operand.is_float = bool(match and match[3])
    parser = {X86_64: _parse_x86_64, AARCH64: _parse_aarch64}.get(machine)
    if parser is None:
        raise UnsupportedOperand(
            f"operands of this processor (ELF machine {machine}) are not known"
        )
    parser(operand, body.strip(), REGISTERS[machine])
    if operand.relative:
        operand.base = _IP[machine]
    return operand


def _find_register(operand: Operand, name: str, registers: Mapping[str, Register]) -> Register:
    register = registers.get(name)
    if register is None and operand.is_float:
        raise UnsupportedOperand(
            f"{operand.text} is a floating-point number in a register that the kernel does not show"
        )
    if register is None:
        raise UnsupportedOperand(f"{operand.text}: register {name} is not saved for tracers")
    return register


def _parse_sum(operand: Operand, text: str) -> None:
    """A sum of numbers and a symbol, into displacement and symbol."""
    place = 0
    while place < len(text):
        match = _TERM.match(text, place)
        if not match:
            raise UnsupportedOperand(f"{operand.text} is not an operand that is known")
        place = match.end()
        negative = match[1].count("-") % 2 == 1
        if match[2][0].isdigit():
            value = int(match[2], 16 if match[2][:2].lower() == "0x" else 10)
            operand.displacement += -value if negative else value
        elif operand.symbol is None and not negative:
            operand.symbol = match[2]
        else:
            raise UnsupportedOperand(f"{operand.text} is a difference of symbols")


def _parse_x86_64(operand: Operand, body: str, registers: Mapping[str, Register]) -> None:
    if body[:1] == "$":
        _parse_constant(operand, body[1:])
        return
    if body.startswith("%fs:"):
        operand.of_thread, body = True, body[4:].replace(_OF_THREAD, "")
        if "@" in body:
            raise UnsupportedOperand(f"{operand.text}: {body} is not known")
    elif body[:1] == "%":
        if ":" in body:
            raise UnsupportedOperand(f"{operand.text} is relative to a segment")
        operand.register = _find_register(operand, body[1:], registers)
        return
    match = _X86_MEMORY.match(body)
    _parse_sum(operand, match["sum"] if match else body)
    if not match:
        if operand.symbol is None and not body:
            raise UnsupportedOperand("an operand is empty")
        return
    if match["base"] == "rip":
        if operand.symbol is None:
            raise UnsupportedOperand(f"{operand.text} does not say relative to what")
        operand.relative = True
    elif match["base"]:
        operand.base = _find_register(operand, match["base"], registers)
    if match["index"]:
        operand.index = _find_register(operand, match["index"], registers)
        if match["scale"] not in _SCALES:
            raise UnsupportedOperand(f"{operand.text}: no such scale")
        operand.scale = _SCALES[match["scale"]]


def _parse_aarch64(operand: Operand, body: str, registers: Mapping[str, Register]) -> None:
    if _NUMBER.match(body.lstrip("#")):
        _parse_constant(operand, body.lstrip("#"))
        return
    if body in _ZERO:
        operand.constant = 0
        return
    match = _ARM_MEMORY.match(body)
    if not match:
        operand.register = _find_register(operand, body, registers)
        return
    operand.base = _find_register(operand, match["base"], registers)
    rest = (match["rest"] or "0").lstrip("#")
    if _NUMBER.match(rest):
        operand.displacement = int(rest, 0)
        return
    index = _ARM_INDEX.match(rest)
    if not index:
        raise UnsupportedOperand(f"{operand.text} is not an operand that is known")
    if index["index"] not in _ZERO:
        operand.index = _find_register(operand, index["index"], registers)
    operand.index_signed = (index["how"] or "").startswith("s")
    operand.scale = int(index["scale"] or 0)


def _parse_constant(operand: Operand, text: str) -> None:
    _parse_sum(operand, text)
    if operand.symbol is None:
        operand.constant = operand.displacement


# --- code -----------------------------------------------------------------------------


def emit_operand(
    g: CodeBuilder, operand: Operand, context: int, state: int, offset: int, symbol_distance: int
) -> None:
    """Load an operand into the 8 bytes at state + offset, extended to 64 bits by its size and sign; 0 where its
    memory can not be read.  g: a code.Code; context, state: registers that calls keep; symbol_distance: what to
    add for the operand's symbol.  Loses r0 … r5."""
    if is_direct(operand):
        emit_direct(g, operand, context, R1)
        g.emit(store(8, state, offset, R1))
        return
    _emit_address(g, operand, context, symbol_distance)
    g.emit(
        store_imm(8, state, offset, 0),
        mov(R1, state),
        alu_imm("add", R1, offset),
        mov_imm(R2, operand.size),
        call(HELPERS["probe_read_user"].number),
    )
    if operand.signed and operand.size < 8:
        g.emit(load(operand.size, R0, state, offset))
        _emit_narrow(g, R0, operand.size, True)
        g.emit(store(8, state, offset, R0))


def is_direct(operand: Operand) -> bool:
    """Whether it is a constant or in a register, so that no memory has to be read."""
    return operand.constant is not None or operand.register is not None


def emit_direct(g: CodeBuilder, operand: Operand, context: int, to: int) -> None:
    """Load such an operand into a register, extended to 64 bits."""
    if operand.constant is not None:
        g.emit(const(to, _extend_constant(operand.constant, operand)))
        return
    assert operand.register
    _emit_register_load(g, operand.register, context, to)
    _emit_narrow(g, to, min(operand.size, operand.register.size), operand.signed)


def _extend_constant(value: int, operand: Operand) -> int:
    bits = 8 * operand.size
    value &= (1 << bits) - 1
    return value - (1 << bits) if operand.signed and value >> bits - 1 else value


def _emit_register_load(g: CodeBuilder, register: Register, context: int, to: int) -> None:
    g.emit(load(8, to, context, register.offset))
    if register.shift:
        g.emit(alu_imm("rsh", to, register.shift))


def _emit_narrow(g: CodeBuilder, register: int, size: int, signed: bool) -> None:
    if size < 8:
        shift = 64 - 8 * size
        g.emit(
            alu_imm("lsh", register, shift), alu_imm("arsh" if signed else "rsh", register, shift)
        )


def _emit_address(g: CodeBuilder, operand: Operand, context: int, symbol_distance: int) -> None:
    """r3 = where the operand's memory is."""
    displacement = operand.displacement + (symbol_distance if operand.symbol else 0)
    if operand.of_thread:
        from .raw_tracepoints import KernelInfo  # which imports this module's neighbours

        members = KernelInfo()
        g.emit(call(GET_CURRENT_TASK))
        emit_read(
            g,
            8,
            R0,
            members.member_offset("task_struct", "thread")
            + members.member_offset("thread_struct", "fsbase"),
        )
        g.emit(mov(R3, R0), const(R1, displacement), alu("add", R3, R1))
    else:
        g.emit(const(R3, displacement))
    if operand.base:
        _emit_register_load(g, operand.base, context, R1)
        _emit_narrow(g, R1, operand.base.size, False)
        g.emit(alu("add", R3, R1))
    if operand.index:
        _emit_register_load(g, operand.index, context, R1)
        _emit_narrow(g, R1, operand.index.size, operand.index_signed)
        g.emit(alu_imm("lsh", R1, operand.scale), alu("add", R3, R1))
