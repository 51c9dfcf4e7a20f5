"""The syntax tree of a D program, from the parser to code generation.

- Every node has a `loc` (source_text.Location).
- The types pass sets `type` on every expression and replaces names by symbols. In D the meaning
  of a name depends on the types before it, so names and types are one walk.
- The lower pass leaves a smaller language; code generation only reads the tree.
- Code generation meets IntLit, StrLit, Var, AssocRef, Builtin, Unary (- + ~ !), Binary, Assign
  with the op "=", Ternary, Cast, Comma, Call, AggRef (only in AggStmt), Clause, ExprStmt,
  AggStmt; of memory Deref, AddressOf, MemberRef, ElementRef, Stringof, Xlate; under -x pyusdt
  FloatLit and FloatOp.
- Integers are 64-bit registers as in dtrace: the result of an operator is not truncated to its
  type, only a Cast and a store truncate. No operand is converted to the other's type;
  Binary.common is the type (its sign matters) in which the two are compared, divided or shifted.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.program.d_types import Enum, Field, Record, Type
    from pydtrace.program.printf_format import Format

    from . import variable_table
    from .builtins.builtin_variables import VariableRow
    from .front.source_text import Location
    from .variable_table import Variable


class Node:
    """Base of all nodes: `loc` plus the fields that the class names."""

    __slots__ = ("loc",)
    loc: Location
    fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(f for c in reversed(cls.__mro__) for f in c.__dict__.get("_fields", ()))

    def __init__(self, loc: Location, *values: Any) -> None:
        self.loc = loc
        if len(values) != len(self.fields):
            raise TypeError(f"{type(self).__name__} takes {self.fields}, got {len(values)} values")
        for name, value in zip(self.fields, values):
            setattr(self, name, value)

    def __repr__(self) -> str:
        inner = ", ".join(f"{f}={getattr(self, f)!r}" for f in self.fields)
        return f"{type(self).__name__}({inner})"


# --- expressions -----------------------------------------------------------


class Expr(Node):
    """An expression; `type` is None until the types pass."""

    __slots__ = ("type",)
    type: Any  # a program.d_types.Type, whose kind is_integer and the other flags tell

    def __init__(self, loc: Location, *values: Any) -> None:
        self.type = None
        super().__init__(loc, *values)


class IntLit(Expr):
    """An integer or character constant; `value` is the Python int, `text` as written."""

    __slots__ = _fields = ("value", "text")
    value: int
    text: str | None


class FloatLit(Expr):
    """A floating-point constant, a double; `bits`: its representation as an int."""

    __slots__ = _fields = ("bits",)
    bits: int


class FloatOp(Expr):
    """A floating-point operation of one or two operands, made by the types pass (float_nodes.py): `op` is + - * / (- also of one)
    or the name of a conversion."""

    __slots__ = _fields = ("op", "args")
    op: str
    args: list[Expr]


class StrLit(Expr):
    """A string constant; `value` is bytes, escapes already replaced."""

    __slots__ = _fields = ("value",)
    value: bytes


class Ident(Expr):
    """A name not yet resolved; gone after the types pass."""

    __slots__ = _fields = ("name",)
    name: str


class Var(Expr):
    """A scalar variable; `symbol` is a symbols.Variable (scope global, self or this)."""

    __slots__ = _fields = ("symbol",)
    symbol: Variable


class AssocRef(Expr):
    """An element of an associative array: `symbol` is a symbols.Variable with key types."""

    __slots__ = _fields = ("symbol", "keys")
    symbol: Variable
    keys: list[Expr]


class Builtin(Expr):
    """A built-in variable (timestamp, arg0, execname …); `row` is its row of builtins.VARIABLES."""

    __slots__ = _fields = ("row",)
    row: VariableRow


class ScopedName(Expr):
    """`self->x` or `this->x` before resolution."""

    __slots__ = _fields = ("scope", "name")
    scope: str
    name: str


class Index(Expr):
    """`a[k1, k2]` before resolution."""

    __slots__ = _fields = ("base", "keys")
    base: Expr
    keys: list[Expr]


class AggRef(Expr):
    """`@name[keys]`; `symbol` is a symbols.Aggregation after the types pass, the name before."""

    __slots__ = _fields = ("symbol", "keys")
    symbol: Any
    keys: list[Expr]


class Unary(Expr):
    """`op` is one of - + ~ ! * & (the types pass makes Deref and AddressOf of the last two)."""

    __slots__ = _fields = ("op", "operand")
    op: str
    operand: Expr


class IncDec(Expr):
    """++ and --; `op` is "++" or "--", `prefix` tells which form."""

    __slots__ = _fields = ("op", "operand", "prefix")
    op: str
    operand: Expr
    prefix: bool


class Binary(Expr):
    """`op`: + - * / % << >> & | ^ < <= > >= == != && || ^^

    common: the type of both operands after the types pass: its sign decides for / % >> and
    the comparisons; STRING means a comparison of strings.  Shifts: the left operand's type."""

    _fields = ("op", "left", "right")
    __slots__ = (*_fields, "common")
    op: str
    left: Expr
    right: Expr
    common: Type | None

    def __init__(self, loc: Location, op: str, left: Expr, right: Expr) -> None:
        self.common = None
        super().__init__(loc, op, left, right)


