# mypy: ignore-errors
"""The types of what lies in memory: pointers, arrays, members.

In: Unary * and &, Select, Index and Stringof nodes.  Out: Deref, AddressOf, MemberRef, ElementRef, Stringof.
Always: `a->b` is `(*a).b`; an array becomes a pointer (AddressOf) where a pointer is wanted; the scale of
pointer arithmetic is explicit.
"""

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins import SUBROUTINES
from pydtrace.dlang.compile_errors import CompileError, refuse, unsupported
from pydtrace.program import d_types as t

from . import probe_arguments, task_variables, templates
from .operands import (
    as_text,
    convert,
    decay,
    is_object,
    is_zero,
    pointers_fit,
    points,
    referenced,
    typed,
)


# --- & and * -----------------------------------------------------------------------------
def dereference(node, operand):
    """*operand"""
    to = referenced(operand.type)
    if isinstance(operand.type, t.Dynamic) and type(operand) is ast.Xlate:
        return templates.translated(node.loc, operand)
    if to is None:
        hint = "copyinstr(address) reads a string of the process"
        refuse("D_DEREF_NONPTR", node.loc, "cannot dereference non-pointer type", hint)
    if to.is_void:
        hint = "cast it to a pointer to what is there, such as (int *)"
        refuse("D_DEREF_VOID", node.loc, "cannot dereference pointer to void", hint)
    if to.is_function:
        refuse("D_DEREF_FUNC", node.loc, "cannot dereference pointer to function")
    if operand.type.is_array or operand.type.is_string:
        return element(node.loc, operand, constants.literal(node.loc, 0, t.INT))
    return typed(ast.Deref(node.loc, operand), to)


def address_of(node, operand):
    """&operand"""
    kind = type(operand)
    if kind in (ast.Var, ast.AssocRef, ast.AggRef, ast.Builtin):
        refuse("D_ADDROF_VAR", node.loc, "cannot take address of dynamic variable")
    if isinstance(operand.type, t.Dynamic):
        refuse("D_ADDROF_VAR", node.loc, "cannot take address of dynamic object")
    if not is_object(operand) or operand.type.is_array:
        refuse("D_ADDROF_LVAL", node.loc, "unacceptable operand for unary & operator")
    if kind is ast.MemberRef and operand.field.width is not None:
        refuse("D_ADDROF_BITFIELD", node.loc, "cannot take address of bit-field")
    return typed(ast.AddressOf(node.loc, operand), t.Pointer(operand.type))


# --- arithmetic --------------------------------------------------------------------------
def add_pointers(node, left, right):
    """The types of + and - where an operand is a pointer; None where they do not go together."""
    a, b, op = left.type, right.type, node.op
    a_points, b_points = points(a), points(b)
    if a_points and b.is_integer:
        check_bounds(node, left, right)
        node.left, node.right = decay(left), scaled(right, referenced(a))
        node.type = node.common = node.left.type
    elif a.is_integer and b_points and op == "+":
        node.left, node.right = scaled(left, referenced(b)), decay(right)
        node.type = node.common = node.right.type
    elif a_points and b_points and op == "-" and pointers_fit(left, right):
        node.left, node.right = decay(left), decay(right)
        return difference(node, t.embedded_size(referenced(a)))
    else:
        return None
    if a.is_string or b.is_string:
        return string_behind(node, *((left, right) if a.is_string else (right, left)))
    return node


def string_behind(node, string, move):
    """A string from a character on: substr() of it."""
    if node.op == "-":
        unsupported(node.loc, "moving back in a string is", "substr() takes a part of a string")
    found = ast.Call(node.loc, "substr", SUBROUTINES["substr"], [string, convert(move, t.INT)])
    return typed(found, t.STRING)


def scaled(node, to):
    """An integer, multiplied by the size of what a pointer refers to."""
    size = t.embedded_size(to)
    if not size:
        refuse("D_OP_VFPTR", node.loc, f"pointer to incomplete type {to}")
    if size == 1:
        return node
    if type(node) is ast.IntLit:
        return constants.literal(node.loc, node.value * size, t.LONG)
    found = ast.Binary(node.loc, "*", node, constants.literal(node.loc, size, t.LONG))
    found.type = found.common = t.LONG
    return found


