"""Return probes: at the instructions where functions end, so that nothing of the program is changed."""

import glob
import os
import shutil
import subprocess
import sys
import time

import pytest

from pydtrace import _tracer
from pydtrace.engine.kernel.probes.return_sites import (
    ReturnSites,
    ReturnsNotFound,
    find_uretprobe_obstacle,
)
from pydtrace.engine.kernel.probes.usdt_operands import AARCH64, X86_64
from pydtrace.symbols import elf
from pyusdt import _core
from tests.support.kernel_harness import DATA, compile_c, compile_cxx, pydtrace, start_pydtrace

X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="host: it is no x86-64")
COUNTED = "pid$target:a.out::return { @[probefunc] = count(); @value[probefunc] = sum((int)arg1); }"
# how often each function of data/returns.c returns, and the sum of what it returns
RETURNS = {
    "plain": (18, 71),
    "tails": (5, 42),
    "tails_twice": (4, 18),
    "recursive": (1, 10),
    "by_pointer": (4, 0),
    "framed": (4, 198),
    "leaf_switch": (4, 106),
    "conditional": (4, 22),
    "repeated": (4, 6),
    "entered": (4, 406),
    "enters": (4, 606),
    "jumps_anywhere": (4, 18),
}
UNWINDS = """#include <cstdio>
#include <stdexcept>
__attribute__((noinline)) int thrower(int n) { if (n % 2) throw std::runtime_error("odd"); asm volatile(""); return n; }
extern "C" __attribute__((noinline)) int middle(int n) { int r = thrower(n); asm volatile(""); return r + 1; }
extern "C" int jumps_anywhere(int);
asm(".text; .type jumps_anywhere, @function; jumps_anywhere: mov %edi, %ecx; lea 1f(%rip), %rax; and $-16, %rsp; jmp *%rax; 1: mov %ecx, %eax; ret;"
    ".size jumps_anywhere, .-jumps_anywhere");
int main() { int caught = 0; for (int i = 0; i < 6; i++) { try { middle(i); } catch (const std::exception &) { caught++; } }
    printf("caught %d\\n", caught); return 0; }
"""
GO = '.section .gopclntab, "a"; .long 0; .text'  # what tells a program of Go's


@pytest.fixture(scope="module")
def enders(tmp_path_factory):
    return compile_c(
        os.path.join(DATA, "returns.c"),
        tmp_path_factory.mktemp("returns") / "enders",
        os.path.join(DATA, "returns_x86_64.s"),
    )


@pytest.fixture(scope="module")
def unwinds(tmp_path_factory):
    return compile_cxx(UNWINDS, tmp_path_factory.mktemp("unwinds") / "unwinds")


def rows(out):
    found = {}
    for line in out.splitlines():
        if len(words := line.split()) == 2:
            found.setdefault(words[0], []).append(int(words[1]))
    return {name: tuple(values) for name, values in found.items()}


@X86
@pytest.mark.usefixtures("bpf")
def test_each_return_fires_once_with_its_value(enders):
    out, err, status = pydtrace("-qn", COUNTED, "-c", enders)
    assert status == 0 and rows(out) == RETURNS
    assert (
        "arg1 of enders:by_pointer:return is 0 where the function ends by an indirect jump" in err
        and "no probe" not in err
    )


@X86
@pytest.mark.usefixtures("bpf")
def test_entries_and_returns_in_order(enders):
    """A function that ends by a jump into another one returns behind that."""
    out, _, _ = pydtrace(
        "-qn",
        'pid$target:a.out:tails:,pid$target:a.out:plain:entry,pid$target:a.out:plain:return /probename == "entry" || probename == "return"/ { printf("%s %s %d,", probefunc, probename, arg1 * (probename == "return")); }',
        "-c",
        enders,
    )
    assert "tails entry 0,plain entry 0,plain return 6,tails return 6," in out, out


@X86
@pytest.mark.usefixtures("bpf")
def test_the_stack_is_the_callers(enders, running):
    """As in dtrace, for which the function has returned already."""
    process = running("waits", program=enders)
    tracer = start_pydtrace(
        "-qn",
        'BEGIN { printf("go\\n"); } pid$target:a.out:plain:return { @[probefunc, ustack(1)] = count(); }pid$target:a.out:recursive:return { exit(0); }',
        "-p",
        process.pid,
        wait_for="go",
    )
    process.stdin.write("\n")
    process.stdin.flush()
    frames = [
        line.split("`")[1].partition("+")[0]
        for line in tracer.communicate()[0].splitlines()
        if "`" in line
    ]
    assert set(frames) == {"main"}


