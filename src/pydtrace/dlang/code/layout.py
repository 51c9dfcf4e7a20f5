"""Layout: the places of everything in a program: offsets in the state block and the globals map,
keys, the list of maps.

- One Layout serves all clauses of a program; what is placed never moves.
- Strings are NUL-terminated and padded with zeros to their whole storage, and so are the gaps of
  a key, so keys are hashed and compared by words.
- State block: the event | fault record | this-> variables | zeros | the running clause's
  scratch. Nothing writes `zeros`: strings are padded from it, and new aggregations start as it.
"""

from __future__ import annotations

from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.compiler_limits import GLOBALS_BYTES_MAX
from pydtrace.program import d_types as t
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..front.source_text import Location
    from ..variable_table import Aggregation, Variable

STATE_LIMIT = 1 << 20  # a dozen strings of the largest strsize
KEY_LIMIT = 1 << 18  # Linux 5.15's maps take 512, there only the embedded engine has more
_ZEROS_MIN, _ZEROS_FOR_STRINGS = 256, 4096  # what is longer is zeroed in parts
_SIZES = {"dynvarsize": 1 << 20, "aggsize": 4 << 20, "bufsize": 4 << 20}  # dtrace's defaults, bytes
_SCRATCHSIZE = 256
_BUFFER_MAX = 1 << 30  # as c/session bounds a ring (docs/internals/ring.md)
_SPECULATIONS_MAX = 1024  # more would make the search for a free one too long
_ENTRIES_MAX = 1 << 26  # as many as a map of the kernel takes
KEYS = 4  # bytes before the keys in dtrace's buffers
_ELEMENT_OVERHEAD = 8  # bytes that an array's element takes there beside its keys and its value


def round_up(n: int, to: int = 8) -> int:
    return (n + to - 1) // to * to


