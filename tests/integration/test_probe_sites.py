"""The probe sites, as tools see them that nobody here wrote: readelf, gdb, bpftrace, dtrace; of every compiler."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess

import pytest

import pyusdt._core
from tests.support import elf_notes, harness

MODULE = pyusdt._core.__file__
NAMES = ["user_trace__s1", "user_trace__i4s4", *(f"user_trace__n{n}" for n in range(951))]
SITE = bytes.fromhex("90662e0f1f8400000000000f1f440000c3")  # nop, nop10, nop5; the function's ret

# fires each probe with arguments that tell where they belong
USER = """
#include "target/sites.h"
__attribute__((visibility("default"))) void fire(unsigned probe);
void fire(unsigned probe)
{
    uint64_t values[PYUSDT_MAX_ARGS] = {(uintptr_t)"who", (uintptr_t)"tag", 1, 2, 3, 4, (uintptr_t)"s1"};
    if (pyusdt_semaphores[probe])
        pyusdt_site_hit(probe, values);
}
"""
BUILDS = [
    ("gcc", "-O0"),
    ("gcc", "-O2"),
    ("gcc", "-O3"),
    ("gcc", "-O2 -flto"),
    ("gcc", "-O3 -flto -fcf-protection"),
    ("clang", "-O0"),
    ("clang", "-O2"),
    ("clang", "-O3"),
    ("clang", "-O2 -flto -fuse-ld=lld"),
    ("clang", "-O3 -flto=thin -fuse-ld=lld"),
]


def compile_sites(compiler: str, options: str, folder, *more: str) -> str:
    if lacking := harness.tools(compiler, *(["ld.lld"] if "lld" in options else [])):
        pytest.skip(f"no {lacking}")
    user, out = folder / "user.c", folder / "sites.so"
    user.write_text(USER)
    subprocess.run(
        [
            compiler,
            *options.split(),
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fPIC",
            "-shared",
            *more,
            "-fvisibility=hidden",
            "-I",
            f"{harness.ROOT}/c",
            f"{harness.ROOT}/c/target/sites.c",
            user,
            "-o",
            out,
        ],
        check=True,
    )
    return str(out)


def readelf_notes(path: str) -> list[tuple[str, str, list[str]]]:
    """(probe, semaphore, operands) of each stapsdt note that readelf shows."""
    shown = harness.run(["readelf", "--wide", "--notes", path]).stdout
    found = re.findall(
        r"Provider: pyusdt\n +Name: (\w+)\n +Location: \w+, Base: \w+, Semaphore: 0x(\w+)\n"
        r" +Arguments: (.*)\n",
        shown,
    )
    return [(name, semaphore, operands.split()) for name, semaphore, operands in found]


def check_notes(path: str) -> None:
    notes = readelf_notes(path)
    assert [name for name, _, _ in notes] == NAMES
    assert [len(operands) for _, _, operands in notes] == [1] + [10] * 952
    assert len({semaphore for _, semaphore, _ in notes}) == 953
    for _, _, operands in notes[1:]:
        assert [operand.split("@")[0] for operand in operands] == [
            "8",
            "8",
            *["-8"] * 4,
            *["8"] * 4,
        ]
        assert len({operand.split("@")[1] for operand in operands}) == 10


def check_sites(path: str) -> None:
    with open(path, "rb") as file:
        data = file.read()
    sections = elf_notes.sections(data)
    text, text_offset, _, _ = sections[".text"]
    address, _, size, flags = sections[".probes"]
    assert flags & 3 == 3 and size == 2 * 953  # writable and in memory
    for i, note in enumerate(elf_notes.read_notes(path)):
        offset = note.location - text + text_offset
        assert note.location % 16 == 0 and data[offset : offset + len(SITE)] == SITE, note
        assert note.semaphore == address + 2 * i


@pytest.mark.parametrize(("compiler", "options"), BUILDS)
def test_notes_of_every_build(compiler, options, tmp_path):
    path = compile_sites(compiler, options, tmp_path)
    check_notes(path)
    check_sites(path)


def test_notes_of_the_module():
    check_notes(MODULE)
    check_sites(MODULE)


def test_notes_survive_strip(tmp_path):
    stripped = str(shutil.copy(MODULE, tmp_path))
    subprocess.run(["strip", stripped], check=True)
    check_notes(stripped)
    check_sites(stripped)
    symbols = harness.run(["nm", "--dynamic", "--defined-only", stripped]).stdout
    assert re.findall(r" T (user_trace_\w+)\n", symbols) == sorted(
        name.replace("__", "_") for name in NAMES
    )


def test_aarch64(tmp_path):
    """One nop a site, its arguments in x0 to x9."""
    compile_sites(
        "clang",
        "--target=aarch64-linux-gnu -O2 -fuse-ld=lld",
        tmp_path,
        "-ffreestanding",
        "-nostdlib",
    )
    path = str(tmp_path / "sites.so")
    check_notes(path)
    notes = elf_notes.read_notes(path)
    assert {note.operands for note in notes[1:]} == {
        tuple(f"{size}@x{i}" for i, size in enumerate([8, 8, -8, -8, -8, -8, 8, 8, 8, 8]))
    }
    with open(path, "rb") as file:
        data = file.read()
    text, offset, _, _ = elf_notes.sections(data)[".text"]
    for note in notes:
        at = note.location - text + offset
        assert data[at - 4 : at + 8].hex() == "5f2403d51f2003d5c0035fd6", note  # bti c, nop, ret


@pytest.mark.parametrize("target", ["riscv64 -march=rv64gc -mabi=lp64d", "powerpc64le"])
def test_other_processors(target, tmp_path):
    """A function with a nop a site; the compiler chooses the registers."""
    processor, *options = target.split(" ", 1)
    compile_sites(
        "clang",
        " ".join([f"--target={processor}-linux-gnu -O2 -fuse-ld=lld", *options]),
        tmp_path,
        "-ffreestanding",
        "-nostdlib",
    )
    check_notes(str(tmp_path / "sites.so"))


@pytest.mark.parametrize("options", ["-O2", "-O3 -flto"])
def test_generic_sites(options, tmp_path):
    """Those of other processors, made and hit on this one."""
    if lacking := harness.tools("gdb"):
        pytest.skip(f"no {lacking}")
    path = compile_sites("gcc", options, tmp_path, "-DPYUSDT_SITES_GENERIC")
    check_notes(path)
    main = tmp_path / "main.c"
    main.write_text("void fire(unsigned); int main(void) { fire(951); fire(952); return 0; }")
    subprocess.run(["gcc", main, path, "-o", tmp_path / "main"], check=True)
    show = (
        'printf "%s|%s|%d|%d|%d|%d|%s|%d\\n", (char *)$_probe_arg0, (char *)$_probe_arg1, '
        + ", ".join(f"$_probe_arg{i}" for i in (2, 3, 4, 5))
        + ", (char *)$_probe_arg6, $_probe_arg9"
    )
    shown = harness.run(
        [
            "gdb",
            "-nx",
            "-batch",
            "-ex",
            "start",
            "-ex",
            "break -probe-stap pyusdt:user_trace__n950",
            "-ex",
            "continue",
            "-ex",
            show,
            "-ex",
            "info symbol $pc",
            str(tmp_path / "main"),
        ],
        timeout=60,
    )
    assert "who|tag|1|2|3|4|s1|0\nuser_trace_n950 + " in shown.stdout, shown


def test_without_sites(tmp_path):
    """Where no sites are known the core builds without, unless they are demanded."""
    path = compile_sites("gcc", "-O2", tmp_path, "-DPYUSDT_NO_SITES")
    assert readelf_notes(path) == []
    demanded = harness.run(
        [
            "gcc",
            "-fsyntax-only",
            f"-I{harness.ROOT}/c",
            "-DPYUSDT_NO_SITES",
            "-DPYUSDT_REQUIRE_SITES",
            f"{harness.ROOT}/c/target/sites.c",
        ]
    )
    assert demanded.status != 0 and "PYUSDT_REQUIRE_PROBES" in demanded.stderr


@contextlib.contextmanager
def repeating():
    """programs/repeating.py, firing."""
    with harness.running(harness.program("repeating.py")) as process:
        assert process.stdout.readline() == "ready\n", harness.finish(process, 5)
        yield process


def expect_on_and_off(process) -> None:
    """The semaphore went up, and is down again, so what the tracer printed was printed because of it."""
    assert [process.stdout.readline() for _ in range(2)] == ["on\n", "off\n"]


def test_gdb():
    if lacking := harness.tools("gdb"):
        pytest.skip(f"no {lacking}")
    show = 'printf "%s|%s|%d|%d|%d|%lld|%s|%s|%s|%s\\n", ' + ", ".join(
        f"(char *)$_probe_arg{i}" if i in (0, 1, 6, 7, 8, 9) else f"$_probe_arg{i}"
        for i in range(10)
    )
    with repeating() as process:
        shown = harness.run(
            [
                "gdb",
                "-nx",
                "-batch",
                "-p",
                str(process.pid),
                "-ex",
                "info probes stap pyusdt",
                "-ex",
                "break -probe-stap pyusdt:user_trace__i4s4",
                "-ex",
                "condition 1 $_probe_arg3 < 0",
                "-ex",
                "continue",
                "-ex",
                show,
                "-ex",
                "detach",
            ],
            timeout=60,
        )
        assert (
            f"<{process.pid}.{process.pid}>|the tag|1|-2|3|-1099511627776|s1|zwölf|s3|4\n"
            in shown.stdout
        ), shown
        assert re.findall(
            r"^stap pyusdt +(user_trace__\w+) ", shown.stdout, re.MULTILINE
        ) == sorted(NAMES)
        expect_on_and_off(process)


TEN = (
    'printf("%s|%s|%d|%d|%d|%lld|%s|%s|%s|%s\\n", str(arg0), str(arg1), arg2, arg3, arg4, arg5, str(arg6), '
    "str(arg7), str(arg8), str(arg9));"
)


def test_current_bpftrace(oracle):
    with repeating() as process:
        script = f"usdt:{MODULE}:pyusdt:user_trace__i4s4 /pid == {process.pid}/ {{ {TEN} if (arg3 < 0) {{ exit(); }} }}"
        shown = oracle.bpftrace("-q", "-e", script, timeout=60)
        lines = set(shown.stdout.splitlines())
        who = f"<{process.pid}.{process.pid}>"
        assert f"{who}|the tag|1|-2|3|-1099511627776|s1|zwölf|s3|4" in lines, shown
        assert lines <= {
            "",
            f"{who}|the tag|1|2|0|0|a|||",
            f"{who}|the tag|1|-2|3|-1099511627776|s1|zwölf|s3|4",
        }, shown
        expect_on_and_off(process)


def test_debians_bpftrace(root):
    """0.17 knows the first six arguments."""
    if lacking := harness.tools("bpftrace"):
        pytest.skip(f"no {lacking}")
    with repeating() as process:
        script = (
            f"usdt:{MODULE}:pyusdt:user_trace__i4s4 /(int64)arg3 < 0/ "
            '{ printf("%s|%s|%d|%d|%d|%lld\\n", str(arg0), str(arg1), arg2, arg3, arg4, arg5); exit(); }'
        )
        shown = harness.run(["bpftrace", "-q", "-p", str(process.pid), "-e", script], timeout=60)
        assert f"<{process.pid}.{process.pid}>|the tag|1|-2|3|-1099511627776\n" in shown.stdout, (
            shown
        )
        expect_on_and_off(process)


def test_dtrace(oracle):
    with repeating() as process:
        provider = f"pyusdt{process.pid}"
        strings = ", ".join(f"copyinstr(arg{i})" for i in (6, 7, 8, 9))
        script = (
            f'{provider}:::user_trace-i4s4 /arg3 < 0/ {{ printf("%s|%s|%d|%d|%d|%d|%s|%s|%s|%s|%s:%s\\n", '
            f"copyinstr(arg0), copyinstr(arg1), arg2, arg3, arg4, arg5, {strings}, probefunc, probename); exit(0); }}"
        )
        shown = oracle.dtrace("-q", "-n", script, "-p", str(process.pid), timeout=60)
        assert (
            f"<{process.pid}.{process.pid}>|the tag|1|-2|3|-1099511627776|s1|zwölf|s3|4|"
            "user_trace_i4s4:user_trace-i4s4\n"
        ) in shown.stdout, shown
        expect_on_and_off(process)
        listed = oracle.dtrace("-l", "-P", provider, timeout=60).stdout
        assert len(re.findall(rf" {provider} .* user_trace-\w+$", listed, re.MULTILINE)) == 953


@pytest.mark.parametrize("more", [[], ["-DPROVIDER=erlang"]])
@pytest.mark.parametrize("whose", ["systemtap", "dtrace"])
def test_provider_file_is_accepted(whose, more, tmp_path, request):
    """Both dtrace -h make all the macros from include/user_trace.d."""
    source, header = f"{harness.ROOT}/include/user_trace.d", tmp_path / "out.h"
    arguments = ["-h", "-C", *more, "-s", source, "-o", str(header)]
    if whose == "systemtap":
        if lacking := harness.tools("dtrace"):
            pytest.skip(f"no {lacking}: SystemTap's is in systemtap-sdt-dev")
        done = harness.run(["dtrace", *arguments], cwd=tmp_path)
    else:
        done = request.getfixturevalue("oracle").dtrace(*arguments)
    assert done.status == 0, done
    prefix = "ERLANG" if more else "PYUSDT"
    found = set(
        re.findall(rf"^#define\s+{prefix}_(\w+)_ENABLED\(\)", header.read_text(), re.MULTILINE)
    )
    assert found == {name.replace("__", "_").upper() for name in NAMES}


def test_everything_is_told_of_the_module():
    assert pyusdt.available() is True
    assert os.path.basename(MODULE).startswith("_core")
