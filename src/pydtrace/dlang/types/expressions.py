# mypy: ignore-errors
"""The types of expressions: what each operator takes and gives.

In: expressions from the parser.  Out: the same, names replaced by symbols, a type on every
node, conversions made explicit by Cast nodes.
Always: checks come in dtrace's order and with its words, since a program's first error is the
one that is told.  Typing a node twice changes nothing: a clause may be typed again (see
typecheck.py).  Integers are 64-bit registers as in dtrace: operands are not converted to each
other's type; conversions are where dtrace has them, in casts, assignments, keys and arguments.
"""

from pydtrace.dlang import ast, constants
from pydtrace.dlang.builtins import builtin_variables, prototypes
from pydtrace.dlang.compile_errors import CompileError, refuse, unsupported
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
    as_text,
    check_arguments,
    convert,
    decay,
    fits,
    floating,
    has_size,
    incompatible,
    is_null_for,
    is_zero,
    need_writable,
    pointers_fit,
    points,
    referenced,
)

_INTEGER_OPS = frozenset(["&", "|", "^", "<<", ">>", "%"])
_ARITHMETIC_OPS = frozenset(["*", "/"])
_LOGICAL_OPS = frozenset(["&&", "||", "^^"])
_RELATIONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
JOIN_HINT = "strjoin(a, b) joins two strings"


# --- names -------------------------------------------------------------------------------
def ident(c, node):
    inline = c.names.inline(node.name, node.loc)
    if inline is None:
        found = c.names.scalar(node)
        if type(found) is ast.Builtin and found.row.argument is not None:
            probe_arguments.check_raw_argument(c, node, found.row.argument)
        return found
    if inline.keys is not None:
        c.names.bad_reference(node.loc, "associative array", node.name, "scalar")
    return templates.expand(node.loc, inline)


def created(c, node):
    """What an Ident stands for that is written: a variable, made where it is new."""
    if c.names.inline(node.name) is not None:
        return ident(c, node)
    return c.names.scalar(node, create=True)


def scoped_name(c, node):
    found = ast.Var(node.loc, c.names.scoped(node))
    symbol = found.symbol
    if symbol.keys is not None:
        message = f"{symbol.name}[ ] prototype mismatch: 0 keys passed, {len(symbol.keys)} expected"
        refuse("D_PROTO_LEN", node.loc, message, f"give it its keys: {symbol}[…]")
    found.type = symbol.type
    return found


def index(c, node, read=False):
    """a[keys]; makes the associative array where it is new.  A read of one that is not known is refused
    before its keys are looked at."""
    base = node.base
    if type(base) is ast.Ident:
        inline = c.names.inline(base.name)
        if inline is not None and inline.keys is not None:
            return inline_call(c, node, inline)
        if base.name == "args" and "args" not in c.names.scopes["global"]:
            return probe_arguments.probe_argument(c, node)
        if base.name == "uregs":
            return register(c, node)
        symbol = None if inline is not None else array(c, base)
    elif type(base) is ast.ScopedName:
        symbol = scoped_array(c, base)
    elif task_variables.is_task(c, base):
        return task_variables.task_variable(c, base, node.keys, read)
    elif type(base) is ast.AggRef:
        message = f"improper attempt to reference @{base.symbol} as a multi-dimensional array"
        refuse("D_AGG_MDIM", node.loc, message, "several keys are one tuple: @name[a, b]")
    else:
        symbol = None
    if symbol is None:
        return pointers.subscript(c, node, c.value(base))
    found = ast.AssocRef(node.loc, symbol, node.keys)
    if read:
        c.need_known(found)
    found.keys = calls.type_keys(c, found, symbol, str(symbol.name))
    found.type = symbol.type
    return found


def register(c, node):
    """uregs[i]"""
    keys = [c.value(key) for key in node.keys]
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
    if key.value >= len(predefined_constants.registers()):
        raise CompileError(
            "D_UNKNOWN", node.loc, f"uregs[]: index out of bounds ({key.value})", region=""
        )
    found = ast.Builtin(node.loc, builtin_variables.register(key.value))
    found.type = found.row.type
    return found


