"""Rules that all operators share: compatible operands, writable operands, conversions.

Nothing here types a node; the other files of the types pass call this one and not the reverse.
"""

from __future__ import annotations

from pydtrace.dlang import ast, beginner_hints, constants
from pydtrace.dlang.builtins import prototypes
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, TypeVar

    from ..front.source_text import Location
    from .context import TypingContext

    E = TypeVar("E", bound=ast.Expr)


def require_writable(node: ast.Expr, op: str, target: ast.Expr, where: str) -> None:
    if type(target) is ast.Builtin:
        message = f"operator {op} can only be applied to a writable variable"
        hint = f"{target.row.name} is a variable of D"
        refuse("D_OP_WRITE", node.loc, message, f"== compares; {hint}" if op == "=" else hint)
    if not isinstance(target, (ast.Var, ast.AssocRef)) and not is_memory_object(target):
        refuse("D_OP_LVAL", node.loc, f"operator {op} requires modifiable lvalue {where}")


def is_null_for(node: ast.Expr, other: t.Type) -> bool:
    return other.is_string and type(node) is ast.IntLit and node.value == 0


def refuse_incompatible(
    node: ast.Expr, a: t.Type | None, op: str, b: t.Type, hint: str | None = None
) -> NoReturn:
    message = f'operands have incompatible types: "{a}" {op} "{b}"'
    if op == "=" and isinstance(a, t.Dynamic):
        assert isinstance(node, ast.Assign)
        kind = "scalar" if type(node.target) is ast.Var else "associative array"
        message = f'operands have incompatible types: "{kind}" = "{b}"'
        if b is t.AGGREGATING:
            hint = "an aggregation's name begins with @: @name = count()"
    if hint is None and isinstance(node, (ast.Assign, ast.Binary)):
        hint = (
            beginner_hints.hint_for_assigned(node.target, node.value)
            or beginner_hints.hint_for_operands(node.target, node.value)
            if isinstance(node, ast.Assign)
            else beginner_hints.hint_for_operands(node.left, node.right)
        )
    refuse("D_OP_INCOMPAT", node.loc, message, hint)


def are_floats(c: TypingContext, *types: t.Type) -> bool:
    """Whether an operator has floating-point values among its operands, and may have."""
    if not c.names.has_floats or not any(map(t.is_real, types)):
        return False
    return all(type.is_integer or t.is_real(type) for type in types)


def convert_node(node: ast.Expr, to: t.Type) -> ast.Expr:
    """The node as a value of type `to`, where that changes it."""
    source = node.type
    if to.is_string and not source.is_string and t.is_text(source):
        return make_stringof(node.loc, node)
    if to.is_pointer and source.is_array:
        return decay_array(node)
    if not (to.is_integer and source.is_integer) or not constants.changes_register(source, to):
        return node
    if type(node) is ast.IntLit:
        return constants.make_literal(node.loc, constants.convert_value(node.value, source, to), to)
    found = ast.Cast(node.loc, node, None)
    found.type = to
    return found


def check_arguments(
    node: ast.Expr,
    name: str,
    what: str,
    params: Sequence[t.Type | None],
    args: list[ast.Expr],
    required: int,
    varargs: bool,
) -> None:
    """Compare arguments or keys with their prototype."""
    count, limit, at = len(args), len(params), ""
    if varargs:
        at, limit = "at least ", len(params)
        wrong = count < limit
    elif required < len(params):
        wrong = not required <= count <= len(params)
        at, limit = ("at least ", required) if count < required else ("at most ", len(params))
    else:
        wrong = count != limit
    if wrong:
        plural = " " if count == 1 else "s "
        message = (
            f"{name} prototype mismatch: {count} {what[:3]}{plural}passed, {at}{limit} expected"
        )
        called = getattr(getattr(node, "name", None), "name", None)
        refuse(
            "D_PROTO_LEN",
            node.loc,
            message,
            prototypes.usage_hint(called) if what == "argument" else None,
        )
    word = "key" if what == "key" else "argument"
    for number, (param, arg) in enumerate(zip(params, args), 1):
        if param is not None and not is_assignable(param, arg):
            message = f"{name} {word} #{number} is incompatible with prototype:\n"
            message += f"\tprototype: {param}\n\t{word:>9}: {arg.type}"
            error = CompileError(
                "D_PROTO_ARG", arg.loc, message, find_argument_hint(name, what, param, arg)
            )
            error.mark = node.loc.mark
            raise error