@X86
@pytest.mark.usefixtures("bpf")
def test_exceptions_go_through(unwinds):
    out, err, status = pydtrace(
        "-qn", "pid$target:a.out:middle:return { @ = count(); }", "-c", unwinds
    )
    assert (out.split(), err, status) == (["caught", "3", "3"], "", 0)


@X86
@pytest.mark.usefixtures("bpf")
def test_where_the_returns_are_not_known(enders, unwinds):
    """The address that the function returns to is replaced only where nothing looks for it on the stack; -v says so."""
    _, err, status = pydtrace(
        "-v", "-qn", "pid$target:a.out:jumps_anywhere:return { }", "-c", enders
    )
    assert (
        status == 0
        and "(a uretprobe): enders:jumps_anywhere:return: where the jump at 0x11 leads is not clear"
        in err
    ), err
    _, err, status = pydtrace("-qn", "pid$target:a.out:jumps_anywhere:return { }", "-c", unwinds)
    assert (
        status == 1
        and "no probe on unwinds:jumps_anywhere:return: where it returns is not known" in err
        and "exceptions unwind" in err
    ), err
    out, err, status = pydtrace(
        "-qn", "pid$target:a.out::return { @[probefunc] = count(); }", "-c", unwinds
    )
    assert (
        status == 0
        and "caught 3" in out
        and rows(out)["middle"] == (3,)
        and "no probe on unwinds:jumps_anywhere:return" in err
    )


@X86
def test_go_never_has_uretprobes(tmp_path):
    (tmp_path / "go.c").write_text(
        f'asm("{GO.replace(chr(34), chr(92) + chr(34))}"); int main(void) {{ return 0; }}'
    )
    file = elf.ElfFile(compile_c(tmp_path / "go.c", tmp_path / "go"))
    assert find_uretprobe_obstacle(file, set()) == "Go moves its stacks"


@X86
def test_what_unwinds_beside_a_file(enders):
    file = elf.ElfFile(enders)
    assert find_uretprobe_obstacle(file, {"libc.so.6"}) is None
    assert "libstdc++.so.6" in find_uretprobe_obstacle(file, {"libc.so.6", "libstdc++.so.6"})


@X86
@pytest.mark.usefixtures("bpf")
def test_parts_of_functions_do_not_return(tmp_path):
    (tmp_path / "cold.c").write_text("""#include <stdio.h>
        __attribute__((noinline, cold)) void complain(const char *text) { puts(text); }
        __attribute__((noinline)) int work(int a) { char room[50]; sprintf(room, "%d", a); if (a > 2) complain(room); return room[0]; }
        int main(void) { for (int i = 0; i < 5; i++) work(i); return 0; }""")
    program = compile_c(tmp_path / "cold.c", tmp_path / "cold", "-freorder-blocks-and-partition")
    names = [name for _, _, name in elf.ElfFile(program).read_functions()]
    assert "work.cold" in names
    out, err, status = pydtrace(
        "-qn", "pid$target:a.out:work*:return { @[probefunc] = count(); }", "-c", program
    )
    assert status == 0 and rows(out) == {"work": (5,)}, err
    stripped = shutil.copy(program, tmp_path / "stripped")
    subprocess.run(["strip", "-N", "work.cold", stripped], check=True)
    out, err, status = pydtrace(
        "-qn", "pid$target:a.out:work*:return { @[probefunc] = count(); }", "-c", stripped
    )
    assert status == 0 and rows(out) == {"work": (5,)}, err
    _, err, status = pydtrace("-qn", "pid$target:a.out:work.cold:return { }", "-c", program)
    assert status == 1 and "it is a part of work, and does not return by itself" in err


