"""A machine of aarch64 with a Linux of its own, by qemu-system-aarch64: what a process does to another one works there.

Input: a root folder with a CPython, and the kernel, which .ci/wheel-pythons gets.
Output: what a command in that root prints.

- The whole root is the kernel's first file system (initramfs), so no driver is needed.
- Slow: a Python takes some seconds to start.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile

from tests.support import harness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

EMULATOR = "qemu-system-aarch64"
_OPTIONS = ("-machine", "virt", "-cpu", "cortex-a72", "-smp", "2", "-m", "2048")
_LEFT_OUT = re.compile(
    r"usr/(include|share/(doc|man|locale|perl\w*|info)|lib/gcc)|.*\.a|.*/config-3\.\d+-\S+|\.ready"
)
# The first process; /script is what is asked for
_INIT = """#!{python}
import ctypes, os, subprocess
c = ctypes.CDLL(None)
for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/dev/shm")):
    os.makedirs(place, exist_ok=True)
    assert c.mount(kind.encode(), place.encode(), kind.encode(), 0, None) == 0, place
os.makedirs("/tmp", exist_ok=True)
os.environ.update(PATH="/usr/bin:/bin:/usr/sbin:/sbin", HOME="/tmp")
status = subprocess.run(["/bin/sh", "/script"], cwd="/tmp").returncode
print("\\nSTATUS", status, flush=True)
c.reboot(0x4321FEDC)  # LINUX_REBOOT_CMD_POWER_OFF
"""


def _write_member(file: BinaryIO, number: int, name: str, mode: int, content: bytes) -> None:
    """One of a cpio archive of the format newc: 13 numbers, the name, the content."""
    numbers = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name.encode()) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % each for each in numbers) + name.encode() + b"\0"
    file.writelines(part + bytes(-len(part) % 4) for part in (head, content))


def _walk(folder: str, place: str) -> Iterator[tuple[str, str]]:
    """(path, place in the new root)"""
    for each in sorted(os.scandir(folder), key=lambda entry: entry.name):
        inside = os.path.normpath(os.path.join(place, each.name))
        if _LEFT_OUT.fullmatch(inside):
            continue
        yield each.path, inside
        if each.is_dir(follow_symlinks=False):
            yield from _walk(each.path, inside)


def write_initramfs(path: str, folders: dict[str, str], texts: dict[str, str]) -> None:
    """folders: by the place in the new root; texts: of programs, by their place."""
    with open(path, "wb") as file:
        number = 0
        for place, folder in folders.items():
            for source, inside in [(folder, place), *_walk(folder, place)]:
                mode, content = os.lstat(source).st_mode, b""
                if stat.S_ISLNK(mode):
                    content = os.readlink(source).encode()
                elif stat.S_ISREG(mode):
                    with open(source, "rb") as opened:
                        content = opened.read()
                number += 1
                _write_member(file, number, inside, mode, content)
        for place, text in texts.items():
            number += 1
            _write_member(file, number, place, stat.S_IFREG | 0o755, text.encode())
        _write_member(file, 0, "TRAILER!!!", 0, b"")


def run(
    kernel: str, root: str, python: str, script: str, timeout: float, **folders: str
) -> harness.Run:
    """A shell script in a root.  folders: others, by their name in the root's /.  The last line but one of the output has its status."""
    with tempfile.TemporaryDirectory(prefix="emulated-machine-") as folder:
        initramfs = os.path.join(folder, "initramfs")
        texts = {"init": _INIT.format(python=python), "script": script}
        write_initramfs(initramfs, {".": root, **folders}, texts)
        command = [
            *(EMULATOR, *_OPTIONS, "-nographic", "-no-reboot", "-nic", "none"),
            *("-kernel", kernel, "-initrd", initramfs),
            *("-append", "console=ttyAMA0 quiet panic=-1"),
        ]
        return harness.run(command, timeout=timeout)
