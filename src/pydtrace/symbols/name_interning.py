"""Numbers for names of stacks and symbols that came without addresses.

One name has one number, which is no address that a process could have mapped. Stacks and symbols of
such numbers have the layout in which engines record addresses.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pydtrace.program import d_types as t

if TYPE_CHECKING:
    from collections.abc import Sequence

_STACK = struct.Struct("=IIII")  # depth, is_user, pid, strsz


class Names:
    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str | None] = [None]

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        return number

    def name(self, number: int) -> str | None:
        """The name of a number that stands for one, else None."""
        return self._names[number] if 0 < number < len(self._names) else None

    def storage(self, type: Any, size: int, names: Sequence[str]) -> bytes:
        """The bytes of a types.Stack of these names, as many as `size` has room for, or of a types.Symbol of the only one.

        Raises ValueError where a symbol has none, or several.
        """
        if isinstance(type, t.Symbol):
            (name,) = names
            return struct.pack("=QQ", 0, self._number(name))
        frames = [self._number(name) for name in names[: (size - _STACK.size) // 8]]
        return _STACK.pack(len(frames), 1, 0, 0) + struct.pack(f"={len(frames)}Q", *frames)
