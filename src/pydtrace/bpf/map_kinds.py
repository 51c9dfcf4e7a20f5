"""Map kinds: one row for each kind of map that a program may have.

`number` is Linux's map type (enum bpf_map_type) and the kind's number in c/bpf/bpf.h. The kernel
keeps one value for each CPU of a `per_cpu` map; the embedded interpreter keeps one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class MapShape(Protocol):
        """What the kernel has to know of a map: a program.program.MapDef, or one like it."""

        @property
        def name(self) -> str: ...
        @property
        def kind(self) -> str: ...
        @property
        def key_size(self) -> int: ...
        @property
        def value_size(self) -> int: ...
        @property
        def entries(self) -> int: ...


class MapKind:
    __slots__ = ("name", "number", "per_cpu", "hashed")

    def __init__(self, name: str, number: int, per_cpu: bool, hashed: bool) -> None:
        self.name, self.number, self.per_cpu, self.hashed = name, number, per_cpu, hashed


_rows = [
    MapKind("hash", 1, False, True),
    MapKind("array", 2, False, False),
    MapKind("percpu_hash", 5, True, True),
    MapKind("percpu_array", 6, True, False),
    MapKind("ringbuf", 27, False, False),
]

KINDS = {row.name: row for row in _rows}
