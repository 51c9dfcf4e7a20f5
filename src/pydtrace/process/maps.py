"""The files that processes have mapped: /proc/PID/maps, and where a mapped file can be opened.

A path is only a hint: its process, or whoever writes to its folders, can put another file there.
A file with another inode is not the mapped one. Readers check that again when they open it
(the `inode` of elf.ElfFile), and keep what is open.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_DELETED = " (deleted)"
_READ_LIMIT = (
    32 << 20
)  # bytes of a process's maps that are read: what it maps decides how many there are


class Mapping:
    """A part of a file that is in a process's memory.  file: what tells the file from others (device, inode, path)."""

    __slots__ = ("access", "device", "inode", "offset", "path", "address_range")

    def __init__(
        self, address_range: str, access: str, offset: str, device: str, inode: str, path: str
    ) -> None:
        self.address_range, self.access, self.offset, self.device = (
            address_range,
            access,
            int(offset, 16),
            device,
        )
        self.inode, self.path = int(inode), path

    @property
    def file_key(self) -> tuple[str, int, str]:
        return self.device, self.inode, self.path

    @property
    def start(self) -> int:
        return int(self.address_range.partition("-")[0], 16)

    @property
    def end(self) -> int:
        return int(self.address_range.partition("-")[2], 16)

    @property
    def is_deleted(self) -> bool:
        """Its file was removed or replaced."""
        return self.path.endswith(_DELETED)

    @property
    def module_name(self) -> str:
        """What D calls the module."""
        return os.path.basename(self.path.removesuffix(_DELETED))


def read_maps(pid: int | str) -> list[str]:
    """The lines of a process's /proc/PID/maps, which end where the kernel ends them: names may hold all that Python takes for an
    end but the newline.  Raises OSError."""
    with open(f"/proc/{pid}/maps", errors="surrogateescape", newline="\n") as file:
        return file.readlines(_READ_LIMIT)


def parse_mapping(line: str) -> Mapping | None:
    """The Mapping of a line, or None where it tells of no file."""
    fields = line.rstrip("\n").split(None, 5)
    return Mapping(*fields) if len(fields) == 6 and fields[4] != "0" else None


def _is_executable(pid: int, mapping: Mapping) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/exe") == mapping.path
    except OSError:
        return False


def find_mapped_file(
    pid: int, mapping: Mapping, is_responsive: Callable[[str, int], bool] = lambda path, pid: True
) -> tuple[str, os.stat_result] | None:
    """(a path that the file can be opened by, its os.stat()), or None.  pid: a process that has it mapped, or had; may(path, pid): whether a
    path is looked at (untrusted/responsive_fs.py)."""
    paths = (
        [mapping.path, f"/proc/{pid}/root{mapping.path}"] if mapping.path.startswith("/") else []
    )
    if mapping.is_deleted and _is_executable(pid, mapping):
        paths.append(f"/proc/{pid}/exe")
    itself = ""
    if mapping.address_range:
        itself = f"/proc/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"  # any file, for root
        paths.append(itself)
    for path in paths:
        try:
            status = os.stat(path) if is_responsive(path, pid) else None
        except OSError:
            continue
        if status is None:
            continue
        if path == itself or status.st_ino == mapping.inode:
            return path, status
    return None
