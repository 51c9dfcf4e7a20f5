"""Provider objects (c/target/elf_write.c) for both processors, as readelf and objdump show them; bad names and types."""

import errno
import re
import subprocess

import pytest

from tests.support.core.programs import C_TESTS, ROOT

REGISTERS = {
    "x86_64": [
        "%rdi",
        "%rsi",
        "%rdx",
        "%rcx",
        "%r8",
        "%r9",
        "%rax",
        "%r10",
        "%r11",
        "%rbx",
        "%r12",
        "%r13",
    ],
    "aarch64": [f"x{i}" for i in range(12)],
}
TYPES = {
    0x11: "1",
    0x12: "2",
    0x14: "4",
    0x18: "8",
    0x21: "-1",
    0x22: "-2",
    0x24: "-4",
    0x28: "-8",
    0x34: "4",
    0x38: "8",
    0x48: "8",
}


@pytest.fixture(scope="module")
def elf_main(tmp_path_factory):
    program = tmp_path_factory.mktemp("elf") / "elf_main"
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-g",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            f"-I{ROOT}/c",
            C_TESTS / "elf_main.c",
            ROOT / "c/target/elf_write.c",
            ROOT / "c/target/provider_names.c",
            ROOT / "c/shared/glob.c",
            "-o",
            program,
        ],
        check=True,
    )

    def run(*arguments):
        return subprocess.run([program, *arguments], check=False).returncode

    return run


@pytest.mark.parametrize("machine", REGISTERS)
@pytest.mark.parametrize("count", [1, 2, 700])
def test_object(machine, count, elf_main, tmp_path):
    """The notes' addresses are those of sites and semaphores that are there."""
    path = str(tmp_path / "made.so")
    types = [*TYPES, 0x28]
    probes = [(f"probe-{i}", types[: i % 13]) for i in range(count)]
    assert (
        elf_main(
            machine,
            path,
            "made",
            *(part for name, of in probes for part in (name, bytes(of).hex())),
        )
        == 0
    )
    shown = subprocess.run(
        ["readelf", "--wide", "--all", path], capture_output=True, text=True, check=False
    )
    assert shown.stderr == ""
    notes = re.findall(
        r"Provider: made\n +Name: (\w+)\n +Location: 0x(\w+), Base: 0x(\w+), Semaphore: 0x(\w+)\n"
        r" +Arguments:([^\n]*)\n",
        shown.stdout,
    )
    assert [name for name, *_ in notes] == [name.replace("-", "__") for name, _ in probes]
    sections = {
        name: int(address, 16)
        for name, address in re.findall(r"\] (\.\S+) +\S+ +(\w{16}) ", shown.stdout)
    }
    symbols = dict(re.findall(r": (\w{16}) +\d+ FUNC +GLOBAL DEFAULT +\d+ (\w+)\n", shown.stdout))
    with open(path, "rb") as file:
        data = file.read()
    for i, ((_, location, base, semaphore, operands), (_, of)) in enumerate(
        zip(notes, probes, strict=True)
    ):
        place = int(location, 16)
        assert operands.split() == [
            f"{TYPES[each]}@{REGISTERS[machine][k]}" for k, each in enumerate(of)
        ]
        assert (
            int(base, 16) == sections[".stapsdt.base"]
            and int(semaphore, 16) == sections[".probes"] + 2 * i
        )
        if machine == "x86_64":  # the first segment's addresses are its offsets
            assert (
                place % 16 == 0
                and data[place : place + 17].hex() == "90662e0f1f8400000000000f1f440000c3"
            )
            assert data[place - 4 : place].hex() == "f30f1efa"
        else:
            assert data[place - 4 : place + 8].hex() == "5f2403d51f2003d5c0035fd6"
        assert symbols[f"{place - 4:016x}"] == f"made_probe_{i}"
    loads = [line.split() for line in shown.stdout.splitlines() if line.startswith("  LOAD")]
    assert [line[6:-1] for line in loads] == [["R", "E"], ["RW"]]
    end, start = int(loads[0][2], 16) + int(loads[0][5], 16), int(loads[1][2], 16)
    assert (end - 1) // 0x10000 < start // 0x10000 and start % 0x10000 == int(
        loads[1][1], 16
    ) % 0x10000


def test_contents_name_it(elf_main, tmp_path):
    """The same probes have the same build id, all others another."""

    def build_id(*arguments):
        assert elf_main("x86_64", str(tmp_path / "x"), *arguments) == 0
        shown = subprocess.run(
            ["readelf", "--notes", tmp_path / "x"], capture_output=True, text=True, check=False
        ).stdout
        return re.search(r"Build ID: (\w{40})\n", shown)[1]

    cases = [
        ("a", "p", ""),
        ("a", "p", "28"),
        ("a", "p", "18"),
        ("b", "p", ""),
        ("a", "q", ""),
        ("a", "p", "", "q", ""),
    ]
    assert len({build_id(*case) for case in cases}) == len(cases)
    assert build_id(*cases[1]) == build_id(*cases[1])


@pytest.mark.parametrize(
    "arguments",
    [
        ("made",),
        ("", "p", ""),
        ("made1", "p", ""),
        ("ma-de", "p", ""),
        ("m" * 41, "p", ""),
        ("made", "", ""),
        ("made", "1p", ""),
        ("made", "p q", ""),
        ("made", "p" * 64, ""),
        ("made", "p", "28" * 13),
        ("made", "p", "00"),
        ("made", "p", "13"),
        ("made", "p", "31"),
        ("made", "p", "44"),
        ("made", "p", "54"),
        ("made", "p", "68"),
        ("made", "p", "", "q", "ff"),
    ],
)
def test_what_can_not_be(arguments, elf_main, tmp_path):
    assert elf_main("x86_64", str(tmp_path / "x"), *arguments) == errno.EINVAL
    assert not (tmp_path / "x").exists()
