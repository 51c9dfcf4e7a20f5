"""The stapsdt notes of an ELF file, read without pyusdt's help.

Input: a 64-bit ELF file.
Output: a Note a probe, addresses as linked; where the file is mapped in this process.
"""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path
from typing import NamedTuple

RTLD_DI_LINKMAP = 2  # of <dlfcn.h>


class Note(NamedTuple):
    provider: str
    name: str
    location: int
    semaphore: int
    operands: tuple[str, ...]


def sections(data: bytes) -> dict[str, tuple[int, int, int, int]]:
    """Section name: (address, file offset, size, flags)."""
    assert data[:5] == b"\x7fELF\x02", "not a 64-bit ELF file"
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * entry_size) for i in range(count)]
    names = headers[names_index][4]
    found = {}
    for name, _type, flags, address, offset, size in headers:
        start = names + name
        found[data[start : data.index(b"\0", start)].decode()] = (address, offset, size, flags)
    return found


def read_notes(path: str) -> list[Note]:
    with open(path, "rb") as file:
        data = file.read()
    found = sections(data)
    base = found[".stapsdt.base"][0]
    _address, offset, size, _flags = found[".note.stapsdt"]
    notes, end = [], offset + size
    while offset < end:
        name_size, size, kind = struct.unpack_from("<III", data, offset)
        assert data[offset + 12 : offset + 12 + name_size] == b"stapsdt\0" and kind == 3
        offset += 12 + (name_size + 3) // 4 * 4
        location, linked_base, semaphore = struct.unpack_from("<QQQ", data, offset)
        provider, name, operands, rest = data[offset + 24 : offset + size].split(b"\0", 3)
        assert rest == b"" and linked_base == base
        notes.append(
            Note(
                provider.decode(),
                name.decode(),
                location,
                semaphore,
                tuple(operands.decode().split()),
            )
        )
        offset += (size + 3) // 4 * 4
    return notes


def load_bias(path: str) -> int:
    """What has to be added to the addresses of a shared object that this process has loaded.

    Asked of the dynamic linker: in /proc/self/maps a file that a test has mapped to read it looks the same.
    """
    loaded = ctypes.CDLL(path)
    link_map = ctypes.c_void_p()
    dlinfo = ctypes.CDLL(None).dlinfo
    dlinfo.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    if dlinfo(loaded._handle, RTLD_DI_LINKMAP, ctypes.byref(link_map)):
        raise LookupError(f"{path} is not loaded")
    return ctypes.c_size_t.from_address(link_map.value).value  # its first field, l_addr


def write(path: Path, notes: int) -> Path:
    """An ELF file with that many probes, bad:::one, and one segment."""
    note = struct.pack("=III8sQQQ12s", 8, 36, 3, b"stapsdt", 0x1000, 0, 0, b"bad\0one")
    names, data = b"\0.note.stapsdt\0", note * notes
    table = 4096 + len(data) + len(names)
    head = struct.pack(
        "=16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, table, 0, 64, 56, 1, 64, 3, 2
    )
    segment = struct.pack("=IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096)
    rows = [
        (0,) * 10,
        (1, 7, 0, 0, 4096, len(data), 0, 0, 4, 0),
        (0, 3, 0, 0, 4096 + len(data), len(names), 0, 0, 1, 0),
    ]
    path.write_bytes(
        (head + segment).ljust(4096, b"\0")
        + data
        + names
        + b"".join(struct.pack("=IIQQQQIIQQ", *row) for row in rows)
    )
    return path
