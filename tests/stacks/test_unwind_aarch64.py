"""The walk by tables on aarch64: a program of that processor stops under qemu's user emulation, whose server for debuggers tells its
registers and its memory. (No more of it can be emulated: a process that runs there can not be stopped by another.)"""

import os
import platform
import re
import shutil
import socket
import struct
import subprocess
import time
from types import SimpleNamespace

import pytest

from pydtrace.symbols import elf
from pydtrace.unwind import dwarf_cfi, native_unwinder

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64")
EMULATOR, COMPILER = "qemu-aarch64-static", "aarch64-linux-gnu-gcc"
SOURCE = os.path.join(os.path.dirname(__file__), "on_aarch64.c")
CHAIN = ["leaf", "aligned", "grows", "large", "compares", "sorts", "main", "_start"]


class Debugged:
    """A program that has stopped, by gdb's protocol."""

    def __init__(self, path: str):
        self._socket = socket.socket(socket.AF_UNIX)
        until = time.monotonic() + 30
        while self._socket.connect_ex(path) and time.monotonic() < until:
            time.sleep(0.01)
        self._file = self._socket.makefile("rb")

    def ask(self, text: str) -> str:
        self._socket.sendall(f"${text}#{sum(text.encode()) & 255:02x}".encode())
        data = b""
        while not (found := re.search(rb"\$([^#]*)#..", data)):
            data += self._file.read(1)
        self._socket.sendall(b"+")
        return found[1].decode()

    def words(self, text: str) -> bytes:
        answer = self.ask(text)
        if answer.startswith("E"):
            raise IndexError(answer)
        return bytes.fromhex(answer)

    def registers(self) -> dict[int, int]:
        """By their numbers in DWARF, x0 to x30 and sp; and the pc."""
        return dict(enumerate(struct.unpack_from("<33Q", self.words("g"))))

    def word(self, address: int) -> int:
        return struct.unpack("<Q", self.words(f"m{address:x},8"))[0]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class OneFile:
    """The code of a program that is linked to one place."""

    def __init__(self, file: elf.ElfFile):
        self._file, self._tables = file, dwarf_cfi.FrameTables(file)

    def describe_address(self, pc, called):
        name = self._file.find_function_name(pc - called)
        return (
            native_unwinder.NativeFrame(name, "", pc, pc),
            self._tables.find_row(pc - called),
            bool(name),
        )


@pytest.fixture
def on_aarch64(monkeypatch):
    for name, number in {
        "SP": 31,
        "PC": 32,
        "FP": 29,
        "_LINK": 30,
        "_ADDRESS": (1 << 48) - 1,
    }.items():
        monkeypatch.setattr(native_unwinder, name, number)


@pytest.mark.parametrize(
    "options", [(), ("-mbranch-protection=pac-ret+leaf",)], ids=["plain", "signed"]
)
def test_a_walk_by_tables(options, on_aarch64, tmp_path):
    """Through frames without a chain of pointers; the addresses to return to may be signed."""
    for tool in (EMULATOR, COMPILER):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    program, server = str(tmp_path / "program"), str(tmp_path / "server")
    subprocess.run(
        [
            COMPILER,
            "-O2",
            "-fomit-frame-pointer",
            "-fno-optimize-sibling-calls",
            *options,
            "-static",
            "-Wl,--eh-frame-hdr",
            SOURCE,
            "-o",
            program,
        ],
        check=True,
    )
    for run in range(
        5
    ):  # a signature has seven bits and a key of each process's own: one of 128 is 0
        names, why, address = walked(program, f"{server}{run}")
        assert [name for name in names if name in CHAIN] == CHAIN and why is None, (names, why)
        if not options or address >> 48:
            break
    assert bool(address >> 48) == bool(options), "leaf()'s address to return to is signed"


def walked(program, server):
    """(names of frames, why there are no more, where leaf() returns to) of the program, which stops there."""
    with subprocess.Popen([EMULATOR, "-cpu", "max", "-g", server, program]) as emulator:
        try:
            stopped = Debugged(server)
            assert stopped.ask("c").startswith("T"), "it stops in leaf()"
            file = elf.ElfFile(program)
            registers = stopped.registers()
            frames, why = native_unwinder.NativeUnwinder(OneFile(file)).unwind_copy(
                SimpleNamespace(registers=registers, read_word=stopped.word)
            )
            stopped.close()
            file.close()
        finally:
            emulator.kill()
    return [frame.name for frame in frames], why, registers[30]
