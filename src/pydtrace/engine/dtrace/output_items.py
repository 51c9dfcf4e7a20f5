"""The items of dtrace's output, one class for each kind of line or table.

`text` is the bytes that an item stands for, and `fields` names its other attributes. Strings are
str; bytes that are not UTF-8 become surrogates, so that nothing is lost.
"""

from __future__ import annotations

from . import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .columns import Cell

    Bucket = tuple[int | tuple[str, int], int]  # label, count


class Item:
    """text: the bytes that it stands for."""

    __slots__: tuple[str, ...] = ("text",)
    fields: tuple[str, ...] = ()

    def __init__(self, text: bytes, *values: Any) -> None:
        self.text = text
        for name, value in zip(self.fields, values):
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{f}={getattr(self, f)!r}' for f in self.fields)}, {self.text!r})"


class Text(Item):
    """What the script printed itself, and all that is not understood."""

    __slots__ = ()

    def __init__(self, text: bytes) -> None:
        self.text = text


class Header(Item):
    """The names of the default columns."""

    __slots__ = ()


class Row(Item):
    """A line in the default columns.  cpu, id: int; function, name: str; data: what follows, bytes."""

    __slots__ = fields = ("cpu", "id", "function", "name", "data")
    cpu: int
    id: int
    function: str
    name: str
    data: bytes

    def __init__(
        self, text: bytes, cpu: int, id: int, function: str, name: str, data: bytes
    ) -> None:  # as Item's, in half the time: most lines are rows
        self.text, self.cpu, self.id, self.function, self.name, self.data = (
            text,
            cpu,
            id,
            function,
            name,
            data,
        )

    @property
    def values(self) -> list[Cell]:
        """What trace() printed, as int and str; where the data are no such columns, one str."""
        return columns.parse_columns(self.data)


class Flow(Item):
    """A line of -F.  cpu: int; depth: spaces before the arrow; arrow: "->", "<-" …; probe: str; data: bytes."""

    __slots__ = fields = ("cpu", "depth", "arrow", "probe", "data")
    cpu: int
    depth: int
    arrow: str
    probe: str
    data: bytes


class Total(Item):
    """A row of an aggregation's table.  keys: tuple of int and str (of frames, where a stack is the key); value: int."""

    __slots__ = fields = ("keys", "value")
    keys: tuple[Any, ...]
    value: int

    def __init__(self, text: bytes, keys: tuple[Any, ...], value: int) -> None:
        self.text, self.keys, self.value = text, keys, value


class Distribution(Item):
    """A histogram.  keys: as in Total; buckets: [(label, count)], a label an int, or ("<", int), ("<=", int),
    (">=", int)."""

    __slots__ = fields = ("keys", "buckets")
    keys: tuple[Cell, ...]
    buckets: list[Bucket]

    def __init__(self, text: bytes, keys: tuple[Cell, ...], buckets: list[Bucket]) -> None:
        self.text, self.keys, self.buckets = text, keys, buckets


class Bars(Item):
    """A table of -x agghist.  rows: [(key text, count)]."""

    __slots__ = fields = ("rows",)
    rows: list[tuple[str, int]]


class Packed(Item):
    """A table of -x aggpack: rows: [(key text, lowest, highest bucket's label, drawing, number of values)]."""

    __slots__ = fields = ("rows",)
    rows: list[tuple[str, str, str, bytes, int]]


class Stack(Item):
    """frames: tuple of str."""

    __slots__ = fields = ("frames",)
    frames: tuple[str, ...]


class Drop(Item):
    """kind: what was lost ("principal", "aggregation", "dynamic variable" …); count; cpu: int or None."""

    __slots__ = fields = ("kind", "count", "cpu")
    kind: str
    count: int
    cpu: int | None


class Fault(Item):
    """A run-time error.  clause: index in the program, or None; id: the probe's; probe: its names; what: dtrace's words;
    address: int, where it names one, else 0; pc: int or 0."""

    __slots__ = fields = ("clause", "id", "probe", "what", "address", "pc")
    clause: int | None
    id: int
    probe: tuple[str, ...]
    what: str
    address: int
    pc: int


class Notice(Item):
    """Any other message: what matched, what failed."""

    __slots__ = ()
