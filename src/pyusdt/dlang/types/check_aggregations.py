"""The parameters of aggregating functions: lquantize's bounds, llquantize's magnitudes and the like.

In: the typed Call of an aggregating function and its symbols.Aggregation.  Out: the constant
parameters, and the arguments that are values.
Always: the first use of an aggregation fixes its parameters; checks and words are dtrace's.
"""

from ...data import types as t
from .. import ast, constants
from ..errors import CompileError

_U16 = 1 << 16


def split(call, symbol):
    """The value arguments of the call: the value itself, and what follows the constants.  Sets
    symbol.params, or compares with them."""
    row, args = call.row, call.args
    limit = row.params + row.constants + row.increments
    last = row.params + row.constants
    if len(args) > limit:
        message = f"{call.name}( ) prototype mismatch: {len(args)} args passed, at most {limit} expected"
        raise CompileError("D_PROTO_LEN", call.loc, message)
    params = _CHECKS[call.name](call, args[row.params : last]) if row.constants else ()
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


class _Parameters:
    """Reads the constants of one call, one after the other."""

    def __init__(self, call):
        self.call = call

    def refuse(self, tag, message, spelled="( )"):
        raise CompileError(tag, self.call.loc, f"{self.call.name}{spelled} {message}")

    def integer(self, arg, tag, number, what="an integer constant"):
        """The value of a constant."""
        if type(arg) is not ast.IntLit:
            self.refuse(tag, f"argument #{number} must be {what}")
        return constants.signed(arg.value)


def _lquantize(call, args):
    read = _Parameters(call)
    base = read.integer(args[0], "D_LQUANT_BASETYPE", 1)
    limit = read.integer(args[1], "D_LQUANT_LIMTYPE", 2)
    for value, tag, number in ((base, "D_LQUANT_BASEVAL", 1), (limit, "D_LQUANT_LIMVAL", 2)):
        if not -(1 << 31) <= value < 1 << 31:
            read.refuse(tag, f"argument #{number} must be a 32-bit quantity")
    if base >= limit:
        read.refuse("D_LQUANT_MISMATCH", "base (argument #1) must be less than limit (argument #2)")
    step = 1
    if len(args) > 2:
        what = "a non-zero positive integer constant"
        step = read.integer(args[2], "D_LQUANT_STEPTYPE", 3, what)
        if step <= 0:
            read.refuse("D_LQUANT_STEPTYPE", f"argument #3 must be {what}")
        if step >= _U16:
            read.refuse("D_LQUANT_STEPVAL", "argument #3 must be a 16-bit quantity")
    levels = (limit - base) // step
    if levels == 0:
        read.refuse("D_LQUANT_STEPLARGE", "step (argument #3) too large: must have at least one quantization level")
    if levels >= _U16:
        message = "step (argument #3) too small: number of quantization levels must be a 16-bit quantity"
        read.refuse("D_LQUANT_STEPSMALL", message)
    return base, limit, step


def _llquantize(call, args):
    read = _Parameters(call)
    factor = read.integer(args[0], "D_LLQUANT_FACTORTYPE", 1)
    if not 2 <= factor < _U16:
        message = "argument #1 must be an unsigned 16-bit quantity greater than or equal to 2"
        read.refuse("D_LLQUANT_FACTORVAL", message)
    low = read.integer(args[1], "D_LLQUANT_LMAGTYPE", 2)
    if not 0 <= low < _U16:
        read.refuse("D_LLQUANT_LMAGVAL", "argument #2 must be an unsigned 16-bit quantity")
    high = read.integer(args[2], "D_LLQUANT_HMAGTYPE", 3)
    if not 0 <= high < _U16:
        read.refuse("D_LLQUANT_HMAGVAL", "argument #3 must be an unsigned 16-bit quantity")
    if high < low:
        read.refuse("D_LLQUANT_HMAGVAL", "argument #3 (high magnitude) must be at least argument #2 (low magnitude)")
    if factor ** min(high + 1, 65) >= 1 << 63:
        read.refuse("D_LLQUANT_HMAGVAL", "argument #3 (high magnitude) will cause overflow of 64 bits")
    what = "a non-zero positive integer constant"
    steps = read.integer(args[3], "D_LLQUANT_STEPTYPE", 4, what)
    if steps <= 0:
        read.refuse("D_LLQUANT_STEPTYPE", f"argument #4 must be {what}")
    _check_steps(read, factor, low, steps)
    return factor, low, high, steps


def _check_steps(read, factor, low, steps):
    """The steps must divide each order of magnitude evenly."""
    if steps >= _U16:
        read.refuse("D_LLQUANT_STEPVAL", "argument #4 must be an unsigned 16-bit quantity")
    if steps < factor:
        if factor % steps:
            message = "argument #4 (steps) must evenly divide argument #1 (factor) when steps<factor"
            read.refuse("D_LLQUANT_STEPVAL", message, "()")
        return
    if steps % factor:
        message = "argument #4 (steps) must be a multiple of argument #1 (factor) when steps>factor"
        read.refuse("D_LLQUANT_STEPVAL", message, "()")
    power = factor ** (low + 1)
    if low > 0 and steps > factor and power % steps:
        message = ("argument #4 (steps) must evenly divide pow(argument #1 (factor), lmag (argument #2) + 1) "
                   "when steps>factor and lmag>0")
        read.refuse("D_LLQUANT_STEPVAL", message, "()")
    if low == 0 and steps > factor and power * power % steps:
        message = "argument #4 (steps) must evenly divide the square of argument #1 (factor) when steps>factor and lmag==0"
        read.refuse("D_LLQUANT_STEPVAL", message, "()")


_CHECKS = {"lquantize": _lquantize, "llquantize": _llquantize}
_MATCHES = {
    "lquantize": ("( )", (("D_LQUANT_MATCHBASE", "base"), ("D_LQUANT_MATCHLIM", "limit"), ("D_LQUANT_MATCHSTEP", "step"))),
    "llquantize": ("()", (("D_LLQUANT_MATCHFACTOR", "factor"), ("D_LLQUANT_MATCHLMAG", "lmag"),
                          ("D_LLQUANT_MATCHHMAG", "hmag"), ("D_LLQUANT_MATCHSTEPS", "steps"))),
}


def _refuse_other(call, params, symbol):
    """The parameters are not those of the aggregation's first use."""
    spelled, names = _MATCHES[call.name]
    for number, (mine, before, (tag, name)) in enumerate(zip(params, symbol.params, names), 1):
        if mine != before:
            message = f"{name} (argument #{number}) doesn't match previous declaration: expected {before}, found {mine}"
            raise CompileError(tag, call.loc, f"{call.name}{spelled} {message}")
