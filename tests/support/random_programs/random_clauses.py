"""Random D programs of numbered clauses.

Input: a random.Random and a Counter.
Output: Program: its head, then one line a clause.

- What a clause shows begins with `#N|`, so that differences have a place; a clause reads only
  variables that the first clause has set, and its own. The clauses are BEGIN's and END's; or,
  where there are events, of the probes that fires.py fires one after the other, a few of each:
  the real dtrace makes one eBPF program of all clauses of a probe, and the kernel takes no large
  ones.
"""

from pydtrace.program import d_types as t
from tests.support.random_programs.coverage_table import LEAST
from tests.support.random_programs.random_mixed import DECLARATIONS as MIXED_DECLARATIONS
from tests.support.random_programs.random_mixed import SORTS, Mixed
from tests.support.random_programs.random_types import DECLARATIONS as TYPE_DECLARATIONS
from tests.support.random_programs.random_types import KEYS, Typed, declarations
from tests.support.random_programs.random_values import (
    EDGES,
    OURS,
    STRING_FUNCTIONS,
    TYPES,
    WORDS,
    Values,
    literal,
)

DECLARATIONS = """\
#pragma D option quiet
#pragma D option nspec=64
#pragma D option aggsize=8m
struct S { char c; unsigned short h; int i; long l; int f:7; unsigned int u:9; };
struct P { int i; unsigned int u; short s; unsigned short h; char c; unsigned char b; };
struct Q { long l; };
struct R { unsigned long l; };
struct S sv;
int arr[4];
enum E { E0, E5 = 5, E6 };
inline int INLINED = 3;
"""
ASSIGNMENTS = ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]
TOLD = ["setopt", "freopen", "system", "ftruncate", "raise"]
INCREMENTS = ["++x", "--x", "x++", "x--"]
# Conversions of printf by the type that their argument is given.
CONVERSIONS = {
    "d": None,
    "i": None,
    "o": None,
    "u": None,
    "x": None,
    "X": None,
    "p": t.ULONG,
    "c": t.INT,
    "C": t.INT,
    "lc": t.INT,
    "s": t.STRING,
    "S": t.STRING,
    "hd": t.SHORT,
    "hi": t.SHORT,
    "ho": TYPES[3],
    "hu": TYPES[3],
    "hx": TYPES[3],
    "hX": t.SHORT,
    "ld": t.LONG,
    "li": t.LONG,
    "lo": t.ULONG,
    "lu": t.ULONG,
    "lx": t.LONG,
    "lX": t.ULONG,
    "lld": t.BASIC["long long"],
    "lli": t.BASIC["long long"],
    "llo": t.BASIC["unsigned long long"],
    "llu": t.BASIC["unsigned long long"],
    "llx": t.INT64,
    "llX": t.UINT64,
    "Y": t.INT64,
    "T": t.INT64,
    "%": t.VOID,
    "a": t.LONG,
    "A": t.LONG,
}
CHARACTERS = ("c", "C", "lc")
VALUES = "diouxX"  # letters of %@
AGGREGATING = {
    "count": 0,
    "sum": 1,
    "min": 1,
    "max": 1,
    "avg": 1,
    "stddev": 1,
    "quantize": 1,
    "lquantize": 1,
    "llquantize": 1,
}
# What the text of an address is made of: function, the bytes it takes, what stands before and behind the pointer.
ADDRESSES = [
    ("inet_ntoa", 4, "ipaddr_t", ""),
    ("inet_ntop", 4, "char", "2, "),
    ("inet_ntop", 16, "char", "10, "),
    ("inet_ntoa6", 16, "struct in6_addr", ""),
    ("link_ntop", 8, "char", "1, "),
]
READS = ["copyin", "copyinto", "copyinstr"]
SYMBOLS = ["sym", "func", "mod", "usym", "ufunc", "umod", "uaddr"]
# Pointer to what an address in the traced process is read as, and the members by type.
STRUCTS = {"i": "P", "u": "P", "s": "P", "h": "P", "c": "P", "b": "P", "l": "Q", "L": "R"}
POINTED = dict(zip(TYPES, ["c", "b", "s", "h", "i", "u", "l", "L"]))
MODIFIERS = [
    "clear",
    "trunc",
    "normalize",
    "denormalize",
]  # dtrace ends with a failed assertion for clear() of avg, stddev
CONSTANTS = {
    "lquantize": ["-20, 30, 5", "0, 10", "0, 1000, 100", "-5, 5, 1"],
    "llquantize": ["10, 0, 6, 20", "2, 0, 10, 2", "10, 1, 3, 10", "5, 0, 4, 5"],
}


