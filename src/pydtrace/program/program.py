"""The compiled program: what the compiler hands to an engine and to the consumer.

Everything here is plain data.  An engine loads `maps` and each clause's `code`; the
consumer decodes each clause's `record`.  docs/internals/program.md describes the layouts.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# --- the state block: map 0, one element, the same bytes in every engine -----
# The engine fills the event part before it runs the clauses of a firing, and zeroes
# the `this` part; the rest is the program's scratch memory.
STATE_TIME = 0  # u64 timestamp, ns, CLOCK_MONOTONIC
STATE_PROBE = 8  # u32 probe id, as D's `id`, also the index into the probe table
STATE_CPU = 12  # u32
STATE_PID = 16  # u32
STATE_TID = 20  # u32
STATE_UID = 24  # u32
STATE_GID = 28  # u32
STATE_WALL = 32  # u64 walltimestamp, ns since the epoch
STATE_EXECNAME = 40  # char[16], NUL padded
STATE_PROBEPROV = 56  # char[64], NUL padded
STATE_PROBEMOD = 120  # char[64]
STATE_PROBEFUNC = 184  # char[128]
STATE_PROBENAME = 312  # char[64]
STATE_ARGS = 376  # u64[12]; absent arguments are 0
STATE_PPID = 472  # u32: the parent of the firing process
STATE_ERRNO = STATE_HOST = (
    476  # u32: the error that a system call returns; where no kernel is traced: the number of the host
)
STATE_ANCESTORS = (
    480  # u32[ANCESTORS]: that parent, its own parent, and so on; 0 where there is none
)
ANCESTORS = 16
STATE_EVENT_END = 544  # what follows belongs to the program:
STATE_FAULT = 544  # the record of a fault, FAULT_RECORD_SIZE bytes
STATE_THREAD = 592  # u64: the kernel's address of the firing thread; the kernel engine alone has it and the next
STATE_EXECARGS = 600  # char[80], NUL padded: the arguments of the firing process
STATE_PROGRAM = 680  # this-> area, zeros, record, scratch

# --- record header: at the start of every record that a clause emits ---------
RECORD_SIZE = 0  # u32: whole record, header included
RECORD_CLAUSE = 4  # u32: index of the clause, with flags (RECORD_FAULT, …)
RECORD_PROBE = 8  # u32: probe id
RECORD_CPU = 12  # u32
RECORD_TIME = 16  # u64
RECORD_PID = 24  # u32
RECORD_TID = 28  # u32
RECORD_DATA = 32  # the fields of RecordLayout
RECORD_FAULT = 0x80000000  # in RECORD_CLAUSE: a run-time error, data is FAULT_*
RECORD_SPECULATIVE = (
    0x40000000  # in RECORD_CLAUSE: to be held back, by the speculation at RECORD_SPECULATION
)
RECORD_SETTLED = 0x20000000  # in RECORD_CLAUSE: what is held back is to be released or forgotten, data is SETTLED_*
RECORD_TEXT = 0x10000000  # in RECORD_CLAUSE: what other records were printed as, data is TEXT_DATA; of any size
RECORD_UNSURE = (
    0x08000000  # in RECORD_CLAUSE: it may belong before records of other hosts that stand before it
)
RECORD_FLAGS = 0xF8000000
RECORD_SPECULATION = 32  # u32: number of a speculation, with RECORD_SPECULATIVE and RECORD_SETTLED
SETTLED_COMMIT = 36  # u32: 1 release (commit), 0 forget (discard)
SETTLED_RECORD_SIZE = 40
TEXT_DATA = 32  # with RECORD_TEXT: the text, to the record's end

# --- fault data, after RECORD_DATA -------------------------------------------
FAULT_KIND = 32  # u32, one of the kinds below
FAULT_PC = 36  # u32: instruction index in the clause's code
FAULT_VALUE = 40  # u64: the illegal value (an address), else 0
FAULT_RECORD_SIZE = 48
# The kinds, with D's own numbers (DTRACEFLT_*); a NULL string is the bad address 0.
FAULT_UNKNOWN, FAULT_BADADDR, FAULT_BADALIGN, FAULT_ILLOP, FAULT_DIVZERO, FAULT_NOSCRATCH = range(6)
(
    FAULT_KPRIV,
    FAULT_UPRIV,
    FAULT_TUPOFLOW,
    FAULT_BADSTACK,
    FAULT_LIBRARY,
    FAULT_BADINDEX,
    FAULT_BADSIZE,
) = range(6, 13)

# --- addresses ---------------------------------------------------------------
# The upper half of a pointer into the program's own memory; the lower half is the offset.  No address of a
# process has these: they are not canonical on any processor.
ADDRESS_STATE = 0x0D7A0001  # in the state block: this-> variables and alloca()'s memory
ADDRESS_GLOBALS = 0x0D7A0002  # in the globals map

# --- frames of a language's stack, where native ones have their addresses --------
# 11 bits FRAME_MARK, which no address has; 16 the target, 17 its place (of the function), 20 the line there (0: not known)
FRAME_MARK = 0x2A5
FRAME_MARK_FIRST = 0x2A4  # in its place: the interpreter was called by C for this frame
FRAME_MARK_CODE = 0x2A7  # in its place: a native frame; the place is a megabyte of a file, or of memory, the line the offset there
FRAME_TARGET_SHIFT, FRAME_PLACE_SHIFT = 37, 20
FRAME_MARK_SHIFT = 53

# --- strings ------------------------------------------------------------------
STRING_LIMIT = 1023  # bytes of one in an event: PYUSDT_MAX_STRING of include/pyusdt.h
STRSIZE_LIMIT = 65536  # the largest strsize, as options.py allows it

# --- the globals map: map 1, one element --------------------------------------
# Counts of what was lost, each a u64 to which the programs of all CPUs add; then the variables.
DROP_RECORD = 0  # records that found no room in the output
DROP_AGGREGATION = 8  # aggregating calls whose new key found no room
DROP_DYNAMIC = 16  # assignments to associative or self-> variables that found no room
DROP_SPECULATION = 24  # speculation() calls that found none free
COUNT_CUT = 32  # strings that go on behind strsize
COUNT_LONG = 40  # strings of so many bytes that an event may hold the beginning only; see code/string_expressions.py
DROP_END = 48


class MapDef:
    """One map.  kind: a key of bpf.map_kinds.KINDS ("array", "percpu_array", "hash", "percpu_hash",
    "ringbuf"); key_size, value_size in bytes; entries: the bound on elements (ringbuf: bytes)."""

    __slots__ = ("name", "kind", "key_size", "value_size", "entries")

    def __init__(self, name: str, kind: str, key_size: int, value_size: int, entries: int) -> None:
        self.name, self.kind, self.key_size = name, kind, key_size
        self.value_size, self.entries = value_size, entries


class Data:
    """One value in a record, a key or an aggregation tuple: `type` (types.Type), `offset`
    from the start of the record (of the key for keys), `size` in bytes.  Of a record's string
    whose length the code knows, `length`: offset in the state block of its u64, the NUL included;
    `padding`: (first, end) of the instructions that write zeros before the string is written."""

    __slots__ = ("type", "offset", "size", "length", "padding")

    def __init__(self, type: Any, offset: int, size: int) -> None:
        self.type, self.offset, self.size = type, offset, size
        self.length: int | None = None
        self.padding: tuple[int, int] | None = None


class Action:
    """One data-recording action of a clause, in the order of the source.

    row: its row of builtins.ACTIONS; data: list of Data; fmt: format.Format for
    printf-like actions, else None; args: constant operands (an Aggregation, an int, …);
    loc: for messages.
    """

    __slots__ = ("row", "data", "fmt", "args", "loc")

    def __init__(self, row: Any, data: Any, fmt: Any, args: list[Any], loc: Any) -> None:
        self.row, self.data, self.fmt, self.args, self.loc = row, data, fmt, args, loc


class Clause:
    """One compiled clause.

    index: position in the program; probes: list of ast.ProbeDesc; code: list of bpf.insn.Insn
    ending in exit, maps by index in Program.maps; actions: list of Action; record_size:
    bytes of its record (RECORD_DATA where it emits no data but has a record, 0 where it
    emits none); demand: {argument index: bytes of string wanted, 0 = the value only};
    lines: [(first instruction, ast location)] ascending, to name the place of a fault; stacks: the
    keys of Program.stacks that it reads; emits: (first, end) of the instructions that emit the
    record, and its offset in the state block; None where it has none; counting: code that does for arg0
    firings at once what `code` does for each, None where there is none; in_order: why one consumer is to see all of
    its events in their order, "" where any may see any (code/order_dependence.py).
    """

    __slots__ = (
        "index",
        "probes",
        "code",
        "actions",
        "record_size",
        "demand",
        "lines",
        "loc",
        "stacks",
        "emits",
        "counting",
        "in_order",
    )

    def __init__(self, index: int, probes: list[Any], loc: Any) -> None:
        self.index, self.probes, self.loc = index, probes, loc
        self.code: list[Any] = []
        self.actions: list[Action] = []
        self.lines: list[tuple[int, Any]] = []
        self.record_size = 0
        self.demand: dict[int, int] = {}
        self.stacks: frozenset[str] = frozenset()
        self.emits: tuple[int, int, int] | None = None
        self.counting: list[Any] | None = None
        self.in_order = ""


class AggDef:
    """One aggregation: name, ident (1…), row (builtins.AGGREGATIONS), params, keys (list of
    Data within the map's key), map (index in Program.maps).  argument, key_texts: what is
    aggregated and by what, in the words of the script; "" and () where that is not known."""

    __slots__ = ("name", "ident", "row", "params", "keys", "map", "argument", "key_texts")

    def __init__(
        self, name: str, ident: int, row: Any, params: Any, keys: list[Data], map: int
    ) -> None:
        self.name, self.ident, self.row = name, ident, row
        self.params, self.keys, self.map = params, keys, map
        self.argument, self.key_texts = "", ()  # type: str, tuple[str, ...]


class Program:
    """clauses: list of Clause; maps: list of MapDef (0 state, 1 globals, 2 output ring);
    aggregations: list of AggDef; options: {name: value} of its pragmas; this_area:
    (offset, size) in the state block that the engine zeroes before each firing; zeros: the same of what is never
    written; strsize; variable_size: bytes that dtrace takes for the largest self-> variable or element of an array."""

    __slots__ = (
        "clauses",
        "maps",
        "aggregations",
        "options",
        "this_area",
        "zeros",
        "strsize",
        "uses",
        "speculates",
        "destructive",
        "first_destructive",
        "arguments",
        "stacks",
        "host",
        "target",
        "variable_size",
        "paths",
        "path_texts",
        "value_rate",
        "conditions",
        "decided_in_target",
        "warnings",
        "term_conditions",
    )

    def __init__(self) -> None:
        self.clauses: list[Clause] = []
        self.maps: list[MapDef] = []
        self.aggregations: list[AggDef] = []
        self.options: dict[str, Any] = {}
        self.this_area = self.zeros = (STATE_EVENT_END, 0)
        self.strsize = 256
        self.variable_size = 0
        self.paths: list[bytes] = []  # to values of a Python program; path i is argument 6 + i
        self.path_texts: list[str] = []  # the same, as the source has them
        self.value_rate = b""  # -x valuerate, as one more path of a session
        self.conditions = b""  # of predicates, on these values; the last "path" of a session
        self.decided_in_target: list[str] = []  # the same as text
        self.warnings: list[str] = []  # what is right, and is likely not meant
        # of predicates, on parameters of Erlang functions: (probe, module, function, alternatives of (path, operation, constant))
        self.term_conditions: list[Any] = []
        self.speculates = False  # some clause has speculation(), speculate(), commit() or discard()
        self.destructive = False  # some clause has a destructive action
        self.first_destructive = ("", "")  # its name, and its place in the source
        self.arguments: list[str] = []  # the texts of $0, $1 …
        # "user", "kernel" -> (offset in the state block, most frames): u64 their number, u64 each
        self.stacks: dict[str, tuple[int, int]] = {}
        # where the variables `host` and $target are in the globals map, if they are such, and are read
        self.host: int | None = None
        self.target: int | None = None
        self.uses: set[str] = (
            set()
        )  # parts of the state block that the clauses read: VariableRow.uses


# What the helper float_compute does, with doubles as their bits.
FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, FLOAT_DIV = range(4)
FLOAT_FROM_SIGNED, FLOAT_FROM_UNSIGNED, FLOAT_TO_SIGNED, FLOAT_WIDEN, FLOAT_NARROW = range(4, 9)

# Who prints what an action records (ActionRow.prints): its own perform(), or C: a value in its default format, a format.  c/format/
# format.h has these numbers.
PRINTS_ITSELF, PRINTS_VALUE, PRINTS_FORMAT = range(3)

KERNEL_USES = frozenset(
    ("thread", "execargs", "registers")
)  # of Program.uses what the kernel engine alone can fill
WRITES = "writes"  # of Program.uses, which is no part of the state block: a clause writes into the process that fires
OF_THREAD = "of thread"  # of Program.uses: self->x, which all tasks of a thread have in common
SAMPLED_TASK = "sampled task"  # of Program.uses: task->x of profile-n, which the embedded engine alone can tell, and
SAMPLED_PROC = 2  # the argument of that probe in which it does
MAP_STATE, MAP_GLOBALS, MAP_OUTPUT = 0, 1, 2