def find_argument_hint(name: str, what: str, param: t.Type, arg: ast.Expr) -> str | None:
    if what == "key":
        return "its first use decided the types of its keys"
    if name.startswith("copyinstr") and arg.type.is_string:
        return "it is a string already"
    if name.startswith("copyinstr") and arg.type.is_pointer:
        return "an address in a process is a number: write arg1 for args[1], or put (uintptr_t) before it"
    if t.is_text(param) and beginner_hints.is_character(arg):
        return beginner_hints.string_hint(arg)
    if t.is_text(param) and arg.type.is_integer:
        return "copyinstr(arg) makes a string of an argument that is an address"
    return None


def is_assignable(param: t.Type, arg: ast.Expr) -> bool:
    """True if an argument, or what is assigned, goes with a type."""
    if param.is_integer and arg.type.is_integer or t.is_text(param) and t.is_text(arg.type):
        return True
    if param.is_record or arg.type.is_record:
        return t.are_compatible(param, arg.type)
    if isinstance(arg.type, t.Dynamic):
        return False
    return param is arg.type or are_pointers_compatible(None, arg, param)


def is_memory_object(node: ast.Expr) -> bool:
    """Whether a node is something in memory, of which & could be taken."""
    if isinstance(node, (ast.Deref, ast.ElementRef)):
        return True
    if type(node) is ast.MemberRef:
        return type(node) is ast.MemberRef and is_memory_object(node.base)
    return isinstance(node, (ast.Var, ast.AssocRef)) and not (
        node.type.is_string or node.type.is_integer
    )


def with_type(node: E, type: t.Type | None) -> E:
    node.type = type
    return node


def decay_array(node: ast.Expr) -> ast.Expr:
    """The node, or a pointer to its first element where it is an array."""
    if not node.type.is_array:
        return node
    return with_type(ast.AddressOf(node.loc, node), t.Pointer(node.type.to))


def is_movable_pointer(type: t.Type) -> bool:
    to = referenced_type(type)
    return to is not None and has_size(to)


def make_stringof(loc: Location, operand: ast.Expr) -> ast.Stringof:
    """A string that begins at an address or is an array of char."""
    if operand.type.is_array and not t.is_char(operand.type.to):
        operand = decay_array(operand)
    return with_type(ast.Stringof(loc, operand), t.STRING)


def referenced_type(type: t.Type) -> t.Type | None:
    """What a pointer or an array refers to, else None."""
    if type.is_string:
        return t.CHAR
    return type.to if type.is_pointer or type.is_array else None


def is_zero_constant(node: ast.Expr) -> bool:
    return type(node) is ast.IntLit and node.value == 0


def are_pointers_compatible(a: ast.Expr | None, b: ast.Expr, left: t.Type | None = None) -> bool:
    """Whether two nodes are pointers to one type, one of which may be void, or a pointer and 0.  left: the
    type to take for the first one, which is not a node then."""
    if left is None:
        assert a
        left = a.type
    right = b.type
    if left.is_integer or right.is_integer:
        if (
            left.is_integer
            and (a is None or not is_zero_constant(a))
            or right.is_integer
            and not is_zero_constant(b)
        ):
            return False
        other = right if left.is_integer else left
        return not other.is_integer and referenced_type(other) is not None
    x, y = referenced_type(left), referenced_type(right)
    if x is None or y is None:
        return False
    return x.is_void or y.is_void or x.is_enum or y.is_enum or t.are_compatible(x, y)


def has_size(type: t.Type) -> bool:
    """Whether a pointer to the type can be moved."""
    return not type.is_void and not type.is_function
