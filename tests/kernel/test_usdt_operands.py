"""Operands: every form, read by the kernel from a program that has it; real binaries' all parse."""

import os
import platform

import pytest

from pydtrace.engine.kernel.probes import usdt_operands
from tests.support.kernel_harness import DATA, compile_c, pydtrace

REGISTERS = [
    "rax",
    "rbx",
    "rcx",
    "rdx",
    "rsi",
    "rdi",
    "rbp",
    "r8",
    "r9",
    "r10",
    "r11",
    "r12",
    "r13",
    "r14",
    "r15",
]
PER_SITE = 10  # D has arg0 … arg9


def rows(name):
    """The columns of a data file."""
    with open(os.path.join(DATA, name)) as file:
        return [
            [part.strip() for part in line.split("\t") if part.strip()]
            for line in file
            if line[0] != "#"
        ]


def note(site, text):
    """The assembly of a USDT note, version 3."""
    return f"""
    .pushsection .note.stapsdt, "", "note"
    .balign 4
    .4byte 992f-991f, 994f-993f, 3
991: .asciz "stapsdt"
992: .balign 4
993: .8byte 990b
    .8byte _.stapsdt.base
    .8byte 0
    .asciz "operands"
    .asciz "site{site}"
    .asciz "{text}"
994: .balign 4
    .popsection
"""


def program(groups):
    """A program in assembly with a site for each group of operands."""
    registers = "".join(
        f"    movabs $0x{0xF0F1F2F3F4F5F6F0 + i:x}, %{name}\n" for i, name in enumerate(REGISTERS)
    )
    sites = "".join("990: nop\n" + note(i, " ".join(group)) for i, group in enumerate(groups))
    saved = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    return f"""
    .section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
    .weak _.stapsdt.base
    .hidden _.stapsdt.base
_.stapsdt.base: .space 1
    .size _.stapsdt.base, 1
    .data
    .globl cells
cells: .byte {", ".join(str(0x80 + i) for i in range(64))}
local_cells: .8byte 0x1122334455667788
    .text
    .globl main
    .type main, @function
main:
{"".join(f"    push %{name}" + chr(10) for name in saved)}
    push $0
    movl cells(%rip), %eax
    sub $16, %rsp
    movl $0x5a5a5a5a, 8(%rsp)
{registers}    lea cells(%rip), %rbx
    mov $3, %rcx
{sites}    add $24, %rsp
{"".join(f"    pop %{name}" + chr(10) for name in reversed(saved))}
    xor %eax, %eax
    ret
    .size main, . - main
    .section .note.GNU-stack, "", @progbits
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="host: another processor")
@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize("options", [("-pie",), ("-no-pie",)], ids=str)
def test_every_form_is_read_as_it_is(tmp_path, options):
    table = rows("operands-x86_64.txt")
    groups = [table[i : i + PER_SITE] for i in range(0, len(table), PER_SITE)]
    source = tmp_path / "operands.s"
    source.write_text(program([[text for text, _ in group] for group in groups]))
    binary = compile_c(source, tmp_path / "operands", *options)
    clauses = "".join(
        f'operands*:::site{i} {{ printf("{" ".join(["%x"] * len(group))}\\n", '
        f"{', '.join(f'arg{k}' for k in range(len(group)))}); }}"
        for i, group in enumerate(groups)
    )
    out, err, _ = pydtrace("-q", "-n", clauses, "-c", binary)
    values = [int(word, 16) for word in out.split()]
    assert dict(zip([text for text, _ in table], map(hex, values))) == {
        text: hex(int(value, 0)) for text, value in table
    }, err


def test_operands_of_real_binaries_parse():
    table = rows("operands-real.txt")
    assert len(table) > 150
    for text, _ in table:
        operand = usdt_operands.parse_operand(text, usdt_operands.X86_64)
        assert operand.constant is not None or operand.register or operand.base


def describe(operand):
    def place(register):
        return f"{register.offset}/{register.size}"

    size = -operand.size if operand.signed else operand.size
    if operand.constant is not None:
        return f"{size} constant {operand.constant}"
    if operand.register:
        return f"{size} register {place(operand.register)}"
    index = (
        f" + index {place(operand.index)} << {operand.scale}{' s' * operand.index_signed}"
        if operand.index
        else ""
    )
    return f"{size} base {place(operand.base)}{index} + {operand.displacement}"


@pytest.mark.parametrize("text, size, meaning", rows("operands-aarch64.txt"))
def test_aarch64(text, size, meaning):
    assert describe(usdt_operands.parse_operand(text, usdt_operands.AARCH64)) == f"{size} {meaning}"


@pytest.mark.parametrize("machine, text, message", rows("operands-unsupported.txt"))
def test_what_can_not_be_read_is_refused_with_the_reason(machine, text, message):
    with pytest.raises(usdt_operands.UnsupportedOperand, match=message):
        usdt_operands.parse_operand(text, int(machine))


def test_blanks_in_brackets_divide_nothing():
    assert usdt_operands.split_operands("8@[sp, 12]  -4@w1 8@(%rax, %rbx)") == [
        "8@[sp, 12]",
        "-4@w1",
        "8@(%rax, %rbx)",
    ]
    assert usdt_operands.split_operands("") == []
