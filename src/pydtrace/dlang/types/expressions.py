"""The types of expressions: the operands and the result of each operator.

- The pass replaces names by symbols, gives every node a type, and makes conversions explicit by
  Cast nodes. Typing a node twice changes nothing: a clause may be typed again (typecheck.py).
- Checks come in dtrace's order and with its messages, because dtrace reports a program's first
  error.
- Integers are 64-bit registers as in dtrace: operands are not converted to each other's type;
  conversions are where dtrace has them, in casts, assignments, keys and arguments.
"""

from __future__ import annotations

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins import builtin_variables, prototypes
from pydtrace.dlang.compile_errors import CompileError, refuse, refuse_unsupported
from pydtrace.program import d_types as t

from . import (
    calls,
    declarations,
    float_rules,
    pointers,
    predefined_constants,
    probe_arguments,
    task_variables,
    templates,
)
from .operands import (
    are_floats,
    are_pointers_compatible,
    check_arguments,
    convert_node,
    decay_array,
    has_size,
    is_assignable,
    is_movable_pointer,
    is_null_for,
    is_zero_constant,
    make_stringof,
    referenced_type,
    refuse_incompatible,
    require_writable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..variable_table import Inline, Variable
    from .context import TypingContext

_INTEGER_OPS = frozenset(["&", "|", "^", "<<", ">>", "%"])
_ARITHMETIC_OPS = frozenset(["*", "/"])
_LOGICAL_OPS = frozenset(["&&", "||", "^^"])
_RELATIONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
JOIN_HINT = "strjoin(a, b) joins two strings"


# --- names -------------------------------------------------------------------------------
def type_ident(c: TypingContext, node: ast.Ident) -> ast.Expr:
    inline = c.names.find_inline(node.name, node.loc)
    if inline is None:
        found = c.names.resolve_scalar(node)
        if type(found) is ast.Builtin and found.row.argument_index is not None:
            probe_arguments.check_raw_argument(c, node, found.row.argument_index)
        return found
    if inline.keys is not None:
        c.names.refuse_reference(node.loc, "associative array", node.name, "scalar")
    return templates.expand_inline(node.loc, inline)


def type_written_ident(c: TypingContext, node: ast.Ident) -> ast.Expr:
    """What an Ident stands for that is written: a variable, made where it is new."""
    if c.names.find_inline(node.name) is not None:
        return type_ident(c, node)
    return c.names.resolve_scalar(node, create=True)


def type_scoped_name(c: TypingContext, node: ast.ScopedName) -> ast.Var:
    found = ast.Var(node.loc, c.names.resolve_scoped(node))
    symbol = found.symbol
    if symbol.keys is not None:
        message = f"{symbol.name}[ ] prototype mismatch: 0 keys passed, {len(symbol.keys)} expected"
        refuse("D_PROTO_LEN", node.loc, message, f"give it its keys: {symbol}[…]")
    found.type = symbol.type
    return found


def type_index(c: TypingContext, node: ast.Index, read: bool = False) -> ast.Expr:
    """a[keys]; makes the associative array where it is new.  A read of one that is not known is refused
    before its keys are looked at."""
    base = node.base
    if type(base) is ast.Ident:
        inline = c.names.find_inline(base.name)
        if inline is not None and inline.keys is not None:
            return type_inline_call(c, node, inline)
        if base.name == "args" and "args" not in c.names.scopes["global"]:
            return probe_arguments.type_args_element(c, node)
        if base.name == "uregs":
            return type_register(c, node)
        symbol = None if inline is not None else find_array(c, base)
    elif type(base) is ast.ScopedName:
        symbol = find_scoped_array(c, base)
    elif task_variables.is_task_variable(c, base):
        return task_variables.type_task_variable(c, base, node.keys, read)
    elif type(base) is ast.AggRef:
        message = f"improper attempt to reference @{base.symbol} as a multi-dimensional array"
        refuse("D_AGG_MDIM", node.loc, message, "several keys are one tuple: @name[a, b]")
    else:
        symbol = None
    if symbol is None:
        return pointers.type_subscript(c, node, c.type_value(base))
    found = ast.AssocRef(node.loc, symbol, node.keys)
    if read:
        c.require_known(found)
    found.keys = calls.type_keys(c, found, symbol, str(symbol.name))
    found.type = symbol.type
    return found


def type_register(c: TypingContext, node: ast.Index) -> ast.Expr:
    """uregs[i]"""
    keys = [c.type_value(key) for key in node.keys]
    check_arguments(node, "uregs[ ]", "argument", [None], keys, 1, False)
    key = keys[0]
    if type(key) is not ast.IntLit:
        message = (
            "uregs[ ] argument #1 is incompatible with prototype:\n\tprototype: integer constant\n"
        )
        refuse("D_PROTO_ARG", node.loc, message + f"\t argument: {key.type}")
    if key.value >> 63:
        refuse(
            "D_REGS_IDX", node.loc, f"index {key.value - (1 << 64)} is out of range for array uregs"
        )
    if key.value >= len(predefined_constants.register_names()):
        raise CompileError(
            "D_UNKNOWN", node.loc, f"uregs[]: index out of bounds ({key.value})", region=""
        )
    found = ast.Builtin(node.loc, builtin_variables.make_register_row(key.value))
    found.type = found.row.type
    return found


def type_inline_call(c: TypingContext, node: ast.Index, inline: Inline) -> ast.Expr:
    """name[arguments] of an inline array."""
    keys = [c.type_value(key) for key in node.keys]
    types = [key.type for key in inline.keys or ()]
    check_arguments(node, f"{inline.name}[ ]", "key", types, keys, len(types), False)
    return templates.expand_inline(
        node.loc, inline, [convert_node(key, to) for key, to in zip(keys, types)]
    )


def find_array(c: TypingContext, base: ast.Ident) -> Variable | None:
    """The symbol of a global associative array; None where the name is something else that has a value."""
    name, loc = base.name, base.loc
    symbol = c.names.scopes["global"].get(name)
    if symbol is not None:
        return symbol if symbol.keys is not None else None
    if c.names.is_function(name):
        kind = prototypes.FUNCTIONS[name][0]
        c.names.refuse_reference(loc, kind, name, "associative array")
    if c.names.is_builtin(name) or "`" in name:
        return None
    symbol = c.names.create_variable("global", name, loc)
    symbol.keys = ()
    return symbol


def find_scoped_array(c: TypingContext, base: ast.ScopedName) -> Variable | None:
    symbol = c.names.resolve_scoped(base)
    if symbol.keys is not None:
        return symbol
    if symbol.is_known:
        return None
    if symbol.scope == "this":
        message = f"local variables may not be used as associative arrays: {symbol.name}"
        refuse("D_ARR_LOCAL", base.loc, message, "use self-> or a global array")
    symbol.keys = ()
    return symbol


def type_agg_ref(c: TypingContext, node: ast.AggRef) -> ast.AggRef:
    """An aggregation as an operand: it must exist."""
    node.symbol = c.names.resolve_aggregation(node.symbol, node.loc, create=bool(node.keys))
    node.type = t.AGGREGATION
    return node


# --- operators ---------------------------------------------------------------------------
def type_unary(c: TypingContext, node: ast.Unary) -> ast.Expr:
    op = node.op
    operand = node.operand = c.type_operand(node.operand)
    kind = operand.type
    if are_floats(c, kind) and (found := float_rules.type_float_unary(node, operand)):
        return found
    if op in "+-" and not kind.is_integer:
        refuse("D_OP_ARITH", node.loc, f"operator {op} requires an operand of arithmetic type")
    if op == "~" and not kind.is_integer:
        refuse("D_OP_INT", node.loc, "operator ~ requires an operand of integral type")
    if op == "!" and not t.is_scalar(kind):
        hint = 'compare a string with "": (s == "")' if kind.is_string else None
        refuse("D_OP_SCALAR", node.loc, "operator ! requires an operand of scalar type", hint)
    if op == "*":
        return pointers.type_dereference(node, operand)
    if op == "&":
        return pointers.type_address_of(node, operand)
    node.type = t.INT if op == "!" else kind
    return node


def type_inc_dec(c: TypingContext, node: ast.IncDec) -> ast.IncDec:
    if type(node.operand) is ast.Ident:
        node.operand = type_written_ident(c, node.operand)
    operand = node.operand = c.type_operand(node.operand)
    if not t.is_scalar(operand.type):
        hint = "@name = count() counts" if type(operand) is ast.AggRef else None
        refuse("D_OP_SCALAR", node.loc, f"operator {node.op} requires operand of scalar type", hint)
    if operand.type.is_pointer and not has_size(operand.type.to):
        refuse("D_OP_VFPTR", node.loc, f"operator {node.op} requires an operand of known size")
    require_writable(node, node.op, operand, "as an operand")
    node.type = operand.type
    return node


def type_binary(c: TypingContext, node: ast.Binary) -> ast.Expr:
    op = node.op
    left = node.left = c.type_value(node.left)
    right = node.right = c.type_value(node.right)
    a, b = left.type, right.type
    integers = a.is_integer and b.is_integer
    if (
        not integers
        and are_floats(c, a, b)
        and (found := float_rules.type_float_binary(node, left, right))
    ):
        return found
    if op in _INTEGER_OPS:
        if not integers:
            refuse("D_OP_INT", node.loc, f"operator {op} requires operands of integral type")
        node.common = node.type = a if op in ("<<", ">>") else t.promote_types(a, b)
    elif op in _ARITHMETIC_OPS:
        if not integers:
            refuse("D_OP_ARITH", node.loc, f"operator {op} requires operands of arithmetic type")
        node.common = node.type = t.promote_types(a, b)
    elif op in _LOGICAL_OPS:
        if not (t.is_scalar(a) and t.is_scalar(b)):
            refuse("D_OP_SCALAR", node.loc, f"operator {op} requires operands of scalar type")
        node.type = t.INT
    elif op in _RELATIONS:
        node.left, node.right, node.common = type_comparison(node, left, right)
        node.type = t.INT
    else:
        return type_additive(node)
    return node


def type_comparison(
    node: ast.Binary, left: ast.Expr, right: ast.Expr
) -> tuple[ast.Expr, ast.Expr, t.Type]:
    """The operands of a comparison and the type in which they are compared."""
    a, b = left.type, right.type
    if a.is_integer and b.is_integer:
        return left, right, t.promote_types(a, b)
    if (a.is_string or b.is_string) and t.is_text(a) and t.is_text(b):
        return convert_node(left, t.STRING), convert_node(right, t.STRING), t.STRING
    if a.is_string and is_null_for(right, a) or b.is_string and is_null_for(left, b):
        return left, right, t.STRING
    if not are_pointers_compatible(left, right) or a.is_record:
        refuse_incompatible(node, a, node.op, b)
    if a.is_string or b.is_string:
        refuse_unsupported(node.loc, "comparing a string with a void pointer is")
    left, right = decay_array(left), decay_array(right)
    return left, right, left.type if left.type.is_pointer else right.type


def type_additive(node: ast.Binary) -> ast.Expr:
    a, op, b = node.left.type, node.op, node.right.type
    if a.is_integer and b.is_integer:
        node.common = node.type = t.promote_types(a, b)
        return node
    found = pointers.type_pointer_sum(node, node.left, node.right)
    if found is None:
        refuse_incompatible(node, a, op, b, JOIN_HINT if a.is_string and b.is_string else None)
    return found


def type_assign(c: TypingContext, node: ast.Assign) -> ast.Expr:
    op = node.op
    if type(node.target) is ast.AggRef:
        return calls.type_aggregation(c, node)
    if type(node.target) is ast.Ident:
        node.target = type_written_ident(c, node.target)
    target = node.target = c.type_target(node.target)
    if op != "=":
        return type_compound(c, node)
    value = node.value = templates.expand_translation(c.type_value(node.value))
    if isinstance(target, (ast.Var, ast.AssocRef)):
        symbol = target.symbol
        if not symbol.is_known:
            if symbol.type is None:
                if value.type.is_void:
                    refuse_incompatible(node, value.type, op, value.type)
                refuse_array(c, node, value)
                symbol.type = value.type
            symbol.is_known = True
        target.type = symbol.type
    a, b = target.type, value.type
    if a.is_array or a.is_function:
        hint = "assign its elements" if a.is_array else None
        refuse(
            "D_OP_ARRFUN", node.loc, f'operator = may not be applied to operand of type "{a}"', hint
        )
    if a.is_pointer and value.type.is_string:
        refuse_unsupported(node.loc, "pointers to D's own strings are", "declare it as a string")
    if are_floats(c, a, b):
        return float_rules.type_float_assign(node, value)
    if not is_assignable(a, value) and not is_deletion(target, value):
        refuse_incompatible(node, a, op, b)
    require_writable(node, op, target, "as an operand")
    if isinstance(target, (ast.Var, ast.AssocRef)):
        pointers.check_origins(node, target.symbol, value)
    if not (
        a.is_integer and b.is_integer
    ):  # which only the store cuts: (c = 300) == 300, as in dtrace
        node.value = convert_node(value, a)
    node.type = a
    return node


def is_deletion(target: ast.Expr, value: ast.Expr) -> bool:
    """True for = 0, which deletes an element or a self-> variable of any type."""
    dynamic = (
        type(target) is ast.AssocRef or type(target) is ast.Var and target.symbol.scope == "self"
    )
    return dynamic and type(value) is ast.IntLit and value.value == 0


def type_compound(c: TypingContext, node: ast.Assign) -> ast.Expr:
    """target op= value"""
    op, target = node.op, node.target
    if isinstance(target, (ast.Var, ast.AssocRef)):
        c.require_known(target)
    value = node.value = c.type_value(node.value)
    a, b = target.type, value.type
    if not (a.is_integer and b.is_integer):
        if are_floats(c, a, b) and (found := float_rules.type_float_compound(node, value)):
            return found
        if op in ("+=", "-="):
            if a.is_string or b.is_string:
                refuse_incompatible(node, a, op, b)
            refers_to = referenced_type(a)
            if refers_to is None or not has_size(refers_to):
                message = f"operator {op} requires left-hand scalar operand of known size"
                refuse("D_OP_VFPTR", node.loc, message)
            if not b.is_integer:
                refuse_incompatible(node, a, op, b)
            require_writable(node, op, target, "as an operand")
            node.value, node.type = pointers.scale_operand(value, refers_to), a
            return node
        if op in ("*=", "/="):
            refuse("D_OP_ARITH", node.loc, f"operator {op} requires operands of arithmetic type")
        refuse("D_OP_INT", node.loc, f"operator {op} requires operands of integral type")
    require_writable(node, op, target, "as an operand")
    node.type = a
    return node


def type_ternary(c: TypingContext, node: ast.Ternary) -> ast.Expr:
    cond = node.cond = c.type_value(node.cond)
    then = node.then = c.type_value(node.then)
    otherwise = node.otherwise = c.type_value(node.otherwise)
    has_floats = are_floats(c, cond.type) or are_floats(c, then.type, otherwise.type)
    if has_floats and (found := float_rules.type_float_ternary(c, node)):
        return found
    cond = node.cond
    if not t.is_scalar(cond.type):
        refuse("D_OP_SCALAR", node.loc, "operator ?: expression must be of scalar type")
    a, b = then.type, otherwise.type
    if isinstance(a, t.Dynamic) or isinstance(b, t.Dynamic):
        refuse("D_OP_DYN", node.loc, "operator ?: operands cannot be of dynamic type")
    if t.are_compatible(a, b) or a.is_integer and b.is_integer and a.is_enum != b.is_enum:
        node.type = a
    elif a.is_integer and b.is_integer:
        node.type = t.promote_types(a, b)
    elif (a.is_string or b.is_string) and t.is_text(a) and t.is_text(b):
        node.then, node.otherwise = convert_node(then, t.STRING), convert_node(otherwise, t.STRING)
        node.type = t.STRING
    elif is_text_or_null(then, otherwise) or is_text_or_null(otherwise, then):
        node.then, node.otherwise = (
            branch
            if is_zero_constant(branch) or branch.type.is_string
            else make_stringof(branch.loc, branch)
            for branch in (then, otherwise)
        )
        node.type = t.STRING
    elif are_pointers_compatible(then, otherwise):
        node.then, node.otherwise = decay_array(then), decay_array(otherwise)
        node.type = (node.then if is_movable_pointer(a) or b.is_integer else node.otherwise).type
    else:
        refuse("D_OP_INCOMPAT", node.loc, "operator ?: operands must have compatible types")
    if calls.is_action_call(then) or calls.is_action_call(otherwise):
        hint = "put the condition into the clause's predicate"
        refuse("D_OP_ACT", node.loc, "action cannot be used in a conditional context", hint)
    if a.is_void:
        refuse_unsupported(node.loc, "?: of void expressions is")
    return node


def refuse_array(c: TypingContext, node: ast.Assign, value: ast.Expr) -> None:
    """dtrace calls what ?: makes of a string and 0 or a void pointer an array: no variable's first value."""
    if type(value) is ast.Ternary and value.type.is_string:
        for branch, other in ((value.then, value.otherwise), (value.otherwise, value.then)):
            if (
                is_zero_constant(branch)
                or type(branch) is ast.Stringof
                and branch.operand.type.is_pointer
                and branch.operand.type.to.is_void
            ):
                size = (
                    other.operand.type.count
                    if isinstance(other, ast.Stringof) and other.operand.type.is_array
                    else c.names.options.get("strsize", t.STRING_EXTENT)
                )
                message = f'operator = may not be applied to operand of type "char [{size}]"'
                refuse("D_OP_ARRFUN", node.loc, message, "declare the variable: string name;")


def is_text_or_null(text: ast.Expr, other: ast.Expr) -> bool:
    """Whether a ?: has a string and 0 or a void pointer, or an array of char and 0."""
    if text.type.is_array:
        return t.is_char(text.type.to) and is_zero_constant(other)
    return text.type.is_string and (
        is_zero_constant(other) or other.type.is_pointer and other.type.to.is_void
    )


def type_comma(c: TypingContext, node: ast.Comma) -> ast.Comma:
    parts = node.parts
    for i in range(len(parts)):
        parts[i] = c.type_value(parts[i])
        if i == 0:
            continue
        for part in (parts[i - 1], parts[i]):
            if isinstance(part.type, t.Dynamic):
                refuse("D_OP_DYN", node.loc, "operator , operands cannot be of dynamic type")
        if calls.is_action_call(parts[i - 1]) or calls.is_action_call(parts[i]):
            message = "operator , operands cannot be actions"
            refuse("D_OP_ACT", node.loc, message, "separate actions by ;")
    node.type = parts[-1].type
    return node


def type_cast(c: TypingContext, node: ast.Cast) -> ast.Expr:
    operand = node.operand = c.type_value(node.operand)
    to, source = node.to, operand.type
    assert to  # a conversion is typed where it is made
    if are_floats(c, to, source):
        return float_rules.type_float_cast(node, to, operand)
    ok = t.are_compatible(to, source) or t.is_scalar(to) and t.is_scalar(source) or to.is_void
    ok = ok or to.is_pointer and source.is_array
    ok = ok or to.is_string and (t.is_scalar(source) or source.is_array)
    if isinstance(source, t.Dynamic) or not ok:
        message = f'invalid cast expression: "{source}" to "{to}"'
        refuse("D_CAST_INVAL", node.loc, message)
    if to.is_string and not source.is_string:
        return make_stringof(node.loc, operand)
    if to.is_record:
        return node.operand
    if to.is_pointer:
        node.operand = decay_array(operand)
    node.type = to
    return node


def type_sizeof(c: TypingContext, node: ast.Sizeof) -> ast.IntLit:
    operand = c.type_operand(node.operand)
    if type(operand) is ast.MemberRef and operand.field.width is not None:
        refuse("D_SIZEOF_BITFIELD", node.loc, "cannot apply sizeof to a bit-field")
    size = declarations.type_size(node.loc, operand.type)
    return constants.make_literal(node.loc, size, t.SIZE_T)


# Node class -> function that types it: context.TypingContext.rules.
RULES: dict[type[ast.Expr], Callable[..., ast.Expr]] = {
    ast.Ident: type_ident,
    ast.ScopedName: type_scoped_name,
    ast.Index: type_index,
    ast.AggRef: type_agg_ref,
    ast.Unary: type_unary,
    ast.IncDec: type_inc_dec,
    ast.Binary: type_binary,
    ast.Assign: type_assign,
    ast.Ternary: type_ternary,
    ast.Cast: type_cast,
    ast.Comma: type_comma,
    ast.Sizeof: type_sizeof,
    ast.Call: calls.type_call,
    ast.Stringof: pointers.type_stringof,
    ast.Select: pointers.type_select,
    ast.Xlate: templates.type_xlate,
}
