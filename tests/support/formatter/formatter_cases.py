"""Cases for the consumer that both the real dtrace and our own code can print.

A Case is data: statements with known values.  From the one description come the D source (for the
oracle), the compiled program's plain data with its records (for the formatter) and the aggregations'
contents.  tests/unit/dtrace_output/*.r is what the oracle printed for the cases of CASES, recorded by
`python tests/unit/record_dtrace_output.py`.
"""

import struct

from pydtrace.dlang.builtins import ACTIONS, AGGREGATIONS
from pydtrace.program import d_types as t
from pydtrace.program import printf_format as f
from pydtrace.program import program as p

STRSIZE = 256
STRING_STORAGE = 264  # the size and a NUL, rounded up
NAMES = {1: ("dtrace", "", "", "BEGIN")}


def type_of(name):
    return t.STRING if name == "string" else t.BASIC.get(name) or t.TYPEDEFS[name]


def literal(text):
    """A D string constant of these bytes."""
    shown = [chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text]
    return '"' + "".join(shown) + '"'


def expression(name, value):
    """A D expression of this type and value."""
    if name == "string":
        return literal(value)
    return f"({name})0x{value & (1 << 8 * type_of(name).size) - 1:x}"


class Printf:
    """printf(fmt, value…); arguments: list of (type name, value)."""

    def __init__(self, fmt, *arguments):
        self.fmt, self.arguments = fmt, arguments

    def source(self):
        return (
            f"printf({', '.join([literal(self.fmt), *(expression(*a) for a in self.arguments)])});"
        )

    def action(self, layout):
        data = [layout.add(*argument) for argument in self.arguments]
        fmt = f.parse_format(self.fmt)
        f.check_format(fmt, [d.type for d in data])
        return p.Action(ACTIONS["printf"], data, fmt, [], None)


class Trace:
    def __init__(self, name, value):
        self.argument = (name, value)

    def source(self):
        return f"trace({expression(*self.argument)});"

    def action(self, layout):
        return p.Action(ACTIONS["trace"], [layout.add(*self.argument)], None, [], None)


class Aggregate:
    """@name[keys…] = function(value), `times` times over; keys: list of (type name, value)."""

    def __init__(self, name, keys, function, value=None, times=1):
        self.name, self.keys, self.function, self.value, self.times = (
            name,
            keys,
            function,
            value,
            times,
        )

    def source(self):
        keys = f"[{', '.join(expression(*k) for k in self.keys)}]" if self.keys else ""
        value = "" if self.value is None else expression("long", self.value)
        return f"@{self.name}{keys} = {self.function}({value}); " * self.times


class Layout:
    """Lays out the values of one record and packs them."""

    def __init__(self, start):
        self.bytes = bytearray(start)

    def add(self, name, value):
        type = type_of(name)
        size = STRING_STORAGE if type.is_string else type.size
        self.bytes += bytes(-len(self.bytes) % (8 if type.is_string else size))
        data = p.Data(type, len(self.bytes), size)
        if type.is_string:
            self.bytes += value[: STRSIZE - 1].split(b"\0")[0].ljust(size, b"\0")
        else:
            self.bytes += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        return data


