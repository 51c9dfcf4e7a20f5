"""Python objects in the memory of another process: types, dicts, sets, attributes, as far as
asyncio's tasks need them.

- Invalid data raise OSError or LookupError, nothing else.
- Every list has at most MOST elements.
"""

from __future__ import annotations

import struct

from .managed_dict import VALUES_HEAD, find_managed_dict
from .object_layout import ObjectLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .code_objects import CodeObjects
    from .remote_python import RemotePython

MOST = 1 << 16
_NAME = 64  # bytes of a type's name
_BITS = 40  # of the largest dict that is read
_PROBES, _EMPTY = 64, -1
_DEEPEST = 16  # types
_ATTRIBUTES = 256  # of an instance that are looked at


class RemoteObjects:
    """codes: a code_objects.CodeObjects, which reads texts."""

    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._python, self._codes, self._layout = python, codes, python.layout
        self._memory, self.word = python.memory, python.read_word
        self._objects = ObjectLayout(python.layout)

    def read_type_name(self, address: int) -> str:
        """As C has it: "_asyncio.Task"."""
        return self._read_name_of_type(self.word(address + self._layout["object_type"]))

    def _read_name_of_type(self, kind: int) -> str:
        """The name of a type."""
        name, data = self.word(kind + self._layout["type_name"]), b""
        while b"\0" not in data and len(data) < _NAME:  # no further than there is memory
            data += self._memory.read(name + len(data), 8 - (name + len(data)) % 8)
        return data.split(b"\0")[0].decode("utf-8", "replace")

    def is_instance(self, address: int, name: str) -> bool:
        """Whether its type, or one that this is derived from, is called so."""
        kind = self.word(address + self._layout["object_type"])
        for _ in range(_DEEPEST):
            if not kind or self._read_name_of_type(kind) == name:
                return bool(kind)
            kind = self.word(kind + self._objects.type_base)
        return False

    def read_int(self, address: int, size: int) -> int:
        """A signed integer."""
        return int.from_bytes(self._memory.read(address, size), "little", signed=True)

    def read_weakref(self, reference: int) -> int:
        """What a weak reference leads to."""
        return self.word(reference + self._layout["weakref_object"])

    def read_pair(self, address: int) -> tuple[int, int]:
        """What a tuple begins with, twice."""
        return struct.unpack("=QQ", self._memory.read(address + self._objects.tuple_items, 16))

    # --- dicts ------------------------------------------------------------------------

    def read_items(self, address: int, most: int = MOST) -> list[tuple[int, int]]:
        """[(key, value)] of a dict that is no instance's, of the first so many."""
        start, indexes, _, count, with_hash = self._read_keys_layout(self._keys_address(address))
        size = 24 if with_hash else 16
        data = self._memory.read(start + indexes, min(count, most) * size)
        return [
            row[-2:] for row in struct.iter_unpack("=QQQ" if with_hash else "=QQ", data) if row[-1]
        ]

    def find_dict_entry(self, address: int, key: int) -> tuple[int, int, int]:
        """(its keys' address, the row's, the value) of an object that is a key of a dict, itself; LookupError."""
        keys = self.word(address + self._layout["dict_keys"])
        start, indexes, _, count, with_hash = self._read_keys_layout(self._keys_address(address))
        size, rows = 24 if with_hash else 16, start + indexes
        data = self._memory.read(rows, min(count, MOST) * size)
        for at, words in enumerate(struct.iter_unpack("=QQQ" if with_hash else "=QQ", data)):
            if words[-2] == key and words[-1]:
                return keys, rows + (at + 1) * size - 16, words[-1]
        raise LookupError(key)

    def read_dict_size(self, address: int) -> int:
        """How many keys a dict has."""
        return self.word(address + self._objects.head)

    def find_int_key(self, address: int, number: int) -> int:
        """The value that a dict has for a number (from 0 to 2**61 - 2, which are their own hashes), found by its hash; 0: none."""
        start, indexes, size, count, with_hash = self._read_keys_layout(self._keys_address(address))
        width, at, perturb = indexes // size, number, number
        if not with_hash:
            return 0  # all its keys are texts
        for _ in range(_PROBES):
            at &= size - 1
            index = self.read_int(start + at * width, width)
            if index == _EMPTY:
                return 0
            if 0 <= index < count:
                found, _, value = struct.unpack(
                    "=QQQ", self._memory.read(start + indexes + 24 * index, 24)
                )
                if found == number:
                    return int(value)
            perturb >>= 5
            at = 5 * at + perturb + 1
        raise LookupError(number)

    def _keys_address(self, address: int) -> int:
        return self.word(address + self._layout["dict_keys"])

    def _read_keys_layout(self, keys: int) -> tuple[int, int, int, int, bool]:
        """(where its indexes begin, bytes of all, how many, how many entries follow them, whether these have hashes) of a dict's keys."""
        if self._layout["minor"] >= 11:
            head = self._memory.read(keys, 32)
            bits, index_bits = (min(each, _BITS) for each in head[8:10])
            return (
                keys + 32,
                1 << max(bits, index_bits),
                1 << bits,
                int.from_bytes(head[24:], "little"),
                head[10] == 0,
            )
        size = 1 << min(self.word(keys + 8).bit_length() - 1, _BITS) if self.word(keys + 8) else 1
        each = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4
        return keys + 40, size * each, size, self.word(keys + 32), True

    def find_text_key(self, address: int, name: str, most: int = MOST) -> int:
        """The value of a text key of a dict, searched in its first `most` rows."""
        for key, value in self.read_items(address, most):
            if self._is_text(key, name):
                return value
        raise LookupError(name)

    def find_module_member(self, module: int, name: str) -> int:
        return self.find_text_key(self.word(module + self._objects.head), name)

    # --- sets, instances --------------------------------------------------------------

    def read_set(self, address: int) -> list[int]:
        """Addresses of what a set holds."""
        mask = self.word(address + self._layout["set_mask"])
        table = self._memory.read(
            self.word(address + self._layout["set_table"]), 16 * min(mask + 1, MOST)
        )
        return [key for key, _ in struct.iter_unpack("=QQ", table) if key]

    def read_first_attribute(self, address: int) -> int:
        """What an instance was given first, in __init__."""
        _, values, own = self._find_storage(address)
        return self.word(values) if values else self.read_items(own)[0][1]

    def read_attribute(self, address: int, name: str) -> int:
        """What an instance has in its __dict__, or would have; LookupError."""
        keys, values, own = self._find_storage(address)
        if not values:
            return self.find_text_key(own, name, _ATTRIBUTES)
        start, indexes, _, count, with_hash = self._read_keys_layout(keys)
        size = 24 if with_hash else 16
        data = self._memory.read(start + indexes, min(count, _ATTRIBUTES) * size)
        for at, row in enumerate(struct.iter_unpack("=QQQ" if with_hash else "=QQ", data)):
            if row[-2] and self._is_text(row[-2], name) and (value := self.word(values + 8 * at)):
                return value
        raise LookupError(name)

    def _find_storage(self, address: int) -> tuple[int, int, int]:
        """(the keys, where the values are, 0) of an instance whose class shares the keys; (0, 0, its dict) of another."""
        objects, kind = self._objects, self.word(address + self._layout["object_type"])
        if objects.minor <= 10:
            return self._find_dict_storage(self.word(address + objects.head))
        inline = self.word(kind + objects.type_basicsize) % (1 << 20) if objects.minor >= 13 else 0
        values, own = find_managed_dict(self._memory, objects, address, inline)
        if values:
            return self.word(kind + objects.type_keys), values, 0
        return self._find_dict_storage(own)

    def _find_dict_storage(self, own: int) -> tuple[int, int, int]:
        """The same of the dict of an instance."""
        values = self.word(own + self._layout["dict_values"])
        if not values:
            return 0, 0, own
        return (
            self._keys_address(own),
            values + (VALUES_HEAD if self._objects.minor >= 13 else 0),
            0,
        )

    def _is_text(self, address: int, text: str) -> bool:
        try:
            return self._codes.read_text(address) == text
        except (OSError, ValueError):
            return False
