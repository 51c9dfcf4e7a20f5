"""The types of objects in memory: pointers, arrays, members.

`a->b` is `(*a).b`; an array becomes a pointer (AddressOf) if a pointer is needed; the scale of
pointer arithmetic is explicit.
"""

from __future__ import annotations

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins import SUBROUTINES
from pydtrace.dlang.compile_errors import CompileError, refuse, refuse_unsupported
from pydtrace.program import d_types as t

from . import probe_arguments, task_variables, templates
from .operands import (
    are_pointers_compatible,
    convert_node,
    decay_array,
    is_memory_object,
    is_movable_pointer,
    is_zero_constant,
    make_stringof,
    referenced_type,
    with_type,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..front.source_text import Location
    from ..variable_table import Variable
    from .context import TypingContext


# --- & and * -----------------------------------------------------------------------------
def type_dereference(node: ast.Expr, operand: ast.Expr) -> ast.Expr:
    """*operand"""
    to = referenced_type(operand.type)
    if isinstance(operand.type, t.Dynamic) and type(operand) is ast.Xlate:
        return templates.make_translated(node.loc, operand)
    if to is None:
        hint = "copyinstr(address) reads a string of the process"
        refuse("D_DEREF_NONPTR", node.loc, "cannot dereference non-pointer type", hint)
    if to.is_void:
        hint = "cast it to a pointer to what is there, such as (int *)"
        refuse("D_DEREF_VOID", node.loc, "cannot dereference pointer to void", hint)
    if to.is_function:
        refuse("D_DEREF_FUNC", node.loc, "cannot dereference pointer to function")
    if operand.type.is_array or operand.type.is_string:
        return make_element(node.loc, operand, constants.make_literal(node.loc, 0, t.INT))
    return with_type(ast.Deref(node.loc, operand), to)


def type_address_of(node: ast.Unary, operand: ast.Expr) -> ast.AddressOf:
    """&operand"""
    kind = type(operand)
    if kind in (ast.Var, ast.AssocRef, ast.AggRef, ast.Builtin):
        refuse("D_ADDROF_VAR", node.loc, "cannot take address of dynamic variable")
    if isinstance(operand.type, t.Dynamic):
        refuse("D_ADDROF_VAR", node.loc, "cannot take address of dynamic object")
    if not is_memory_object(operand) or operand.type.is_array:
        refuse("D_ADDROF_LVAL", node.loc, "unacceptable operand for unary & operator")
    if type(operand) is ast.MemberRef and operand.field.width is not None:
        refuse("D_ADDROF_BITFIELD", node.loc, "cannot take address of bit-field")
    return with_type(ast.AddressOf(node.loc, operand), t.Pointer(operand.type))


# --- arithmetic --------------------------------------------------------------------------
def type_pointer_sum(node: ast.Binary, left: ast.Expr, right: ast.Expr) -> ast.Expr | None:
    """The types of + and - where an operand is a pointer; None where they do not go together."""
    a, b, op = left.type, right.type, node.op
    a_points, b_points = is_movable_pointer(a), is_movable_pointer(b)
    if a_points and b.is_integer:
        check_bounds(node, left, right)
        node.left, node.right = decay_array(left), scale_operand(right, referenced_type(a))
        node.type = node.common = node.left.type
    elif a.is_integer and b_points and op == "+":
        node.left, node.right = scale_operand(left, referenced_type(b)), decay_array(right)
        node.type = node.common = node.right.type
    elif a_points and b_points and op == "-" and are_pointers_compatible(left, right):
        refers_to = referenced_type(a)
        assert refers_to
        node.left, node.right = decay_array(left), decay_array(right)
        return make_difference(node, t.embedded_size(refers_to))
    else:
        return None
    if a.is_string or b.is_string:
        return make_substring(node, *((left, right) if a.is_string else (right, left)))
    return node


def make_substring(node: ast.Binary, string: ast.Expr, move: ast.Expr) -> ast.Call:
    """A string from a character on: substr() of it."""
    if node.op == "-":
        refuse_unsupported(
            node.loc, "moving back in a string is", "substr() takes a part of a string"
        )
    found = ast.Call(node.loc, "substr", SUBROUTINES["substr"], [string, convert_node(move, t.INT)])
    return with_type(found, t.STRING)


def scale_operand(node: ast.Expr, to: t.Type | None) -> ast.Expr:
    """An integer, multiplied by the size of what a pointer refers to."""
    size = t.embedded_size(to) if to else 0
    if not size:
        refuse("D_OP_VFPTR", node.loc, f"pointer to incomplete type {to}")
    if size == 1:
        return node
    if type(node) is ast.IntLit:
        return constants.make_literal(node.loc, node.value * size, t.LONG)
    found = ast.Binary(node.loc, "*", node, constants.make_literal(node.loc, size, t.LONG))
    found.type = found.common = t.LONG
    return found


def make_difference(node: ast.Binary, size: int) -> ast.Binary:
    node.type = node.common = t.TYPEDEFS["ptrdiff_t"]
    found = ast.Binary(node.loc, "/", node, constants.make_literal(node.loc, size, t.LONG))
    found.type = found.common = node.type
    return found


def check_bounds(node: ast.Expr, array: ast.Expr, index: ast.Expr) -> None:
    """Refuse a constant index outside a declared array."""
    if not array.type.is_array or type(array) is ast.AssocRef or type(index) is not ast.IntLit:
        return
    count = array.type.count
    if count > 1 and index.value >= count:
        hint = f"the last element is [{count - 1}]"
        refuse(
            "D_ARR_BOUNDS",
            node.loc,
            f"index outside array bounds: {index.value}, max is {count}",
            hint,
        )


# --- [] . and -> -------------------------------------------------------------------------
def type_subscript(c: TypingContext, node: ast.Index, base: ast.Expr) -> ast.Expr:
    """base[key], base being no associative array."""
    if len(node.keys) > 1:
        name = getattr(getattr(base, "symbol", None), "name", None)
        what = f"{'scalar' if name else 'operator'} {name or operator_name(base)}"
        refuse("D_ARR_BADREF", node.loc, f"cannot access {what} as an associative array")
    index = c.type_value(node.keys[0])
    a, b = base.type, index.type
    if isinstance(a, t.Dynamic) or not is_movable_pointer(a) and not a.is_integer:
        refuse("D_OP_INCOMPAT", node.loc, f'operands have incompatible types: "{a}" + "{b}"')
    if a.is_integer:
        if not b.is_integer:
            refuse("D_OP_INCOMPAT", node.loc, f'operands have incompatible types: "{a}" + "{b}"')
        hint = "only an array, a pointer or an associative array can be indexed"
        refuse("D_DEREF_NONPTR", node.loc, "cannot dereference non-pointer type", hint)
    if not b.is_integer:
        refuse("D_OP_INCOMPAT", node.loc, f'operands have incompatible types: "{a}" + "{b}"')
    if a.is_array or a.is_string:
        check_bounds(node, base, index)
        return make_element(node.loc, base, index)
    move = ast.Binary(node.loc, "+", base, index)
    moved = type_pointer_sum(move, base, index)
    assert moved  # a pointer and an integer go together
    return type_dereference(node, moved)


def operator_name(node: ast.Expr) -> str:
    names: dict[type, str] = {
        ast.Deref: "*",
        ast.ElementRef: "*",
        ast.AddressOf: "&",
        ast.MemberRef: ".",
    }
    return names.get(type(node)) or str(getattr(node, "op", "()"))


def make_element(loc: Location, base: ast.Expr, index: ast.Expr) -> ast.ElementRef:
    return with_type(ast.ElementRef(loc, base, index), referenced_type(base.type))


def type_select(c: TypingContext, node: ast.Select) -> ast.Expr:
    """base.name and base->name"""
    if task_variables.is_task_variable(c, node):
        return task_variables.type_task_variable(c, node)
    if probe_arguments.is_named_argument(c, node):
        return probe_arguments.type_named_argument(c, node)
    try:
        base = node.base = c.type_value(node.base)
    except CompileError as error:
        error.hint = probe_arguments.hint_for_argument(node) or error.hint
        raise
    if type(base) is ast.Xlate:
        return templates.type_translated_member(c, node, base)
    if node.op == "->":
        record = require_record_pointer(node, base.type)
    else:
        record = base.type
        if not record.is_record:
            shown = "char [256]" if record.is_string else record
            message = f'operator . cannot be applied to type "{shown}"; must be applied to a struct or union'
            hint = "-> takes a member of what a pointer points to" if record.is_pointer else None
            refuse("D_OP_SOU", node.loc, message, hint)
    fields = record.body.fields
    if fields is None:
        message = f"operator {node.op} cannot be applied to a forward declaration: no {record} definition is available"
        refuse("D_OP_INCOMPLETE", node.loc, message, f"define {record} with its members")
    field = fields.get(node.name)
    if field is None:
        hint = c.names.suggest_name(node.name, fields)
        refuse("D_TYPE_MEMBER", node.loc, f"{node.name} is not a member of {record}", hint)
    if node.op == "->":
        base = with_type(ast.Deref(node.loc, base), record)
    return with_type(ast.MemberRef(node.loc, base, field), field.value_type)


def require_record_pointer(node: ast.Select, type: t.Type) -> t.Type:
    if not type.is_pointer:
        hint = (
            "cast the address to a pointer: ((struct name *)arg0)->member"
            if type.is_integer
            else None
        )
        hint = "use . for a struct that is no pointer" if type.is_record else hint
        refuse("D_OP_PTR", node.loc, "operator -> must be applied to a pointer", hint)
    if not type.to.is_record:
        message = f'operator -> cannot be applied to pointer to type "{type.to}"; '
        refuse("D_OP_SOU", node.loc, message + "must be applied to a struct or union pointer")
    return type.to


# --- memory of alloca() ------------------------------------------------------------------
def find_origins(node: ast.Expr) -> set[bool]:
    """Whether a pointer leads into memory of alloca() or copyin(), {True, False} for either, empty where its
    origin is not known: NULL, a variable that was not assigned yet, an array."""
    if not node.type.is_pointer:
        return set() if is_zero_constant(node) or not node.type.is_integer else {False}
    if type(node) is ast.Call:
        return {node.row.allocates}
    if isinstance(node, (ast.Var, ast.AssocRef)):
        allocated = node.symbol.is_allocated
        return set() if allocated is None else {allocated}
    if (
        type(node) is ast.Ternary
    ):  # where one leads to memory of alloca(), any other branch does not, NULL too
        return (find_origins(node.then) or {False}) | (find_origins(node.otherwise) or {False})
    if type(node) is ast.Binary:
        return find_origins(node.left if node.left.type.is_pointer else node.right)
    if isinstance(node, (ast.Cast, ast.IncDec)):
        return find_origins(node.operand)
    return find_origins(node.value) if type(node) is ast.Assign else set()


def check_origins(node: ast.Assign, symbol: Variable, value: ast.Expr) -> None:
    """Refuse a variable that is given pointers into memory of alloca() and other ones."""
    origins = find_origins(value) if value.type.is_pointer else ()
    if len(origins) > 1:
        message = "ternary conditional with alloca and non-alloca branches cannot be assigned to a variable"
        refuse("D_ALLOCA_INCOMPAT", node.loc, message, "use two variables")
    for origin in origins:
        if symbol.is_allocated not in (None, origin):
            message = f"{symbol.name}: cannot reuse the same identifier for both alloca and non-alloca allocations"
            refuse("D_ALLOCA_INCOMPAT", node.loc, message, "use two variables")
        symbol.is_allocated = origin


# --- stringof ----------------------------------------------------------------------------
def type_stringof(c: TypingContext, node: ast.Stringof) -> ast.Expr:
    operand = c.type_operand(node.operand)
    kind = operand.type
    if kind.is_string:  # NULL is a fault: such a string is kept apart from its operand
        return (
            operand
            if isinstance(operand, (ast.StrLit, ast.Builtin))
            else with_type(ast.Stringof(node.loc, operand), t.STRING)
        )
    if not (t.is_scalar(kind) or kind.is_array):
        refuse("D_STRINGOF_TYPE", node.loc, f"cannot apply stringof to a value of type {kind}")
    return make_stringof(node.loc, operand)
