# mypy: ignore-errors
"""What the parser of dtrace's output gives: one kind of item for each kind of line or table.

Always: an item has the `text` that it stands for, bytes; `fields` names what else it has.  Strings are str, bytes that are
not UTF-8 as surrogates, so that nothing is lost.
"""

from . import columns


class Item:
    """text: the bytes that it stands for."""

    __slots__ = ("text",)
    fields = ()

    def __init__(self, text, *values):
        self.text = text
        for name, value in zip(self.fields, values):
            setattr(self, name, value)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{f}={getattr(self, f)!r}' for f in self.fields)}, {self.text!r})"


class Text(Item):
    """What the script printed itself, and all that is not understood."""

    __slots__ = ()

    def __init__(self, text):
        self.text = text


class Header(Item):
    """The names of the default columns."""

    __slots__ = ()


class Row(Item):
    """A line in the default columns.  cpu, id: int; function, name: str; data: what follows, bytes."""

    __slots__ = fields = ("cpu", "id", "function", "name", "data")

    def __init__(
        self, text, cpu, id, function, name, data
    ):  # as Item's, in half the time: most lines are rows
        self.text, self.cpu, self.id, self.function, self.name, self.data = (
            text,
            cpu,
            id,
            function,
            name,
            data,
        )

    @property
    def values(self):
        """What trace() printed, as int and str; where the data are no such columns, one str."""
        return columns.columns(self.data)


class Flow(Item):
    """A line of -F.  cpu: int; depth: spaces before the arrow; arrow: "->", "<-" …; probe: str; data: bytes."""

    __slots__ = fields = ("cpu", "depth", "arrow", "probe", "data")


class Total(Item):
    """A row of an aggregation's table.  keys: tuple of int and str (of frames, where a stack is the key); value: int."""

    __slots__ = fields = ("keys", "value")

    def __init__(self, text, keys, value):
        self.text, self.keys, self.value = text, keys, value


class Distribution(Item):
    """A histogram.  keys: as in Total; buckets: [(label, count)], a label an int, or ("<", int), ("<=", int),
    (">=", int)."""

    __slots__ = fields = ("keys", "buckets")

    def __init__(self, text, keys, buckets):
        self.text, self.keys, self.buckets = text, keys, buckets


class Bars(Item):
    """A table of -x agghist.  rows: [(key text, count)]."""

    __slots__ = fields = ("rows",)


class Packed(Item):
    """A table of -x aggpack: rows: [(key text, lowest, highest bucket's label, drawing, number of values)]."""

    __slots__ = fields = ("rows",)


class Stack(Item):
    """frames: tuple of str."""

    __slots__ = fields = ("frames",)


class Drop(Item):
    """kind: what was lost ("principal", "aggregation", "dynamic variable" …); count; cpu: int or None."""

    __slots__ = fields = ("kind", "count", "cpu")


class Fault(Item):
    """A run-time error.  clause: index in the program, or None; id: the probe's; probe: its names; what: dtrace's words;
    address: int, where it names one, else 0; pc: int or 0."""

    __slots__ = fields = ("clause", "id", "probe", "what", "address", "pc")


class Notice(Item):
    """Any other message: what matched, what failed."""

    __slots__ = ()
