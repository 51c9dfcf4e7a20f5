"""The constant parameters of aggregating functions.

The first use of an aggregation fixes its parameters. Checks and messages are dtrace's.
"""

from __future__ import annotations

from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import d_types as t

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ast import Call, Expr
    from ..variable_table import Aggregation


def split_arguments(call: Call, symbol: Aggregation) -> list[Expr]:
    """The value arguments of the call: the value itself, and what follows the constants.  Sets
    symbol.params, or compares with them."""
    row, args = call.row, call.args
    limit = row.value_count + row.constant_count + row.takes_increment
    last = row.value_count + row.constant_count
    if len(args) > limit:
        message = (
            f"{call.name}( ) prototype mismatch: {len(args)} args passed, at most {limit} expected"
        )
        raise CompileError("D_PROTO_LEN", call.loc, message)
    params = row.read_constants(call, args[row.value_count : last])
    if symbol.first_call is None:
        symbol.first_call = call
        symbol.params = params
    elif params != symbol.params:
        _refuse_change(call, params, symbol)
    if len(args) > last and not t.is_scalar(args[last].type):
        raise _increment_error(call, args[last], last)
    return args[: row.value_count] + args[last:]


def _increment_error(call: Call, arg: Expr, index: int) -> CompileError:
    message = f"{call.name}( ) increment value (argument #{index + 1}) must be of scalar type"
    return CompileError("D_PROTO_ARG", arg.loc, message)


def _refuse_change(call: Call, params: tuple[int, ...], symbol: Aggregation) -> None:
    """The parameters are not those of the aggregation's first use."""
    for number, (mine, before, (tag, name)) in enumerate(
        zip(params, symbol.params, call.row.constant_errors), 1
    ):
        if mine != before:
            message = f"{name} (argument #{number}) doesn't match previous declaration: expected {before}, found {mine}"
            raise CompileError(tag, call.loc, f"{call.name}{call.row.message_suffix} {message}")
