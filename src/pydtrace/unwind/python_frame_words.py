"""What programs in the kernel and the tracer exchange about an interpreter's stack: its place, and a
word for each frame.

- The words of frames have the highest bit, which no address of a process has, so a stack may
  contain both.

The layouts of CPython are those of c/pystack/cpython_offsets.h.
"""

from __future__ import annotations

import struct

from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A word: MARK, FIRST, 45 bits of the code object's address without its three lowest, 17 of the position.
MARK, FIRST = 1 << 63, 1 << 62
CODE_SHIFT, CODE_BITS, CODE_ALIGN = 17, 45, 3
UNPLACED = (1 << CODE_SHIFT) - 1  # a position that has no room
# Without a code object, in the position's place: why no frame is there
LOST, CUT, UNSEEN = 1, 2, 3
REASONS = {LOST: "lost", CUT: "cut", UNSEEN: "not looked at yet"}

# The number of frames of a record that asks: what the process is, where its code is.
ASK_INTERPRETER, ASK_CODE = 0, 1 << 30
FORKED = (
    ASK_CODE + 1
)  # in its place: the process is a child of the one that follows, whose code it has

# The value of the map of processes; by pid.  STAMP: of the address space that it is about, 0: of the one that is there; UNTIL: when to ask
# again where RUNTIME, the address of the pointer to the first interpreter, is 0: it is no Python, or PENDING: it is not known yet.
STAMP, UNTIL, RUNTIME = 0, 8, 16
PENDING = 1
_FIELDS = (
    "interp_next",
    "interp_threads",
    "thread_next",
    "thread_match",
    "thread_frame",
    "has_cframe",
    "cframe_frame",
    "frame_size",
    "frame_previous",
    "frame_code",
    "frame_instr",
    "frame_owner",
    "frame_entry",
    "code_instructions",
    "code_tag",
    "is_old",
    "shift",
    "pad",
)
FIELD = {name: 24 + 4 * index for index, name in enumerate(_FIELDS)}  # their offsets, u32 each
SIZE = 24 + 4 * len(_FIELDS)
FRAME_MOST = 248  # bytes of a frame that are read
_OLD, _TAGGED = (
    11,
    14,
)  # 3.11: positions are addresses; 3.14: two bits of a code object's address say what kind it is of


class Misfit(Exception):
    """An impossible layout."""


def pack(layout: Mapping[str, int], runtime: int, stamp: int, by_id: bool) -> bytes:
    """The map's value for a Python; by_id: its threads are known by pthread_self(), not gettid().  Raises Misfit."""
    old = layout["minor"] < _OLD
    size = 8 + max(
        layout[name]
        for name in ("frame_previous", "frame_code", "frame_instr", "frame_owner", "frame_entry")
    )
    match = layout["thread_id" if by_id else "thread_native"]
    if size > FRAME_MOST or not match:
        raise Misfit
    values = {
        **{name: layout[name] for name in _FIELDS if name in layout},
        "thread_match": match,
        "frame_size": size,
        "is_old": int(old),
        "thread_frame": layout["thread_cframe"] or layout["thread_frame"],
        "has_cframe": int(layout["thread_cframe"] != 0),
        "code_tag": 3 if layout["minor"] >= _TAGGED else 0,
        "shift": 0 if layout["minor"] == 10 else 1,
        "pad": 0,
    }
    head = struct.pack("=QQQ", stamp, 0, runtime + layout["runtime_interpreters"] & (1 << 64) - 1)
    return head + struct.pack(f"={len(_FIELDS)}I", *[values[name] for name in _FIELDS])


def no_python(stamp: int, until: int) -> bytes:
    return struct.pack("=QQQ", stamp, until, 0).ljust(SIZE, b"\0")


def is_frame(word: int) -> bool:
    return bool(word & MARK) or word >> p.FRAME_MARK_SHIFT in (p.FRAME_MARK, p.FRAME_MARK_FIRST)


def is_first(word: int) -> bool:
    """Of a frame: C called the interpreter for it."""
    return bool(word & FIRST) if word & MARK else word >> p.FRAME_MARK_SHIFT == p.FRAME_MARK_FIRST


def reason(word: int) -> str | None:
    """Why no frame is there; None: one is."""
    return (
        REASONS.get(word & UNPLACED, "?") if not word >> CODE_SHIFT & (1 << CODE_BITS) - 1 else None
    )


def place(word: int, layout: Mapping[str, int]) -> tuple[int, int]:
    """(address of the code object, position as remote_python.code_objects.CodeObjects.read_frame() takes it)."""
    code = (word >> CODE_SHIFT & (1 << CODE_BITS) - 1) << CODE_ALIGN
    at = word & UNPLACED
    if at == UNPLACED:
        return code, 0 if layout["minor"] >= _OLD else 1 << 62
    units = at - 1
    if layout["minor"] >= _OLD:
        return code, code + layout["code_instructions"] + 2 * units
    return code, (units if layout["minor"] == 10 else 2 * units) & (1 << 64) - 1
