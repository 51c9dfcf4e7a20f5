"""Random well-typed integer expressions, each as a typed tree, as C and as D.

The C computes with int64_t and uint64_t what D computes in its 64-bit registers: an operand has the
sign of the type that D gives it, variables and casts cut to their own types, everything else is C's.
"""

from pydtrace.program import d_types as t
from tests.support.compiler.typed_trees import binary, cast, num, ternary, unary, var, variable

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
TRUTH = ["<", "<=", ">", ">=", "==", "!=", "&&", "||", "^^"]

C_PRELUDE = """
#include <stdio.h>
#include <stdint.h>
static int fault;
static int64_t sdiv(int64_t a, int64_t b) { if (!b) fault = 1; return !b ? 0 : b == -1 ? -a : a / b; }
static int64_t smod(int64_t a, int64_t b) { if (!b) fault = 1; return !b || b == -1 ? 0 : b < 0 ? -(a % b) : a % b; }
static uint64_t udiv(uint64_t a, uint64_t b) { if (!b) fault = 1; return b ? a / b : 0; }
static uint64_t umod(uint64_t a, uint64_t b) { if (!b) fault = 1; return b ? a % b : 0; }
"""


class Expression:
    """tree; c and d: the same as text."""

    __slots__ = ("c", "d", "tree")

    def __init__(self, tree, c, d):
        self.tree, self.c, self.d = tree, c, d

    @property
    def type(self):
        return self.tree.type


class Generator:
    """variables: [(Variable, value)], two of each type, for the values of which `random` decides.
    as_dtrace: nothing in which we differ from dtrace on purpose (docs/internals/program.md)."""

    def __init__(self, random, scope="global", as_dtrace=False):
        self.random, self.as_dtrace = random, as_dtrace
        self.variables = []
        for i, type in enumerate(TYPES + TYPES):
            value = random.choice(EDGES) if random.random() < 0.7 else random.getrandbits(64)
            bits = 8 * type.size
            value &= (1 << bits) - 1
            if type.signed and random.random() < 0.5:
                value = -value
            if type.signed and not -(1 << bits - 1) <= value < 1 << bits - 1:
                value = value & (1 << bits - 1) - 1
            self.variables.append((variable(scope, f"v{i}", type), value))

    def leaf(self):
        if self.random.random() < 0.6:
            symbol, _ = self.random.choice(self.variables)
            return Expression(var(symbol), f"(({_c64(symbol.type)}){symbol.name})", symbol.name)
        value = self.random.choice(EDGES)
        type = t.INT if value < 1 << 31 else t.UINT if value < 1 << 32 else t.LONG
        return Expression(num(value, type), f"(({_c64(type)}){value}LL)", str(value))

    def make(self, depth):
        """An expression of at most that depth."""
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf()
        kind = self.random.choices(
            ["arithmetic", "truth", "unary", "not", "cast", "ternary"], [8, 4, 2, 1, 2, 1]
        )[0]
        return getattr(self, "make_" + kind)(depth - 1)

    def make_arithmetic(self, depth):
        op = self.random.choice(ARITHMETIC)
        left, right = self.make(depth), self.make(depth)
        if op in "/%" and right.d.isdigit() and int(right.d) == 0:
            right = Expression(num(3), "((int64_t)3)", "3")  # D refuses a constant 0
        elif op in "/%" and self.as_dtrace:
            if op == "%":
                right = Expression(
                    binary("&", right.tree, num(127)), f"({right.c} & 127)", f"({right.d} & 127)"
                )
            right = Expression(
                binary("|", right.tree, num(1)), f"({right.c} | 1)", f"({right.d} | 1)"
            )
        tree = binary(op, left.tree, right.tree)
        side = _c64(tree.common)
        if op in "/%":
            name = ("s" if tree.common.signed else "u") + ("div" if op == "/" else "mod")
            c = f"{name}({left.c}, {right.c})"
        elif op in ("<<", ">>"):
            c = f"(({side}){left.c} {op} ({right.c} & 63))"
        else:
            c = f"(({side}){left.c} {op} ({side}){right.c})"
        return Expression(tree, c, f"({left.d} {op} {right.d})")

    def make_truth(self, depth):
        op = self.random.choice(TRUTH)
        left, right = self.make(depth), self.make(depth)
        tree = binary(op, left.tree, right.tree)
        side = _c64(tree.common)
        if op == "^^":
            c = f"((int64_t)(!!{left.c} ^ !!{right.c}))"
        elif op in ("&&", "||"):
            c = f"((int64_t)({left.c} {op} {right.c}))"
        else:
            c = f"((int64_t)(({side}){left.c} {op} ({side}){right.c}))"
        return Expression(tree, c, f"({left.d} {op} {right.d})")

    def make_unary(self, depth):
        op = self.random.choice("-~+")
        operand = self.make(depth)
        return Expression(unary(op, operand.tree), f"({op}{operand.c})", f"({op} {operand.d})")

    def make_not(self, depth):
        operand = self.make(depth)
        return Expression(
            unary("!", operand.tree, t.INT), f"((int64_t)!{operand.c})", f"(!{operand.d})"
        )

    def make_cast(self, depth):
        type = self.random.choice(TYPES)
        operand = self.make(depth)
        same = (
            operand.type.size == type.size and operand.type.signed == type.signed
        )  # D does not cut then
        c = operand.c if same else f"(({_c64(type)})({_cname(type)}){operand.c})"
        return Expression(cast(operand.tree, type), c, f"(({type.name}){operand.d})")

    def make_ternary(self, depth):
        cond, then = self.make(depth), self.make(depth)
        other = cast_to(self.make(depth), then.type)
        return Expression(
            ternary(cond.tree, then.tree, other.tree),
            f"({cond.c} ? {then.c} : {other.c})",
            f"({cond.d} ? {then.d} : {other.d})",
        )