class Layout:
    """options: {name: value}, sizes in bytes; strsize: that option; string_size: bytes of a string's
    storage; zeros, scratch: where they begin, known from seal() on."""

    zeros: int
    scratch: int

    def __init__(self, options: Mapping[str, Any], strsize: int) -> None:
        self.strsize = strsize
        self.string_size = round_up(strsize)
        self.only_cpu = options.get("cpu")
        self.scratchsize = options.get("scratchsize", _SCRATCHSIZE)
        self.sizes: dict[str, int] = {
            name: options.get(name, default) for name, default in _SIZES.items()
        }
        self.maps = [
            p.MapDef("state", "percpu_array", 4, 0, 1),
            p.MapDef("globals", "array", 4, p.DROP_END, 1),
            p.MapDef(
                "output", "ringbuf", 0, 0, _power_of_two(min(self.sizes["bufsize"], _BUFFER_MAX))
            ),
        ]
        # At least one: nspec=0 is refused where tracing begins (dlang/buffer_limits.py), and the code is loaded before that.
        self.speculation_count = max(1, min(options.get("nspec", 1), _SPECULATIONS_MAX))
        self._speculations: int | None = None
        self._random: int | None = None
        self.tokens_offset: int | None = (
            None  # strtok()'s state: what it returns next, and its string
        )
        self._dynvarsize: int | None = options.get(
            "dynvarsize"
        )  # what all dynamic variables share, if the user says how much
        self._dynamic: list[int] = []  # indexes of the maps of self-> variables and arrays
        self._value_size = self._tuple_size = (
            0  # of the largest of them, and of the largest key, in dtrace's buffers
        )
        # how many elements they have together, and where the globals count them; see _share_dynvarsize()
        self.element_limit = 0
        self.used_offset: int | None = None
        self.nullable: set[Variable] = set()  # string scalars to which 0 is assigned somewhere
        self.this_end = p.STATE_PROGRAM
        self.zeros_size = max(min(self.string_size, _ZEROS_FOR_STRINGS), _ZEROS_MIN)
        self.scratch_size = 0
        self.heap = self.heap_size = self.heap_top = 0  # see use_heap
        self.stacks: dict[
            str, tuple[int, int]
        ] = {}  # "user", "kernel" -> (offset, frames), see need_stack

    def size_of(self, type: t.Type) -> int:
        return self.string_size if type.is_string else type.size

    @staticmethod
    def align_of(type: t.Type) -> int:
        return 8 if type.is_string or type.is_record or type.is_array else type.align

    @property
    def pointer_range(self) -> tuple[int, int]:
        """(begin, end) of the part of the state block that pointers may reach."""
        return p.STATE_PROGRAM, self.heap + self.heap_size if self.heap else self.this_end

    def reserve_heap(self, size: int) -> None:
        """The program needs memory for alloca() and its like.  Its offset and size; heap_top: offset of the word that
        says where the rest of it begins."""
        self.heap_size = round_up(size)

    def reserve_stack(self, need: tuple[str, int] | None) -> None:
        """Make room for a stack.  need: (whose, number of frames), or None; seal() gives it its place."""
        if need is not None:
            kind, frames = need
            self.stacks[kind] = 0, max(frames, self.stacks.get(kind, (0, 0))[1])

    def globals_end(self) -> int:
        """Where the globals end; only after all of them have been placed."""
        return self.maps[p.MAP_GLOBALS].value_size

    # --- before code generation: everything that moves the scratch ------------
    def place_this(self, symbol: Variable) -> None:
        """Give a this-> variable its offset in the state block."""
        type = symbol.known_type
        self.this_end = round_up(self.this_end, self.align_of(type))
        symbol.slot = self.this_end
        self.this_end += self.size_of(type)

    def place_tokens(self) -> None:
        """Give strtok() its state, which is forgotten after each firing as this-> variables are."""
        if self.tokens_offset is None:
            self.tokens_offset = round_up(self.this_end)
            self.this_end = self.tokens_offset + 8 + self.string_size

    def place_global(self, symbol: Variable) -> None:
        """Give a global scalar its offset in the globals map."""
        globals_map = self.maps[p.MAP_GLOBALS]
        type = symbol.known_type
        offset = round_up(globals_map.value_size, self.align_of(type))
        symbol.slot = offset
        globals_map.value_size = offset + self.size_of(type)
        if globals_map.value_size > GLOBALS_BYTES_MAX:
            raise CompileError(
                "D_UNSUPPORTED",
                symbol.loc,
                f"the program's variables take {globals_map.value_size} bytes, more than "
                f"{GLOBALS_BYTES_MAX}",
            )

    @property
    def has_speculations(self) -> bool:
        return self._speculations is not None

    def place_speculations(self) -> int:
        """The offset in the globals map of the speculations' states."""
        if self._speculations is None:
            globals_map = self.maps[p.MAP_GLOBALS]
            self._speculations = round_up(globals_map.value_size)
            globals_map.value_size = self._speculations + 8 * self.speculation_count
        return self._speculations

    def place_random_state(self) -> int:
        """The offset in the globals map of rand()'s state."""
        if self._random is None:
            globals_map = self.maps[p.MAP_GLOBALS]
            self._random = round_up(globals_map.value_size)
            globals_map.value_size = self._random + 8
        return self._random

    def place_dynamic(self, symbol: Variable) -> None:
        """Give a self-> variable or an associative array its map.  An integer takes 8 bytes, so that
        the element is loaded and stored as the register is."""
        value_size, type = 8, symbol.known_type
        if type.is_string or type.is_record or type.is_array:
            value_size = round_up(self.size_of(type))
            self.zeros_size = max(self.zeros_size, value_size)
        if value_size > GLOBALS_BYTES_MAX:
            raise CompileError(
                "D_UNSUPPORTED",
                symbol.loc,
                f"an element of {symbol} takes {value_size} bytes, more than {GLOBALS_BYTES_MAX}",
            )
        key = self.make_key(dynamic_key_types(symbol), symbol.loc)
        if symbol.keys:
            self._tuple_size = max(
                self._tuple_size, dtrace_keys_end(key.fields[-len(symbol.keys) :])
            )
        self._value_size = max(self._value_size, self.strsize if type.is_string else type.size)
        symbol.slot = self._add_hash(
            str(symbol), "hash", key.size, value_size, self.sizes["dynvarsize"]
        )
        self._dynamic.append(symbol.slot)

    def place_aggregation(self, symbol: Aggregation) -> None:
        """Give an aggregation its map; without keys it is one element, else a hash."""
        value_size = 8 * symbol.row.count_stored_words(symbol.params)
        self.zeros_size = max(self.zeros_size, value_size)
        self._tuple_size = max(
            self._tuple_size, dtrace_keys_end(self.make_key(symbol.keys or (), symbol.loc).fields)
        )
        name = "@" + symbol.name
        if key := self.aggregation_key(symbol):
            least = 2 if symbol.row.is_split else 1
            symbol.map = self._add_hash(
                name, "percpu_hash", key.size, value_size, self.sizes["aggsize"], least
            )
        else:
            symbol.map = self._add_map(p.MapDef(name, "percpu_array", 4, value_size, 1))

    def aggregation_key(self, symbol: Aggregation) -> KeyLayout | None:
        """The Key of an aggregation's map, None where it has one element; its last field may be the half (aggregation/split_values.py)."""
        types = [*(symbol.keys or ()), *[t.UINT64] * symbol.row.is_split]
        return self.make_key(types, symbol.loc) if types else None

    @property
    def variable_size(self) -> int:
        """Bytes that dtrace takes for each self-> variable and element of an array: as for the largest, and where anything has
        keys, also for the largest of those; 0 where there is none."""
        return self._value_size + (
            _ELEMENT_OVERHEAD + self._tuple_size if self._value_size and self._tuple_size else 0
        )

    def _share_dynvarsize(self) -> None:
        """A dynvarsize that the user asked for is the room of all dynamic variables: they are counted where they are several."""
        if not self._dynamic or self._dynvarsize is None:
            return
        elements = max(1, min(_ENTRIES_MAX, self._dynvarsize // self.variable_size))
        for index in self._dynamic:
            self.maps[index].entries = elements
        if len(self._dynamic) > 1:
            globals_map = self.maps[p.MAP_GLOBALS]
            self.element_limit, self.used_offset = elements, round_up(globals_map.value_size)
            globals_map.value_size = self.used_offset + 8

    def seal(self) -> None:
        """All variables and aggregations are placed: fix where zeros and scratch begin."""
        self._share_dynvarsize()
        end = round_up(self.this_end)
        for kind, (_, frames) in self.stacks.items():
            self.stacks[kind] = end, frames
            end += 8 + 8 * frames
        self.zeros = end
        if self.heap_size:
            self.heap_top = (
                self.zeros
            )  # with the word behind it also the gap to the this-> variables
            self.heap = self.heap_top + 16
            # Twice: the verifier adds the greatest offset and the greatest size.
            self.zeros = self.heap + 2 * self.heap_size
        self.scratch = self.zeros + round_up(self.zeros_size)

    # --- after code generation --------------------------------------------------
    def finish_maps(self, loc: Location) -> list[p.MapDef]:
        """The maps, now that all is placed; `loc` is for the error where the state is too large."""
        size = self.scratch + self.scratch_size
        if size > STATE_LIMIT:
            raise CompileError(
                "D_UNSUPPORTED",
                loc,
                f"the program's strings take {size} bytes at once, more than {STATE_LIMIT}",
                "use a smaller strsize or fewer this-> strings",
            )
        self.maps[p.MAP_STATE].value_size = round_up(size)
        globals_map = self.maps[p.MAP_GLOBALS]
        globals_map.value_size = round_up(globals_map.value_size)
        return self.maps

    def make_key(self, types: list[t.Type] | tuple[Any, ...], loc: Location) -> KeyLayout:
        """The Key of a tuple of these types."""
        fields, end = [], 0
        for type in types:
            size = self.size_of(type)
            offset = round_up(end, self.align_of(type))
            fields.append(p.Data(type, offset, size))
            end = offset + size
        key = KeyLayout(fields, round_up(end))
        if key.size > KEY_LIMIT:
            raise CompileError(
                "D_UNSUPPORTED",
                loc,
                f"the keys take {key.size} bytes, more than {KEY_LIMIT}",
                "use a smaller strsize, or fewer strings among the keys",
            )
        return key

    def _add_hash(
        self, name: str, kind: str, key_size: int, value_size: int, room: int, least: int = 1
    ) -> int:
        entries = max(least, min(_ENTRIES_MAX, room // (key_size + value_size)))
        return self._add_map(p.MapDef(name, kind, key_size, value_size, entries))

    def _add_map(self, map: p.MapDef) -> int:
        self.maps.append(map)
        return len(self.maps) - 1


class KeyLayout:
    """fields: a Data each; size: a multiple of 8; padded: offsets of the words that the fields do
    not fill and that must be zeroed first."""

    __slots__ = ("fields", "size", "padded")

    def __init__(self, fields: list[p.Data], size: int) -> None:
        self.fields, self.size = fields, size
        covered = [0] * (size // 8)
        for data in fields:
            if data.size < 8:
                covered[data.offset // 8] += data.size
            else:
                for word in range(data.offset // 8, (data.offset + data.size) // 8):
                    covered[word] = 8
        self.padded = [8 * i for i, n in enumerate(covered) if n < 8]


def dtrace_keys_end(keys: list[p.Data]) -> int:
    """Where the p.Data of a key end in dtrace's buffers: each at a multiple of its alignment, strings with a NUL more."""
    end = KEYS
    for key in keys:
        end = end + key.size + 1 if key.type.is_string else round_up(end, key.type.align) + key.size
    return end


def dynamic_key_types(symbol: Variable) -> list[t.Type]:
    """The types of the key of a self-> variable or an associative array's element.  A self-> variable
    belongs to a thread: its key begins with pid and tid, together 8 bytes as the state block has them; the number of the host
    follows where there are several, and is the first of a task's."""
    return [*[t.UINT64] * ((symbol.scope == "self") + symbol.is_per_host), *(symbol.keys or ())]


def _power_of_two(n: int) -> int:
    """At least a page, as the kernel's ring buffer wants it."""
    return 1 << max(12, (n - 1).bit_length())
