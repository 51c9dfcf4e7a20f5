"""Python objects in the memory of another process: types, dicts, sets, attributes, as far as finding asyncio's tasks needs them.

In: a process.Python, addresses.  Out: addresses.  Always: what makes no sense raises OSError or LookupError, nothing else; every list is
at most MOST long, whatever the process says.
"""

import struct

MOST = 1 << 16
_NAME = 64  # bytes of a type's name


class Objects:
    """codes: a code.Codes, which reads texts."""

    def __init__(self, python, codes):
        self._python, self._codes, self._layout = python, codes, python.layout
        self._memory, self.word = python.memory, python.word
        self._head = self._layout["object_type"] + 8  # bytes that every object begins with

    def type_name(self, address):
        """As C has it: "_asyncio.Task"."""
        name = self.word(self.word(address + self._layout["object_type"]) + self._layout["type_name"])
        data = b""
        while b"\0" not in data and len(data) < _NAME:  # no further than there is memory
            data += self._memory.read(name + len(data), 8 - (name + len(data)) % 8)
        return data.split(b"\0")[0].decode("utf-8", "replace")

    def number(self, address, size):
        """A signed integer."""
        return int.from_bytes(self._memory.read(address, size), "little", signed=True)

    # --- dicts ------------------------------------------------------------------------

    def items(self, address):
        """[(key, value)] of a dict that is no instance's."""
        keys = self.word(address + self._layout["dict_keys"])
        start, count, with_hash = self._entries(keys)
        size = 24 if with_hash else 16
        data = self._memory.read(start, min(count, MOST) * size)
        return [row[-2:] for row in struct.iter_unpack("=QQQ" if with_hash else "=QQ", data) if row[-1]]

    def _entries(self, keys):
        """(address, how many, whether they have hashes) of what a dict's table holds."""
        if self._layout["minor"] >= 11:
            _, index_bytes, kind = self._memory.read(keys + 8, 3)
            return keys + 32 + (1 << min(index_bytes, 40)), self.word(keys + 24), kind == 0
        size = self.word(keys + 8)
        each = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4
        return keys + 40 + size % (1 << 40) * each, self.word(keys + 32), True

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
