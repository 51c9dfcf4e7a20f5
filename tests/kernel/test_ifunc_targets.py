"""Functions that a file chooses among when it is loaded (IFUNC)."""

import glob
import os
import subprocess

import pytest

from pydtrace.symbols import elf, ifunc_targets
from tests.support.kernel_harness import pydtrace

LENGTHS = """#include <string.h>
int main(void) {
    volatile size_t n = 0;
    char text[] = "abc";
    for (int i = 0; i < 123; i++) { text[0] = (char)('a' + i % 20); n += strlen(text); }
    return n != 369;
}
"""
CHOOSER = """#include <unistd.h>
static __attribute__((noinline)) int one(int n) { __asm__ volatile(""); return n + 1; }
static int (*choose(void))(int) { return one; }
__attribute__((visibility("default"))) int chosen(int) __attribute__((ifunc("choose")));
int main(int argc, char **argv) { do usleep(1000); while (chosen(argc) && argc > 1); return argv == 0; }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """compiled(name, source): the path of the program."""

    def compiled(name, source):
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.c").write_text(source)
        subprocess.run(
            ["gcc", "-O1", "-fno-builtin", "-o", folder / name, folder / f"{name}.c"], check=True
        )
        return str(folder / name)

    return compiled


@pytest.mark.usefixtures("bpf")
def test_of_a_library_that_pydtrace_has_too(compiled):
    """It is known before the command runs: the same file on the same machine chooses alike."""
    script = """pid$target:libc:strlen:entry /substr(copyinstr(arg0), 1) == "bc"/ { @[probefunc] = count(); }
        pid$target:libc:strlen:return /arg1 == 3/ { @three = count(); }"""
    out, err, status = pydtrace("-qn", script, "-c", compiled("lengths", LENGTHS))
    assert status == 0 and out.split()[:2] == ["strlen", "123"] and int(out.split()[2]) >= 123, (
        out,
        err,
    )


@pytest.mark.usefixtures("bpf")
def test_of_a_process_that_runs(compiled):
    process = subprocess.Popen([compiled("chooser", CHOOSER), "for ever"])
    try:
        out, err, status = pydtrace(
            "-qn",
            'pid$target:a.out:chosen:entry { printf("%s %d\\n", probefunc, arg0); n++; } tick-10ms /n/ { exit(0); }',
            "-p",
            process.pid,
        )
    finally:
        process.kill()
        process.wait()
    assert status == 0 and out.splitlines()[0] == "chosen 2", (out, err)


@pytest.mark.usefixtures("bpf")
def test_of_a_command_that_has_not_chosen_yet(compiled):
    _, err, status = pydtrace(
        "-qn", "pid$target:chooser:chosen:entry { }", "-c", compiled("chooser", CHOOSER)
    )
    assert (
        status == 1
        and "does not match any probes" in err
        and "chosen of chooser is one of several functions" in err
    ), err
    assert "-p of the running process may tell" in err, err


@pytest.mark.parametrize("off", [0, 1])
def test_what_a_process_says_is_no_place_for_a_probe(monkeypatch, off):
    """But where a function begins by the file's own tables."""
    path = next(iter(glob.glob("/lib/*/libc.so.6")))
    file, word = elf.ElfFile(path), ifunc_targets._read_word
    monkeypatch.setattr(ifunc_targets, "_read_word", lambda pid, address: word(pid, address) + off)
    found = ifunc_targets.find_ifunc_targets(file, os.stat(path).st_ino, [])
    assert ("strlen" in {name for _, _, name in found}) == (off == 0), found
    assert all(file.find_frame(address) == (address, address + size) for address, size, _ in found)


def test_a_default_version_that_is_chosen():
    """glibc's memcpy() has an older version that is an ordinary function, which no program calls."""
    file = elf.ElfFile(next(path for path in glob.glob("/lib/*/libc.so.6")))
    names = {name for _, _, name in file.read_functions()}
    assert "memcpy" not in names and "memcpy" in file.ifunc_resolvers() and "malloc" in names
