"""What each action takes.

In: the typed Call of an action.  Out: the same with its format parsed; errors with dtrace's words.
Always: `check_<kind>` belongs to the actions of that kind (builtins/actions.py); Flow, one a clause,
knows what may follow what.
"""

from ...data import types as t
from .. import ast, hints
from ..code.integers import constant
from ..errors import CompileError, refuse

_TRACEMEM_MOST = 16384  # bytes

class Flow:
    """The order of a clause's actions.  data, speculated, committed: there was such an action."""

    __slots__ = ("data", "speculated", "committed")

    def __init__(self):
        self.data = self.speculated = self.committed = False

    def action(self, call):
        """One action more."""
        kind = call.row.kind
        if call.row.destructive and self.speculated:
            self.refuse("D_ACT_SPEC", call, "destructive actions may not follow speculate( )")
        if kind == "speculate":
            for before, tag, name in ((self.speculated, "D_SPEC_SPEC", "speculate( )"),
                                      (self.committed, "D_SPEC_COMM", "commit( )"),
                                      (self.data, "D_SPEC_DREC", "data-recording action(s)")):
                if before:
                    self.refuse(tag, call, f"speculate( ) may not follow {name}")
            self.speculated = True
        elif kind == "commit":
            if self.data:
                self.refuse("D_COMM_DREC", call, "commit( ) may not follow data-recording action(s)")
            self.committed = True
        elif kind != "discard":
            if kind == "exit" and self.speculated:
                self.refuse("D_EXIT_SPEC", call, "exit( ) may not follow speculate( )")
            if self.committed and call.row.records:
                self.refuse("D_DREC_COMM", call, "data-recording actions may not follow commit( )")
            self.data = self.data or call.row.records

    def aggregation(self, statement):
        for before, tag, name in ((self.speculated, "D_AGG_SPEC", "speculate( )"),
                                  (self.committed, "D_AGG_COMM", "commit( )")):
            if before:
                raise CompileError(tag, statement.loc, f"aggregating actions may not follow {name}")

    @staticmethod
    def refuse(tag, call, message):
        raise CompileError(tag, call.loc, message)


def check_trace(c, call):
    arg = call.args[0]
    if arg.type.is_void:
        refuse("D_TRACE_VOID", arg.loc, "trace( ) may not be applied to a void expression")
    if isinstance(arg.type, t.Dynamic):
        message = "trace( ) may not be applied to a dynamic expression"
        refuse("D_TRACE_DYN", arg.loc, message, "printa() prints an aggregation")


def check_tracemem(c, call):
    """tracemem(address, size[, bytes to show]): what is recorded is an array of bytes there."""
    address, size = call.args[:2]
    if not t.is_scalar(address.type):
        message = "tracemem( ) argument #1 is incompatible with prototype:\n\tprototype: pointer or integer\n"
        refuse("D_TRACEMEM_ADDR", call.loc, message + f"\t argument: {address.type}")
    count = constant(size)
    if count is None or not 0 < count <= _TRACEMEM_MOST:
        message = "tracemem( ) argument #2 must be a non-zero positive integral constant expression"
        refuse("D_TRACEMEM_SIZE", call.loc, message)
    there = ast.Deref(address.loc, address)
    there.type = t.Array(t.CHAR, count)
    call.args = [there, *call.args[2:]]


def check_exit(c, call):
    """Its prototype says all; so do those of the next ones."""


def check_print(c, call):
    """print(pointer): what is recorded is the address and what is there."""
    arg = call.args[0]
    if not arg.type.is_pointer:
        message = "print( ) argument #1 is incompatible with prototype:\n\tprototype: void *\n"
        refuse("D_PROTO_ARG", call.loc, message + f"\t argument: {arg.type}")
    if not t.extent(arg.type.to) and not arg.type.to.is_string:
        message = f"print( ) argument #1 reference has type '{arg.type.to}' with size 0; cannot print( ) it."
        refuse("D_PRINT_SIZE", call.loc, message)
    there = ast.Deref(arg.loc, arg)
    there.type = arg.type.to
    call.args = [there]


def check_refused(c, call):
    refuse("D_UNSUPPORTED", call.loc, f"{call.name}() is not supported: {call.row.doc}")

# --- formats ----------------------------------------------------------------------


def check_printf(c, call):
    """Compare the format with the arguments; call.format is the parsed format."""
    text = call.args[0]
    if type(text) is not ast.StrLit:
        message = f"{call.name}( ) argument #1 is incompatible with prototype:\n"
        message += f"\tprototype: string constant\n\t argument: {text.type}"
        refuse("D_PRINTF_ARG_FMT", call.loc, message, 'printf("%s", string) prints any string')
    parse_format(c, call, call.args[1:], [arg.type for arg in call.args[1:]])


