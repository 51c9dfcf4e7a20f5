"""Vector instructions under a probe: Linux takes the opcodes of some for others', and neither executes nor refuses them."""

import platform
import subprocess

import pytest

from pydtrace import _tracer
from tests.support.kernel_harness import pydtrace

X86_64 = 62
# Calls each function of the table with the same registers, and prints what is in them afterwards as a number; or the signal.
PROGRAM = r"""#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
extern struct { void (*call)(void); const char *name; } table[];
static sigjmp_buf back;
static uint64_t in[16], out[4];
static uint8_t area[8192] __attribute__((aligned(64)));
static void caught(int number) { siglongjmp(back, number); }
int main(void) {
    struct sigaction action = {.sa_handler = caught, .sa_flags = SA_NODEFER};
    int signals[] = {SIGILL, SIGSEGV, SIGTRAP, SIGFPE, SIGBUS};
    for (int i = 0; i < 5; i++)
        sigaction(signals[i], &action, NULL);
    for (int i = 0; i < 16; i++)
        in[i] = 0x0123456789abcdefull * (uint64_t)(i + 3);
    for (int i = 0; table[i].call; i++) {
        int number = sigsetjmp(back, 1);
        if (number != 0) {
            printf("%s signal\n", table[i].name);
            continue;
        }
        memset(area, 0, sizeof area);
        void (*call)(void) = table[i].call;
        __asm__ volatile("vmovdqu (%[in]), %%ymm0\n vmovdqu 32(%[in]), %%ymm1\n vmovdqu 64(%[in]), %%ymm2\n vmovdqu 96(%[in]), %%ymm3\n"
                         "mov $1, %%eax\n mov $2, %%ecx\n mov $3, %%edx\n cmp %%rcx, %%rax\n call *%[call]\n"
                         "mov %%rax, %[out]\n mov %%rcx, 8+%[out]\n mov %%rdx, 16+%[out]\n pushfq\n popq 24+%[out]\n"
                         "mov $-1, %%eax\n mov $-1, %%edx\n lea %[area], %%rcx\n xsave64 (%%rcx)\n"
                         : [out] "+m"(out[0]), [area] "+m"(area) : [in] "r"(in), [call] "r"(call)
                         : "rax", "rcx", "rdx", "memory", "cc", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3");
        uint64_t sum = 1;
        out[3] &= 0x8d5;
        for (int k = 0; k < 4; k++)
            sum = (sum ^ out[k]) * 1099511628211ull;
        for (int k = 0; k < 8192; k++)
            sum = (sum ^ (k < 464 || k >= 528 ? area[k] : 0)) * 1099511628211ull;
        printf("%s %llx\n", table[i].name, (unsigned long long)sum);
    }
    return 0;
}
"""


def instructions():
    """{name: bytes} of every opcode of the maps 0F, 0F38 and 0F3A with every prefix, as VEX and as EVEX, of registers alone.  (A nop
    is where some have an immediate operand.)"""
    found = {}
    for table in (1, 2, 3):
        for prefix in range(4):
            for opcode in range(256):
                found[f"vex{table}{prefix}_{opcode:02x}"] = bytes(
                    [0xC4, 0xE0 | table, 0x70 | prefix, opcode, 0xC2, 0x90]
                )
                found[f"evex{table}{prefix}_{opcode:02x}"] = bytes(
                    [0x62, 0xF0 | table, 0x74 | prefix, 0x28, opcode, 0xC2, 0x90]
                )
    return found


def assembly(found):
    lines = [".text"]
    for name, code in found.items():
        lines += [
            f".globl {name}",
            f".type {name}, @function",
            f"{name}: .byte {', '.join(map(str, code))}",
            "ret",
            ".fill 24, 1, 0x90",
            f".size {name}, . - {name}",
        ]
    lines += [
        ".data",
        ".globl table",
        "table:",
        *(f".quad {name}, name_{name}" for name in found),
        ".quad 0, 0",
        ".section .rodata",
        *(f'name_{name}: .asciz "{name}"' for name in found),
        '.section .note.GNU-stack,"",@progbits',
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64")
@pytest.mark.usefixtures("bpf")
def test_probes_change_nothing_and_none_is_lost_in_silence(tmp_path):
    found = instructions()
    (tmp_path / "table.s").write_text(assembly(found))
    (tmp_path / "main.c").write_text(PROGRAM)
    program = str(tmp_path / "main")
    subprocess.run(
        ["gcc", "-no-pie", "-mavx", "-o", program, tmp_path / "main.c", tmp_path / "table.s"],
        check=True,
    )
    alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    counts = tmp_path / "counts"
    out, err, status = pydtrace(
        "-o",
        counts,
        "-qn",
        "pid$target:a.out:*vex*:entry { @[probefunc] = count(); }",
        "-c",
        program,
        timeout=120,
    )
    assert status == 0 and out.strip() == alone.strip(), [
        pair for pair in zip(out.splitlines(), alone.splitlines()) if pair[0] != pair[1]
    ][:9]
    valid = {name for name, how in map(str.split, alone.splitlines()) if how != "signal"}
    seen, refused = (
        {line.split()[0] for line in counts.read_text().splitlines() if line},
        {name for name, code in found.items() if not _tracer.takes_uprobe(code, X86_64)},
    )
    assert (
        "the instruction there can have none" in err
        and len(valid & seen) > 50
        and len(valid & refused) > 50
    ), (err, len(valid))
    assert valid - seen <= refused and not seen & refused, (valid - seen - refused, seen & refused)


@pytest.mark.parametrize(
    ("code", "takes"),
    [
        ("c5f174c9", False),
        ("c5f1efc9", False),
        ("62f17d2874c8", False),
        ("c5f877", False),
        ("c5f157c9", True),  # vpcmpeqb, vpxor, vzeroupper; vxorps
        ("f0480fb117", False),
        ("f4", False),
        ("3e90", False),
        ("2effe0", False),
        ("cc", False),
        ("55", True),
        ("662e0f1f840000000000", True),
        ("f30f1efa", True),
        ("c3", True),
        ("e800000000", True),
        ("c5", True),
    ],
)  # lock cmpxchg, hlt, int3; cut off: not known
def test_which_instructions_take_a_probe(code, takes):
    assert _tracer.takes_uprobe(bytes.fromhex(code), X86_64) is takes


def test_other_processors_instructions_are_not_known():
    assert _tracer.takes_uprobe(bytes.fromhex("c5f174c9"), 183)