@X86
@pytest.mark.usefixtures("bpf")
def test_all_functions_of_the_c_library():
    """What was entered has returned, but for what ends the program or was under way.  (Of the functions that the processor decides on some
    go on in others, and some begin with an instruction that can have no probe.)"""
    out, err, status = pydtrace(
        "-x",
        "strsize=128",
        "-x",
        "aggsize=16m",
        "-qn",
        'pid$target:libc.so.6::entry { @[probefunc] = sum(1); } pid$target:libc.so.6::return { @[probefunc] = sum(-1); @all["all"] = count(); }',
        "-c",
        "/bin/ls /",
        timeout=60,
    )
    found = rows(out)
    [returned] = found.pop("all")
    assert status == 0 and returned > 100, err
    chosen = elf.ElfFile(next(iter(glob.glob("/lib/*/libc.so.6")))).ifunc_resolvers()
    left = {name: values for name, values in found.items() if values != (0,) and name not in chosen}
    assert set(left) <= {
        "_Exit",
        "_exit",
        "exit",
        "__libc_start_main",
        "execve",
        "execv",
        "execvp",
        "execvpe",
        "read",
        "__read",
        "_start",
    }, left


@X86
@pytest.mark.parametrize("path", [_core.__file__, sys.executable])
def test_exits_are_the_returns_that_objdump_shows(path):
    """Of functions without jumps out of them."""
    file = elf.ElfFile(os.path.realpath(path))
    out = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", file.path],
        check=True,
        capture_output=True,
        text=True,
        pass_fds=(file._fd,),
    ).stdout
    wanted = {
        int(line.split(":")[0], 16)
        for line in out.splitlines()
        if line.split(":", 1)[-1].split()[-1:] == ["ret"]
    }
    found, whole = ReturnSites(file), 0
    for address, size, name in file.read_functions()[:800]:
        try:
            exits = found.find_exits(address, size) if size else []
        except ReturnsNotFound:
            continue
        if all(not each.jumps and address <= each.address < address + size for each in exits):
            assert {each.address for each in exits} == {
                at for at in wanted if address <= at < address + size
            }, name
            whole += 1
    assert whole > 5


def exits(code, machine=X86_64):
    return [
        (offset, kind)
        for offset, kind, *_ in _tracer.function_exits(bytes.fromhex(code), machine, 0x1000)
    ]


def test_exits_of_code():
    jump, by_pointer, unclear = _tracer.EXIT_JUMP, _tracer.EXIT_POINTER, _tracer.EXIT_UNCLEAR
    assert exits("c3") == [(0, 0)] == exits("c20800") == exits("f3c3") == exits("f2c3")
    assert exits("55 5d e9 00010000") == [(2, jump)] and exits("ff e0") == [
        (0, by_pointer)
    ] == exits("ff 25 00000000")
    assert (
        exits("53 ff e0") == [] and exits("3e ff e0") == []
    )  # its frame is still there; of a switch, as the compiler says
    assert (
        exits("48 29 c4 ff e0") == [(3, unclear)]
        and _tracer.function_exits(b"\x06", X86_64, 0) is None
    )
    assert exits("74 01 c3 c3") == [(2, 0), (3, 0)]
    assert (
        exits("c0035fd6", AARCH64) == [(0, 0)]
        and exits("00000014", AARCH64) == []
        and exits("40000014", AARCH64) == [(0, jump)]
    )
    assert (
        exits("20021fd6", AARCH64) == [(0, by_pointer)]
        and exits("fd7bbfa9 20021fd6", AARCH64) == []
    )
    assert exits("fd7bbfa9 fd7bc1a8 20021fd6", AARCH64) == [(8, by_pointer)]


@X86
def test_chains_have_bounds(tmp_path):
    """Each of 60 functions jumps to the two after it, so that there are more ways than can be gone."""
    lines = [".text"]
    for n in range(60):
        lines += [
            f".type f{n}, @function",
            f"f{n}: test %edi, %edi",
            f"je f{min(n + 1, 59)}",
            f"jmp f{min(n + 2, 59)}" if n < 59 else "ret",
            f".size f{n}, .-f{n}",
        ]
    (tmp_path / "chains.s").write_text(
        "\n".join(
            [*lines, ".globl main", "main: ret", '.section .note.GNU-stack, "", @progbits', ""]
        )
    )
    file = elf.ElfFile(compile_c(tmp_path / "chains.s", tmp_path / "chains"))
    found, begun = ReturnSites(file), time.thread_time()
    points = {
        name: found.find_points(address, size, name)
        for address, size, name in file.read_functions()
        if size and name.startswith("f")
    }
    assert (
        time.thread_time() - begun < 5
        and not any(point.has_value for point in points["f0"])
        and points["f58"][0].does == "mark"
    )
