"""Where addresses lie in files that linkers lay out in their own ways, and of processes that are over in a moment."""

import os
import shutil
import subprocess

import pytest

from pydtrace.symbols.elf import EXECUTES, WRITES, ElfFile, Segment, linked_address
from tests.support.kernel_harness import compile_c, pydtrace

X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="host: it is no x86-64")
STACK = """#include <unistd.h>
static __attribute__((noinline)) int inner(int n) { asm volatile(""); return n + 1; }
static __attribute__((noinline)) int outer(int n) { int r = inner(n) * 2; asm volatile(""); return r; }
__attribute__((noinline)) int whole(int n) { int r = outer(n) * 2; asm volatile(""); return r; }
int main(void) { return whole(3) == 0; }
"""
JIT = """#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
__attribute__((noinline)) int hit(int n) { asm volatile(""); return n + 1; }
int main(void) {
    unsigned char *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};  /* calls hit() */
    int (*called)(int) = hit;
    memcpy(code + 6, &called, 8), memcpy(made, code, sizeof code);
    char path[64];
    sprintf(path, "/tmp/perf-%d.map", getpid());
    FILE *file = fopen(path, "w");
    fprintf(file, "%lx 40 made_at_run_time\\n", (long)made);
    fclose(file);
    for (int i = 0; i < 20; i++) ((int (*)(int))made)(i), usleep(20000);
    return 0;
}
"""


def frames(out):
    return [line.split("`")[1].partition("+")[0] for line in out.splitlines() if "`" in line]


@X86
@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize(
    "options",
    [
        ("-fuse-ld=bfd",),
        ("-fuse-ld=lld",),
        ("-fuse-ld=mold",),
        ("-static",),
        ("-static", "-fuse-ld=lld"),
    ],
)
def test_frames_of_each_linker(options, tmp_path):
    """Also of static programs, whose tables of frames have no index; the command is over in a millisecond."""
    linker = next((option.partition("=")[2] for option in options if "=" in option), "bfd")
    if not (shutil.which(f"ld.{linker}") and shutil.which("clang")):
        pytest.skip(f"host: no clang, or no ld.{linker}")
    (tmp_path / "stack.c").write_text(STACK)
    subprocess.run(
        ["clang", "-O1", *options, "-o", tmp_path / "stack", tmp_path / "stack.c"], check=True
    )
    out, err, status = pydtrace(
        "-qn", "pid$target:a.out:inner:entry { ustack(4); }", "-c", tmp_path / "stack"
    )
    assert status == 0 and frames(out) == ["inner", "outer", "whole", "main"], (out, err)


@X86
@pytest.mark.usefixtures("bpf")
def test_a_short_command_is_held_until_its_code_is_known(tmp_path):
    (tmp_path / "stack.c").write_text(STACK)
    program = compile_c(tmp_path / "stack.c", tmp_path / "stack", "-fomit-frame-pointer")
    out, err, status = pydtrace(
        "-qn",
        "pid$target:libc.so.6:__libc_start_main:entry { ustack(2); } pid$target:a.out:inner:entry { ustack(); }",
        "-c",
        program,
    )
    assert status == 0 and frames(out)[:6] == [
        "__libc_start_main",
        "_start",
        "inner",
        "outer",
        "whole",
        "main",
    ], (out, err)
    assert "not looked at" not in out


@X86
@pytest.mark.usefixtures("bpf")
def test_what_is_not_known_yet_is_no_frame(tmp_path):
    """Of a process that nobody has held."""
    (tmp_path / "stack.c").write_text(STACK)
    program = compile_c(tmp_path / "stack.c", tmp_path / "stack", "-fomit-frame-pointer")
    out, err, status = pydtrace(
        "-qn",
        f'pid*:stack:inner:entry {{ ustack(6); exit(0); }} BEGIN {{ system("{program}"); }}',
        "-x",
        f"file={program}",
        "-w",
    )
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    assert (
        status == 0
        and "[not looked at yet]" in lines[-1]
        or frames(out)[:4] == ["inner", "outer", "whole", "main"]
    ), (out, err)


@X86
@pytest.mark.usefixtures("bpf")
def test_names_of_code_made_at_run_time_are_read_when_its_process_has_ended(tmp_path):
    (tmp_path / "jit.c").write_text(JIT)
    program = compile_c(tmp_path / "jit.c", tmp_path / "jit", "-fno-omit-frame-pointer")
    out, err, _ = pydtrace(
        "-qn", "pid$target:a.out:hit:entry { @[ustack(3)] = count(); }", "-c", program
    )
    assert "made_at_run_time" in out and "jit`main" in out, (out, err)


def test_one_page_of_a_file_with_parts_of_several_segments():
    """As lld and mold lay them out: the code at the address 0x15b0 is at 0x5b0 of the file, in the same page as what is read alone."""
    segments = [
        Segment(0, 0, 0x5AC, 4),
        Segment(0x15B0, 0x5B0, 0x1C0, 4 | EXECUTES),
        Segment(0x2770, 0x770, 0x190, 4 | WRITES),
        Segment(0x3900, 0x900, 0x30, 4 | WRITES),
    ]
    assert linked_address(segments, "r-xp", 0x5C0) == 0x15C0 == linked_address(segments, "", 0x5C0)
    assert (
        linked_address(segments, "r--p", 0x10) == 0x10
        and linked_address(segments, "r-xp", 0) == 0x1000
        and linked_address(segments, "rw-p", 0x910) == 0x3910
    )
    assert (
        linked_address(segments, "r--p", 0x780) == 0x2780 and linked_address([], "r-xp", 0) is None
    )


GO = """.text
.globl main, callee, caller
.type main, @function
main: sub $8, %rsp
    call caller
    add $8, %rsp
    xor %eax, %eax
    ret
.size main, .-main
.type caller, @function
caller: push %rbp
    mov %rsp, %rbp
    call callee
    pop %rbp
    ret
.size caller, .-caller
.type callee, @function
callee: ret
.size callee, .-callee
.section .note.GNU-stack, "", @progbits
"""


@X86
@pytest.mark.usefixtures("bpf")
def test_the_caller_of_a_function_without_tables(tmp_path):
    """As Go's are: at its entry the function has no frame yet."""
    (tmp_path / "go.s").write_text(GO)
    program = compile_c(tmp_path / "go.s", tmp_path / "go")
    out, err, status = pydtrace(
        "-qn", "pid$target:a.out:callee:entry { ustack(2); }", "-c", program
    )
    assert status == 0 and frames(out) == ["callee", "caller"], (out, err)


def test_of_versions_of_a_function_the_default_is_meant(tmp_path):
    (tmp_path / "two.c").write_text(
        "__attribute__((noinline)) int first(void) { return 1; } __attribute__((noinline)) int second(void) { return 2; }\n"
        '__asm__(".symver first, both@V1"); __asm__(".symver second, both@@V2");'
    )
    (tmp_path / "two.map").write_text("V1 { global: both; local: *; }; V2 { global: both; } V1;")
    compile_c(
        tmp_path / "two.c",
        tmp_path / "two.so",
        "-shared",
        "-fPIC",
        f"-Wl,--version-script={tmp_path}/two.map",
    )
    for stripped in (False, True):
        if stripped:
            subprocess.run(["strip", tmp_path / "two.so"], check=True)
        file = ElfFile(str(tmp_path / "two.so"))
        [(address, size, _)] = [row for row in file.read_functions() if row[2] == "both"]
        assert b"\xb8\x02" in file.read(file.file_offset(address), size)
