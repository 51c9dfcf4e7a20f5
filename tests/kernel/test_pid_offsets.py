"""The pid provider at offsets of functions, its descriptions, and the registers there."""

import os
import re
import subprocess
import sys

import pytest

from pydtrace.engine.kernel.probes import instruction_starts
from pydtrace.engine.kernel.probes.matcher import Matcher
from pydtrace.engine.kernel.probes.usdt_operands import AARCH64, X86_64
from pyusdt import _core
from tests.support.kernel_harness import compile_c, pydtrace

INSTRUCTION = re.compile(r"\s+([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(.*)")
X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="host: it is no x86-64")
C = """#include <stdlib.h>
__attribute__((noinline)) int work(int a, long b) { volatile int c = a; for (long i = 0; i < b; i++) c += b; if (c > 100) c -= 3; return c; }
int main(int argc, char **argv) { return work(atoi(argv[1]), 2) > 100; }
"""


def disassembled(path, *options):
    """[(address, bytes)] of what objdump calls instructions."""
    out = subprocess.run(
        ["objdump", "-dw", *options, path], check=True, capture_output=True, text=True
    ).stdout
    found = [INSTRUCTION.fullmatch(line) for line in out.splitlines()]
    return [
        (int(match[1], 16), bytes.fromhex(match[2]))
        for match in found
        if match and "(bad)" not in match[3]
    ]


@X86
def test_instructions_are_as_long_as_objdump_says():
    rows = {
        code
        for path in (_core.__file__, sys.executable)
        for _, code in disassembled(path)[:200_000]
    }
    wrong = [
        code.hex()
        for code in rows
        if not code.startswith(b"\x9b")
        and list(instruction_starts.instruction_offsets(code + b"\x90", X86_64)) != [0, len(code)]
    ]
    assert len(rows) > 5000 and not wrong


@pytest.mark.parametrize(
    "code",
    [
        "c5f877",
        "62f17c48580d01000000",
        "c4e371 0fc203",
        "8fe97812 c1",
        "66660f1f840000000000",
        "480fbae005",
        "48b8 0102030405060708",
        "66b80102",
        "f60501000000 07",
        "f7d0",
        "a1 0102030405060708",
        "67a1 01020304",
        "0f3800c1",
        "0f3a0fc105",
        "0f0fc1bf",
        "c8 010002",
        "66e801020304",
        "664881c001020304",
    ],
)
def test_rare_instructions(code):
    size = len(bytes.fromhex(code))
    assert list(instruction_starts.instruction_offsets(bytes.fromhex(code) + b"\x90", X86_64)) == [
        0,
        size,
    ]


def test_what_is_no_instruction_ends_the_list():
    assert list(instruction_starts.instruction_offsets(bytes.fromhex("900690"), X86_64)) == [0]
    assert list(instruction_starts.instruction_offsets(bytes.fromhex("9048b801"), X86_64)) == [
        0
    ]  # cut off
    assert (
        list(instruction_starts.instruction_offsets(b"\x66" * 20, X86_64))
        == []
        == list(instruction_starts.instruction_offsets(b"\x90", 3))
    )
    assert list(instruction_starts.instruction_offsets(bytes(11), AARCH64)) == [0, 4]


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("offsets")
    (folder / "worker.c").write_text(C)
    return compile_c(folder / "worker.c", folder / "worker")


@X86
@pytest.mark.usefixtures("bpf")
def test_every_instruction_in_order(worker):
    """By the registers each fires where it says; loops fire again."""
    out, err, _ = pydtrace(
        "-qn",
        'pid$target:a.out:work: { printf("%s %x %d %d\\n", probename, uregs[R_RIP], arg0, arg1); }',
        "-c",
        f"{worker} 100",
    )
    rows = [line.split() for line in out.splitlines() if line]
    assert rows[0][0] == "entry" and rows[1][0] == "0" and rows[-1][0] == "return", err
    start = int(rows[0][1], 16)
    places = [int(row[0], 16) for row in rows[1:-1]]
    assert [int(row[1], 16) - start for row in rows[1:-1]] == places
    begins = [address for address, _ in disassembled(worker, "--disassemble=work")]
    known = {address - begins[0] for address in begins}
    assert set(places) <= known and len(places) > len(known) // 2 and len(places) > len(set(places))
    assert rows[0][2:] == ["100", "2"] == rows[1][2:] and rows[-1][2:] == ["0", "101"]


