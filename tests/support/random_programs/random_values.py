"""Random well-typed D expressions.

Input: a random.Random and a Counter of what was written so far.
Output: (text, type) of integers, texts of strings.

- Of the things that could come next, those that came in the fewest clauses come most often, so
  that the coverage table fills evenly; nothing is written in which we differ from dtrace on
  purpose (docs/internals/program.md, "Integers").
"""

from pydtrace.program import d_types as t

TYPES = [
    t.CHAR,
    t.BASIC["unsigned char"],
    t.SHORT,
    t.BASIC["unsigned short"],
    t.INT,
    t.UINT,
    t.LONG,
    t.ULONG,
]
EDGES = [
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    31,
    32,
    63,
    64,
    100,
    127,
    128,
    255,
    256,
    32767,
    65535,
    1 << 31,
    (1 << 31) - 1,
    (1 << 32) - 1,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
]
ARITHMETIC = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
LOGIC = ["&&", "||", "^^"]
UNARY = ["-", "~", "+", "!"]
WORDS = [
    "",
    "a",
    "abc",
    "hello",
    "Hello, World",
    "/usr/lib/x.so",
    "a/b",
    "/",
    "12",
    "-7x",
    "0x1F",
    "a,b;c",
    "%d",
    "zzzz",
    " s ",
    "quick brown fox",
    "aaaa",
    "AbAb",
    "1234567890123",
]
# Member of the struct that every program has, and the type that reading it gives.
MEMBERS = {
    "c": t.CHAR,
    "h": t.BASIC["unsigned short"],
    "i": t.INT,
    "l": t.LONG,
    "f": t.INT,
    "u": t.UINT,
}
STRING_FUNCTIONS = [
    "strjoin",
    "substr",
    "toupper",
    "tolower",
    "basename",
    "dirname",
    "lltostr",
    "stringof",
    "strchr",
    "strrchr",
    "strstr",
    "copyinstr",
    "strtok",
    "cleanpath",
]
CHOICES = 0.15  # how many of the strings that are made are chosen by a "?:"
SEARCHES = {"strlen", "index", "rindex", "strtoll"}
NULLABLE = {"strchr", "strrchr", "strstr", "strtok"}
# What dtrace 2.0.7 does not have.
OURS = {"toupper", "tolower", "strtoll"}
# Functions of integers; their results' types.
NUMBER_FUNCTIONS = {
    "strlen": t.SIZE_T,
    "index": t.INT,
    "rindex": t.INT,
    "strtoll": t.INT64,
    "htons": TYPES[3],
    "htonl": t.UINT,
    "htonll": t.ULONG,
    "ntohs": TYPES[3],
    "ntohl": t.UINT,
    "ntohll": t.ULONG,
    "getmajor": t.UINT,
    "getminor": t.UINT,
    "rand": t.INT,
    "sizeof": t.SIZE_T,
    "offsetof": t.SIZE_T,
}


def typed(value):
    """The type of an unsigned constant."""
    return t.INT if value < 1 << 31 else t.UINT if value < 1 << 32 else t.LONG


def basic(type):
    """The name of a type without typedefs, "" for None."""
    return (
        next((own.name for own in TYPES if t.are_compatible(own, type)), type.name)
        if type is not None
        else ""
    )


def literal(value):
    """A constant as D can write it, which has none below 0."""
    value = value - (1 << 64) if value >= 1 << 63 else value
    return f"({value + 1} - 1)" if value < 0 else str(value)


