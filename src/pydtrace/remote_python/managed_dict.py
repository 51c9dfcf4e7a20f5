"""Where an instance whose dict CPython manages itself (Py_TPFLAGS_MANAGED_DICT, from 3.11 on) keeps its attributes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace._tracer import Memory

    from .object_layout import ObjectLayout
    from .recorded_memory import RecordedMemory

VALUES_HEAD = 8  # bytes before an instance's values, from 3.13 on


def find_managed_dict(
    memory: Memory | RecordedMemory, objects: ObjectLayout, address: int, basicsize: int
) -> tuple[int, int]:
    """(where its values are, whose keys are its class's, or 0; its dict, or 0): the values count if both are there.  basicsize: of its
    class if the values may be behind the object (from 3.13 on), else 0.  Raises OSError."""
    if objects.minor == 11:
        return _read_word(memory, address - 32), _read_word(memory, address - 24)
    if objects.minor == 12:
        either = _read_word(memory, address - 24)
        return (either + 1, 0) if either & 1 else (0, either)
    inline = address + basicsize
    if basicsize and memory.read(inline + 3, 1) == b"\1":
        return inline + VALUES_HEAD, 0
    return 0, _read_word(memory, address - (8 if objects.is_free_threaded else 24))


def _read_word(memory: Memory | RecordedMemory, address: int) -> int:
    return int.from_bytes(memory.read(address, 8), "little")
