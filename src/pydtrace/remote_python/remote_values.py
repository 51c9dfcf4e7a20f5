"""Values of Python objects in another process, read by their structure: nothing of the process runs.

- Exact builtin types, their subclasses, instances (slots, inline values, dicts), named tuples,
  enums, dates, Decimal, UUID, paths and numpy's scalars; of any other object its type's name.
- A value is read level by level, so that a limit leaves something of each part.
- Everything that was read is compared with memory again at the end; a part that changed is marked.
- Untrusted: depth, items, characters, values and time are bounded.
"""

from __future__ import annotations

import time
from collections import deque

from pydtrace.program.secret_names import LONGEST

from . import value as values
from .object_layout import ObjectLayout
from .recorded_memory import RecordedMemory
from .remote_dicts import RemoteDicts
from .remote_scalars import NUMPY_SCALARS, RemoteScalars
from .remote_types import RemoteType, RemoteTypes
from .value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydtrace.program.secret_names import SecretNames

    from .remote_python import RemotePython

_ERRORS = (OSError, ValueError, OverflowError, ArithmeticError)
_TRIES = 3  # until no part has changed
_NAME = 100  # characters of a name that are shown
_CHUNK = 64  # items of a list that are read at once
_SINGLETONS: dict[str, object] = {
    "NoneType": None,
    "ellipsis": Ellipsis,
    "NotImplementedType": NotImplemented,
}
_PATH_SLOTS = {"_raw_paths", "_parts"}
_WITHOUT_ATTRIBUTES = {"type", "function", "module", "decimal.Decimal"}


def shorten_name(name: str) -> str:
    return name if len(name) <= _NAME else name[:_NAME] + "…"


class ValueLimits:
    """depth: of values in values; items: of a list, a dict, an instance; characters: of a text, a number's digits; nodes: values of one
    variable."""

    __slots__ = ("characters", "depth", "items", "nodes")

    def __init__(
        self, depth: int = 2, items: int = 10, characters: int = 120, nodes: int = 100
    ) -> None:
        self.depth, self.items, self.characters, self.nodes = depth, items, characters, nodes


class ValueBudget:
    """What all variables together may take: values, characters, seconds."""

    def __init__(
        self, nodes: int = 200_000, characters: int = 1 << 23, seconds: float = 4.0
    ) -> None:
        self._nodes, self._characters = nodes, characters
        self._end = time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        return self._nodes <= 0 or self._characters <= 0 or time.monotonic() > self._end

    def charge(self, nodes: int, characters: int = 0) -> None:
        self._nodes -= nodes
        self._characters -= characters