GROUP = 5  # clauses a probe
# How many times as often a kind of clauses comes while all the rows that only it gives are below what is demanded.
URGENCY = 40
# Kinds of clauses: how often they come where all is covered as well as another.
KINDS = {
    "formatted": 8,
    "traced": 5,
    "assigned": 6,
    "array": 2,
    "thread": 1,
    "aggregated": 6,
    "speculated": 1,
    "pointed": 2,
    "predicated": 2,
    "faulting": 1,
    "told": 0.6,
    "network": 1,
    "named": 0.6,
    "read": 3,
    "stringed": 1,
    "printed": 0.6,
    "dumped": 0.4,
    "related": 0.4,
    "bits": 3,
    "records": 3,
    "named_types": 3,
    "enumerated": 1,
    "translated": 1,
    "inlined": 1,
    "elements": 1,
    "constants": 3,
    "characters": 2,
    "letters": 3,
    "nulls": 2,
    "ways": 4,
    "wide_bits": 3,
    "together": 2,
    "increments": 1,
}
OF_STRINGS = {"stringed"}  # not in programs of numbers
OF_EVENTS = {"read"}
NOT_OF_STRINGS = {
    "aggregated",
    "together",
    "increments",
}  # long strings leave bytes where the real dtrace's aggregations begin
# Rows of the table of coverage that only clauses of a kind give, or those of it give for certain.
ROWS = {
    "formatted": [("conversion", name, "") for name in CONVERSIONS if name != "A"],
    "aggregated": [("conversion", f"%@{letter}", "") for letter in VALUES],
    "stringed": [
        ("subroutine", name, "") for name in STRING_FUNCTIONS if name not in OURS | {"copyinstr"}
    ],
    "printed": [("action", "print", "")],
    "dumped": [("action", "tracemem", "")],
    "related": [("subroutine", "progenyof", "")],
    "assigned": [("operator", op, type.name) for op in ASSIGNMENTS + INCREMENTS for type in TYPES],
    "array": [("operator", "a[k]", type.name) for type in TYPES],
    "pointed": [("operator", op, type.name) for op in ("*x", "&x", "[]") for type in TYPES],
    "told": [("action", name, "") for name in TOLD],
    "network": [("subroutine", name, "") for name, *_ in ADDRESSES],
    "named": [("action", name, "") for name in SYMBOLS],
    "read": [("subroutine", name, "") for name in READS],
}


def probe_of(number):
    """n of the probe user_trace-n<n> of a clause; the first one, which sets the variables, is n0's alone."""
    return 1 + (number - 1) // GROUP


class Program:
    """head: declarations and the first clauses, FIRST in number; clauses: [(number, line)], of which a number may have
    several; tail: the line that ends it; events: whether fires.py has to run; covered: {number: keys of the Counter},
    0 for the tail; probes: {number: the probe of its first clause}."""

    FIRST = 2

    def __init__(self, head, clauses, tail, events, covered, probes):
        self.head, self.clauses, self.tail = head, clauses, tail
        self.events, self.covered, self.probes = events, covered, probes

    def probe(self, number):
        """As a refusal names it."""
        return self.probes[number].rpartition(":")[2]

    def text(self, numbers=None):
        lines = [line for number, line in self.clauses if numbers is None or number in numbers]
        return "\n".join([self.head, *lines, self.tail, ""])