def cast_to(expression, type):
    """Both sides of ?: have one type here."""
    if expression.type.name == type.name:
        return expression
    same = expression.type.size == type.size and expression.type.signed == type.signed
    c = expression.c if same else f"(({_c64(type)})({_cname(type)}){expression.c})"
    return Expression(cast(expression.tree, type), c, f"(({type.name}){expression.d})")


def _c64(type):
    return "int64_t" if type.signed else "uint64_t"


def _cname(type):
    return "signed char" if type.name == "char" else type.name


def c_program(variables, expressions):
    """A C program that prints each value, or "fault", a line each."""
    lines = [C_PRELUDE]
    lines += [
        f"{_cname(symbol.type)} {symbol.name} = {_literal(value)};" for symbol, value in variables
    ]
    for i, e in enumerate(expressions):
        lines.append(f"static int64_t e{i}(void) {{ return (int64_t){e.c}; }}")
    lines.append("int main(void) { int64_t v;")
    lines += [
        f'fault = 0; v = e{i}(); if (fault) puts("fault"); else printf("%lld\\n", (long long)v);'
        for i in range(len(expressions))
    ]
    return "\n".join([*lines, "return 0; }\n"])


def d_program(variables, expressions):
    """A D script that prints each value, a line each."""
    lines = ["/* Random expressions, made by record_cases.py. */", "#pragma D option quiet"]
    lines += [f"{symbol.type.name} {symbol.name};" for symbol, _ in variables]
    lines.append("BEGIN {")
    for symbol, value in variables:
        value = value - (1 << 64) if value >= 1 << 63 else value  # D has no larger constants
        lines.append(f"\t{symbol.name} = {f'{value + 1} - 1' if value < 0 else value};")
    lines.append("}")
    lines += [f'BEGIN {{ printf("%d\\n", (long){e.d}); }}' for e in expressions]
    return "\n".join([*lines, "BEGIN { exit(0); }", ""])


def _literal(value):
    return f"({value + 1}LL - 1)" if value < 0 else f"{value}ULL"