class Case:
    """name: of what was printed, NAME.r; clauses: lists of statements, each a clause of BEGIN; options: for dtrace;
    script: of the D program, SCRIPT.d, where several cases share it."""

    def __init__(self, name, clauses, *options, script=None):
        self.name, self.clauses, self.options, self.script = name, clauses, options, script or name

    def source(self):
        bodies = [
            "\n\t".join(statement.source() for statement in clause) for clause in self.clauses
        ]
        return (
            "".join(f"BEGIN\n{{\n\t{body}\n}}\n" for body in bodies) + "BEGIN\n{\n\texit(0);\n}\n"
        )

    def program_and_records(self):
        """The compiled program, as far as the formatter looks at it, and one record a clause."""
        program = p.Program()
        records = b""
        for clause in self.clauses:
            index = len(program.clauses)
            layout = Layout(p.RECORD_DATA)
            compiled = p.Clause(index, [], None)
            compiled.actions = [s.action(layout) for s in clause if not isinstance(s, Aggregate)]
            program.clauses.append(compiled)
            if compiled.actions:
                compiled.record_size = len(layout.bytes)
                records += header(index, len(layout.bytes)) + layout.bytes[p.RECORD_DATA :]
        last = p.Clause(len(program.clauses), [], None)
        layout = Layout(p.RECORD_DATA)
        last.actions = [p.Action(ACTIONS["exit"], [layout.add("int", 0)], None, [], None)]
        last.record_size = len(layout.bytes)
        program.clauses.append(last)
        return program, records + header(last.index, last.record_size) + layout.bytes[
            p.RECORD_DATA :
        ]

    def aggregations(self):
        """[(AggDef, [(key, value)])], as an engine returns them."""
        found = {}
        for statement in (s for clause in self.clauses for s in clause if isinstance(s, Aggregate)):
            layout = Layout(0)
            keys = [layout.add(*key) for key in statement.keys]
            if statement.name not in found:
                row = AGGREGATIONS[statement.function]
                found[statement.name] = (
                    p.AggDef(statement.name, len(found) + 1, row, [], keys, None),
                    {},
                )
            entries = found[statement.name][1]
            for _ in range(statement.times):
                key = bytes(layout.bytes)
                entries[key] = aggregate(statement.function, entries.get(key), statement.value)
        return [
            (
                aggdef,
                [(key, struct.pack(f"={len(words)}q", *words)) for key, words in entries.items()],
            )
            for aggdef, entries in found.values()
        ]


def header(clause, size, probe=1, cpu=0):
    return struct.pack("=4IQ2I", size, clause, probe, cpu, 0, 0, 0)


def aggregate(function, words, value):
    """The words of an aggregation's value after one more call; builtins/aggregation_base.py."""
    if words is None:
        words = [0] * AGGREGATIONS[function].count_words(())
        if function in ("min", "max"):
            words[1] = value
    words[0] += 1
    if function in ("sum", "avg"):
        words[1] += value
    elif function in ("min", "max"):
        words[1] = {"min": min, "max": max}[function](words[1], value)
    elif function == "quantize":
        words[1 + bucket(value)] += 1
    return words


def bucket(value):
    if value == 0:
        return 63
    return 63 + value.bit_length() if value > 0 else 63 - (-value).bit_length()


# --- the cases -----------------------------------------------------------------

INTEGERS = ["char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long",
            "long long", "unsigned long long", "int64_t", "pid_t"]  # fmt: skip


def _edges(name):
    bits = 8 * type_of(name).size
    return [0, 1, -1, 1 << bits - 1, (1 << bits - 1) - 1, 65 % (1 << bits)]


def _traces():
    return [
        [Trace("int", 1), Trace("string", b"abc"), Trace("string", b""), Trace("int", 2)],
        [
            Trace("string", b"tab\there"),
            Trace("string", b"bell\a\b"),
            Trace("string", b"\xc3\xa9"),
            Trace("char", 65),
        ],
        [
            Trace("string", 60 * b"0123456789"),
            Printf(b"x"),
            Trace("int", 5),
            Printf(b"y\n"),
            Trace("string", b"z"),
        ],
        [
            Trace("string", b"a\001"),
            Trace("string", 32 * b"x"),
            Trace("string", 33 * b"x"),
            Trace("string", 34 * b"x"),
        ],
        *[[Trace(name, value) for value in _edges(name)] for name in INTEGERS],
        [Printf(b"%s", ("string", b"only")), Printf(b"\n")],
    ]


def _printf_integers():
    clauses = []
    for name in INTEGERS:
        conversions = b"[%d %i %u %o %x %X %p]"
        clauses.append([Printf(conversions, *7 * [(name, value)]) for value in _edges(name)])
    return clauses


