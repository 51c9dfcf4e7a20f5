# mypy: ignore-errors
"""The types of calls, aggregations and keys.

In: Call, AggRef and AssocRef nodes.  Out: the same, with their rows of builtins, arguments
and keys converted to the types of their prototypes.
"""

from pydtrace.dlang import ast
from pydtrace.dlang.builtins import prototypes
from pydtrace.dlang.compile_errors import GenerationError, refuse, unsupported
from pydtrace.program import d_types as t

from . import float_rules
from .operands import as_text, check_arguments, convert, floating
from .resolve import absent


def row_of(name):
    """The row of one of prototypes.FUNCTIONS, or None."""
    return prototypes.TABLES[prototypes.FUNCTIONS[name][0]].get(name)


def type_argument(c, row, arg):
    c.takes_floats = (
        row is not None and row.takes_floats and type(arg) in (ast.Ident, ast.ScopedName)
    )
    arg = c.value(arg)
    c.takes_floats = False
    return arg


def type_key(c, node):
    """One key; the functions that name an address may stand here."""
    row = (
        row_of(node.name.name) if type(node) is ast.Call and type(node.name) is ast.Ident else None
    )
    return type_call(c, node, used=True) if row is not None and row.is_key else c.value(node)


def type_keys(c, node, symbol, name):
    """Type the keys of an array or aggregation and convert them to its key types."""
    keys = [type_key(c, key) for key in node.keys]
    if len(keys) > c.names.options.get("tregs", len(keys)):
        raise GenerationError("Insufficient tuple registers to generate code")
    if type(symbol.keys) is not list:
        kind = "aggregation" if type(node) is ast.AggRef else "associative array"
        for number, key in enumerate(keys, 1):
            if not (
                t.is_scalar(key.type)
                or key.type.is_string
                or key.type.is_record
                or key.type.is_array
            ):
                if type(key) is ast.Call and not key.type.is_void:
                    unsupported(key.loc, f"{key.name}() as a key is")
                message = f"{key.type} expression may not be used as {kind} index: key #{number}"
                refuse("D_KEY_TYPE", key.loc, message)
        symbol.keys = [key.type for key in keys]
        return keys
    check_arguments(node, f"{name}[ ]", "key", symbol.keys, keys, len(symbol.keys), False)
    for key, to in zip(keys, symbol.keys):
        if to.is_string and not key.type.is_string:
            unsupported(key.loc, "0 as a key that is a string is", 'the empty string is ""')
    return [convert(key, to) for key, to in zip(keys, symbol.keys)]


# --- aggregations ------------------------------------------------------------------------
def aggregate(c, node):
    """@a[keys] = func(args), the target of an assignment being an aggregation."""
    target = node.target
    if node.op != "=":
        message = f"@{target.symbol} has not yet been declared or assigned"
        refuse(
            "D_VAR_UNDEF",
            node.loc,
            message,
            f"aggregations are assigned: @{target.symbol} = sum(…)",
        )
    loc = target.loc if target.keys else node.loc
    if type(target.symbol) is str:
        target.symbol = c.names.aggregation(target.symbol, loc, create=True)
    symbol = target.symbol
    if type(node.value) is ast.Call:
        value = type_call(c, node.value, used=True)
    else:
        value = c.value(node.value)
    kind = prototypes.FUNCTIONS[value.name][0] if type(value) is ast.Call else None
    if kind != prototypes.AGGREGATING:
        message = f"@{symbol.name} must be assigned the result of an aggregating function"
        refuse("D_AGG_FUNC", node.loc, message, "such as count(), sum(x), quantize(x)")
    if value.args and floating(c, value.args[0].type, *[t.FLOATS["double"]] * is_float(symbol.row)):
        float_rules.aggregate(node, symbol)
    if symbol.row is not None and symbol.row is not value.row:
        redefined(node, symbol, value.name)
    symbol.row = value.row
    target.keys = type_keys(c, target, symbol, "@" + symbol.name)
    target.type = node.type = t.AGGREGATION
    node.value = value
    return node


def redefined(node, symbol, name):
    at, old = f"@{symbol.name}", symbol.row.name.partition(".")[0]
    line = symbol.loc.source.place(symbol.loc.mark)[1]
    message = f"aggregation redefined: {at}\n\t current: {at} = {name}( )"
    message += f"\n\tprevious: {at} = {old}( ) : line {line}"
    refuse("D_AGG_REDEF", node.loc, message, "use another name for the other function")


# --- calls -------------------------------------------------------------------------------
def type_call(c, node, used=False):
    """A call.  used: True where an action or aggregating function may stand."""
    if type(node.name) is str:
        return node
    callee = node.name
    name = callee.name
    kind, row = prototypes.FUNCTIONS[name][0], row_of(name)
    node.args = [type_argument(c, row, arg) for arg in node.args]
    proto = prototypes.prototype(name)
    check_arguments(
        node, f"{name}( )", "argument", proto.params, node.args, proto.required, proto.varargs
    )
    if row is None:
        absent(node.loc, name, f"the {kind} {name}()")
    node.name, node.row = name, row
    row.accept(node)
    node.type = t.AGGREGATING if kind == prototypes.AGGREGATING else proto.result
    for i, (arg, to) in enumerate(zip(node.args, proto.params)):
        if (
            to is not None and kind != prototypes.AGGREGATING
        ):  # whose constants are checked as written
            node.args[i] = convert(arg, t.STRING if t.is_text(to) and t.is_text(arg.type) else to)
    if row.takes_text:
        node.args = [
            as_text(a.loc, a) if a.type.is_array and t.is_char(a.type.to) else a for a in node.args
        ]
    row.typed(c, node)
    if kind == prototypes.FUNCTION:
        c.destructive |= row.destructive
    if kind != prototypes.FUNCTION and not used and not row.is_operand:
        c.misplaced.append(node)
    return node


def is_action(node):
    return type(node) is ast.Call and prototypes.FUNCTIONS[node.name][0] == prototypes.ACTION


def is_float(row):
    """Whether an aggregation's row, or None, is one of floating-point values."""
    return row is not None and row.is_float
