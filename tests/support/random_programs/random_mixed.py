"""Random clauses of what else a D program has: forms of constants, characters of strings, arrays of char, `?:` with NULL,
enumerators below 0, bit-fields of any base, several aggregations printed together, increments of distributions.

Input: a Generator, of which this is a part.
Output: the lines of a clause.

- A clause sets what it shows of the variables that these clauses share.
"""

DECLARATIONS = """\
enum F { F0 = -7, F1, F2 = 40, F3 = 0x7fffffff };
typedef enum G { G0 = 1, G1 = 1 << 4, G2 = G1 | 2 } flags_t;
struct W { unsigned char a:1; unsigned short b:9; int c:31; unsigned int d:32; long e:40; unsigned long f:48; short g:15; char h:7; };
enum F way; flags_t flags; struct W wide;
char letters[12]; char word[8];
string chosen; self string own_chosen; this string local_chosen;
"""
SORTS = ["aggsortkey", "aggsortrev", "aggsortpos=1", "aggsortkeypos=1"]
BYTES = [
    "0",
    "0",
    "'a'",
    "'Z'",
    "' '",
    "'\\n'",
    "'\\t'",
    "'\\\\'",
    "'\"'",
    "127",
    "128",
    "255",
    "1",
    "'%'",
    "'~'",
    "200",
]
CHARACTERS = [
    "'a'",
    r"'\n'",
    r"'\0'",
    "'ab'",
    "'abcd'",
    r"'\x41'",
    r"'\377'",
    r"'\''",
    "'\"'",
    "'xyz'",
    r"'\\'",
    r"'\t\n'",
]
SUFFIXES = ["", "", "u", "U", "l", "L", "ul", "UL", "ll", "ull", "ULL"]
ESCAPED = [r"\t", r"\101", r"\x42", r"\"", r"\\", r"\n", "~", "z", r"\60", "a", " ", "'"]
FORMS = ["%d", "%u", "%x", "%5d", "%-6x", "%o", "%i"]
WIDE = "abcdefgh"


