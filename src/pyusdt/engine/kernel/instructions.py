"""Where the instructions of a function begin, for probes at offsets.

In: a function's bytes, ELF's number of the processor.  Out: the offsets of its instructions, ascending.
Always: what is not known ends the list, so that no probe is put into the middle of an instruction (c/tracer/instructions.h).
"""

from __future__ import annotations

from array import array

from ... import _tracer


def offsets(code: bytes, machine: int) -> array[int]:
    """Where the instructions begin."""
    return array("I", _tracer.instruction_offsets(code, machine))