def _printf_layouts():
    flags = [
        b"",
        b"#",
        b"0",
        b"-",
        b"+",
        b" ",
        b"'",
        b"-0",
        b"0-",
        b"+0",
        b"# ",
        b"#0",
        b"?",
        b"-+ #",
    ]
    sizes = [b"", b"8", b".5", b"8.3", b"3.8", b".0", b"8.0", b"."]
    clauses = []
    for flag in flags:
        clauses.append(
            [
                Printf(
                    b"[%"
                    + flag
                    + size
                    + b"d|%"
                    + flag
                    + size
                    + b"u|%"
                    + flag
                    + size
                    + b"x|%"
                    + flag
                    + size
                    + b"o]",
                    ("int", value),
                    ("int", value),
                    ("unsigned int", value),
                    ("short", value),
                )
                for size in sizes
                for value in (-42, 300, 0)
            ]
        )
    return clauses


def _printf_strings():
    texts = [
        b"",
        b"a",
        b"hello, world",
        b'q"b\\s\ttab\nnl\001\177\200\377',
        b"\xe2\x82\xac",
        b"nul\0hidden",
    ]
    formats = [b"", b"10", b"-10", b".2", b"10.2", b"-10.2", b"010", b"+5", b".0", b"300", b".300"]
    return [
        [
            Printf(b"[%" + size + conversion + b"]", ("string", text))
            for text in texts
            for conversion in (b"s", b"S")
        ]
        for size in formats
    ]


def _printf_others():
    times = [0, 1, 10**18, 1234567890123456789, 2**63 - 1, -1]
    return [
        [
            Printf(b"[%c%5c%-5c%05c%.5c]", *5 * [(name, value)])
            for name in ("char", "short", "int")
            for value in (65, 0, 300, -1)
        ],
        [
            Printf(b"[%C%5C%-5C%.1C]", *4 * [(name, value)])
            for name in ("char", "unsigned short", "int")
            for value in (65, 0, 10, 34, 92, 200, 127, 300, -1)
        ],
        [Printf(b"[%Y|%T|%30Y|%-40T|%.4Y]", *5 * [("long", value)]) for value in times],
        [
            Printf(
                b"[%*d|%-*d|%0*d|%.*d|%*.*d|%-*.*x|%*s|%.*s]",
                ("int", w),
                ("int", 7),
                ("int", w),
                ("int", -7),
                ("int", w),
                ("int", 7),
                ("int", w),
                ("int", 7),
                ("short", w),
                ("char", 3),
                ("int", 7),
                ("int", w),
                ("int", 2),
                ("int", 7),
                ("int", w),
                ("string", b"abc"),
                ("int", w),
                ("string", b"abcdefgh"),
            )
            for w in (0, 1, 5, -5, 12)
        ],
        [
            Printf(
                b"[%hd %hi %ho %hu %hx %hX]",
                ("short", -2),
                ("short", 3),
                ("unsigned short", 8),
                ("unsigned short", 65535),
                ("short", -1),
                ("unsigned short", 255),
            ),
            Printf(
                b"[%ld %li %lo %lu %lx %lX]",
                ("long", -2),
                ("int64_t", 3),
                ("unsigned long", 8),
                ("uint64_t", 2**64 - 1),
                ("long", -1),
                ("unsigned long", 255),
            ),
            Printf(
                b"[%lld %lli %llo %llu %llx %llX]",
                ("long long", -2),
                ("int64_t", 3),
                ("unsigned long long", 8),
                ("uint64_t", 2**64 - 1),
                ("long long", -1),
                ("int64_t", 255),
            ),
            Printf(b"%%"),
            Printf(b"a%%b%d%%c%%%%", ("int", 3)),
            Printf(b"\xc3\xa9 \001\n"),
        ],
    ]


