"""The text of addresses with names: stacks, usym() and its like, %a, %A and %k, in dtrace's form.

- Names from a traced program's files are escaped.
"""

from __future__ import annotations

import struct

from pydtrace.program import d_types as t
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace.program.program import Data

_INDENT = 14
_COLUMN = 50
_FRAMES = 16  # where the frames of a types.Stack begin


def replace_addresses(
    key: bytes, named: Iterable[Data], group: Callable[[t.Naming, int, int], int]
) -> bytes:
    """A key with what group(types.Naming, process, address) gives in the place of each address; named: its Data that are
    Stacks or Symbols."""
    made = bytearray(key)
    for data in named:
        if isinstance(data.type, t.Stack):
            pid, frames = _unpack_stack(key[data.offset : data.offset + data.size])
            struct.pack_into(
                f"={len(frames)}Q",
                made,
                data.offset + _FRAMES,
                *[group(t.SYMBOL_AND_OFFSET, pid, frame) for frame in frames],
            )
        else:
            pid, address = struct.unpack_from("=QQ", key, data.offset)
            struct.pack_into("=Q", made, data.offset + 8, group(data.type.naming, pid, address))
    return bytes(made)


def replace_storage(
    key: bytes,
    named: Iterable[Data],
    stand: Callable[[t.Naming, int, tuple[int, ...], bytes], bytes],
) -> bytes:
    """A key with what stand(types.Naming, process, addresses, the bytes of these) gives in the place of the bytes of each of its Data that
    are Stacks or Symbols: as many."""
    made = bytearray(key)
    for data in named:
        storage = key[data.offset : data.offset + data.size]
        if isinstance(data.type, t.Stack):
            made[data.offset : data.offset + data.size] = stand(
                t.SYMBOL_AND_OFFSET, *_unpack_stack(storage), storage
            )
        else:
            pid, address = struct.unpack_from("=QQ", storage)
            made[data.offset : data.offset + data.size] = stand(
                data.type.naming, pid, (address,), storage
            )
    return bytes(made)


def _unpack_stack(storage: bytes) -> tuple[int, tuple[int, ...]]:
    """(process, addresses) of a types.Stack, the innermost first; process 0: the kernel."""
    depth, is_user, pid, _ = struct.unpack_from("=IIII", storage)
    depth = min(depth, (len(storage) - _FRAMES) // 8)
    return pid if is_user else 0, struct.unpack_from(f"={depth}Q", storage, _FRAMES)


class AddressFormatter:
    """options: stackindent.  Who knows names has name_address()."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options

    def name_address(self, pid: int, address: int, naming: t.Naming = t.SYMBOL_AND_OFFSET) -> str:
        """Text of one address."""
        raise NotImplementedError

    def format_column(self, type: Any, storage: bytes) -> bytes:
        """What an action of D that names an address prints, and a key of that type: storage: its bytes."""
        pid, address = struct.unpack_from("=QQ", storage)
        text = self.name_address(pid, address, type.naming)
        return f"  {text:<{_COLUMN}}".encode("utf-8", "surrogateescape")

    def format_symbol(self, type: Any, storage: bytes) -> bytes:
        """%a and %A of a types.Symbol."""
        pid, address = struct.unpack_from("=QQ", storage)
        return self.name_address(pid, address, type.naming).encode("utf-8", "surrogateescape")

    def format_stack(self, storage: bytes, indent: int | None = None) -> bytes:
        """A line for each frame of a types.Stack, behind an empty one."""
        if indent is None:
            indent = self.options.get("stackindent", _INDENT)
        lines = [f"{'':{indent}}{frame}\n" for frame in self.name_frames(storage)]
        return ("\n" + "".join(lines)).encode("utf-8", "surrogateescape")

    def name_frames(self, storage: bytes) -> list[str]:
        """The names of a types.Stack's frames, the innermost first."""
        return self.name_addresses(*_unpack_stack(storage))

    def name_addresses(self, pid: int, frames: Sequence[int]) -> list[str]:
        return [self.name_address(pid, frame) for frame in frames]

    def format_value(self, data: Data, record: bytes) -> bytes:
        """What an action or a key of type Stack or Symbol prints; data: program.Data in the record."""
        storage = record[data.offset : data.offset + data.size]
        return (
            self.format_stack(storage)
            if isinstance(data.type, t.Stack)
            else self.format_column(data.type, storage)
        )


class InternedAddresses(AddressFormatter):
    """Of numbers that stand for names.  name_of(number) -> the name (names.Names.find_name), None where it stands for none."""

    def __init__(self, find_name: Callable[[int], str | None]) -> None:
        super().__init__({})
        self._find_name = find_name

    def name_address(self, pid: int, address: int, naming: t.Naming = t.SYMBOL_AND_OFFSET) -> str:
        return escape_for_terminal(self._find_name(address) or f"0x{address:x}")