def inline_call(c, node, inline):
    """name[arguments] of an inline array."""
    keys = [c.value(key) for key in node.keys]
    types = [key.type for key in inline.keys]
    check_arguments(node, f"{inline.name}[ ]", "key", types, keys, len(types), False)
    return templates.expand(node.loc, inline, [convert(key, to) for key, to in zip(keys, types)])


def array(c, base):
    """The symbol of a global associative array; None where the name is something else that has a value."""
    name, loc = base.name, base.loc
    symbol = c.names.scopes["global"].get(name)
    if symbol is not None:
        return symbol if symbol.keys is not None else None
    if c.names.is_function(name):
        kind = prototypes.FUNCTIONS[name][0]
        c.names.bad_reference(loc, kind, name, "associative array")
    if c.names.is_builtin(name) or "`" in name:
        return None
    symbol = c.names.create("global", name, loc)
    symbol.keys = ()
    return symbol


def scoped_array(c, base):
    symbol = c.names.scoped(base)
    if symbol.keys is not None:
        return symbol
    if symbol.known:
        return None
    if symbol.scope == "this":
        message = f"local variables may not be used as associative arrays: {symbol.name}"
        refuse("D_ARR_LOCAL", base.loc, message, "use self-> or a global array")
    symbol.keys = ()
    return symbol


def agg_ref(c, node):
    """An aggregation as an operand: it must exist."""
    node.symbol = c.names.aggregation(node.symbol, node.loc, create=bool(node.keys))
    node.type = t.AGGREGATION
    return node


# --- operators ---------------------------------------------------------------------------
def unary(c, node):
    op = node.op
    operand = node.operand = c.operand(node.operand)
    kind = operand.type
    if floating(c, kind) and (found := float_rules.unary(node, operand)):
        return found
    if op in "+-" and not kind.is_integer:
        refuse("D_OP_ARITH", node.loc, f"operator {op} requires an operand of arithmetic type")
    if op == "~" and not kind.is_integer:
        refuse("D_OP_INT", node.loc, "operator ~ requires an operand of integral type")
    if op == "!" and not t.is_scalar(kind):
        hint = 'compare a string with "": (s == "")' if kind.is_string else None
        refuse("D_OP_SCALAR", node.loc, "operator ! requires an operand of scalar type", hint)
    if op == "*":
        return pointers.dereference(node, operand)
    if op == "&":
        return pointers.address_of(node, operand)
    node.type = t.INT if op == "!" else kind
    return node


def inc_dec(c, node):
    if type(node.operand) is ast.Ident:
        node.operand = created(c, node.operand)
    operand = node.operand = c.operand(node.operand)
    if not t.is_scalar(operand.type):
        hint = "@name = count() counts" if type(operand) is ast.AggRef else None
        refuse("D_OP_SCALAR", node.loc, f"operator {node.op} requires operand of scalar type", hint)
    if operand.type.is_pointer and not has_size(operand.type.to):
        refuse("D_OP_VFPTR", node.loc, f"operator {node.op} requires an operand of known size")
    need_writable(node, node.op, operand, "as an operand")
    node.type = operand.type
    return node


def binary(c, node):
    op = node.op
    left = node.left = c.value(node.left)
    right = node.right = c.value(node.right)
    a, b = left.type, right.type
    integers = a.is_integer and b.is_integer
    if not integers and floating(c, a, b) and (found := float_rules.binary(node, left, right)):
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
        node.left, node.right, node.common = compared(node, left, right)
        node.type = t.INT
    else:
        return additive(node)
    return node


def compared(node, left, right):
    """The operands of a comparison and the type in which they are compared."""
    a, b = left.type, right.type
    if a.is_integer and b.is_integer:
        return left, right, t.promote_types(a, b)
    if (a.is_string or b.is_string) and t.is_text(a) and t.is_text(b):
        return convert(left, t.STRING), convert(right, t.STRING), t.STRING
    if a.is_string and is_null_for(right, a) or b.is_string and is_null_for(left, b):
        return left, right, t.STRING
    if not pointers_fit(left, right) or a.is_record:
        incompatible(node, a, node.op, b)
    if a.is_string or b.is_string:
        unsupported(node.loc, "comparing a string with a void pointer is")
    left, right = decay(left), decay(right)
    return left, right, left.type if left.type.is_pointer else right.type


