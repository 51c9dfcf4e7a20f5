"""Where a text may lie in a process: bytes at the end of the last page of a file's data, which belong to nothing.

- A page is mapped as a whole, so the memory is there. No variable of the file is in it.
- ld.so's are never taken: its own allocator uses them.
- musl gives the ends of memory that can be written to malloc(). There the ends of memory that can only be read are taken: the tracer
  and the process's report write by /proc/PID/mem, which gives the process a page of its own.
- c/attach/ takes a slot only while all threads stand still, and only if every byte is 0, or a text there has run or never will.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time

from pydtrace import _tracer
from pydtrace.process import maps
from pydtrace.remote_python.remote_python import RemotePython
from pydtrace.symbols import elf

from . import statement
from .refusal import NotAttached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FILES = 64  # whose ends are looked at
_ALIGN = 64
_STAYS = (
    2.0  # s; in less, a text begins that has left the ring, and its tracer sees that it has run
)
_MUSL = "ld-musl", "libc.musl"
_LOADERS = "ld-", "ld.so", "libc.musl"
_FIRST = ("libpython", "python", "libm.so", "libm-", "libc.so", "libc-")  # which are there in most


def find_slots(python: RemotePython) -> list[int]:
    """Addresses of _tracer.SLOT_SIZE bytes each, free or not.  NotAttached: there are none."""
    found: list[int] = []
    is_writable = not uses_musl(python)
    ranges = _private_ranges(python.pid, is_writable)
    for mapping in _files(python):
        for address in _slots_of_file(python.pid, mapping, is_writable):
            if any(low <= address and address + _tracer.SLOT_SIZE <= high for low, high in ranges):
                found.append(address)
        if len(found) >= _tracer.MOST_SLOTS:
            break
    if not found:
        raise NotAttached(
            f"process {python.pid}: there is no place for the text that it would run: no file that it has mapped leaves {_tracer.SLOT_SIZE} bytes of its last page free"
        )
    return found[: _tracer.MOST_SLOTS]


def uses_musl(python: RemotePython) -> bool:
    """Whether the C library is musl."""
    return any(
        each.module_name.startswith(_MUSL) or each.module_name == "libc.so" for each in python.maps
    )


def _files(python: RemotePython) -> list[maps.Mapping]:
    """One mapping of each file, Python's first."""
    begins: dict[tuple[str, int, str], maps.Mapping] = {}
    for each in python.maps:
        if not each.module_name.startswith(_LOADERS):
            begins.setdefault(each.file_key, each)

    def rank(mapping: maps.Mapping) -> int:
        if mapping.file_key == python.file.file_key:
            return -1
        return next(
            (i for i, name in enumerate(_FIRST) if mapping.module_name.startswith(name)),
            len(_FIRST),
        )

    return sorted(begins.values(), key=rank)[:_FILES]


def _slots_of_file(pid: int, mapping: maps.Mapping, is_writable: bool) -> list[int]:
    found: list[int] = []
    mapped = maps.find_mapped_file(pid, mapping)
    if not mapped:
        return []
    try:
        file = elf.ElfFile(mapped[0], mapping.inode)
        try:
            bias = elf.load_bias(file, mapping)
            segments = [
                each for each in file.segments if bool(each.flags & elf.WRITES) == is_writable
            ]
        finally:
            file.close()
    except (OSError, elf.BadFile):
        return []
    ends = [each.address + each.room + bias for each in segments]
    for end in ends if not is_writable else [max(ends, default=0)]:
        low = end + _ALIGN - 1 & -_ALIGN
        high = end + mmap.PAGESIZE - 1 & -mmap.PAGESIZE
        found += range(low, high - _tracer.SLOT_SIZE + 1, _tracer.SLOT_SIZE)
    return found


def find_empty(python: RemotePython, addresses: Sequence[int]) -> list[int]:
    """Those that a text can be put into."""
    contents = _read_slots(python, addresses)
    return [address for address, content in contents.items() if not any(content)]


def find_abandoned(python: RemotePython, addresses: Sequence[int]) -> list[int]:
    """Those with a text that has run, or that does not begin, and that stays for this time, as its tracer was killed. A tracer
    that lives reads what came of its text, and empties the slot. c/attach/ takes none that there is an entry for."""
    before = _read_left(python, addresses)
    if not before:
        return []
    time.sleep(_STAYS)
    after = _read_left(python, addresses)
    return [address for address in before if before[address] == after.get(address)]


def _read_left(python: RemotePython, addresses: Sequence[int]) -> dict[int, bytes]:
    return {
        address: content
        for address, content in _read_slots(python, addresses).items()
        if has_ended_text(content) or _has_text(content, (statement.WAITS,))
    }


def _read_slots(python: RemotePython, addresses: Sequence[int]) -> dict[int, bytes]:
    contents = {}
    for address in addresses:
        with contextlib.suppress(OSError):
            contents[address] = python.memory.read(address, _tracer.SLOT_SIZE)
    return contents


def has_ended_text(content: bytes) -> bool:
    return _has_text(content, (statement.DONE, statement.FAILED))


def _has_text(content: bytes, states: tuple[bytes, ...]) -> bool:
    mark, state = content[: _tracer.SLOT_MARK], content[_tracer.SLOT_REPORT :][:1]
    return mark == statement.MARK and state in states


def _private_ranges(pid: int, is_writable: bool) -> list[tuple[int, int]]:
    """The private memory that the process may write, or that it may only read or run."""
    try:
        lines = maps.read_maps(pid)
    except OSError as error:
        raise NotAttached(
            f"process {pid}: its memory cannot be looked at: {os.strerror(error.errno or 0)}"
        ) from None
    found = []
    for line in lines:
        fields = line.split(None, 2)
        access = "rw" if is_writable else "r-"
        if len(fields) > 1 and fields[1].startswith(access) and fields[1].endswith("p"):
            low, _, high = fields[0].partition("-")
            found.append((int(low, 16), int(high, 16)))
    return found
