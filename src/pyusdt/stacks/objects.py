"""Python objects in the memory of another process: types, dicts, sets, attributes, as far as finding asyncio's tasks needs them.

In: a process.Python, addresses.  Out: addresses.  Always: what makes no sense raises OSError or LookupError, nothing else; every list is
at most MOST long, whatever the process says.
"""

import struct

MOST = 1 << 16
_NAME = 64  # bytes of a type's name
_BITS = 40  # of the greatest dict that is believed
_PROBES, _EMPTY = 64, -1
_BASE = 232  # bytes from a type's name to what it is derived from
_DEEPEST = 16  # types
_HASHED = 14  # from 3.14 on a tuple keeps its hash


class Objects:
    """codes: a code.Codes, which reads texts."""

    def __init__(self, python, codes):
        self._python, self._codes, self._layout = python, codes, python.layout
        self._memory, self.word = python.memory, python.word
        self._head = self._layout["object_type"] + 8  # bytes that every object begins with

    def type_name(self, address):
        """As C has it: "_asyncio.Task"."""
        return self._text(self.word(address + self._layout["object_type"]))

    def _text(self, kind):
        """The name of a type."""
        name, data = self.word(kind + self._layout["type_name"]), b""
        while b"\0" not in data and len(data) < _NAME:  # no further than there is memory
            data += self._memory.read(name + len(data), 8 - (name + len(data)) % 8)
        return data.split(b"\0")[0].decode("utf-8", "replace")

    def is_a(self, address, name):
        """Whether its type, or one that this is derived from, is called so."""
        kind = self.word(address + self._layout["object_type"])
        for _ in range(_DEEPEST):
            if not kind or self._text(kind) == name:
                return bool(kind)
            kind = self.word(kind + self._layout["type_name"] + _BASE)
        return False

    def number(self, address, size):
        """A signed integer."""
        return int.from_bytes(self._memory.read(address, size), "little", signed=True)

    def referred(self, reference):
        """What a weak reference leads to."""
        return self.word(reference + self._layout["weakref_object"])

    def pair(self, address):
        """What a tuple begins with, twice."""
        begin = self._head + (16 if self._layout["minor"] >= _HASHED else 8)
        return struct.unpack("=QQ", self._memory.read(address + begin, 16))

    # --- dicts ------------------------------------------------------------------------

    def items(self, address, most=MOST):
        """[(key, value)] of a dict that is no instance's, of the first so many."""
        start, indexes, _, count, with_hash = self._table(address)
        size = 24 if with_hash else 16
        data = self._memory.read(start + indexes, min(count, most) * size)
        return [row[-2:] for row in struct.iter_unpack("=QQQ" if with_hash else "=QQ", data) if row[-1]]

    def row(self, address, key):
        """(its keys' address, the row's, the value) of an object that is a key of a dict, itself; LookupError."""
        keys = self.word(address + self._layout["dict_keys"])
        start, indexes, _, count, with_hash = self._table(address)
        size, rows = 24 if with_hash else 16, start + indexes
        data = self._memory.read(rows, min(count, MOST) * size)
        for at, words in enumerate(struct.iter_unpack("=QQQ" if with_hash else "=QQ", data)):
            if words[-2] == key and words[-1]:
                return keys, rows + (at + 1) * size - 16, words[-1]
        raise LookupError(key)

    def size(self, address):
        """How many keys a dict has."""
        return self.word(address + self._head)

    def numbered(self, address, number):
        """The value that a dict has for a number (from 0 to 2**61 - 2, which are their own hashes), looked for as a dict does; 0: none."""
        start, indexes, size, count, with_hash = self._table(address)
        width, at, perturb = indexes // size, number, number
        if not with_hash:
            return 0  # all its keys are texts
        for _ in range(_PROBES):
            at &= size - 1
            index = self.number(start + at * width, width)
            if index == _EMPTY:
                return 0
            if 0 <= index < count:
                found, _, value = struct.unpack("=QQQ", self._memory.read(start + indexes + 24 * index, 24))
                if found == number:
                    return value
            perturb >>= 5
            at = 5 * at + perturb + 1
        raise LookupError(number)

    def _table(self, address):
        """(where its indexes begin, bytes of all, how many, how many entries follow them, whether these have hashes) of a dict."""
        keys = self.word(address + self._layout["dict_keys"])
        if self._layout["minor"] >= 11:
            head = self._memory.read(keys, 32)
            bits, index_bits = (min(each, _BITS) for each in head[8:10])
            return keys + 32, 1 << max(bits, index_bits), 1 << bits, int.from_bytes(head[24:], "little"), head[10] == 0
        size = 1 << min(self.word(keys + 8).bit_length() - 1, _BITS) if self.word(keys + 8) else 1
        each = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4
        return keys + 40, size * each, size, self.word(keys + 32), True

    def get(self, address, name):
        """The value of a text key of a dict."""
        for key, value in self.items(address):
            try:
                if self._codes.text(key) == name:
                    return value
            except (OSError, ValueError):
                continue
        raise LookupError(name)

    def module_member(self, module, name):
        return self.get(self.word(module + self._head), name)

    # --- sets, instances --------------------------------------------------------------

    def members(self, address):
        """Addresses of what a set holds."""
        mask = self.word(address + self._layout["set_mask"])
        table = self._memory.read(self.word(address + self._layout["set_table"]), 16 * min(mask + 1, MOST))
        return [key for key, _ in struct.iter_unpack("=QQ", table) if key]

    def first_attribute(self, address):
        """What an instance was given first, in __init__."""
        minor = self._layout["minor"]
        if minor <= 10:
            return self._first_of_dict(self.word(address + self._head))
        if minor == 11:
            values = self.word(address - 32)
            return self.word(values) if values else self._first_of_dict(self.word(address - 24))
        if minor == 12:
            either = self.word(address - 24)
            return self.word(either + 1) if either & 1 else self._first_of_dict(either)
        return self.word(address + self._basic_size(address) + 8)

    def _basic_size(self, address):
        return self.word(self.word(address + self._layout["object_type"]) + self._head + 16) % (1 << 20)

    def _first_of_dict(self, address):
        values = self.word(address + self._layout["dict_values"])
        return self.word(values) if values else self.items(address)[0][1]