class Mixed:
    """The kinds of clauses; Generator has the rest."""

    def constant(self):
        """A constant in one of its forms."""
        rng = self.random
        form = rng.choice(["hexadecimal", "octal", "decimal", "character"])
        self.values.count("type", f"constant, {form}")
        if form == "character":
            return rng.choice(CHARACTERS)
        value = rng.choice(
            [rng.getrandbits(8), rng.getrandbits(31), rng.getrandbits(32), rng.getrandbits(63)]
        )
        return {"hexadecimal": f"0x{value:x}", "octal": f"0{value:o}", "decimal": str(value)}[
            form
        ] + rng.choice(SUFFIXES)

    def constants(self):
        one, two = self.constant(), self.constant()
        op = self.random.choice(["+", "-", "*", "&", "|", "^", "<", ">=", "=="])
        return [
            self.line(
                f'printf("%d %d %d %d %x", {one}, ({one} {op} {two}), sizeof ({two}), (char){one}, -{two} >> 3);'
            )
        ]

    def characters(self):
        """Characters of strings, and strings with escapes."""
        rng = self.random
        self.values.count("type", "character of a string")
        text = "".join(rng.choice(ESCAPED) for _ in range(rng.randint(1, 6)))
        text = rng.choice([f'"{text}"', f"s{rng.randrange(5)}"])
        at = rng.choice(["0", "1", f"({self.values.integer(1)[0]} & 1)"])
        return [
            self.line(
                f'this->e{self.number} = {text}; printf("%d %d %s %d", this->e{self.number}[{at}], '
                f"this->e{self.number}[0] {rng.choice(['==', '<', '+'])} 'z', {text}, strlen({text}));"
            )
        ]

    def letters(self):
        """An array of char with bytes behind a NUL, and such as can not be printed."""
        rng = self.random
        name, size = rng.choice([("letters", 12), ("word", 8)])
        values = [rng.choice(BYTES) for _ in range(size - 1)] + [
            "0"
        ]  # dtrace's %S shows none without a NUL
        body = "".join(f"{name}[{i}] = {value}; " for i, value in enumerate(values))
        shown = rng.choice(
            [
                f"trace({name});",
                f'printf("%s|%S", {name}, {name});',
                f'printf("%S", stringof({name}));',
                f'printf("%d %d", strlen(stringof({name})), {name}[{rng.randrange(size)}]);',
                f'trace(strjoin(stringof({name}), "<"));',
                f"tracemem(&{name}[0], {size});",
            ]
        )
        if self.values.numbers and ("strlen" in shown or "strjoin" in shown):
            shown = f"trace({name});"
        self.values.count("type", "array of char")
        return [self.line(body + shown)]

    def nulls(self):
        """A string or NULL, by `?:`."""
        rng, values = self.random, self.values
        values.count("operator", "?: NULL")
        text, condition = rng.choice([f"s{rng.randrange(5)}", '"abc"', '""']), values.integer(1)[0]
        chosen = rng.choice([f"({condition} ? {text} : NULL)", f"({condition} ? NULL : {text})"])
        name = rng.choice(
            ["this->local_chosen", "chosen", "self->own_chosen"]
        )  # declared: the type of `?:` is no string
        bodies = [f'printf("%d %d", {chosen} == NULL, NULL != {chosen});', f"trace({chosen});"]
        if values.numbers:  # with another strsize than 256 dtrace ends in a failed assertion
            bodies += [
                f'{name} = {chosen}; printf("%d", {name} == NULL);',
                f'{name} = {chosen}; printf("%d", {name} == NULL ? {values.integer(1)[0]} : 7);',
            ]
        return [self.line(rng.choice(bodies))]

    def ways(self):
        """Enumerations below 0, and as flags."""
        rng, integer = self.random, self.values.integer
        self.values.count("type", "enum below 0")
        one, two = rng.sample(["F0", "F1", "F2", "F3", "way"], 2)
        body = f"way = (enum F)({integer(1)[0]} % 50); flags = (flags_t)({integer(1)[0]} & 63); flags {rng.choice(['|=', '&=', '^='])} G2; "
        shown = [
            "way",
            "flags",
            f"way {rng.choice(['<', '>=', '==', '!='])} {one}",
            f"{one} {rng.choice(['+', '-', '*', '<', '|'])} {two}",
            f"(long){one}",
            f"way {rng.choice(['<', '>'])} 0",
            f"(enum F){integer(1)[0]}",
            f"{integer(1)[0]} ? {one} : {two}",
            "-way",
            "~flags",
            f"{one} >> 1",
            f"{one} / 3",
        ]
        shown = rng.sample(shown, 4)
        forms = [
            rng.choice([*FORMS, "%lld"] if each in ("way", "flags") else FORMS) for each in shown
        ]
        return [self.line(f'{body}printf("{" ".join(forms)}", {", ".join(shown)});')]

    def wide_bits(self):
        """Bit-fields of any base; no ++, which writes the carry into the next member there."""
        rng = self.random
        members = rng.sample(WIDE, 3)
        body = "".join(self.changed(f"wide.{member}", "=") for member in members)
        op = rng.choice(["+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="])
        self.values.count("type", "wide bit-field " + op)
        body += self.changed(f"wide.{members[0]}", op)
        shown = [f"wide.{member}" for member in members] + [
            f"(wide.{members[1]} {rng.choice('+-*&|^')} {self.values.integer(1)[0]})"
        ]
        return [
            self.line(
                f'{body}printf("{" ".join(rng.choice(["%d", "%x"]) for _ in shown)}", {", ".join(shown)});'
            )
        ]

    def together(self):
        """Aggregations of the same keys, printed in one."""
        rng, values = self.random, self.values
        # By the first one dtrace chooses how all are printed: behind a count() it has -1 as 18446744073709551615.
        functions = [
            rng.choice(["sum", "min", "max"]),
            *(rng.choice(["count", "sum", "min", "max"]) for _ in range(rng.randint(1, 2))),
        ]
        keys = rng.randint(1, 2)
        values.count("type", f"{len(functions)} aggregations printed together")
        names = [f"@h{self.number}{letter}" for letter, _ in zip("abc", functions)]
        body = ""
        for _ in range(rng.randint(2, 5)):
            index = ", ".join(
                str(rng.randrange(-2, 4))
                if rng.random() < 0.7
                else f"(int)(v0 & {rng.randrange(4)})"
                for _ in range(keys)
            )
            for name, function in zip(names, functions):
                body += f"{name}[{index}] = {function}({'' if function == 'count' else f'(long){values.integer(1)[0]}'}); "
        form = "%d " * keys + " ".join(rng.choice(["%@d", "%@8d", "%@x", "%@-5d"]) for _ in names)
        shown = rng.choice(
            [f'printa("{form}\\n", {", ".join(names)});', f"printa({', '.join(names)});"]
        )
        change = rng.choice(
            [
                "",
                "",
                f"trunc({names[0]}, 2); " if len(functions) == 1 else "",
                f"normalize({names[0]}, 3); ",
            ]
        )
        return [self.line(body), self.line(change + shown, probe="END")]

    def increments(self):
        """Distributions of values that count more than once."""
        rng, values = self.random, self.values
        function, constants = rng.choice(
            [("quantize", ""), ("lquantize", ", -10, 100, 10"), ("llquantize", ", 10, 0, 4, 10")]
        )
        values.count("aggregating", f"{function}, increment")
        name = f"@i{self.number}"
        body = "".join(
            f"{name} = {function}((long){values.integer(1)[0]}{constants}, {rng.choice(['1', '2', '7', '(v0 - v0 + 3)', '-1', '0'])}); "
            for _ in range(rng.randint(1, 4))
        )
        return [self.line(body), self.line(f"printa({name});", probe="END")]