@X86
@pytest.mark.usefixtures("bpf")
def test_one_offset_and_what_is_none(worker):
    rows = disassembled(worker, "--disassemble=work")
    inside = 1 + next(address - rows[0][0] for address, code in rows if len(code) > 1)
    out, _, _ = pydtrace("-qn", "pid$target:a.out:w?rk:0 { trace(arg0); }", "-c", f"{worker} 7")
    assert out.split() == ["7"]
    for name, why in (
        (f"{inside:x}", "begins at offset"),
        ("0xFFfff", "[D_PROC_OFF] offset 0xfffff outside of function 'work'\n"),
        ("00", "D_PROC_OFF"),
        ("entri", "D_PROC_NAME"),
    ):
        _, err, status = pydtrace(
            "-xerrtags", "-qn", f"pid$target:a.out:work:{name}", "-c", f"{worker} 7"
        )
        assert status == 1 and why in err, err


@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize("provider", ["p*d{}", "?id{}", "*{}", "pid{}"])
def test_patterns_of_the_provider(provider, running):
    process = running(0)
    found = listed(f"{provider.format(process.pid)}:a.out:fire_plain:entry", process)
    assert found == [[f"pid{process.pid}", "target", "fire_plain", "entry"]]


@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize("provider", ["p*", "*", "", "x*{}", "*9{}"])
def test_patterns_without_the_process(provider, running):
    process = running(0)
    assert listed(f"{provider.format(process.pid)}:a.out:fire_plain:entry", process) == []


def listed(description, process):
    out, _, _ = pydtrace("-ln", description, "-p", process.pid)
    return [line.split()[1:] for line in out.splitlines()[1:]]


@X86
@pytest.mark.usefixtures("bpf")
def test_registers_where_no_uprobe_fires(worker):
    """Those that the thread had in user mode: at a system call its number and arguments; of a tick pydtrace's."""
    script = (
        'syscall::exit_group:entry /pid == $target/ { printf("%d %d %d\\n", uregs[R_ERR], uregs[R_RDI], uregs[R_FS] > 0); }'
        'tick-10ms { printf("%x\\n", uregs[R_CS]); exit(0); } ERROR { printf("%x\\n", uregs[R_SS]); } BEGIN { trace(*(int *)1); }'
    )
    out, err, _ = pydtrace("-qn", script, "-c", f"{worker} 100")
    assert {"231 1 1", "2b"} <= set(out.split("\n")) or {"33", "2b"} <= set(out.split("\n")), err
    out, err, _ = pydtrace("-qn", script.replace("exit(0);", ""), "-c", f"{worker} 100")
    assert "231 1 1" in out.split("\n"), err


def test_the_embedded_engine_has_no_registers():
    done = subprocess.run(
        [
            os.path.join(os.path.dirname(sys.executable), "pydtrace"),
            "-x",
            "engine=embedded",
            "-n",
            "BEGIN { trace(uregs[0]); }",
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    if os.uname().machine == "x86_64":
        assert done.returncode == 1 and "uregs[] are the kernel's" in done.stderr


@pytest.mark.usefixtures("bpf")
def test_functions_are_as_stable_as_in_dtrace(worker):
    out, _, status = pydtrace("-lvn", "pid$target:a.out:work:entry", "-c", worker)
    words = [
        line.split(":")[1].strip()
        for line in out.splitlines()
        if line.startswith("\t\t") and ":" in line
    ]
    assert status == 0 and words == ["Private", "Private", "Unknown"] * 2, out


def test_offsets_are_looked_for_only_where_they_are_asked_for():
    """Reading a library's instructions takes a second."""
    from pydtrace.dlang.compile import compile_program

    class File:
        short_names, requested_paths, pids = ("a.out",), (), {7}

    def wanted(description, size=20):
        asked = Matcher(compile_program(f"{description} {{ }}").clauses).make_function_filter(
            File, (7,)
        )
        return list(asked("work", size, lambda: looked.append(1) or iter((0, 4, 16))))

    looked = []
    assert (
        wanted("pid7:a.out:work:entry") == ["entry"]
        and wanted("pid7:a.out:*:return") == ["return"]
        and not looked
    )
    assert wanted("pid7:a.out:work:") == ["return", "entry", "0", "4", "10"] and wanted(
        "pid7:a.out:w*:1?"
    ) == ["10"]
    assert (
        wanted("pid7:a.out:other:4") == []
        and wanted("pid7:a.out:work:04") == []
        and len(looked) == 3
    )
    assert wanted("pid7:a.out:w*:entry", 0) == [] == wanted("pid7:a.out::entry", 0) and wanted(
        "pid7:a.out:work:entry", 0
    ) == ["entry"]
