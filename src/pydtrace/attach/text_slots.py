"""Where a text may lie in a process: bytes at the end of the last page of a file's data, which belong to nothing.

- A page is mapped as a whole, so the memory is there. No variable of the file is in it.
- ld.so's are never taken: its own allocator uses them. musl gives all of them to malloc(), so there are none.
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
_BEGINS = 2.0  # s, in which a text begins that has left the ring
_FIRST = ("libpython", "python", "libm.so", "libm-", "libc.so", "libc-")  # which are there in most


def find_slots(python: RemotePython) -> list[int]:
    """Addresses of _tracer.SLOT_SIZE bytes each, free or not.  NotAttached: there are none."""
    found: list[int] = []
    writable = _writable_ranges(python.pid)
    for mapping in _files(python):
        for address in _slots_of_file(python.pid, mapping):
            is_writable = any(
                low <= address and address + _tracer.SLOT_SIZE <= high for low, high in writable
            )
            if is_writable:
                found.append(address)
        if len(found) >= _tracer.MOST_SLOTS:
            break
    if not found:
        raise NotAttached(
            f"process {python.pid}: there is no place for the text that it would run: no file that it has mapped leaves {_tracer.SLOT_SIZE} bytes of its last page free"
        )
    return found[: _tracer.MOST_SLOTS]


def _files(python: RemotePython) -> list[maps.Mapping]:
    """One mapping of each file, Python's first."""
    begins: dict[tuple[str, int, str], maps.Mapping] = {}
    for each in python.maps:
        name = each.module_name
        if name.startswith(("ld-musl", "libc.musl")):
            raise NotAttached(
                f"process {python.pid} uses musl, whose memory has no place for the text that it would run"
            )
        if not name.startswith(("ld-", "ld.so")):
            begins.setdefault(each.file_key, each)

    def rank(mapping: maps.Mapping) -> int:
        if mapping.file_key == python.file.file_key:
            return -1
        return next(
            (i for i, name in enumerate(_FIRST) if mapping.module_name.startswith(name)),
            len(_FIRST),
        )

    return sorted(begins.values(), key=rank)[:_FILES]


def _slots_of_file(pid: int, mapping: maps.Mapping) -> list[int]:
    found = maps.find_mapped_file(pid, mapping)
    if not found:
        return []
    try:
        file = elf.ElfFile(found[0], mapping.inode)
        try:
            bias = elf.load_bias(file, mapping)
            end = max(
                (each.address + each.room for each in file.segments if each.flags & elf.WRITES),
                default=0,
            )
        finally:
            file.close()
    except (OSError, elf.BadFile):
        return []
    if not end:
        return []
    low = end + bias + _ALIGN - 1 & -_ALIGN
    high = end + bias + mmap.PAGESIZE - 1 & -mmap.PAGESIZE
    return list(range(low, high - _tracer.SLOT_SIZE + 1, _tracer.SLOT_SIZE))


def sort_free(python: RemotePython, addresses: Sequence[int]) -> list[int]:
    """Those that a text can be put into: first the empty ones, then those with a text that has run, whose tracer was killed. A tracer that
    lives empties its own."""
    contents = _read_slots(python, addresses)
    empty = [address for address, content in contents.items() if not any(content)]
    return empty + [address for address, content in contents.items() if has_ended_text(content)]


def find_abandoned(python: RemotePython, addresses: Sequence[int]) -> list[int]:
    """Those with a text that does not begin in this time, as its tracer was killed before there was an entry for it. c/attach/
    takes none that has one."""
    before = _read_waiting(python, addresses)
    if not before:
        return []
    time.sleep(_BEGINS)
    after = _read_waiting(python, addresses)
    return [address for address in before if before[address] == after.get(address)]


def _read_waiting(python: RemotePython, addresses: Sequence[int]) -> dict[int, bytes]:
    contents = _read_slots(python, addresses)
    return {
        address: content
        for address, content in contents.items()
        if _has_text(content, (statement.WAITS,))
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


def _writable_ranges(pid: int) -> list[tuple[int, int]]:
    """The private memory that the process may write."""
    try:
        lines = maps.read_maps(pid)
    except OSError as error:
        raise NotAttached(
            f"process {pid}: its memory cannot be looked at: {os.strerror(error.errno or 0)}"
        ) from None
    found = []
    for line in lines:
        fields = line.split(None, 2)
        if len(fields) > 1 and fields[1].startswith("rw") and fields[1].endswith("p"):
            low, _, high = fields[0].partition("-")
            found.append((int(low, 16), int(high, 16)))
    return found
