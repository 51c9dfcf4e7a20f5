"""Random clauses of types that a script makes itself: bit-fields, structs, unions, typedefs, enumerations, translators,
inlines, arrays, and the script's own arguments.

Input: a Generator, of which this is a part.
Output: the lines of a clause.

- A clause sets what it shows of the variables that these clauses share. Not written, since the
  real dtrace is at fault there: a store into a bit-field through a pointer, and a translator of
  memory of alloca().
"""

DECLARATIONS = """\
struct B { int a:3; unsigned int b:5; long c:17; unsigned char d:2; unsigned short e:11; int f:7; char g:4; unsigned long h:33; };
union U { long l; int i; unsigned short h; char c[8]; };
struct N { char t[8]; struct P p; union U u; int a[3]; };
typedef short small_t;
typedef unsigned long long huge_t;
typedef struct P pair_t;
typedef enum { A0, A3 = 3, A9 = 9 } level_t;
struct T { int ti; long tl; char tc; string ts; };
translator struct T < int V > { ti = V + 1; tl = V * 3; tc = V; ts = V > 3 ? "big" : "small"; };
inline long TWICE[int x, char y] = x * 2 + y;
inline string GREETING = "hi";
inline int GIVEN = $1;
inline string WORD = $$2;
struct B bits; union U either; struct N nested; struct P pair; pair_t pairs[int]; struct P many[3]; long longs[6];
self pair_t own_pair;
level_t level;
"""
ARGUMENTS = ["12", "word"]  # $1 and $$2
BITS = "abcdefgh"
# Names of types that are made of others, with what a variable of each is called and its scope.
NAMED = {
    "small_t": "small",
    "huge_t": "self->huge",
    "int8_t": "this->int8",
    "uint8_t": "uint8",
    "int16_t": "self->int16",
    "uint16_t": "this->uint16",
    "int32_t": "int32",
    "uint32_t": "self->uint32",
    "int64_t": "this->int64",
    "size_t": "size",
    "uintptr_t": "this->address",
    "long long": "longest",
}
ENUMERATORS = ["A0", "A3", "A9", "level", "E0", "E5", "E6"]
KEYS = {
    "i": "int",
    "c": "char",
    "h": "unsigned short",
    "l": "long",
    "u": "unsigned int",
    "y": "int8_t",
}  # of an aggregation
_DECLARED = {"": "", "self->": "self ", "this->": "this "}


def declarations():
    """Lines that declare the variables of NAMED."""
    for type, name in NAMED.items():
        scope = next(scope for scope in ("self->", "this->", "") if name.startswith(scope))
        yield f"{_DECLARED[scope]}{type} {name.removeprefix(scope)};"


