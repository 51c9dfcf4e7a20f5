"""A value of another process as a tree: what reading it found, and where it was cut.

- `shape` says which of the fields count; sinks (cli/commands/dump_values.py) turn it into text or
  JSON.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .recorded_memory import Reads

# shapes
PLAIN = "plain"  # plain: None, a bool, int, float, complex, str, bytes
SEQUENCE = "sequence"  # items: [Value], of a list, tuple, set, frozenset; an exception's arguments
MAPPING = "mapping"  # items: [(Value, Value)]
OBJECT = "object"  # only attributes
TEXT = "text"  # plain: a text that stands for it, Decimal('1.5')
NO_VALUE = "no value"  # reason: why there is none

# reasons
REDACTED = "redacted"
CHANGED = "changed"  # it was another before it was read as a whole
UNREADABLE = "unreadable"
CIRCULAR = "circular"  # it contains itself: an outer value is this one
NO_ROOM = "no room"
UNBOUND = "unbound"  # the variable has no value yet, or no more

# what was cut
DEPTH, ITEMS, CHARACTERS = "depth", "items", "characters"


class Value:
    """type: the type's name; base: what its type is derived from, where that is not the type itself ("list"); length: of all items, or of
    a text or an int in characters or bits; attributes: [(name, Value)]; more: how many attributes were left out, at least; cut: DEPTH, ITEMS,
    CHARACTERS or None; parent: the value that contains it."""

    __slots__ = (
        "address",
        "attributes",
        "base",
        "cut",
        "depth",
        "items",
        "length",
        "more",
        "parent",
        "plain",
        "reads",
        "reason",
        "shape",
        "type",
    )

    def __init__(self, address: int = 0, parent: Value | None = None) -> None:
        self.address, self.parent = address, parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.shape, self.type, self.reason = NO_VALUE, "", NO_ROOM
        self.base: str | None = None
        self.plain: object = None
        self.items: list[Value] | list[tuple[Value, Value]] = []
        self.attributes: list[tuple[str, Value]] = []
        self.more = 0
        self.length: int | None = None
        self.cut: str | None = None
        self.reads: Reads = []

    @classmethod
    def without(cls, reason: str, parent: Value | None = None) -> Value:
        made = cls(0, parent)
        made.set_no_value(reason)
        return made

    def set_no_value(self, reason: str) -> None:
        self.shape, self.reason = NO_VALUE, reason
        self.items, self.attributes, self.reads = [], [], []

    def find_itself(self) -> Value | None:
        """The outer value that is this one."""
        outer = self.parent
        while outer and outer.address != self.address:
            outer = outer.parent
        return outer

    def iter_children(self) -> Iterator[Value]:
        for each in self.items:
            if isinstance(each, tuple):
                yield from each
            else:
                yield each
        for _, value in self.attributes:
            yield value