class Assign(Expr):
    """`op` is "=" or one of += -= *= /= %= &= |= ^= <<= >>=

    target: Var or AssocRef.  The value of a string, self-> or associative target may be the
    IntLit 0 (uncast): that deletes a self-> or associative variable and empties a string."""

    __slots__ = _fields = ("op", "target", "value")
    op: str
    target: Expr
    value: Expr


class Ternary(Expr):
    __slots__ = _fields = ("cond", "then", "otherwise")
    cond: Expr
    then: Expr
    otherwise: Expr


class Cast(Expr):
    """An explicit cast, or a conversion that the types pass put in; the target is `type`.
    `to` is the types.Type that was written, None for a conversion."""

    __slots__ = _fields = ("operand", "to")
    operand: Expr
    to: Type | None


class Comma(Expr):
    __slots__ = _fields = ("parts",)
    parts: list[Expr]


class Sizeof(Expr):
    """`operand` is an Expr or a TypeName; an IntLit after the types pass."""

    __slots__ = _fields = ("operand",)
    operand: Expr | TypeName


class Stringof(Expr):
    __slots__ = _fields = ("operand",)
    operand: Expr


class Xlate(Expr):
    """`xlate <to> (operand)`; `to` is a types.Type.  After the types pass: translator, its
    symbols.Translator, and where the whole struct is assigned conversions, a list of Conversion."""

    _fields = ("to", "operand", "conversions")
    __slots__ = (*_fields, "translator")
    to: Type
    operand: Expr
    conversions: list[Conversion]
    translator: variable_table.Translator | None

    def __init__(self, loc: Location, to: Type, operand: Expr) -> None:
        self.translator = None
        super().__init__(loc, to, operand, [])


class Select(Expr):
    """`base.name` and `base->name`; `op` is "." or "->"."""

    __slots__ = _fields = ("op", "base", "name")
    op: str
    base: Expr
    name: str


class ParamRef(Expr):
    """A parameter within the template of an inline or a translator; `symbol` is its symbols.Inline."""

    __slots__ = _fields = ("symbol",)
    symbol: variable_table.Inline


class Deref(Expr):
    """What the pointer `operand` points to; like MemberRef, ElementRef and the variables of such types an
    object in memory.  Made by the types pass, from * -> and []."""

    __slots__ = _fields = ("operand",)
    operand: Expr


class AddressOf(Expr):
    """The address of an object in memory: of &, and of an array where a pointer is wanted."""

    __slots__ = _fields = ("operand",)
    operand: Expr


class MemberRef(Expr):
    """A member of a struct or union object; `field` is its types.Field."""

    __slots__ = _fields = ("base", "field")
    base: Expr
    field: Field


class ElementRef(Expr):
    """An element of an array object, or a character of a string; `index` is checked against its bound."""

    __slots__ = _fields = ("base", "index")
    base: Expr
    index: Expr


class Call(Expr):
    """A subroutine, aggregating function or action call.

    row: its row of builtins after the types pass; format: the format.Format of a
    printf-like action (args[0] is its StrLit still), else None; strsz: of ustack() and jstack()."""

    _fields = ("name", "row", "args")
    __slots__ = (*_fields, "format", "strsz")
    name: Any
    row: Any
    args: list[Expr]
    format: Format | None
    strsz: int

    def __init__(self, loc: Location, name: Any, row: Any, args: list[Expr]) -> None:
        self.format, self.strsz = None, 0
        super().__init__(loc, name, row, args)


