"""The types of calls, aggregations and keys.

In: Call, AggRef and AssocRef nodes.  Out: the same, with their rows of builtins, arguments
and keys converted to the types of their prototypes.
"""

from ...data import types as t
from .. import ast
from ..builtins import ACTIONS, AGGREGATIONS, SUBROUTINES
from ..code import stacks
from ..errors import GenerationError, refuse, unsupported
from . import float_rules, prototypes
from .operands import as_text, check_arguments, convert, floating
from .resolve import absent

_ROWS = {prototypes.FUNCTION: SUBROUTINES, prototypes.AGGREGATING: AGGREGATIONS, prototypes.ACTION: ACTIONS}
# Actions that take an array of char for a string.
_TEXTS = frozenset(("freopen", "printa", "printf", "system", "trace"))
# Which argument of a function is where it copies to.
_DESTINATIONS = {"bcopy": 2, "copyinto": 3}


def type_argument(c, function, arg):
    c.takes_floats = function == "printf" and type(arg) in (ast.Ident, ast.ScopedName)
    arg = c.value(arg)
    c.takes_floats = False
    return arg


def type_key(c, node):
    """One key; the functions that name an address may stand here."""
    if type(node) is ast.Call and type(node.name) is ast.Ident and node.name.name in stacks.SYMBOLS:
        return type_call(c, node, used=True)
    return c.value(node)


def type_keys(c, node, symbol, name):
    """Type the keys of an array or aggregation and convert them to its key types."""
    keys = [type_key(c, key) for key in node.keys]
    if len(keys) > c.names.options.get("tregs", len(keys)):
        raise GenerationError("Insufficient tuple registers to generate code")
    if type(symbol.keys) is not list:
        kind = "aggregation" if type(node) is ast.AggRef else "associative array"
        for number, key in enumerate(keys, 1):
            if not (t.is_scalar(key.type) or key.type.is_string or key.type.is_record):
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
        refuse("D_VAR_UNDEF", node.loc, message, f"aggregations are assigned: @{target.symbol} = sum(…)")
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
    known = prototypes.FUNCTIONS[name]
    node.args = [type_argument(c, name, arg) for arg in node.args]
    proto = prototypes.prototype(name)
    check_arguments(node, f"{name}( )", "argument", proto.params, node.args, proto.required, proto.varargs)
    check_destination(node, name)
    if name == "inet_ntoa6":
        check_constant(node)
    row = _ROWS[known[0]].get(name)
    if row is None:
        absent(node.loc, name, f"the {known[0]} {name}()")
    node.name, node.row = name, row
    node.type = t.AGGREGATING if known[0] == prototypes.AGGREGATING else proto.result
    for i, (arg, to) in enumerate(zip(node.args, proto.params)):
        if to is not None and known[0] != prototypes.AGGREGATING:  # whose constants are checked as written
            node.args[i] = convert(arg, t.STRING if t.is_text(to) and t.is_text(arg.type) else to)
    if name in _TEXTS:
        node.args = [as_text(a.loc, a) if a.type.is_array and t.is_char(a.type.to) else a for a in node.args]
    if name in stacks.FUNCTIONS or name in stacks.SYMBOLS:
        stacks.type_call(c, node)
    if known[0] != prototypes.FUNCTION and not used and name not in stacks.FUNCTIONS:
        c.misplaced.append(node)
    return node


def check_constant(node):
    """The second argument of inet_ntoa6()."""
    if type(node.args[-1]) is not ast.IntLit and len(node.args) > 1:
        message = "inet_ntoa6( ) argument #2 is incompatible with prototype:\n\tprototype: integer constant\n"
        refuse("D_PROTO_ARG", node.loc, message + f"\t argument: {node.args[-1].type}")


def check_destination(node, name):
    """Refuse a string where memory of alloca() is to be written."""
    number = _DESTINATIONS.get(name)
    if number is not None and node.args[number - 1].type.is_string:
        message = f"{name}( ) argument #{number} is incompatible with prototype:\n"
        message += "\tprototype: alloca pointer\n\t argument: non-alloca pointer"
        refuse("D_PROTO_ARG", node.loc, message, "alloca(size) gives memory to copy to")


def is_action(node):
    return type(node) is ast.Call and prototypes.FUNCTIONS[node.name][0] == prototypes.ACTION


def is_float(row):
    """Whether an aggregation's row, or None, is one of floating-point values."""
    return row is not None and row.is_float
