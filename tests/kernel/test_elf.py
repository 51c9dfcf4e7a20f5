"""symbols/elf.py against readelf, nm and a second reader of notes; and on damaged files."""

import glob
import os
import random
import shutil
import subprocess
import sys

import pytest

import pyusdt._core
from pydtrace.symbols import elf, file_symbols
from tests.support.elf_notes import read_notes
from tests.support.kernel_harness import DATA, compile_c

FILES = [
    pyusdt._core.__file__,
    sys.executable,
    *glob.glob("/usr/lib/*/libstdc++.so.6"),
    *glob.glob("/usr/lib/*/libc.so.6"),
]


def test_notes_are_those_of_a_second_reader(target):
    for path in (pyusdt._core.__file__, target):
        ours = [
            (n.provider, n.name, n.address, n.semaphore, n.arguments)
            for n in elf.ElfFile(path).read_notes()
        ]
        theirs = [
            (n.provider, n.name.replace("__", "-"), n.location, n.semaphore, " ".join(n.operands))
            for n in read_notes(path)
        ]
        assert ours == theirs and ours


@pytest.mark.parametrize("path", FILES)
def test_offsets_are_readelfs(path):
    path = os.path.realpath(path)
    file = elf.ElfFile(path)
    text = subprocess.run(
        ["readelf", "-lW", path], capture_output=True, text=True, check=True
    ).stdout
    loads = [line.split() for line in text.splitlines() if line.split()[:1] == ["LOAD"]]
    assert loads
    for _, offset, address, _, size, *_ in loads:
        start, length = int(address, 16), int(size, 16)
        assert (
            file.file_offset(start) == int(offset, 16)
            and file.file_offset(start + length - 1) == int(offset, 16) + length - 1
        )
    assert file.file_offset(1 << 60) is None


def test_functions_are_nms(target):
    file = elf.ElfFile(target)
    text = subprocess.run(["nm", "-S", target], capture_output=True, text=True, check=True).stdout
    sized = [
        line.split()
        for line in text.splitlines()
        if len(line.split()) == 4 and line.split()[2] in "tT"
    ]
    assert len(sized) >= 3
    for address, size, _, name in sized:
        start, length = int(address, 16), int(size, 16)
        assert (
            file.find_function_name(start) == name
            and file.find_function_name(start + length - 1) == name
        )
        assert file.find_symbol(name) == start
    assert file.find_function_name(1 << 60) == "" and file.find_symbol("no_such_symbol") is None


def test_a_stripped_file_has_its_dynamic_symbols(tmp_path):
    source = os.path.join(DATA, "target_plain.c")
    library = compile_c(source, tmp_path / "plain.so", "-shared", "-fPIC", "-s")
    file = elf.ElfFile(library)
    assert file.find_function_name(file.read_notes()[0].address) == "fire_plain"


def look_at_everything(path):
    try:
        file = elf.ElfFile(path)
        for note in file.read_notes():
            file.file_offset(note.address)
            file.find_function_name(note.address)
        file.find_symbol("main")
    except elf.BadFile:
        pass


def test_damaged_files_are_bad_files_and_nothing_else(tmp_path, target):
    with open(target, "rb") as file:
        whole = file.read()
    path, chance = tmp_path / "damaged", random.Random(1)
    for size in (0, 1, 15, 16, 63, 64, 100, *(chance.randrange(len(whole)) for _ in range(100))):
        path.write_bytes(whole[:size])
        look_at_everything(path)
    headers = [
        *range(64),
        *range(len(whole) - 2500, len(whole)),
    ]  # the header and the section table
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            place = (
                chance.choice(headers) if chance.random() < 0.7 else chance.randrange(len(whole))
            )
            damaged[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        path.write_bytes(damaged)
        look_at_everything(path)


@pytest.mark.skipif(
    not (shutil.which("objcopy") and shutil.which("xz")), reason="host: no objcopy, or no xz"
)
@pytest.mark.parametrize("where", ["beside", "packed"])
def test_names_that_a_stripped_file_has_elsewhere(where, tmp_path, monkeypatch):
    """By the number of its build, in a file for debuggers, or packed in itself (.gnu_debugdata)."""
    (tmp_path / "two.c").write_text(
        'static __attribute__((noinline)) int hidden(int a) { __asm__ volatile(""); return a + 1; } int shown(int a) { return hidden(a) * 2; }'
    )
    library, names = tmp_path / "two.so", tmp_path / "names"
    compile_c(tmp_path / "two.c", library, "-shared", "-fPIC", "-Wl,--build-id")
    whole = elf.ElfFile(str(library))
    [address] = [row[0] for row in whole.read_functions() if row[2] == "hidden"]
    subprocess.run(["objcopy", "--only-keep-debug", library, names], check=True)
    subprocess.run(["strip", library], check=True)
    assert file_symbols.read_file_symbols(str(library)).table.find(address + 1) is None
    if where == "packed":
        subprocess.run(["xz", "-k", names], check=True)
        subprocess.run(
            ["objcopy", "--add-section", f".gnu_debugdata={names}.xz", library], check=True
        )
    else:
        stripped = elf.ElfFile(str(library))
        _, _, offset, bytes_, _ = stripped.sections[".note.gnu.build-id"]
        number = stripped.read(offset, bytes_)[16:].hex()
        (tmp_path / number[:2]).mkdir()
        shutil.copy(names, tmp_path / number[:2] / f"{number[2:]}.debug")
        monkeypatch.setattr(elf, "DEBUG_FILES", str(tmp_path))
    table = file_symbols.read_file_symbols(str(library)).table
    assert table.find(address + 1) == (address, "hidden") and any(
        table.find(row[0]) == (row[0], "shown")
        for row in elf.ElfFile(str(library)).read_functions()
    )