class Typed:
    """The kinds of clauses; Generator has the rest."""

    def changed(self, name, op):
        """`name op value`, or `++name` and its like."""
        if "x" in op:
            return op.replace("x", name) + "; "
        value = self.values.integer(2)[0]
        value = (
            f"(({value} & 63) | 1)"
            if op in ("/=", "%=")
            else f"({value} & 15)"
            if op in ("<<=", ">>=")
            else value
        )
        return f"{name} {op} {value}; "

    def bits(self):
        rng = self.random
        members = rng.sample(BITS, rng.randint(2, 4))
        body = "".join(self.changed(f"bits.{member}", "=") for member in members)
        for member in members[:2]:
            op = rng.choice(
                [
                    "=",
                    "+=",
                    "-=",
                    "*=",
                    "/=",
                    "%=",
                    "&=",
                    "|=",
                    "^=",
                    "<<=",
                    ">>=",
                    "++x",
                    "--x",
                    "x++",
                    "x--",
                ]
            )
            if member == "c" and "x" in op:  # dtrace writes the carry into the next member
                op = "+="
            self.values.count("type", "bit-field " + op)
            body += self.changed(f"bits.{member}", op)
        shown = [f"bits.{member}" for member in members] + [
            f"(bits.{members[0]} {rng.choice('+-*&|^')} {self.values.integer(1)[0]})"
        ]
        return [self.line(f'{body} printf("{" ".join(["%d"] * len(shown))}", {", ".join(shown)});')]

    def records(self):
        rng, integer = self.random, self.values.integer
        kind = rng.choice(["union", "nested", "copied", "element", "own"])
        self.values.count("type", f"record, {kind}")
        if kind == "union":
            member = rng.choice(["i", "h", "c[0]", "c[3]", "c[7]"])
            return [
                self.line(
                    f"either.l = {integer(2)[0]}; either.{member} = {integer(2)[0]}; "
                    f'printf("%x %d %d %d %d", either.l, either.i, either.h, either.c[{rng.randrange(8)}], sizeof (either));'
                )
            ]
        if kind == "nested":
            word = "".join(rng.choice("abcxyz") for _ in range(rng.randint(0, 7)))
            letters = (
                "".join(f"nested.t[{i}] = '{letter}'; " for i, letter in enumerate(word))
                + f"nested.t[{len(word)}] = 0; "
            )
            return [
                self.line(
                    f"{letters}nested.p.s = {integer(2)[0]}; nested.u.l = {integer(2)[0]}; nested.a[{rng.randrange(3)}] = 1; "
                    f"nested.a[2] = {integer(1)[0]}; "
                    'printf("%s %d %d %x %d", stringof(nested.t), nested.p.s, nested.u.i, nested.u.c[1], nested.a[2]);'
                )
            ]
        members = "".join(f"pair.{member} = {integer(1)[0]}; " for member in "iushcb")
        target = {
            "copied": f"many[{rng.randrange(3)}]",
            "element": f"pairs[(int){integer(1)[0]}]",
            "own": "self->own_pair",
        }[kind]
        shown = ", ".join(f"{target}.{member}" for member in rng.sample("iushcb", 3))
        change = (
            f"{target}.{rng.choice('iushcb')} {rng.choice(['=', '+=', '^='])} {integer(1)[0]}; "
        )
        return [self.line(f'{members}{target} = pair; {change}printf("%d %d %d", {shown});')]

    def named_types(self):
        rng, integer = self.random, self.values.integer
        type, other = rng.sample(list(NAMED), 2)
        name = NAMED[type]
        self.values.count("type", type)
        body = f"{name} = {integer(2)[0]}; "
        op = rng.choice(
            ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++x", "x--"]
        )
        change = self.changed(name, op)
        if name.startswith("self->"):  # a constant 0 there makes dtrace delete the variable
            body = f"{name} = ({integer(2)[0]}) + (v0 - v0); "
            change = change if "x" in op else change.replace(f" {op} ", f" {op} (v0 - v0) + ")
        shown = [
            name,
            f"({other}){integer(2)[0]}",
            f"(({type}){integer(1)[0]} {rng.choice(['<', '>', '==', '<=', '+', '-', '>>'])} "
            + (f"(({other}){integer(1)[0]} & 15))"),
        ]
        return [self.line(f'{body}{change}printf("%d %d %d", {", ".join(shown)});')]

    def enumerated(self):
        rng, integer = self.random, self.values.integer
        self.values.count("type", "enum")
        one, two = rng.sample(ENUMERATORS, 2)
        return [
            self.line(
                f"level = (level_t)({integer(1)[0]} & 15); "
                f'printf("%d %d %d %x", level, {one} {rng.choice(["==", "<", "!=", "|", "+", "&"])} {two}, '
                f"level {rng.choice(['==', '<', '!='])} {one} ? {integer(1)[0]} : {integer(1)[0]}, (level_t)({integer(1)[0]} & 63));"
            )
        ]

    def translated(self):
        rng = self.random
        value = f"(int){self.values.integer(2)[0]}"
        form = rng.choice(["(xlate <struct T> ({}))", "(*(xlate <struct T *> ({})))"])
        self.values.count("type", "xlate" + " *" * ("*" in form))
        member = rng.choice(["ti", "tl", "tc", "ts"])
        return [
            self.line(
                f'printf("{"%s" if member == "ts" else "%d"}", {form.format(value)}.{member});'
            )
        ]

    def inlined(self):
        rng, integer = self.random, self.values.integer
        kind = rng.choice(["inline", "$1", "$$2"])
        self.values.count("type", kind)
        if kind == "$$2":
            return [self.line('printf("%s %s %s %d", GREETING, $$2, WORD, GIVEN);')]
        value = (
            f"TWICE[(int){integer(2)[0]}, (char){integer(1)[0]}]"
            if kind == "inline"
            else f"($1 {rng.choice('+-*')} {integer(2)[0]})"
        )
        return [self.line(f'printf("%d %d", {value}, {integer(1)[0]});')]

    def elements(self):
        """Elements by an index that is computed, and by pointers."""
        rng, integer = self.random, self.values.integer
        self.values.count("type", "array")
        numbers, self.values.numbers = (
            self.values.numbers,
            True,
        )  # of a subscript with strings dtrace loses the element
        at = f"({integer(2)[0]} & 3)"
        self.values.numbers = numbers
        body = "".join(f"longs[{i}] = {rng.randrange(-1000, 1000)}; " for i in range(6))
        lower, upper = sorted(
            rng.randrange(6) for _ in range(2)
        )  # dtrace's difference is unsigned, not below 0
        return [
            self.line(
                f"{body}{self.changed(f'longs[{at}]', rng.choice(['=', '+=', '^=', '*=']))}"
                f'printf("%d %d %d %d", longs[{at} + 1], *(longs + {rng.randrange(6)}), *(&longs[1] + {rng.randrange(5)}), '
                f"&longs[{upper}] - &longs[{lower}]);"
            )
        ]