def check_freopen(c, call):
    """As printf(), but that an empty name means the first output."""
    text = call.args[0]
    if type(text) is ast.StrLit and text.value == b".":
        refuse("D_FREOPEN_INVALID", call.loc, 'freopen( ) argument #1 cannot be "."')
    if type(text) is ast.StrLit and not text.value and len(call.args) == 1:
        from ...data.format import Format

        call.format = Format(b"", [], b"")
    else:
        check_printf(c, call)


def parse_format(c, call, args, types, value_types=None):
    from ...data import format as formats

    text = call.args[0]
    try:
        call.format = formats.parse(text.value)
        formats.check(call.format, types, call.name, 2, value_types)
    except formats.FormatError as error:
        known = error.index is not None and error.index < len(args)
        at = args[error.index].loc if known else text.loc
        hint = hints.conversion(error.tag, error.message, args[error.index].type if known else None)
        raise CompileError(error.tag, at, error.message, hint, mark=call.loc.mark) from None

# --- aggregations -----------------------------------------------------------------


def check_printa(c, call):
    """printa([format,] @a, @b, …): all with the same keys."""
    first = 1 if call.args[0].type.is_string else 0
    if first and type(call.args[0]) is not ast.StrLit:
        message = "printa( ) argument #1 is incompatible with prototype:\n\tprototype: string constant\n"
        refuse("D_PRINTF_ARG_FMT", call.loc, message + f"\t argument: {call.args[0].type}")
    if len(call.args) == first:
        refuse("D_PRINTA_PROTO", call.loc, "printa( ) prototype mismatch: 1 args passed, 2 expected")
    symbols = []
    for number, arg in enumerate(call.args[first:], first + 1):
        symbols.append(need_aggregation(c, call, arg, number, "D_PRINTA_AGGARG"))
    for other in symbols[1:]:
        same_keys(c, call, symbols[0], other)
    if first:
        types = [t.FLOATS["double"] if symbol.row is not None and symbol.row.is_float else t.INT64 for symbol in symbols]
        parse_format(c, call, (), list(symbols[0].keys or ()), types)


def same_keys(c, call, a, b):
    mine, its = len(a.keys or ()), len(b.keys or ())
    if mine != its:
        counts = [f"@{s.name} has {n} key{'' if n == 1 else 's'}" for s, n in ((a, mine), (b, its))]
        message = f"printa( ): @{a.name} and @{b.name} do not have matching key signatures: {', '.join(counts)}"
        refuse("D_PRINTA_AGGKEY", call.loc, message)
    for number, (left, right) in enumerate(zip(a.keys or (), b.keys or ()), 1):
        if not t.compatible(left, right):
            message = f"printa( ): @{b.name}[ ] key #{number} is incompatible with @{a.name}:\n"
            message += f"{a.name:>9} key #{number}: {left}\n{b.name:>9} key #{number}: {right}"
            refuse("D_PRINTA_AGGPROTO", call.loc, message)


def need_aggregation(c, call, arg, number, tag):
    """The symbols.Aggregation that an argument names; tag: of the error if it is something else."""
    if type(arg) is not ast.AggRef:
        message = f"{call.name}( ) argument #{number} is incompatible with prototype:\n"
        refuse(tag, call.loc, f"{message}\tprototype: aggregation\n\t argument: {arg.type}")
    return arg.symbol


def check_clear(c, call):
    need_aggregation(c, call, call.args[0], 1, "D_CLEAR_AGGARG")


def check_trunc(c, call):
    need_aggregation(c, call, call.args[0], 1, "D_TRUNC_AGGARG")


def check_normalize(c, call):
    need_aggregation(c, call, call.args[0], 1, "D_NORMALIZE_AGGARG")


CHECKS = {
    "trace": check_trace,
    "tracemem": check_tracemem,
    "exit": check_exit,
    "print": check_print,
    "refused": check_refused,
    "printf": check_printf,
    "freopen": check_freopen,
    "printa": check_printa,
    "clear": check_clear,
    "trunc": check_trunc,
    "normalize": check_normalize,
    "speculate": check_exit,
    "commit": check_exit,
    "discard": check_exit,
    "raise": check_exit,
    "stop": check_exit,
    "ftruncate": check_exit,
    "setopt": check_exit,
    "stack": check_exit,
    "symbol": check_exit,
    "system": check_printf,
    "denormalize": check_normalize,
}
