"""The syntax tree of a D program, from the parser to code generation.

In: built by parser.py.  The resolve and types passes fill in `type` on every
expression and replace names by symbols; code generation only reads.
Always: every node has a `loc` (source.Location), and after the types pass
every expression has a `type` (types.Type).
"""


class Node:
    """Base of all nodes: `loc` plus the fields that the class names."""

    __slots__ = ("loc",)
    fields: tuple = ()

    def __init_subclass__(cls):
        cls.fields = tuple(f for c in reversed(cls.__mro__) for f in c.__dict__.get("_fields", ()))

    def __init__(self, loc, *values):
        self.loc = loc
        if len(values) != len(self.fields):
            raise TypeError(f"{type(self).__name__} takes {self.fields}, got {len(values)} values")
        for name, value in zip(self.fields, values):
            setattr(self, name, value)

    def __repr__(self):
        inner = ", ".join(f"{f}={getattr(self, f)!r}" for f in self.fields)
        return f"{type(self).__name__}({inner})"


# --- expressions -----------------------------------------------------------


class Expr(Node):
    """An expression; `type` is None until the types pass."""

    __slots__ = ("type",)

    def __init__(self, loc, *values):
        self.type = None
        super().__init__(loc, *values)


class IntLit(Expr):
    """An integer or character constant; `value` is the Python int, `text` as written."""

    __slots__ = _fields = ("value", "text")


class StrLit(Expr):
    """A string constant; `value` is bytes, escapes already replaced."""

    __slots__ = _fields = ("value",)


class Ident(Expr):
    """A name not yet resolved; gone after the resolve pass."""

    __slots__ = _fields = ("name",)


class Var(Expr):
    """A scalar variable; `symbol` is a symbols.Variable (scope global, self or this)."""

    __slots__ = _fields = ("symbol",)


class AssocRef(Expr):
    """An element of an associative array: `symbol` is a symbols.Variable with key types."""

    __slots__ = _fields = ("symbol", "keys")


class Builtin(Expr):
    """A built-in variable (timestamp, arg0, execname …); `row` is its row of builtins.VARIABLES."""

    __slots__ = _fields = ("row",)


class ScopedName(Expr):
    """`self->x` or `this->x` before resolution."""

    __slots__ = _fields = ("scope", "name")


class Index(Expr):
    """`a[k1, k2]` before resolution."""

    __slots__ = _fields = ("base", "keys")


class AggRef(Expr):
    """`@name[keys]`; `symbol` is a symbols.Aggregation after the resolve pass, the name before."""

    __slots__ = _fields = ("symbol", "keys")


class Unary(Expr):
    """`op` is one of - + ~ ! * &"""

    __slots__ = _fields = ("op", "operand")


class IncDec(Expr):
    """++ and --; `op` is "++" or "--", `prefix` tells which form."""

    __slots__ = _fields = ("op", "operand", "prefix")


class Binary(Expr):
    """`op`: + - * / % << >> & | ^ < <= > >= == != && || ^^"""

    __slots__ = _fields = ("op", "left", "right")


class Assign(Expr):
    """`op` is "=" or one of += -= *= /= %= &= |= ^= <<= >>="""

    __slots__ = _fields = ("op", "target", "value")


class Ternary(Expr):
    __slots__ = _fields = ("cond", "then", "otherwise")


class Cast(Expr):
    """An explicit cast, or a conversion that the types pass put in; the target is `type`."""

    __slots__ = _fields = ("operand", "to")


class Comma(Expr):
    __slots__ = _fields = ("parts",)


class Sizeof(Expr):
    """`operand` is an Expr or a types.Type."""

    __slots__ = _fields = ("operand",)


class Call(Expr):
    """A subroutine or action call; `row` is its row of builtins after the resolve pass."""

    __slots__ = _fields = ("name", "row", "args")


# --- statements and declarations -------------------------------------------


class ExprStmt(Node):
    """A statement that is an expression, data-recording action calls included."""

    __slots__ = _fields = ("expr",)


class AggStmt(Node):
    """`@name[keys] = func(args);`  `agg` is an AggRef, `row` the row of builtins.AGGREGATIONS."""

    __slots__ = _fields = ("agg", "func", "row", "args")


class ProbeDesc(Node):
    """provider:module:function:name, globs as written, "" for what was left out."""

    __slots__ = _fields = ("provider", "module", "function", "name")

    def __str__(self):
        return f"{self.provider}:{self.module}:{self.function}:{self.name}"


class Clause(Node):
    """One clause: `probes` list of ProbeDesc, `predicate` Expr or None, `body` list of
    statements, or None where there were no braces (the default action)."""

    __slots__ = _fields = ("probes", "predicate", "body")


class Pragma(Node):
    """`#pragma D option name=value`; `value` is None where none was given."""

    __slots__ = _fields = ("kind", "name", "value")


class Declaration(Node):
    """An explicit variable declaration: `[self|this] type name[keys];`"""

    __slots__ = _fields = ("scope", "type_name", "name", "keys")


class Unit(Node):
    """A whole program: `items` in the order of the source (Clause, Pragma, Declaration)."""

    __slots__ = _fields = ("items",)