def additive(node):
    a, op, b = node.left.type, node.op, node.right.type
    if a.is_integer and b.is_integer:
        node.common = node.type = t.promote_types(a, b)
        return node
    found = pointers.add_pointers(node, node.left, node.right)
    if found is None:
        incompatible(node, a, op, b, JOIN_HINT if a.is_string and b.is_string else None)
    return found


def assign(c, node):
    op = node.op
    if type(node.target) is ast.AggRef:
        return calls.aggregate(c, node)
    if type(node.target) is ast.Ident:
        node.target = created(c, node.target)
    target = node.target = c.place(node.target)
    if op != "=":
        return compound(c, node)
    value = node.value = templates.whole(c.value(node.value))
    if type(target) in (ast.Var, ast.AssocRef):
        symbol = target.symbol
        if not symbol.known:
            if symbol.type is None:
                if value.type.is_void:
                    incompatible(node, value.type, op, value.type)
                refuse_array(c, node, value)
                symbol.type = value.type
            symbol.known = True
        target.type = symbol.type
    a, b = target.type, value.type
    if a.is_array or a.is_function:
        hint = "assign its elements" if a.is_array else None
        refuse(
            "D_OP_ARRFUN", node.loc, f'operator = may not be applied to operand of type "{a}"', hint
        )
    if a.is_pointer and value.type.is_string:
        unsupported(node.loc, "pointers to D's own strings are", "declare it as a string")
    if floating(c, a, b):
        return float_rules.assign(node, value)
    if not fits(a, value) and not deletes(target, value):
        incompatible(node, a, op, b)
    need_writable(node, op, target, "as an operand")
    if type(target) in (ast.Var, ast.AssocRef):
        pointers.check_allocated(node, target.symbol, value)
    if not (
        a.is_integer and b.is_integer
    ):  # which only the store cuts: (c = 300) == 300, as in dtrace
        node.value = convert(value, a)
    node.type = a
    return node


def deletes(target, value):
    """True for = 0, which deletes an element or a self-> variable of any type."""
    dynamic = (
        type(target) is ast.AssocRef or type(target) is ast.Var and target.symbol.scope == "self"
    )
    return dynamic and type(value) is ast.IntLit and value.value == 0


def compound(c, node):
    """target op= value"""
    op, target = node.op, node.target
    if type(target) in (ast.Var, ast.AssocRef):
        c.need_known(target)
    value = node.value = c.value(node.value)
    a, b = target.type, value.type
    if not (a.is_integer and b.is_integer):
        if floating(c, a, b) and (found := float_rules.compound(node, value)):
            return found
        if op in ("+=", "-="):
            if a.is_string or b.is_string:
                incompatible(node, a, op, b)
            if referenced(a) is None or not has_size(referenced(a)):
                message = f"operator {op} requires left-hand scalar operand of known size"
                refuse("D_OP_VFPTR", node.loc, message)
            if not b.is_integer:
                incompatible(node, a, op, b)
            need_writable(node, op, target, "as an operand")
            node.value, node.type = pointers.scaled(value, referenced(a)), a
            return node
        if op in ("*=", "/="):
            refuse("D_OP_ARITH", node.loc, f"operator {op} requires operands of arithmetic type")
        refuse("D_OP_INT", node.loc, f"operator {op} requires operands of integral type")
    need_writable(node, op, target, "as an operand")
    node.type = a
    return node


def ternary(c, node):
    cond = node.cond = c.value(node.cond)
    then = node.then = c.value(node.then)
    otherwise = node.otherwise = c.value(node.otherwise)
    has_floats = floating(c, cond.type) or floating(c, then.type, otherwise.type)
    if has_floats and (found := float_rules.ternary(c, node)):
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
        node.then, node.otherwise = convert(then, t.STRING), convert(otherwise, t.STRING)
        node.type = t.STRING
    elif is_text_or_null(then, otherwise) or is_text_or_null(otherwise, then):
        node.then, node.otherwise = (
            branch if is_zero(branch) or branch.type.is_string else as_text(branch.loc, branch)
            for branch in (then, otherwise)
        )
        node.type = t.STRING
    elif pointers_fit(then, otherwise):
        node.then, node.otherwise = decay(then), decay(otherwise)
        node.type = (node.then if points(a) or b.is_integer else node.otherwise).type
    else:
        refuse("D_OP_INCOMPAT", node.loc, "operator ?: operands must have compatible types")
    if calls.is_action(then) or calls.is_action(otherwise):
        hint = "put the condition into the clause's predicate"
        refuse("D_OP_ACT", node.loc, "action cannot be used in a conditional context", hint)
    if a.is_void:
        unsupported(node.loc, "?: of void expressions is")
    return node


