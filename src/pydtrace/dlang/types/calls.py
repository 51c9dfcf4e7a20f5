"""The types of calls, aggregations and keys.

The pass adds the rows of builtins and converts arguments and keys to the types of their
prototypes.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.builtins import prototypes, unsupported
from pydtrace.dlang.compile_errors import GenerationError, refuse, refuse_unsupported
from pydtrace.program import d_types as t

from . import float_rules
from .operands import are_floats, check_arguments, convert_node, make_stringof
from .resolve import refuse_absent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ..builtins.aggregation_base import Aggregating
    from ..variable_table import Aggregation, Variable
    from .context import TypingContext


def find_row(name: str) -> Any:
    """The row of one of prototypes.FUNCTIONS, or None."""
    return prototypes.ROW_TABLES[prototypes.FUNCTIONS[name][0]].get(name)


def type_argument(c: TypingContext, row: Any, arg: ast.Expr) -> ast.Expr:
    c.takes_floats = (
        row is not None and row.takes_floats and isinstance(arg, (ast.Ident, ast.ScopedName))
    )
    arg = c.type_value(arg)
    c.takes_floats = False
    return arg


def type_key(c: TypingContext, node: ast.Expr) -> ast.Expr:
    """One key; the functions that name an address may stand here."""
    if isinstance(node, ast.Call) and type(node.name) is ast.Ident:
        row = find_row(node.name.name)
        if row is not None and row.is_key:
            return type_call(c, node, used=True)
    typed: ast.Expr = c.type_value(node)
    return typed


def type_keys(
    c: TypingContext,
    node: ast.AggRef | ast.AssocRef,
    symbol: Aggregation | Variable,
    name: str,
) -> list[ast.Expr]:
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
                    refuse_unsupported(key.loc, f"{key.name}() as a key is")
                message = f"{key.type} expression may not be used as {kind} index: key #{number}"
                refuse("D_KEY_TYPE", key.loc, message)
        symbol.keys = [key.type for key in keys]
        return keys
    check_arguments(node, f"{name}[ ]", "key", symbol.keys, keys, len(symbol.keys), False)
    for key, to in zip(keys, symbol.keys):
        if to.is_string and not key.type.is_string:
            refuse_unsupported(key.loc, "0 as a key that is a string is", 'the empty string is ""')
    return [convert_node(key, to) for key, to in zip(keys, symbol.keys)]


# --- aggregations ------------------------------------------------------------------------
def type_aggregation(c: TypingContext, node: ast.Assign) -> ast.Assign:
    """@a[keys] = func(args), the target of an assignment being an aggregation."""
    target = node.target
    assert isinstance(target, ast.AggRef)
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
        target.symbol = c.names.resolve_aggregation(target.symbol, loc, create=True)
    symbol = target.symbol
    if type(node.value) is ast.Call:
        value = type_call(c, node.value, used=True)
    else:
        value = c.type_value(node.value)
    kind = prototypes.FUNCTIONS[value.name][0] if type(value) is ast.Call else None
    if kind != unsupported.AGGREGATING:
        message = f"@{symbol.name} must be assigned the result of an aggregating function"
        refuse("D_AGG_FUNC", node.loc, message, "such as count(), sum(x), quantize(x)")
    if value.args and are_floats(
        c, value.args[0].type, *[t.FLOATS["double"]] * is_float_row(symbol.row)
    ):
        float_rules.type_float_aggregation(node, symbol)
    if symbol.row is not None and symbol.row is not value.row:
        refuse_redefinition(node, symbol, value.name)
    symbol.row = value.row
    target.keys = type_keys(c, target, symbol, "@" + symbol.name)
    target.type = node.type = t.AGGREGATION
    node.value = value
    return node


def refuse_redefinition(node: ast.Assign, symbol: Aggregation, name: str) -> NoReturn:
    at, old = f"@{symbol.name}", symbol.row.name.partition(".")[0]
    line = symbol.loc.source.find_position(symbol.loc.mark)[1]
    message = f"aggregation redefined: {at}\n\t current: {at} = {name}( )"
    message += f"\n\tprevious: {at} = {old}( ) : line {line}"
    refuse("D_AGG_REDEF", node.loc, message, "use another name for the other function")


# --- calls -------------------------------------------------------------------------------
def type_call(c: TypingContext, node: ast.Call, used: bool = False) -> ast.Call:
    """A call.  used: True where an action or aggregating function may stand."""
    if type(node.name) is str:
        return node
    callee = node.name
    name = callee.name
    if name not in prototypes.FUNCTIONS:  # a function of paths that has none
        hint = f"it takes a path to a value of a Python program: {name}(local.x)"
        refuse("D_FUNC_UNDEF", node.loc, f"undefined function name: {name}", hint)
    kind, row = prototypes.FUNCTIONS[name][0], find_row(name)
    node.args = [type_argument(c, row, arg) for arg in node.args]
    proto = prototypes.find_prototype(name)
    check_arguments(
        node, f"{name}( )", "argument", proto.params, node.args, proto.required, proto.varargs
    )
    if row is None:
        refuse_absent(node.loc, name, f"the {kind} {name}()")
    node.name, node.row = name, row
    row.check_arguments(node)
    node.type = t.AGGREGATING if kind == unsupported.AGGREGATING else proto.result
    for i, (arg, to) in enumerate(zip(node.args, proto.params)):
        if (
            to is not None and kind != unsupported.AGGREGATING
        ):  # whose constants are checked as written
            node.args[i] = convert_node(
                arg, t.STRING if t.is_text(to) and t.is_text(arg.type) else to
            )
    if row.takes_text:
        node.args = [
            make_stringof(a.loc, a) if a.type.is_array and t.is_char(a.type.to) else a
            for a in node.args
        ]
    row.set_type(c, node)
    if kind == unsupported.FUNCTION:
        c.destructive |= row.is_destructive
    if kind != unsupported.FUNCTION and not used and not row.is_operand:
        c.misplaced.append(node)
    return node


def is_action_call(node: ast.Expr) -> bool:
    return type(node) is ast.Call and prototypes.FUNCTIONS[node.name][0] == unsupported.ACTION


def is_float_row(row: Aggregating | None) -> bool:
    """Whether an aggregation's row, or None, is one of floating-point values."""
    return row is not None and row.is_float
