# mypy: ignore-errors
"""The parameters of aggregating functions: which of the arguments they are, and that they stay as they are.

In: the typed Call of an aggregating function and its symbols.Aggregation.  Out: the constant
parameters, and the arguments that are values.
Always: the first use of an aggregation fixes its parameters; checks and words are dtrace's.
"""

from pydtrace.dlang.compile_errors import CompileError
from pydtrace.program import d_types as t


def split(call, symbol):
    """The value arguments of the call: the value itself, and what follows the constants.  Sets
    symbol.params, or compares with them."""
    row, args = call.row, call.args
    limit = row.params + row.constants + row.increments
    last = row.params + row.constants
    if len(args) > limit:
        message = (
            f"{call.name}( ) prototype mismatch: {len(args)} args passed, at most {limit} expected"
        )
        raise CompileError("D_PROTO_LEN", call.loc, message)
    params = row.read(call, args[row.params : last])
    if symbol.constant is None:
        symbol.constant = call
        symbol.params = params
    elif params != symbol.params:
        _refuse_other(call, params, symbol)
    if len(args) > last and not t.is_scalar(args[last].type):
        raise _increment(call, args[last], last)
    return args[: row.params] + args[last:]


def _increment(call, arg, index):
    message = f"{call.name}( ) increment value (argument #{index + 1}) must be of scalar type"
    return CompileError("D_PROTO_ARG", arg.loc, message)


def _refuse_other(call, params, symbol):
    """The parameters are not those of the aggregation's first use."""
    for number, (mine, before, (tag, name)) in enumerate(
        zip(params, symbol.params, call.row.differences), 1
    ):
        if mine != before:
            message = f"{name} (argument #{number}) doesn't match previous declaration: expected {before}, found {mine}"
            raise CompileError(tag, call.loc, f"{call.name}{call.row.spelled} {message}")