class RemoteValues:
    """Of one process."""

    def __init__(
        self, python: RemotePython, secrets: SecretNames, limits: ValueLimits, budget: ValueBudget
    ) -> None:
        self.layout = ObjectLayout(python.layout)
        self.memory = RecordedMemory(python.memory)
        self.types = RemoteTypes(self.memory, self.layout)
        self.scalars = RemoteScalars(self.memory, python.layout, self.layout)
        self.dicts = RemoteDicts(self.memory, python.layout, self.layout)
        self._secrets, self._limits, self._budget = secrets, limits, budget
        self._readers: dict[str, Callable[[Value, RemoteType], None]] = {
            "int": self._fill_int,
            "bool": self._fill_int,
            "float": self._fill_float,
            "complex": self._fill_complex,
            "str": self._fill_str,
            "bytes": self._fill_bytes,
            "bytearray": self._fill_bytes,
            "tuple": self._fill_tuple,
            "list": self._fill_list,
            "set": self._fill_set,
            "frozenset": self._fill_set,
            "dict": self._fill_dict,
            "exception": self._fill_exception,
            "type": self._fill_type,
            "function": self._fill_function,
            "module": self._fill_module,
            "range": self._fill_range,
            "slice": self._fill_range,
            "datetime.date": self._fill_date,
            "datetime.datetime": self._fill_datetime,
            "datetime.time": self._fill_datetime,
            "datetime.timedelta": self._fill_timedelta,
            "datetime.timezone": self._fill_timezone,
            "decimal.Decimal": self._fill_decimal,
            "numpy.ndarray": self._fill_array,
        }

    # --- a whole value ----------------------------------------------------------------

    def read_named(self, name: str, find: Callable[[], int]) -> Value:
        """The value of a variable.  find() reads where its object is, 0 for none, by this reader's memory."""
        if self._secrets.is_secret(name):
            return Value.without(values.REDACTED)
        for _ in range(_TRIES):
            root = Value()
            self.memory.reads = root.reads
            try:
                root.address = find()
            except OSError:
                root.set_no_value(values.UNREADABLE)
                return root
            if not root.address:
                root.set_no_value(values.UNBOUND)
                return root
            self._expand(root)
            if self._confirm(root):
                break
        return root

    def _expand(self, root: Value) -> None:
        waiting, left = deque([root]), self._limits.nodes
        while waiting:
            value = waiting.popleft()
            if value.reason != values.NO_ROOM:  # redacted
                continue
            if left <= 0 or self._budget.is_spent:
                continue  # it stays what it was made as: no room
            left -= 1
            self._budget.charge(1)
            self._fill(value)
            waiting.extend(value.iter_children())

    def _fill(self, value: Value) -> None:
        if outer := value.find_itself():
            value.type = outer.type
            value.set_no_value(values.CIRCULAR)
            return
        self.memory.reads = value.reads
        try:
            kind = self.types.read_type_of(value.address)
            value.type = kind.name
            self._fill_by_type(value, kind)
        except _ERRORS:
            reads = value.reads
            value.set_no_value(values.UNREADABLE)
            value.reads = reads  # it may be readable if it has changed

    def _confirm(self, root: Value) -> bool:
        """Marks parts that have changed.  Whether there were none."""
        same, waiting = True, [root]
        while waiting:
            value = waiting.pop()
            if not self.memory.is_unchanged(value.reads):
                value.set_no_value(values.CHANGED)
                same = False
            value.reads = []
            waiting.extend(value.iter_children())
        return same

    # --- by type ----------------------------------------------------------------------

    def _fill_by_type(self, value: Value, kind: RemoteType) -> None:
        if kind.storage in _SINGLETONS and not kind.is_heap:
            value.shape, value.plain = values.PLAIN, _SINGLETONS[kind.storage]
            return
        if self._is_enum(kind) and self._fill_enum(value, kind):
            return
        if kind.storage == "object" and self._fill_known(value, kind):
            return
        if kind.storage.startswith("numpy.") and kind.storage[6:] in NUMPY_SCALARS:
            self._fill_numpy(value, kind)
            return
        reader = self._readers.get(kind.storage)
        value.shape = values.OBJECT
        if reader:
            reader(value, kind)
            value.base = None if kind.is_exact else kind.storage
        if kind.storage not in _WITHOUT_ATTRIBUTES:
            self._add_attributes(value, kind)

    def _is_deep(self, value: Value) -> bool:
        """Whether the contents of a value are left out; it says so then."""
        if value.depth < self._limits.depth:
            return False
        value.cut = values.DEPTH
        return True

    def _add_items(self, value: Value, addresses: Iterable[int]) -> None:
        """The first items of a value whose length is known."""
        assert value.length is not None
        if value.length == 0 or self._is_deep(value):
            return
        found: list[Value] = []
        for address in addresses:
            if len(found) == self._limits.items:
                break
            found.append(Value(address, value))
        value.items = found
        if len(found) < value.length:
            value.cut = values.ITEMS

    def _add_attributes(self, value: Value, kind: RemoteType) -> None:
        for name, address in self.iter_attributes(value.address, kind):
            if value.depth >= self._limits.depth:
                value.cut = values.DEPTH
                return
            if len(value.attributes) >= self._limits.items:
                value.more += 1
                value.cut = values.ITEMS
                if value.more >= self._limits.items:
                    return
                continue
            child = self._make_child(value, name, address)
            value.attributes.append((shorten_name(name), child))

    def _make_child(self, value: Value, name: str, address: int) -> Value:
        if self._secrets.is_secret(name):
            return Value.without(values.REDACTED, value)
        return Value(address, value)

    def iter_attributes(self, address: int, kind: RemoteType) -> Iterator[tuple[str, int]]:
        """(name, address) of what an instance has: slots, then its own values."""
        for name, offset in kind.slots:
            found = self.memory.read_word(address + offset)
            if found:
                yield name, found
        for key, found in self.dicts.iter_entries_of(address, kind):
            yield self.read_key(key), found

    def read_key(self, address: int) -> str:
        """A name in a dict of names, as long as SecretNames looks at it; what is no text is "?"."""
        if self.types.read_type_of(address).storage != "str":
            return "?"
        text, _ = self.scalars.read_text(address, LONGEST)
        self._budget.charge(0, len(text))
        return text

    # --- numbers and texts ------------------------------------------------------------

    def _set_plain(self, value: Value, plain: object) -> None:
        value.shape, value.plain = values.PLAIN, plain

    def _fill_int(self, value: Value, kind: RemoteType) -> None:
        most = max(4 * self._limits.characters, 64)
        number, bits = self.scalars.read_int(value.address, most)
        self._set_plain(value, bool(number) if kind.storage == "bool" else number)
        self._budget.charge(0, min(bits, most) // 3)
        if bits > most:
            value.length, value.cut = bits, values.CHARACTERS

    def _fill_float(self, value: Value, _: RemoteType) -> None:
        self._set_plain(value, self.scalars.read_float(value.address))

    def _fill_complex(self, value: Value, _: RemoteType) -> None:
        self._set_plain(value, self.scalars.read_complex(value.address))

    def _fill_str(self, value: Value, _: RemoteType) -> None:
        text, length = self.scalars.read_text(value.address, self._limits.characters)
        self._set_cut(value, text, length)

    def _fill_bytes(self, value: Value, kind: RemoteType) -> None:
        read = self.scalars.read_bytes if kind.storage == "bytes" else self.scalars.read_bytearray
        data, length = read(value.address, self._limits.characters)
        self._set_cut(value, data, length)

    def _set_cut(self, value: Value, plain: str | bytes, length: int) -> None:
        self._set_plain(value, plain)
        self._budget.charge(0, len(plain))
        if length > len(plain):
            value.length, value.cut = length, values.CHARACTERS

    def _fill_numpy(self, value: Value, kind: RemoteType) -> None:
        value.base = None if kind.is_exact else kind.storage
        found = self.scalars.read_numpy_scalar(value.address, kind.storage[6:])
        value.shape, value.plain = values.TEXT, f"{kind.storage}({found!r})"

    def _fill_array(self, value: Value, _: RemoteType) -> None:
        shape, kind = self.scalars.read_numpy_array(value.address)
        name = self.types.read_type(kind).name.removeprefix("numpy.")
        text = f"array(shape=({', '.join(map(str, shape))}), dtype={name})"
        value.shape, value.plain = values.TEXT, text

    def _fill_decimal(self, value: Value, _: RemoteType) -> None:
        text, digits = self.scalars.read_decimal(value.address, self._limits.characters)
        value.shape, value.plain = values.TEXT, f"Decimal('{text}')"
        if not text:
            value.length, value.cut = digits, values.CHARACTERS

    # --- containers -------------------------------------------------------------------

    def _iter_pointers(self, start: int, count: int) -> Iterator[int]:
        for first in range(0, count, _CHUNK):
            size = 8 * min(_CHUNK, count - first, self._limits.items + 1)
            data = self.memory.read(start + 8 * first, size)
            for at in range(0, size, 8):
                yield int.from_bytes(data[at : at + 8], "little")

    def _fill_list(self, value: Value, _: RemoteType) -> None:
        value.shape = values.SEQUENCE
        value.length = max(self.memory.read_signed(value.address + self.layout.head), 0)
        start = self.memory.read_word(value.address + self.layout.list_items) if value.length else 0
        self._add_items(value, self._iter_pointers(start, value.length))
        self._redact_pair(value)

    def _fill_tuple(self, value: Value, kind: RemoteType) -> None:
        value.shape = values.SEQUENCE
        value.length = max(self.memory.read_signed(value.address + self.layout.head), 0)
        start = value.address + self.layout.tuple_items
        self._add_items(value, self._iter_pointers(start, value.length))
        self._redact_pair(value)
        names = self._read_field_names(kind) if kind.is_heap else []
        if names and len(names) == value.length and value.items:
            value.shape = values.OBJECT
            value.attributes = [
                (shorten_name(name), self._redact(value) if self._secrets.is_secret(name) else each)
                for name, each in zip(names, value.items, strict=False)
                if isinstance(each, Value)
            ]
            value.more = value.length - len(value.items)
            value.items = []

    def _redact_pair(self, value: Value) -> None:
        """Headers and environments are often lists of (name, value)."""
        if len(value.items) != 2 or value.length != 2:
            return
        first, second = value.items
        if isinstance(first, Value) and isinstance(second, Value):
            value.items = [first, self._make_dict_value(value, first.address, second.address)]

    def _redact(self, value: Value) -> Value:
        return Value.without(values.REDACTED, value)

    def _read_field_names(self, kind: RemoteType) -> list[str]:
        """`_fields` of a named tuple's class."""
        fields = self._find_class_value(kind, "_fields")
        if not fields or self.types.read_type_of(fields).storage != "tuple":
            return []
        count = max(self.memory.read_signed(fields + self.layout.head), 0)
        if count > 1 << 10:
            return []
        data = self.memory.read(fields + self.layout.tuple_items, 8 * count)
        return [
            self.read_key(int.from_bytes(data[at : at + 8], "little"))
            for at in range(0, 8 * count, 8)
        ]

    def _find_class_value(self, kind: RemoteType, name: str) -> int:
        """What a class that a program made has by a name; 0: nothing."""
        for key, found in self.dicts.iter_entries(kind.dict):
            if self.read_key(key) == name:
                return found
        return 0

    def _fill_set(self, value: Value, _: RemoteType) -> None:
        value.shape = values.SEQUENCE
        value.length = self.dicts.read_set_length(value.address)
        self._add_items(value, self.dicts.iter_set(value.address))

    def _fill_dict(self, value: Value, _: RemoteType) -> None:
        value.shape = values.MAPPING
        value.length = self.dicts.read_length(value.address)
        if value.length == 0 or self._is_deep(value):
            return
        found: list[tuple[Value, Value]] = []
        for key, address in self.dicts.iter_entries(value.address):
            if len(found) == self._limits.items:
                break
            found.append((Value(key, value), self._make_dict_value(value, key, address)))
        value.items = found
        if len(found) < value.length:
            value.cut = values.ITEMS

    def _make_dict_value(self, value: Value, key: int, address: int) -> Value:
        storage = self.types.read_type_of(key).storage
        if storage == "str":
            return self._make_child(value, self.read_key(key), address)
        if storage == "bytes":
            data, _ = self.scalars.read_bytes(key, LONGEST)
            return self._make_child(value, data.decode("latin-1"), address)
        return Value(address, value)

    def _fill_exception(self, value: Value, _: RemoteType) -> None:
        value.shape = values.SEQUENCE
        args = self.memory.read_word(value.address + self.layout.exception_args)
        if not args or self.types.read_type_of(args).storage != "tuple":
            value.length = 0
            return
        value.length = max(self.memory.read_signed(args + self.layout.head), 0)
        start = args + self.layout.tuple_items
        self._add_items(value, self._iter_pointers(start, value.length))

    # --- objects that stand for code --------------------------------------------------

    def _set_text(self, value: Value, text: str) -> None:
        value.shape, value.plain = values.TEXT, text

    def _fill_type(self, value: Value, _: RemoteType) -> None:
        self._set_text(value, f"<class '{self.types.read_type(value.address).name}'>")

    def _fill_function(self, value: Value, _: RemoteType) -> None:
        name = self.memory.read_word(value.address + self.layout.function_qualname)
        self._set_text(value, f"<function {shorten_name(self.read_key(name))}>")

    def _fill_module(self, value: Value, _: RemoteType) -> None:
        own = self.memory.read_word(value.address + self.layout.head)
        for key, found in self.dicts.iter_entries(own):
            if self.read_key(key) == "__name__":
                self._set_text(value, f"<module '{shorten_name(self.read_key(found))}'>")
                return

    def _fill_range(self, value: Value, _: RemoteType) -> None:
        value.shape, value.length = values.SEQUENCE, 3
        start = value.address + self.layout.head
        self._add_items(value, self._iter_pointers(start, 3))

    # --- dates ------------------------------------------------------------------------

    def _fill_date(self, value: Value, _: RemoteType) -> None:
        self._set_text(value, self.scalars.read_date(value.address))

    def _fill_datetime(self, value: Value, kind: RemoteType) -> None:
        is_time = kind.storage == "datetime.time"
        read = self.scalars.read_time if is_time else self.scalars.read_datetime
        text, zone = read(value.address)
        self._set_text(value, text)
        if zone and not self._is_deep(value):
            value.attributes = [("tzinfo", Value(zone, value))]

    def _fill_timedelta(self, value: Value, _: RemoteType) -> None:
        self._set_text(value, repr(self.scalars.read_timedelta(value.address)))

    def _fill_timezone(self, value: Value, _: RemoteType) -> None:
        offset = self.scalars.read_timedelta(
            self.memory.read_word(value.address + self.layout.head)
        )
        self._set_text(
            value, f"datetime.timezone({offset!r})" if offset else "datetime.timezone.utc"
        )

    # --- classes of the standard library ----------------------------------------------

    def _is_enum(self, kind: RemoteType) -> bool:
        if not kind.is_heap:
            return False
        meta = self.types.read_type_of(kind.address)
        return "EnumMeta" in meta.names or "EnumType" in meta.names

    def _fill_enum(self, value: Value, kind: RemoteType) -> bool:
        found = dict(self.iter_attributes(value.address, kind))
        if "_name_" not in found or "_value_" not in found:
            return False
        name = found["_name_"]
        if self.types.read_type_of(name).storage != "str":
            return False
        self._set_text(value, f"{kind.name}.{shorten_name(self.read_key(name))}")
        if not self._is_deep(value):
            child = self._make_child(value, self.read_key(name), found["_value_"])
            value.attributes = [("value", child)]
        return True

    def _fill_known(self, value: Value, kind: RemoteType) -> bool:
        """A UUID or a path, whose classes are Python's own."""
        slots = {name for name, _ in kind.slots}
        is_uuid = "UUID" in kind.names and {"int", "is_safe"} <= slots
        if not is_uuid and not ("PurePath" in kind.names and slots & _PATH_SLOTS):
            return False
        found = dict(self.iter_attributes(value.address, kind))
        text = self._read_uuid(found) if is_uuid else self._read_path(found)
        if text is None:
            return False
        self._set_text(value, f"{kind.name}({text!r})")
        return True

    def _read_uuid(self, attributes: dict[str, int]) -> str | None:
        number = attributes.get("int")
        if not number or self.types.read_type_of(number).storage != "int":
            return None
        digits = f"{self.scalars.read_int(number, 128)[0]:032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _read_path(self, attributes: dict[str, int]) -> str | None:
        text = attributes.get("_str")
        if text and self.types.read_type_of(text).storage == "str":
            return self.read_key(text)
        raw, parts = attributes.get("_raw_paths"), attributes.get("_parts")
        parts = raw or parts
        if not parts or self.types.read_type_of(parts).storage not in ("list", "tuple"):
            return None
        found = self._read_short_texts(parts)
        if not raw and found[:1] == ["/"]:
            found = ["/" + "/".join(found[1:])]
        joined = ""
        for each in found:
            joined = each if each.startswith("/") or not joined else f"{joined.rstrip('/')}/{each}"
        return joined or "."

    def _read_short_texts(self, address: int) -> list[str]:
        is_list = self.types.read_type_of(address).storage == "list"
        count = max(self.memory.read_signed(address + self.layout.head), 0)
        if count > 1 << 8:
            raise ValueError("no path")
        start = (
            self.memory.read_word(address + self.layout.list_items)
            if is_list
            else address + self.layout.tuple_items
        )
        data = self.memory.read(start, 8 * count)
        return [
            self.read_key(int.from_bytes(data[at : at + 8], "little"))
            for at in range(0, 8 * count, 8)
        ]
