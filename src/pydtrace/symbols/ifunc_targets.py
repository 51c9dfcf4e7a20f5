"""The functions that the loader chose for the IFUNC symbols of a file, such as strlen() of glibc.

- No probe is put on an IFUNC symbol itself: that code only chooses, and runs once.
- Processes are untrusted. An address that one reports counts only if a function begins there by
  the file's own tables: a probe elsewhere would change an instruction.
"""

from __future__ import annotations

import itertools
import os

from pydtrace.process import maps
from pydtrace.untrusted.responsive_fs import RESPONSIVE_FS

from .elf import ElfFile, linked_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD_SIZE = 8
_MAX_MAPPINGS = 4  # of one file's code, that a process is looked at for: one is usual
Function = tuple[int, int, str]  # address as linked, size, name


def find_ifunc_targets(file: ElfFile, inode: int, processes: Iterable[int]) -> list[Function]:
    """What the names stand for in these processes, and in this one, which the same machine has chosen for."""
    mapped_by = [
        (pid, bias) for pid in (os.getpid(), *processes) for bias in _load_biases(pid, file, inode)
    ]
    if not mapped_by or not (names := file.ifunc_resolvers()):
        return []
    choices, found = file.ifunc_slots(set(names.values())), set()
    for pid, bias in mapped_by:
        for name, chooser in names.items():
            address = _read_word(pid, bias + choices[chooser]) - bias if chooser in choices else 0
            frame = file.find_frame(address)
            if frame and frame[0] == address:
                found.add((address, frame[1] - address, name))
    return sorted(found)


def _load_biases(pid: int, file: ElfFile, inode: int) -> list[int]:
    """By how much the addresses of a process are above those that the file is linked for: of the first mappings of its code, or none."""
    try:
        lines = maps.read_maps(pid)
    except OSError:
        return []
    mappings = (
        each
        for each in map(maps.parse_mapping, lines)
        if each and each.inode == inode and "x" in each.access
    )
    found = []
    for each in itertools.islice(mappings, _MAX_MAPPINGS):
        place = maps.find_mapped_file(pid, each, RESPONSIVE_FS)
        address = linked_address(file.segments, each.access, each.offset)
        if place and place[1].st_dev == file.device and address is not None:
            found.append(each.start - address)
    return found


def _read_word(pid: int, address: int) -> int:
    """Of a process's memory; 0 where there is none."""
    try:
        fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return int.from_bytes(os.pread(fd, _WORD_SIZE, address), "little")
    except (OSError, OverflowError):
        return 0
    finally:
        os.close(fd)
