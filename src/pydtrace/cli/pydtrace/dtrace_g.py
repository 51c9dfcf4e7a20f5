"""`pydtrace -G`: the object file that a build written for dtrace(1) links.

The header of -h has already put the probes into the program's objects. So the file is a
relocatable ELF file without code or data, and such a build needs no change.
"""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_HEADER = struct.Struct("=4sBBBB8xHHIQQQIHHHHHH")
_SECTION = struct.Struct("=IIQQQQIIQQ")
_MACHINES = {"x86_64": 62, "aarch64": 183}
_NAMES = b"\0.note.GNU-stack\0.shstrtab\0"
_MAX_PROVIDER_NAME = 53  # of a provider's name; a name of a description has 63
_RELOCATABLE, _PROGBITS, _STRTAB = 1, 1, 3

ADVICE = (
    "probes need no -G on Linux: the header that -h makes has them; an empty object was written"
)


def default_object_path(scripts: list[str]) -> str:
    """The path of the object without -o: x.o for x.d, in the current folder."""
    return os.path.basename(scripts[-1]).removesuffix(".d") + ".o" if scripts else "d.out"


def explain_long_provider(providers: Iterable[str]) -> str | None:
    """Why the probes of one of the providers can not be linked, in dtrace's words, or None: a process's id is put behind the name."""
    found = next((name for name in providers if len(name) > _MAX_PROVIDER_NAME), None)
    return found and f"USDT provider name may not exceed {_MAX_PROVIDER_NAME} characters: {found}"


def make_empty_object() -> bytes:
    """The bytes of the file, with the note that a program of it needs no executable stack."""
    names_at = _HEADER.size
    table_at = names_at + len(_NAMES) + -len(_NAMES) % 8
    ident = (b"\x7fELF", 2, 1, 1, 0)
    machine = _MACHINES.get(os.uname().machine, 0)
    header = _HEADER.pack(
        *ident, _RELOCATABLE, machine, 1, 0, 0, table_at, 0, _HEADER.size, 0, 0, _SECTION.size, 3, 2
    )
    sections = [
        (0,) * 10,
        (1, _PROGBITS, 0, 0, names_at, 0, 0, 0, 1, 0),
        (_NAMES.index(b".shstrtab"), _STRTAB, 0, 0, names_at, len(_NAMES), 0, 0, 1, 0),
    ]
    table = b"".join(_SECTION.pack(*section) for section in sections)
    return (header + _NAMES).ljust(table_at, b"\0") + table
