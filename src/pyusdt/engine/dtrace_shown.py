"""What dtrace shows for people inside of frames: stacks, names of addresses, bytes as a table.

In: the text that dtrace printed for a value.  Out: the value's bytes, as other engines record them.
Always: how far such a text reaches, a frame says (dtrace_script.py), not the text: names come out of the traced program's files.
"""

import re
import sys

from ..dlang import types as t

_LINE = re.compile(rb" {5,}[0-9a-f]+:((?: [0-9a-f]{2}){1,16})")  # of a table of bytes


def storage(type, size, text, names):
    """The bytes of a value; size: how many there may be; names: consumer.names.Names, for what dtrace calls addresses."""
    if isinstance(type, (t.Stack, t.Symbol)):
        return names.storage(type, size, names_of(text))
    return dumped(text, size)


def names_of(text):
    """The names of a stack's frames, or of an address."""
    lines = [line.strip() for line in text.decode("utf-8", "surrogateescape").split("\n")]
    return tuple([line for line in lines if line])


def dumped(text, size):
    """The bytes of a table, or of the number that dtrace prints where there are 1, 2, 4 or 8 of them."""
    if text.count(b"\n") < 2:
        return (int(text) % 2 ** (8 * size)).to_bytes(size, sys.byteorder)
    return b"".join(bytes.fromhex(match[1].decode()) for match in map(_LINE.match, text.split(b"\n")) if match)[:size]
