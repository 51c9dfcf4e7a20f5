"""Where the instructions of a function begin, and which of them can have a probe.

- The list ends before an unknown instruction, so no probe is put into the middle of one
  (c/kernel/instructions.h).
"""

from __future__ import annotations

from array import array

from pydtrace import _tracer
from pydtrace.symbols.elf import BadFile, ElfFile

_LONGEST = 15  # bytes of an instruction


def instruction_offsets(code: bytes, machine: int) -> array[int]:
    """Where the instructions begin."""
    return array("I", _tracer.instruction_offsets(code, machine))


def can_take_uprobe(file: ElfFile, offset: int) -> bool:
    """Whether the kernel can put a probe on the instruction at an offset of a file, and executes that very instruction then.  True where
    that is not known: the kernel decides."""
    try:
        code = file.read(offset, min(_LONGEST, file.size - offset))
    except BadFile:
        return True
    return bool(_tracer.takes_uprobe(code, file.machine))