class Generator(Typed, Mixed):
    """events: whether the clauses are of events, which have arguments; ours, numbers, without: see Values;
    only: kinds of clauses, or all."""

    def __init__(
        self, random, counts, events=False, ours=False, numbers=False, without=(), only=()
    ):
        self.random, self.counts, self.events = random, counts, events
        self.number, self.only = 0, only
        self.variables = {f"v{i}": type for i, type in enumerate(TYPES + TYPES)}
        known = (
            {**self.variables, **{f"arg{i}": t.INT64 for i in range(2, 6)}}
            if events
            else self.variables
        )
        addresses = [f"arg{i}" for i in range(6, 10)] if events else []
        self.values = Values(
            random, counts, known, [f"s{i}" for i in range(5)], addresses, ours, numbers, without
        )

    @property
    def probe(self):
        if self.events:
            return f"pyusdt$target:::user_trace-n{probe_of(self.number)}"
        return "BEGIN" if self.number <= self.half else "END"

    def program(self, size):
        size_of_strings = "" if self.values.numbers else "#pragma D option strsize=64\n"
        sort = (
            f"#pragma D option {self.random.choice(SORTS)}\n" if self.random.random() < 0.4 else ""
        )
        head = (
            DECLARATIONS
            + TYPE_DECLARATIONS
            + MIXED_DECLARATIONS
            + size_of_strings
            + sort
            + "\n".join([*self.declarations(), self.first()])
        )
        clauses, covered, probes, self.half = [], {}, {}, (size + 1) // 2
        for self.number in range(1, size + 1):
            self.values.seen = covered[self.number] = set()
            probes[self.number] = self.probe
            clauses += [(self.number, line) for line in self.clause()]
        status = self.random.randrange(256)
        self.values.seen = covered[0] = set()
        self.values.count("action", "exit")
        end = "END" if self.events else "BEGIN"
        return Program(head, clauses, f"{end} {{ exit({status}); }}", self.events, covered, probes)

    def declarations(self):
        yield from (f"{type.name} {name};" for name, type in self.variables.items())
        yield from declarations()

    def first(self):
        rng = self.random
        lines = []
        for name, type in self.variables.items():
            value = rng.choice(EDGES) if rng.random() < 0.7 else rng.getrandbits(64)
            value &= (1 << 8 * type.size) - 1
            value -= 1 << 8 * type.size if type.signed and value >> 8 * type.size - 1 else 0
            lines.append(f"{name} = {literal(value)};")
        lines += [f's{i} = "{rng.choice(WORDS)}";' for i in range(5)]
        lines += [f"arr[{i}] = {rng.randrange(1000)};" for i in range(4)]
        lines += [f"sv.{member} = {rng.randrange(100)};" for member in "chilu"] + ["sv.f = 5;"]
        probe = "pyusdt$target:::user_trace-n0" if self.events else "BEGIN"
        return f'BEGIN {{ printf("begun\\n"); }}\n{probe} {{ {" ".join(lines)} }}'

    # --- clauses ----------------------------------------------------------------------
    def clause(self):
        """The lines of one number."""
        without = (OF_STRINGS if self.values.numbers else NOT_OF_STRINGS) | (
            set() if self.events else OF_EVENTS
        )
        if self.probe == "END":  # dtrace does not print what is committed there
            without = without | {"speculated"}
        kinds = {
            kind: weight * (1 + URGENCY * self.scarcity(kind))
            for kind, weight in KINDS.items()
            if kind not in without and (not self.only or kind in self.only)
        }
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        return getattr(self, kind)()

    def scarcity(self, kind):
        """How many of the rows that only this kind of clause gives are below what is demanded, from 0 to 1."""
        rows = ROWS.get(kind, [])
        return sum(self.counts[row] < LEAST for row in rows) / max(1, len(rows))

    def line(self, body, probe=None, predicate=""):
        return f'{probe or self.probe} {predicate}{{ printf("#{self.number}|"); {body} printf("\\n"); }}'

    def traced(self):
        body = ""
        for _ in range(self.random.randint(1, 3)):
            self.values.count("action", "trace")
            body += f'trace({self.values.integer(3)[0] if self.random.random() < 0.7 else self.values.string(2)}); printf("|"); '
        return [self.line(body)]

    def formatted(self):
        return [self.line(self.printf(self.random.randint(1, 3)))]

    def printf(self, count):
        parts = [self.conversion() for _ in range(count)]
        self.values.count("action", "printf")
        return f'printf("{"|".join(text for text, _ in parts)}"{"".join(f", {arg}" for _, args in parts for arg in args)});'

    def conversion(self):
        """(text, arguments)"""
        rng, values = self.random, self.values
        # %A takes no integer where no process is traced
        name = values.rarest(
            "conversion", [name for name in CONVERSIONS if name != "A" or self.events]
        )
        values.count("conversion", name)
        type = CONVERSIONS[name]
        if name == "%":
            return "%%", []
        flags, args = "", []
        if name not in "YT":
            flags = "".join(
                flag
                for flag in "-+ #0'"
                if rng.random() < 0.12 and not (flag in "#0'+ " and name[-1] in "csSC")
            )
            if rng.random() < 0.3:
                flags += str(rng.randint(1, 30))
            elif rng.random() < 0.07:
                flags += "*"
                args.append(str(rng.randint(0, 20)))
            if rng.random() < 0.25 and name not in CHARACTERS:
                flags += f".{rng.randint(0, 12)}"
        if type is t.STRING:
            args.append(values.string(2))
        elif name == "lc":
            args.append(str(rng.randrange(32, 127)))
        elif name in CHARACTERS:
            args.append(
                str(rng.randrange(32, 127))
                if rng.random() < 0.7
                else f"((char){rng.randrange(1, 256)})"
            )
        elif name in "aA":
            args.append(f"(long){rng.randrange(1, 4096)}")
        elif name in "YT":
            args.append(f"((int64_t){rng.randrange(10**18)})")
        elif type is None:
            args.append(values.of_type(3, rng.choice(TYPES)))
        else:
            args.append(f"(({type.name}){values.integer(3)[0]})")
        return f"%{flags}{name}", args

    def assigned(self):
        """Assignments of every kind to a variable of a class of its own."""
        rng, values = self.random, self.values
        type = values.rarest_type("operator", ASSIGNMENTS + INCREMENTS)
        scope = rng.choice(["this->", "", "self->"])
        name = f"{scope}x{self.number}"
        body = f"{name} = {values.of_type(2, type)}; "
        for _ in range(rng.randint(2, 5)):
            if rng.random() < 0.3:
                op = values.rarest("operator", INCREMENTS, type)
                values.count("operator", op, type)
                body += op.replace("x", name) + "; "
                continue
            op = values.rarest("operator", ASSIGNMENTS, type)
            values.count("operator", op, type)
            value = values.of_type(2, type)
            if (
                scope == "self->" and op != "="
            ):  # a constant 0 there makes dtrace delete the variable
                value = f"(({type.name})({value} + (v0 - v0)))"
            value = (
                f"(({value} & 63) | 1)"
                if op in ("/=", "%=")
                else f"({value} & 63)"
                if op in ("<<=", ">>=")
                else value
            )
            body += f"{name} {op} {value}; "
        return [self.line(f'{body} printf("%d", {name});')]

    def array(self):
        rng, values = self.random, self.values
        keys = [rng.choice([values.integer, values.string]) for _ in range(rng.randint(1, 3))]
        scope = rng.choice(["", "self->"])
        name = f"{scope}a{self.number}"
        first, second = (
            [f"(long){key(1)[0]}" if key == values.integer else key(1) for key in keys]
            for _ in range(2)
        )
        type = values.rarest_type("operator", ["a[k]"])
        values.count("operator", "a[k]", type)
        at, other = f"{name}[{', '.join(first)}]", f"{name}[{', '.join(second)}]"
        body = f"{at} = {values.of_type(2, type)}; {other} = {values.of_type(1, type)}; "
        if rng.random() < 0.3:
            body += f"{at} = 0; "
        return [self.line(f'{body} printf("%d %d", {at}, {other});')]

    def thread(self):
        text = self.values.string(2)
        name = f"{self.random.choice(['self->', 'this->', ''])}t{self.number}"
        return [self.line(f'{name} = {text}; printf("%s %d", {name}, strlen({name}));')]

    def pointed(self):
        rng, values = self.random, self.values
        kind = (
            rng.randrange(3) if values.ours else rng.choice([0, 2])
        )  # dtrace adds the address to what -> reads
        if kind == 0:
            type = values.rarest_type("operator", ["*x", "[]", "&x"])
            values.count("subroutine", "alloca")
            for op in ("*x", "[]", "&x"):
                values.count("operator", op, type)
            body = (
                f"this->p{self.number} = ({type.name} *)alloca({2 * type.size}); "
                f"*this->p{self.number} = {values.of_type(2, type)}; this->p{self.number}[1] = {values.of_type(1, type)}; "
                f'printf("%d %d", *this->p{self.number}, *(&this->p{self.number}[0] + 1));'
            )
        elif kind == 1:
            values.count("subroutine", "alloca")
            values.count("operator", "->", t.INT)
            body = (
                f"this->q{self.number} = (struct S *)alloca(sizeof (struct S)); "
                f'this->q{self.number}->i = {values.of_type(2, t.INT)}; this->r{self.number} = this->q{self.number}->i; printf("%d", this->r{self.number});'
            )
        else:
            values.count("subroutine", "bcopy")
            values.count("subroutine", "alloca")
            word = rng.choice([word for word in WORDS if len(word) > 3])
            size = rng.randint(1, len(word))  # behind it dtrace shows what lay there before
            body = (
                f'this->m{self.number} = (char *)alloca(32); bcopy("{word}", this->m{self.number}, {size}); '
                f"this->m{self.number}[{size}] = 0; "
                f'printf("%s %d", stringof(this->m{self.number}), this->m{self.number}[{rng.randint(0, size)}]);'
            )
        return [self.line(body)]

    def predicated(self):
        condition = (
            self.values.integer(3)[0]
            if self.random.random() < 0.7
            else self.values.string(1) + " != NULL"
        )
        return [self.line(self.printf(1), predicate=f"/{condition}/ ")]

    def faulting(self):
        rng, values = self.random, self.values
        bad = rng.choice(
            [
                'printf("%d", 1 / (v4 - v4));',
                'printf("%d", (long)5 % (v6 - v6));',
                'printf("%s", strchr("abc", \'x\'));',
                f"trace(copyinstr((uintptr_t){rng.randrange(1, 4096)}));",
                f'trace(strstr("abc", "x{rng.randrange(9)}"));',
            ]
        )
        return [
            self.line(f"{bad} {self.printf(1)}"),
            self.line(f'this->ok = {values.integer(1)[0]}; trace("on");'),
        ]

    def told(self):
        """Actions that steer the consumer: what they do is not shown, but that all goes on."""
        name = self.values.rarest(
            "action", TOLD[: -1 if self.events else None]
        )  # the process that fires may be gone
        self.values.count("action", name)
        call = {
            "setopt": 'setopt("quiet");',
            "freopen": 'freopen("");',
            "ftruncate": "ftruncate();",
            "raise": "raise(0);",
            "system": f'system("echo said {self.number} %d", {self.random.randrange(99)});',
        }[name]
        return [self.line(call + ' trace("after");')]

    def network(self):
        """The text of an address."""
        rng, values = self.random, self.values
        name, size, type, before = rng.choice(ADDRESSES)
        for each in ("alloca", "bcopy", name):
            values.count("subroutine", each)
        pointer = f"this->n{self.number}"
        word = "".join(rng.choice("abcxyzAZ09 /") for _ in range(16))
        return [
            self.line(
                f'{pointer} = ({type} *)alloca({size}); bcopy("{word}", {pointer}, {size}); '
                f'printf("%s", {name}({before}{pointer}));'
            )
        ]

    def named(self):
        """What has no name, since nothing lies at low addresses."""
        name = self.values.rarest("action", SYMBOLS)
        self.values.count("action", name)
        return [self.line(f"{name}((long){self.random.randrange(1, 4096)});")]

    def read(self):
        """The memory of the process that fired."""
        rng, values = self.random, self.values
        name = values.rarest("subroutine", READS)
        values.count("subroutine", name)
        if name == "copyinstr":
            return [self.line(f'printf("%s", {values.make_copyinstr(name, 1)});')]
        if name == "copyinto":
            values.count("subroutine", "alloca")
            pointer = f"this->c{self.number}"
            size = rng.randint(1, 14)  # behind it dtrace shows what lay there before
            return [
                self.line(
                    f"{pointer} = (char *)alloca(16); copyinto(arg7, {size}, {pointer}); {pointer}[{size}] = 0; "
                    f'printf("%s %d", stringof({pointer}), {pointer}[1]);'
                )
            ]
        if rng.random() < 0.5 or not values.ours:  # dtrace adds the address to what -> reads
            type = values.rarest_type("operator", ["*x"])
            values.count("operator", "*x", type)
            return [
                self.line(
                    f'printf("%d", *(({type.name} *)copyin(arg7, {rng.randint(type.size, 14)})));'
                )
            ]
        type = values.rarest_type("operator", ["->"])
        values.count("operator", "->", type)
        member = POINTED[type]
        return [
            self.line(
                f'printf("%d", ((struct {STRUCTS[member]} *)copyin(arg7, 14))->{member.lower()});'
            )
        ]

    def stringed(self):
        """Functions of strings, of a string and in one another."""
        call = self.values.string_call(self.random.randint(0, 2))
        return [self.line(f'printf("%s", {call});')]

    def printed(self):
        """What a pointer points to, with its type."""
        self.values.count("action", "print")
        self.values.count("subroutine", "alloca")
        pointer, type = (
            f"this->w{self.number}",
            self.random.choice(["struct P", "struct Q", *(type.name for type in TYPES)]),
        )
        members = {"struct P": "iushcb", "struct Q": "l"}.get(type)
        targets = [f"{pointer}->{member}" for member in members] if members else [f"*{pointer}"]
        body = f"{pointer} = ({type} *)alloca(sizeof ({type})); "
        for target in targets:
            value = (
                self.random.randrange(-99, 128)
                if self.random.random() < 0.5
                else self.values.integer(1)[0]
            )
            body += f"{target} = {value}; "
        return [self.line(f"{body} print({pointer});")]

    def dumped(self):
        """Bytes of memory as a table; zeros, for the real dtrace shows no others of memory that D can write."""
        self.values.count("action", "tracemem")
        self.values.count("subroutine", "alloca")
        words, pointer = self.random.randint(1, 4), f"this->d{self.number}"
        size = self.random.randint(1, 8 * words)
        dynamic = self.random.choice(["", f", {self.random.randint(1, size)}"])
        zeros = "".join(f"{pointer}[{i}] = 0; " for i in range(words))
        return [
            self.line(
                f"{pointer} = (long *)alloca({8 * words}); {zeros}tracemem({pointer}, {size}{dynamic});"
            )
        ]

    def related(self):
        self.values.count("subroutine", "progenyof")
        return [self.line(f"trace(progenyof({self.random.choice(['pid', '0', '999999999'])}));")]

    def speculated(self):
        values = self.values
        ending = values.rarest("action", ["commit", "discard"])
        for action in ("speculate", ending):
            values.count("action", action)
        values.count("subroutine", "speculation")
        name = f"sp{self.number}"
        return [
            f"{self.probe} {{ {name} = speculation(); }}",
            f'{self.probe} {{ speculate({name}); printf("#{self.number}|"); {self.printf(1)} printf("\\n"); }}',
            f"{self.probe} {{ {ending}({name}); }}",
        ]

    # --- aggregations -----------------------------------------------------------------
    def aggregated(self):
        rng, values = self.random, self.values
        function = values.rarest("aggregating", list(AGGREGATING))
        values.count("aggregating", function)
        keys = [
            rng.choice([*KEYS, "s", "s", "n", "n"]) for _ in range(rng.choice([0, 1, 1, 2, 3, 4]))
        ]
        name = f"@g{self.number}"
        constants = rng.choice(CONSTANTS.get(function, [""]))
        body = ""
        values.nullable = (
            False  # where a key or a value is a fault, dtrace has an element, we have none
        )
        for _ in range(rng.randint(1, 4)):
            index = ", ".join(map(self.key, keys))
            value = "" if function == "count" else f"(long){values.integer(2)[0]}"
            if function in ("sum", "avg", "stddev"):
                value = f"({value} >> 8)" if function == "stddev" else value
            args = ", ".join(part for part in (value, constants) if part)
            body += f"{name}{f'[{index}]' if keys else ''} = {function}({args}); "
        values.nullable = True
        return [
            self.line(body),
            self.line(
                self.modified(name, function) + self.printa(name, keys, function), probe="END"
            ),
        ]

    def key(self, kind):
        """A key of an aggregation: of KEYS, an integer of that type; "s", a string; "n", one of a few numbers."""
        if kind == "s":
            return self.values.string(1)
        return (
            f"({KEYS[kind]}){self.values.integer(1)[0]}"
            if kind in KEYS
            else str(self.random.randrange(3))
        )

    def modified(self, name, function):
        if self.random.random() < 0.45:
            return ""
        action = self.values.rarest("action", MODIFIERS[function in ("avg", "stddev") :])
        self.values.count("action", action)
        argument = {
            "trunc": self.random.choice(["", ", 1", ", 2", ", -1"]),
            "normalize": f", {self.random.choice([1, 2, 10, 1000])}",
        }.get(action, "")
        before = f"normalize({name}, 7); " if action == "denormalize" else ""
        return f"{before}{action}({name}{argument}); "

    def printa(self, name, keys, function):
        self.values.count("action", "printa")
        # dtrace divides an avg() without its sign where a format prints it
        scarce = any(self.values.counts[row] < LEAST for row in ROWS["aggregated"])
        if (
            function.endswith(("quantize", "stddev", "avg"))
            or self.random.random() < 0.5
            and not scarce
        ):
            return f"printa({name});"
        conversions = "".join({"s": "%s ", "n": "%x "}.get(key, "%d ") for key in keys)
        letter = self.values.rarest("conversion", [f"%@{letter}" for letter in VALUES])[-1]
        self.values.count("conversion", f"%@{letter}")
        return f'printa("<{conversions}%{self.random.choice(["", "", "8", "-12"])}@{letter}>", {name});'
