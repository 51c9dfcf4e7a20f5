"""Names that a program redacts itself: PYUSDT_REDACT of its start, and pyusdt.redact().

What redact() was given is in the memory of pyusdt's extension, behind a symbol
(src/pyusdt/_core_c/vm/secret_names.h).
"""

from __future__ import annotations

from pydtrace.process import maps
from pydtrace.program.secret_names import read_veto, split_patterns
from pydtrace.symbols import elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .remote_python import RemotePython

_SYMBOL = "pyusdt_redacted_names"
_SIZE = 4096  # PYUSDT_REDACTED_SIZE
_MODULE = "_core."  # what the file of the extension begins with


def read_program_veto(python: RemotePython) -> list[str]:
    """All patterns of a process.  Raises OSError.  What cannot be read of pyusdt's memory forbids all."""
    veto = read_veto(python.pid)
    for mapping in {each.file_key: each for each in reversed(python.maps)}.values():
        if mapping.module_name.startswith(_MODULE):
            veto += _read_redacted(python, mapping)
    return veto


def _read_redacted(python: RemotePython, mapping: maps.Mapping) -> list[str]:
    """Of one extension, which may be another project's: that has no such symbol."""
    found = maps.find_mapped_file(python.pid, mapping)
    if not found:
        return ["*"]
    try:
        file = elf.ElfFile(found[0], found[1].st_ino)
        try:
            address = file.find_symbol(_SYMBOL)
            bias = elf.load_bias(file, mapping)
        finally:
            file.close()
    except elf.BadFile:
        return []
    if address is None:
        return []
    data = python.memory.read(address + bias, _SIZE)
    return split_patterns(data.partition(b"\0")[0].decode("utf-8", "replace"))
