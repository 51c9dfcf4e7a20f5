"""Recordings as a host could make them up (docs/internals/recording-format.md): whatever they say is well-formed.

Input: who fires, where, when.
Output: bytes, block by block.
"""

import struct

HEADER = b"pyusdtR1" + struct.pack("=II", 3, 0x01020304) + bytes(112)
ENTRY = 1 << 30  # of a frame: C called the interpreter for it
CODE = 1 << 31  # a native one
_STACK = 12


def block(kind, body):
    return struct.pack("=II", kind, (len(body) + 7) & ~7) + body.ljust((len(body) + 7) & ~7, b"\0")


def table(number, provider, name, places=True, count=1):
    """Of probes of two arguments; places: these are at places; else `count` of them are numbered."""
    strings = b"\0" + provider.encode() + b"\0" + name.encode() + b"\0"
    at = 1 + len(provider.encode()) + 1
    desc = struct.pack("=9I", 1, 0, 0, at, count, 0, 2, 2 if places else 1, 0)
    return block(1, struct.pack("=4I", number, count, 1, len(strings)) + desc + strings)


def target(number, of_table, pid, comm=b"lie"):
    return block(2, struct.pack("=6I16s", number, of_table, pid, pid, 0, 0, comm))


def place(of_target, number, function, file="lie.py", module="lie"):
    parts = [text.encode() for text in (module, function, file)]
    return block(
        6, struct.pack("=3I4H", of_target, number, 1, *map(len, parts), 0) + b"".join(parts)
    )


def event(of_target, time, at=0, tid=1, stack=(), probe=0):
    """at: a place; stack: [place << 32 | flags | line], the innermost first."""
    body = struct.pack("=2Q", 7, 8)
    if stack:
        frames = struct.pack(f"={len(stack)}Q", *stack)
        body += (struct.pack("=HH", _STACK, len(frames)) + frames + b"\0").ljust(
            (4 + len(frames) + 1 + 3) & ~3, b"\0"
        )
    size = (24 + len(body) + 7) & ~7
    head = struct.pack("=IIQIHH", size, probe | at << 12, time, tid, 0, 3 | bool(stack) << 12)
    return block(3, struct.pack("=2I", of_target, 0) + (head + body).ljust(size, b"\0"))
