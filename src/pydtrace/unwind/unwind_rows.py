"""What programs in the kernel and the tracer exchange about native stacks: rows of unwind tables,
and which table a process has where.

A row is two words of 4 bytes: where it begins, from the table's first address on, and a rule that
holds up to the next row. A rule has its kind in the lowest KIND_BITS; SAVED_BITS: how many words
below the frame's begin rbp was saved, 0 where it is the caller's; the rest: how many words above
its register the frame begins. Rules are those of x86-64.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

KIND_BITS, SAVED_BITS = 3, 13
SAVED_MOST, BEGIN_MOST = (1 << SAVED_BITS) - 1, (1 << 32 - KIND_BITS - SAVED_BITS) - 1
# By the chain of frame pointers; the outermost frame; by rsp, by rbp; a jump of the linker's (PLT); behind a signal's handler.
POINTER, OUTERMOST, BY_SP, BY_BP, JUMP, SIGNAL = range(6)
ROW = struct.Struct("=II")
ROWS = 1 << 20  # of a table, at most

# Where the kernel puts the registers before it calls a handler, from the stack's pointer behind the handler's return.
SIGNAL_BP, SIGNAL_SP, SIGNAL_PC = 120, 160, 168

# The value of the map of processes, by pid.  STAMP: of the address space, as in python_frame_words.py; DELAY: ns after which code that is in no part is
# asked for again; COUNT: of the parts, which are ascending; WHOLE: 1 where all that there is of the process is in it, and no table is waited
# for, so that a forked child's may be the same.  Of a part: START, SIZE (u32): of the code in memory; BASE: of the table's first address;
# TABLE (u32): its number, 0: there is none; LENGTH (u32): its rows.
STAMP, DELAY, COUNT, WHOLE, PARTS = 0, 8, 16, 24, 32
START, BASE, SIZE, TABLE, LENGTH = 0, 8, 16, 20, 24
_HEAD, _PART = struct.Struct("=QQQQ"), struct.Struct("=QQIIQ")
PART_SIZE = _PART.size
MOST = 512  # parts, a power of two
VALUE_SIZE = PARTS + MOST * PART_SIZE
NONE = 0  # the number of a table that is none
LATER = (1 << 31) - 1  # of one that is not read yet


def rule(kind: int, begin: int = 0, saved: int = 0) -> int:
    """begin, saved: words.  Raises ValueError where they have no room."""
    if not 0 <= saved <= SAVED_MOST or not 0 <= begin <= BEGIN_MOST:
        raise ValueError("a frame is too large")
    return kind | saved << KIND_BITS | begin << KIND_BITS + SAVED_BITS


def parts(
    stamp: int, delay: int, is_whole: bool, found: Sequence[tuple[int, int, int, int, int]]
) -> bytes:
    """The map's value.  delay: ns; found: (start, base, size, table, rows), ascending, at most MOST."""
    value = _HEAD.pack(stamp, delay, len(found), is_whole)
    return (
        value
        + b"".join(
            _PART.pack(start, base & (1 << 64) - 1, min(size, (1 << 32) - 1), table, rows)
            for start, base, size, table, rows in found
        )
    ).ljust(VALUE_SIZE, b"\0")