class Values:
    """variables: {name: type} of integers; strings: names of string variables; addresses: texts of expressions that
    are addresses of strings in the traced process; ours: whether what dtrace 2.0.7 does not have may come;
    numbers: no functions of strings, whose loops take the kernel's verifier its time; without: functions of strings that do not come."""

    def __init__(
        self, random, counts, variables, strings, addresses, ours=False, numbers=False, without=()
    ):
        self.random, self.counts, self.ours, self.numbers = random, counts, ours, numbers
        self.variables, self.strings, self.addresses = variables, strings, addresses
        self.nullable = True  # whether a string may be NULL
        self.choosing = True  # whether "?:" may choose a string
        self.seen = set()  # keys of counts that the clause at hand has
        self.string_functions = [
            name for name in STRING_FUNCTIONS if (ours or name not in OURS) and name not in without
        ]
        if not addresses:
            self.string_functions.remove("copyinstr")
        self.number_functions = [
            name
            for name in NUMBER_FUNCTIONS
            if (ours or name not in OURS) and not (numbers and name in SEARCHES)
        ]

    def count(self, kind, name, type=None):
        """The clause at hand has it: counts say of each thing how many clauses have it, however often."""
        key = (kind, name, basic(type))
        self.counts[key] += key not in self.seen
        self.seen.add(key)

    def rarest(self, kind, names, type=None):
        """One of the names, the more probably the fewer clauses have it."""
        weights = [1 / (1 + self.counts[kind, each, basic(type)]) ** 2 for each in names]
        return self.random.choices(names, weights)[0]

    def rarest_type(self, kind, names):
        """One of TYPES, the more probably the fewer clauses have those of the names that they have least with it."""
        weights = [
            1 / (1 + min(self.counts[kind, each, type.name] for each in names)) ** 2
            for type in TYPES
        ]
        return self.random.choices(TYPES, weights)[0]

    # --- integers ---------------------------------------------------------------------
    def integer(self, depth):
        """(text, type)"""
        rng = self.random
        if depth <= 0 or rng.random() < 0.08:
            return self.leaf()
        kinds = [
            self.arithmetic,
            self.comparison,
            self.logic,
            self.unary,
            self.cast,
            self.conditional,
            self.of_strings,
            self.number_function,
            self.comma,
        ]
        return rng.choices(kinds, [9, 4, 3, 3, 3, 2, 0 if self.numbers else 2, 3, 0.5])[0](
            depth - 1
        )

    def leaf(self):
        rng = self.random
        chance = rng.random()
        if chance < 0.5:
            name = rng.choice(list(self.variables))
            return name, self.variables[name]
        if chance < 0.6:
            member = rng.choice(list(MEMBERS))
            self.count("operator", ".", MEMBERS[member])
            return f"sv.{member}", MEMBERS[member]
        if chance < 0.7:
            index = rng.randrange(4)
            self.count("operator", "[]", t.INT)
            return f"arr[{index}]", t.INT
        value = rng.choice(EDGES) if rng.random() < 0.8 else rng.getrandbits(62)
        return str(value), typed(value)

    def of_type(self, depth, type):
        """An integer of a given type: cast where it is not."""
        text, own = self.integer(depth)
        if own.name == type.name:
            return text
        self.count("operator", "(type)", type)
        return f"(({type.name}){text})"

    def pair(self, depth):
        """Two operands whose common type is a rare one."""
        type = self.random.choice(TYPES)
        left, right = self.of_type(depth, type), self.integer(depth)
        if self.random.random() < 0.6:
            right = self.of_type(depth, type), type
        return (left, right[0], t.promote_types(type, right[1]))

    def arithmetic(self, depth):
        left, right, type = self.pair(depth)
        op = self.rarest("operator", ARITHMETIC, type)
        self.count("operator", op, type)
        if op in "/%":
            right = f"(({right} & 127) | 1)"  # neither 0 nor, for %, negative
        return f"({left} {op} {right})", type

    def comparison(self, depth):
        left, right, type = self.pair(depth)
        op = self.rarest("operator", COMPARISONS, type)
        self.count("operator", op, type)
        return f"({left} {op} {right})", t.INT

    def logic(self, depth):
        left, right, type = self.pair(depth)
        op = self.rarest("operator", LOGIC, type)
        self.count("operator", op, type)
        return f"({left} {op} {right})", t.INT

    def unary(self, depth):
        type = self.random.choice(TYPES)
        operand = self.of_type(depth, type)
        op = self.rarest("operator", [f"{op}x" for op in UNARY], type)
        self.count("operator", op, type)
        return f"({op[0]} {operand})", t.INT if op == "!x" else type

    def cast(self, depth):
        type = self.random.choice(TYPES)
        return self.of_type(depth, type), type

    def conditional(self, depth):
        then, otherwise, _ = self.pair(depth)
        type = self.random.choice(TYPES)
        self.count("operator", "?:", type)
        return f"({self.integer(depth)[0]} ? ({type.name}){then} : ({type.name}){otherwise})", type

    def comma(self, depth):
        text, type = self.integer(depth)
        self.count("operator", ",", type)
        return f"({self.integer(depth)[0]}, {text})", type

    def of_strings(self, depth):
        """A comparison of strings."""
        op = self.rarest("operator", COMPARISONS, t.STRING)
        self.count("operator", op, t.STRING)
        return f"({self.string(depth)} {op} {self.string(depth)})", t.INT

    def number_function(self, depth):
        name = self.rarest("subroutine", self.number_functions)
        self.count("subroutine", name)
        if name == "strlen":
            args = self.string(depth)
        elif name in ("index", "rindex"):
            self.choosing = (
                self.ours
            )  # the real dtrace does not search in what "?:" chose, or a subroutine made
            args = f"{self.string(depth if self.ours else 0)}, {self.string(0)}"
            self.choosing = True
            if self.random.random() < 0.03:  # the kernel refuses dtrace's code for many
                args += f", {self.random.choice([0, 1, 3, 200])}"
        elif name == "strtoll":
            args = self.string(depth) + self.random.choice(["", ", 10", ", 16", ", 2", ", 36"])
        elif name == "rand":
            return "(rand() & 0)", t.INT
        elif name == "offsetof":
            return f"offsetof(struct S, {self.random.choice('chil')})", t.SIZE_T
        elif name == "sizeof":
            return (
                f"sizeof ({self.random.choice([*TYPES, t.Record('struct', 'S')]).name})",
                t.SIZE_T,
            )
        else:
            args = self.integer(depth)[0]
        return f"{name}({args})", NUMBER_FUNCTIONS[name]

    # --- strings ----------------------------------------------------------------------
    def string(self, depth):
        """The text of a string; it may be NULL."""
        rng = self.random
        if depth <= 0 or self.numbers or rng.random() < 0.25:
            return rng.choice(self.strings) if rng.random() < 0.5 else f'"{rng.choice(WORDS)}"'
        return self.string_call(depth)

    def string_call(self, depth):
        """The text of a call of a function of strings, or of a "?:"; it may be NULL."""
        names = self.string_functions
        if not self.nullable:
            names = [name for name in names if name not in NULLABLE]
        if self.choosing and self.random.random() < CHOICES:
            return self.choice(depth - 1)
        name = self.rarest("subroutine", names)
        self.count("subroutine", name)
        return getattr(self, f"make_{name}", self.of_one_string)(name, depth - 1)

    def of_one_string(self, name, depth):
        return f"{name}({self.string(depth)})"

    def make_stringof(self, name, depth):
        return f"stringof({self.string(depth)})"

    def make_strjoin(self, name, depth):
        return f"strjoin({self.string(depth)}, {self.string(depth)})"

    def make_substr(self, name, depth):
        args = [
            self.string(depth),
            str(self.random.choice([0, 1, 2, 5, 300, "(-1)", "(-3)", "(-400)"])),
        ]
        if self.random.random() < 0.7:
            args.append(str(self.random.choice([0, 1, 3, 8, 500, "(-1)", "(-2)"])))
        return f"substr({', '.join(args)})"

    def make_lltostr(self, name, depth):
        base = self.random.choice(["", "", ", 16", ", 2", ", 8", ", 36"]) if self.ours else ""
        return f"lltostr((int64_t){self.integer(depth)[0]}{base})"

    def make_strchr(self, name, depth):
        return f"{name}({self.string(depth)}, '{self.random.choice('abelo/,x1 ')}')"

    make_strrchr = make_strchr

    def make_strstr(self, name, depth):
        return f'strstr({self.string(depth)}, "{self.random.choice(WORDS[1:])}")'

    def make_strtok(self, name, depth):
        return f'strtok({self.string(depth)}, "{self.random.choice([",", "/", "lo", " ,;", "x"])}")'

    def choice(self, depth):
        self.count("operator", "?:", t.STRING)
        return f"({self.integer(1)[0]} ? {self.string(depth)} : {self.string(depth)})"

    def make_copyinstr(self, name, depth):
        bound = f", {self.random.choice([1, 2, 4, 300])}" if self.random.random() < 0.3 else ""
        return f"copyinstr({self.random.choice(self.addresses)}{bound})"