# --- statements and declarations -------------------------------------------


class ExprStmt(Node):
    """A statement that is an expression, data-recording action calls included."""

    __slots__ = _fields = ("expr",)
    expr: Expr


class AggStmt(Node):
    """`@name[keys] = func(args);`  `agg` is an AggRef, `row` the row of builtins.AGGREGATIONS."""

    __slots__ = _fields = ("agg", "func", "row", "args")
    agg: AggRef
    func: str
    row: Any
    args: list[Expr]


class ProbeDesc(Node):
    """provider:module:function:name, globs as written, "" for what was left out."""

    __slots__ = _fields = ("provider", "module", "function", "name")
    provider: str
    module: str
    function: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.module}:{self.function}:{self.name}"


class Clause(Node):
    """One clause: `probes` list of ProbeDesc, `predicate` Expr or None, `body` list of
    statements, or None for the default action (no braces, or nothing between them)."""

    __slots__ = _fields = ("probes", "predicate", "body")
    probes: list[ProbeDesc]
    predicate: Expr | None
    body: list[ExprStmt | AggStmt] | None


class Pragma(Node):
    """A control line.  kind: "option", "error", "depends_on", …; words: what followed, each
    (kind, value) with kind "word", "string" or "int"."""

    __slots__ = _fields = ("kind", "words")
    kind: str
    words: list[tuple[str, Any]]


class Unit(Node):
    """A whole program: `items` in the order of the source (Clause, Pragma, Declaration,
    TypeDeclaration, Inline, Translator, Provider)."""

    __slots__ = _fields = ("items",)
    items: list[Node]


# --- types as written, and declarations -----------------------------------------


class TypeName(Node):
    """A type as written.  words: its specifiers and qualifiers, each a str, a StructSpec or an
    EnumSpec; steps: what the declarator makes of it, from the name outwards: ("*",),
    ("[]", size), ("[]", list of Parameter) for an associative array, ("()", list of Parameter);
    a size is an Expr, or None for []."""

    __slots__ = _fields = ("words", "steps")
    words: list[Any]
    steps: list[tuple[Any, ...]]


class StructSpec(Node):
    """type: the types.Record that is defined or referred to."""

    __slots__ = _fields = ("type",)
    type: Record


class Member(Node):
    """bits: the Expr of a bit-field's width, or None."""

    __slots__ = _fields = ("type_name", "name", "bits")
    type_name: TypeName
    name: str | None
    bits: Expr | None


class EnumSpec(Node):
    """type: the types.Enum that is defined or referred to."""

    __slots__ = _fields = ("type",)
    type: Enum


class Parameter(Node):
    """One parameter of a function, or one key of an associative array's declaration.
    type_name is None for `...`."""

    __slots__ = _fields = ("type_name", "name")
    type_name: TypeName | None
    name: str | None


class Declaration(Node):
    """`[class] type name, …;`, one node a name.  scope: "global", "self", "this", or C's
    "typedef", "extern", "static", "auto", "register"; keys: list of Parameter, or None."""

    __slots__ = _fields = ("scope", "type_name", "name", "keys")
    scope: str
    type_name: TypeName
    name: str
    keys: list[Parameter] | None


class TypeDeclaration(Node):
    """A declaration without a name: `struct s { … };`"""

    __slots__ = _fields = ("type_name",)
    type_name: TypeName


class Inline(Node):
    __slots__ = _fields = ("type_name", "name", "keys", "value")
    type_name: TypeName
    name: str
    keys: list[Parameter] | None
    value: Expr


class Conversion(Node):
    """`name = value;` of a translator."""

    __slots__ = _fields = ("name", "value")
    name: str
    value: Expr


class Translator(Node):
    """members: list of Conversion"""

    __slots__ = _fields = ("to", "source", "name", "members")
    to: TypeName
    source: TypeName
    name: str
    members: list[Conversion]


class ProviderProbe(Node):
    """inputs: list of Parameter; outputs: list of Parameter, or None where they are not given."""

    __slots__ = _fields = ("name", "inputs", "outputs")
    name: str
    inputs: list[Parameter]
    outputs: list[Parameter] | None


class Provider(Node):
    """probes: list of ProviderProbe"""

    __slots__ = _fields = ("name", "probes")
    name: str
    probes: list[ProviderProbe]
