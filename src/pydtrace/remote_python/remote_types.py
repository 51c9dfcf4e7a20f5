"""Types of Python objects in another process: what their instances store, and where.

- A type is known by its flags, and by the names of types that C made: a program cannot make one of
  these. Names that a program can choose decide nothing about memory.
- Untrusted: chains have at most _DEEPEST types, a type at most _SLOTS slots.
"""

from __future__ import annotations

import struct

from .object_layout import ObjectLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .recorded_memory import RecordedMemory

INLINE_VALUES, MANAGED_DICT, HEAP_TYPE = 1 << 2, 1 << 4, 1 << 9
INT, LIST, TUPLE, BYTES, STR, DICT, EXCEPTION, TYPE = (1 << bit for bit in range(24, 32))
_STORAGE = {
    INT: "int",
    LIST: "list",
    TUPLE: "tuple",
    BYTES: "bytes",
    STR: "str",
    DICT: "dict",
    EXCEPTION: "exception",
    TYPE: "type",
}
# Types that C makes at run time, which therefore look like a program's own: {name: bytes of an instance behind the head}
_MADE_BY_C = {"decimal.Decimal": 88}
_DEEPEST = 32
_SLOTS = 256
_NAME = 200  # bytes
_MEMBER = 40  # bytes of a PyMemberDef
_OBJECTS = (6, 16)  # T_OBJECT and T_OBJECT_EX: a slot
_KEPT = 1 << 14


class RemoteType:
    """storage: what an instance begins with: the name of a type of C's ("int", "datetime.date"), or "object". slots: [(name, offset)] of the
    type and those that it is derived from; names: of these, the type's own first."""

    __slots__ = (
        "address",
        "basicsize",
        "dict",
        "dictoffset",
        "flags",
        "itemsize",
        "keys",
        "name",
        "names",
        "slots",
        "storage",
    )
    address: int
    basicsize: int
    dict: int
    dictoffset: int
    flags: int
    itemsize: int
    keys: int
    name: str
    names: list[str]
    slots: list[tuple[str, int]]
    storage: str

    @property
    def is_heap(self) -> bool:
        """Whether it was made at run time, by a program or by C."""
        return bool(self.flags & HEAP_TYPE)

    @property
    def is_exact(self) -> bool:
        """Whether it is the type that its storage is named after."""
        return self.name == self.storage and (not self.is_heap or self.name in _MADE_BY_C)


class RemoteTypes:
    """Of one process.  Raises OSError."""

    def __init__(self, memory: RecordedMemory, layout: ObjectLayout) -> None:
        self._memory, self._layout = memory, layout
        self._known: dict[int, RemoteType] = {}

    def read_type_of(self, address: int) -> RemoteType:
        """The type of an object; the read is recorded."""
        return self.read_type(self._memory.read_word(address + self._layout.head - 8))

    def read_type(self, address: int) -> RemoteType:
        found = self._known.get(address)
        if found is None:
            reads, self._memory.reads = self._memory.reads, []
            try:
                found = self._read_chain(address)
            finally:
                self._memory.reads = reads
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[address] = found
        return found

    def _read_chain(self, address: int) -> RemoteType:
        """A type, with what it has of those that it is derived from."""
        made = self._read_one(address)[0]
        made.names, made.slots, made.storage = [], [], ""
        at = address
        for _ in range(_DEEPEST):
            each, base = self._read_one(at)
            made.names.append(each.name)
            if each.is_heap:
                made.slots[:0] = self._read_slots(at)
            made.storage = made.storage or self._storage_of(each)
            if not base:
                break
            at = base
        made.storage = made.storage or "object"
        return made

    def _storage_of(self, each: RemoteType) -> str:
        """What is stored by a type of C's; "": ask the type that it is derived from."""
        if not each.is_heap:
            named = next((name for flag, name in _STORAGE.items() if each.flags & flag), "")
            return each.name if each.name == "bool" or not named else named
        size = _MADE_BY_C.get(each.name)
        return each.name if size and each.basicsize - self._layout.head == size else ""

    def _read_one(self, address: int) -> tuple[RemoteType, int]:
        """(a type without its chain, what it is derived from)."""
        layout, made = self._layout, RemoteType()
        record = self._memory.read(address + layout.type_name, layout.type_mro - layout.type_name)

        def word(offset: int) -> int:
            return int(struct.unpack_from("=q", record, offset - layout.type_name)[0])

        made.address = address
        made.name = self._memory.read_c_string(word(layout.type_name), _NAME).decode(
            "utf-8", "replace"
        )
        made.basicsize, made.itemsize = word(layout.type_basicsize), word(layout.type_itemsize)
        made.flags = word(layout.type_flags)
        made.dict, made.dictoffset = word(layout.type_dict), word(layout.type_dictoffset)
        made.keys = self._memory.read_word(address + layout.type_keys) if made.is_heap else 0
        return made, word(layout.type_base)

    def _read_slots(self, address: int) -> list[tuple[str, int]]:
        count = min(self._memory.read_word(address + self._layout.head), _SLOTS)
        members = self._memory.read_word(address + self._layout.type_members)
        if not count or not members:
            return []
        found = []
        for row in struct.iter_unpack("=Qi4xqi4xQ", self._memory.read(members, count * _MEMBER)):
            name, kind, offset, _, _ = row
            if name and kind in _OBJECTS and 0 < offset < 1 << 20:
                text = self._memory.read_c_string(name, _NAME)
                found.append((text.decode("utf-8", "replace"), offset))
        return found
