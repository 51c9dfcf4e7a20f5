"""The paths to values that a recording has, for the scripts that are run over it.

Input: the bytes of the recording's block of paths, untrusted.
Output: the number of a script's path among them, or an error that lists what is there.
"""

from __future__ import annotations

import struct

from pydtrace.dlang.compile_errors import refuse
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import path_codes as codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..front.source_text import Location

_HEAD, _STEP, _TEXT_SIZE = 16, 16, 12  # pyusdt_fetch_head, pyusdt_fetch_step, its field `most`
_ROOT_NAMES = {number: name for name, number in codes.ROOTS.items()}
_SHOWN = {
    codes.INT: "(int64_t){}",
    codes.DOUBLE: "(double){}",
    codes.STRING: "(string){}",
    codes.PRESENT: "present({})",
    codes.TYPENAME: "typename({})",
    codes.LENGTH: "length({})",
    codes.REPR: "repr({})",
    codes.REPR_WITH_SECRETS: "repr({}) with -x secrets",
}


def split_paths(data: bytes) -> list[bytes]:
    """The paths, of which one follows the other; none of bytes that are no paths."""
    found: list[bytes] = []
    while data:
        size = struct.unpack_from("=I", data)[0] if len(data) >= _HEAD else 0
        if not _HEAD <= size <= len(data) or len(found) == codes.MOST:
            return []
        found.append(data[:size])
        data = data[size:]
    return found


def describe_path(path: bytes) -> str | None:
    """As a script has it, with its type; None: it is not one that a script makes."""
    root, steps, result = path[5:8]
    names = path[_HEAD + _STEP * steps :]
    try:
        at, length = struct.unpack_from("=HH", path, 8)
        shown = "local" if root == codes.LOCALS else _ROOT_NAMES[root]
        if length:
            shown += "." + names[at : at + length].decode()
        for i in range(steps):
            op, at, length, number = struct.unpack_from("=B3xHHq", path, _HEAD + _STEP * i)
            name = names[at : at + length].decode()
            shown += {
                codes.ATTRIBUTE: f".{name}",
                codes.KEY: f'["{name}"]',
                codes.INDEX: f"[{number}]",
            }[op]
        return escape_for_terminal(_SHOWN[result].format(shown))
    except (struct.error, UnicodeDecodeError, KeyError):
        return None


def _without_size(path: bytes) -> bytes:
    """Without how many bytes its text may have."""
    return path[:_TEXT_SIZE] + path[_HEAD:]


def find_recorded_path(recorded: list[bytes], path: bytes, text: str, loc: Location) -> int:
    """The number of a path; refuses one that the recording does not have, or only with longer texts than this script has room for."""
    for number, each in enumerate(recorded):
        if _without_size(each) == _without_size(path):
            [its_size] = struct.unpack_from("=I", each, _TEXT_SIZE)
            [most] = struct.unpack_from("=I", path, _TEXT_SIZE)
            if its_size > most:
                message = f"the recording has longer texts of {text} than strsize has room for"
                refuse("D_PATH_REPLAY", loc, message, f"-x strsize={its_size + 1}")
            return number
    there = [each for each in map(describe_path, recorded) if each]
    refuse(
        "D_PATH_REPLAY",
        loc,
        f"the recording does not have {describe_path(path)}",
        f"it has {', '.join(there)}" if there else "it has no values of programs",
    )
    raise AssertionError
