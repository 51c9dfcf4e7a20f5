"""Instructions, for probes at them: where those of a function begin, and which may have one.

In: a function's bytes, ELF's number of the processor.  Out: the offsets of its instructions, ascending; yes or no.
Always: what is not known ends the list, so that no probe is put into the middle of an instruction (c/tracer/instructions.h).
"""

from __future__ import annotations

from array import array

from ... import _tracer

LONGEST = 16  # bytes of an instruction, and one


def offsets(code: bytes, machine: int) -> array[int]:
    """Where the instructions begin."""
    return array("I", _tracer.instruction_offsets(code, machine))


def takes_uprobe(code: bytes, machine: int) -> bool:
    """Whether the kernel can put a probe on the first instruction and executes that very instruction then.  code: LONGEST bytes."""
    return bool(_tracer.takes_uprobe(code, machine))