def _aggregations():
    keys = [
        b"abc",
        b"zz",
        b"a",
        b"",
        b"ab",
        61 * b"k",
        50 * b"m",
        b"tab\t",
        b"\a\b",
        b"new\nline",
        b"\xc3\xa9",
        b"x\001",
    ]
    every = [(name, -1) for name in INTEGERS[:8]]  # dtrace has eight registers for keys
    return [[
        Aggregate("count", [], "count", times=3),
        Aggregate("sum", [], "sum", -5), Aggregate("min", [], "min", -3), Aggregate("min", [], "min", 4),
        Aggregate("max", [], "max", -3), Aggregate("max", [], "max", 4),
        Aggregate("avg", [], "avg", -7), Aggregate("avg", [], "avg", 2),
        *[Aggregate("strings", [("string", key)], "sum", len(key) % 3 - 1) for key in keys],
        *[Aggregate("edges", [(name, value)], "max", i) for name in ("int",) for i, value in enumerate(_edges(name))],
        Aggregate("all", every, "count"),
        *[Aggregate("several", [("char", c), ("string", s), ("short", c)], "min", v)
          for c, s, v in [(1, b"x", 5), (-1, b"x", 5), (1, b"b", 5), (1, b"b", 4), (0, b"", 2**62), (0, b"", -(2**62))]],
        *[Aggregate("averages", [("int", i)], "avg", v) for i, v in enumerate([-7, 7, 0, 3, -3, 100])],
        *[Aggregate("averages", [("int", i)], "avg", v) for i, v in enumerate([2, -2, 1, 4, -4, 1])],
    ]]  # fmt: skip


def _distributions():
    values = [0, 1, 2, 3, 4, 7, 8, 1000, 2**40, -1, -2, -3, -1000]
    return [[
        *[Aggregate("one", [], "quantize", v) for v in values],
        *[Aggregate("bars", [], "quantize", 2**i, times=i + 1) for i in range(9)],
        *[Aggregate("negative", [], "quantize", -v) for v in range(1, 9)],
        *[Aggregate("keyed", [("string", k)], "quantize", v)
          for k, v in [(b"a", 10), (b"b", 11), (b"c", 0), (b"d", -10), (b"e", 0), (b"e", 0), (b"f", 1), (b"f", -1)]],
        *[Aggregate("tuple", [("int", k), ("string", b"s")], "quantize", v) for k, v in [(2, 5), (1, 5), (-1, 6), (3, 4)]],
        Aggregate("large", [], "quantize", 2**62), Aggregate("large", [], "quantize", 2**62 - 1),
        Aggregate("small", [], "quantize", -(2**62)), Aggregate("small", [], "quantize", -(2**62) + 1),
    ]]  # fmt: skip


def _orders():
    rows = [(b"b", 1, 3), (b"a", 2, 2), (b"c", 2, 3), (b"a", 3, 1), (b"b", 3, 3)]
    return [
        [
            Aggregate(name, [("string", k), ("int", i)], "sum", v)
            for name in ("one", "two")
            for k, i, v in rows
        ]
    ]


CASES = [
    Case("trace", _traces()),
    Case("trace-quiet", _traces(), "-q", script="trace"),
    Case("rawbytes", _traces(), "-xrawbytes", script="trace"),
    Case("printf-integers", _printf_integers(), "-q"),
    Case("printf-layouts", _printf_layouts(), "-q"),
    Case("printf-strings", _printf_strings(), "-q"),
    Case("printf-others", _printf_others()),
    Case("aggregations", _aggregations()),
    Case("distributions", _distributions(), "-q"),
    *(Case(f"order-{name}", _orders(), "-q", *options, script="order") for name, options in (
        ("key", ["-xaggsortkey"]), ("reverse", ["-xaggsortrev"]), ("key-position", ["-xaggsortkey", "-xaggsortkeypos=1"]),
        ("key-position-reverse", ["-xaggsortkey", "-xaggsortkeypos=1", "-xaggsortrev"]),
        ("key-position-large", ["-xaggsortkey", "-xaggsortkeypos=5"]),
    )),
]  # fmt: skip