def refuse_array(c, node, value):
    """dtrace calls what ?: makes of a string and 0 or a void pointer an array: no variable's first value."""
    if type(value) is ast.Ternary and value.type.is_string:
        for branch, other in ((value.then, value.otherwise), (value.otherwise, value.then)):
            if (
                is_zero(branch)
                or type(branch) is ast.Stringof
                and branch.operand.type.is_pointer
                and branch.operand.type.to.is_void
            ):
                is_array = type(other) is ast.Stringof and other.operand.type.is_array
                size = (
                    other.operand.type.count
                    if is_array
                    else c.names.options.get("strsize", t.STRING_EXTENT)
                )
                message = f'operator = may not be applied to operand of type "char [{size}]"'
                refuse("D_OP_ARRFUN", node.loc, message, "declare the variable: string name;")


def is_text_or_null(text, other):
    """Whether a ?: has a string and 0 or a void pointer, or an array of char and 0."""
    if text.type.is_array:
        return t.is_char(text.type.to) and is_zero(other)
    return text.type.is_string and (
        is_zero(other) or other.type.is_pointer and other.type.to.is_void
    )


def comma(c, node):
    parts = node.parts
    for i in range(len(parts)):
        parts[i] = c.value(parts[i])
        if i == 0:
            continue
        for part in (parts[i - 1], parts[i]):
            if isinstance(part.type, t.Dynamic):
                refuse("D_OP_DYN", node.loc, "operator , operands cannot be of dynamic type")
        if calls.is_action(parts[i - 1]) or calls.is_action(parts[i]):
            message = "operator , operands cannot be actions"
            refuse("D_OP_ACT", node.loc, message, "separate actions by ;")
    node.type = parts[-1].type
    return node


def cast(c, node):
    operand = node.operand = c.value(node.operand)
    to, source = node.to, operand.type
    if floating(c, to, source):
        return float_rules.cast(node, operand)
    ok = t.are_compatible(to, source) or t.is_scalar(to) and t.is_scalar(source) or to.is_void
    ok = ok or to.is_pointer and source.is_array
    ok = ok or to.is_string and (t.is_scalar(source) or source.is_array)
    if isinstance(source, t.Dynamic) or not ok:
        message = f'invalid cast expression: "{source}" to "{to}"'
        refuse("D_CAST_INVAL", node.loc, message)
    if to.is_string and not source.is_string:
        return as_text(node.loc, operand)
    if to.is_record:
        return operand
    if to.is_pointer:
        node.operand = decay(operand)
    node.type = to
    return node


def sizeof(c, node):
    operand = c.operand(node.operand)
    if type(operand) is ast.MemberRef and operand.field.width is not None:
        refuse("D_SIZEOF_BITFIELD", node.loc, "cannot apply sizeof to a bit-field")
    size = declarations.sizeof(node.loc, operand.type)
    return constants.literal(node.loc, size, t.SIZE_T)


# Node class -> function that types it: context.Typing.rules.
RULES = {
    ast.Ident: ident,
    ast.ScopedName: scoped_name,
    ast.Index: index,
    ast.AggRef: agg_ref,
    ast.Unary: unary,
    ast.IncDec: inc_dec,
    ast.Binary: binary,
    ast.Assign: assign,
    ast.Ternary: ternary,
    ast.Cast: cast,
    ast.Comma: comma,
    ast.Sizeof: sizeof,
    ast.Call: calls.type_call,
    ast.Stringof: pointers.stringof,
    ast.Select: pointers.select,
    ast.Xlate: templates.xlate,
}