def difference(node, size):
    node.type = node.common = t.TYPEDEFS["ptrdiff_t"]
    found = ast.Binary(node.loc, "/", node, constants.literal(node.loc, size, t.LONG))
    found.type = found.common = node.type
    return found


def check_bounds(node, array, index):
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
def subscript(c, node, base):
    """base[key], base being no associative array."""
    if len(node.keys) > 1:
        name = getattr(getattr(base, "symbol", None), "name", None)
        what = f"{'scalar' if name else 'operator'} {name or operator_of(base)}"
        refuse("D_ARR_BADREF", node.loc, f"cannot access {what} as an associative array")
    index = c.value(node.keys[0])
    a, b = base.type, index.type
    if isinstance(a, t.Dynamic) or not points(a) and not a.is_integer:
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
        return element(node.loc, base, index)
    move = ast.Binary(node.loc, "+", base, index)
    return dereference(node, add_pointers(move, base, index))


def operator_of(node):
    names = {ast.Deref: "*", ast.ElementRef: "*", ast.AddressOf: "&", ast.MemberRef: "."}
    return names.get(type(node)) or getattr(node, "op", "()")


def element(loc, base, index):
    return typed(ast.ElementRef(loc, base, index), referenced(base.type))


def select(c, node):
    """base.name and base->name"""
    if task_variables.is_task(c, node):
        return task_variables.task_variable(c, node)
    if probe_arguments.is_named(c, node):
        return probe_arguments.named_argument(c, node)
    try:
        base = node.base = c.value(node.base)
    except CompileError as error:
        error.hint = probe_arguments.meant(node) or error.hint
        raise
    if type(base) is ast.Xlate:
        return templates.translated_member(c, node, base)
    if node.op == "->":
        record = pointed_record(node, base.type)
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
        hint = c.names.similar(node.name, fields)
        refuse("D_TYPE_MEMBER", node.loc, f"{node.name} is not a member of {record}", hint)
    if node.op == "->":
        base = typed(ast.Deref(node.loc, base), record)
    return typed(ast.MemberRef(node.loc, base, field), field.value_type)


def pointed_record(node, type):
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
def allocated(node):
    """Whether a pointer leads into memory of alloca() or copyin(), {True, False} for either, empty where its
    origin is not told: NULL, a variable that was not assigned yet, an array."""
    kind = type(node)
    if not node.type.is_pointer:
        return set() if is_zero(node) or not node.type.is_integer else {False}
    if kind is ast.Call:
        return {node.row.allocates}
    if kind in (ast.Var, ast.AssocRef):
        return {node.symbol.allocated} - {None}
    if (
        kind is ast.Ternary
    ):  # where one leads to memory of alloca(), any other branch does not, NULL too
        return (allocated(node.then) or {False}) | (allocated(node.otherwise) or {False})
    if kind is ast.Binary:
        return allocated(node.left if node.left.type.is_pointer else node.right)
    if kind in (ast.Cast, ast.IncDec):
        return allocated(node.operand)
    return allocated(node.value) if kind is ast.Assign else set()


def check_allocated(node, symbol, value):
    """Refuse a variable that is given pointers into memory of alloca() and other ones."""
    origins = allocated(value) if value.type.is_pointer else ()
    if len(origins) > 1:
        message = "ternary conditional with alloca and non-alloca branches cannot be assigned to a variable"
        refuse("D_ALLOCA_INCOMPAT", node.loc, message, "use two variables")
    for origin in origins:
        if symbol.allocated not in (None, origin):
            message = f"{symbol.name}: cannot reuse the same identifier for both alloca and non-alloca allocations"
            refuse("D_ALLOCA_INCOMPAT", node.loc, message, "use two variables")
        symbol.allocated = origin


# --- stringof ----------------------------------------------------------------------------
def stringof(c, node):
    operand = c.operand(node.operand)
    kind = operand.type
    if kind.is_string:  # NULL is a fault: such a string is kept apart from its operand
        return (
            operand
            if operand.__class__ in (ast.StrLit, ast.Builtin)
            else typed(ast.Stringof(node.loc, operand), t.STRING)
        )
    if not (t.is_scalar(kind) or kind.is_array):
        refuse("D_STRINGOF_TYPE", node.loc, f"cannot apply stringof to a value of type {kind}")
    return as_text(node.loc, operand)
