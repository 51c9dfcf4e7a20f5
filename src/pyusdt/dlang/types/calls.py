"""The types of calls, aggregations and keys: a base class of expressions.Typer.

In: Call, AggRef and AssocRef nodes.  Out: the same, with their rows of builtins, arguments
and keys converted to the types of their prototypes.
"""

from ...data import types as t
from .. import ast, hints
from ..builtins import ACTIONS, AGGREGATIONS, SUBROUTINES
from ..code import stacks
from ..errors import CompileError, GenerationError
from . import constants, prototypes
from .pointers import pointers_fit

_ROWS = {prototypes.FUNCTION: SUBROUTINES, prototypes.AGGREGATING: AGGREGATIONS, prototypes.ACTION: ACTIONS}
# Actions that take an array of char for a string.
_TEXTS = frozenset(("freopen", "printa", "printf", "system", "trace"))
# Which argument of a function is where it copies to.
_DESTINATIONS = {"bcopy": 2, "copyinto": 3}


def is_float(row):
    """Whether an aggregation's row, or None, is one of floating-point values."""
    return row is not None and row.is_float


class CallTyper:
    floats = False  # a variable of a floating-point type may be read: it is an argument of printf() itself

    def floating(self, *types):
        """The module floats where an operator has floating-point values among its operands, and may have; else None."""
        if "pyusdt" not in self.names.options or not any(map(t.is_real, types)):
            return None
        if not all(type.is_integer or t.is_real(type) for type in types):
            return None
        from . import floats

        return floats

    def argument(self, function, arg):
        self.floats = function == "printf" and type(arg) in (ast.Ident, ast.ScopedName)
        arg = self.value(arg)
        self.floats = False
        return arg

    @staticmethod
    def error(tag, loc, message, hint=None, region=None):
        raise CompileError(tag, loc, message, hint, region)

    def convert(self, node, to):
        """The node as a value of type `to`, where that changes it."""
        source = node.type
        if to.is_string and not source.is_string and t.is_text(source):
            return self.text(node.loc, node)
        if to.is_pointer and source.is_array:
            return self.decay(node)
        if not (to.is_integer and source.is_integer) or not constants.cuts(source, to):
            return node
        if type(node) is ast.IntLit:
            return constants.literal(node.loc, constants.convert(node.value, source, to), to)
        found = ast.Cast(node.loc, node, None)
        found.type = to
        return found

    def key(self, node):
        """One key; the functions that name an address may stand here."""
        if type(node) is ast.Call and type(node.name) is ast.Ident and node.name.name in stacks.SYMBOLS:
            return self.call(node, used=True)
        return self.value(node)

    def keys(self, node, symbol, name):
        """Type the keys of an array or aggregation and convert them to its key types."""
        keys = [self.key(key) for key in node.keys]
        if len(keys) > self.names.options.get("tregs", len(keys)):
            raise GenerationError("Insufficient tuple registers to generate code")
        if type(symbol.keys) is not list:
            kind = "aggregation" if type(node) is ast.AggRef else "associative array"
            for number, key in enumerate(keys, 1):
                if not (t.is_scalar(key.type) or key.type.is_string or key.type.is_record):
                    if type(key) is ast.Call and not key.type.is_void:
                        self.names.unsupported(key.loc, f"{key.name}() as a key is")
                    message = f"{key.type} expression may not be used as {kind} index: key #{number}"
                    self.error("D_KEY_TYPE", key.loc, message)
            symbol.keys = [key.type for key in keys]
            return keys
        self.check_arguments(node, f"{name}[ ]", "key", symbol.keys, keys, len(symbol.keys), False)
        for key, to in zip(keys, symbol.keys):
            if to.is_string and not key.type.is_string:
                self.names.unsupported(key.loc, "0 as a key that is a string is", 'the empty string is ""')
        return [self.convert(key, to) for key, to in zip(keys, symbol.keys)]

    def check_arguments(self, node, name, what, params, args, required, varargs):
        """Compare arguments or keys with their prototype."""
        count, limit, at = len(args), len(params), ""
        if varargs:
            at, limit = "at least ", len(params)
            wrong = count < limit
        elif required < len(params):
            wrong = not required <= count <= len(params)
            at, limit = ("at least ", required) if count < required else ("at most ", len(params))
        else:
            wrong = count != limit
        if wrong:
            plural = " " if count == 1 else "s "
            message = f"{name} prototype mismatch: {count} {what[:3]}{plural}passed, {at}{limit} expected"
            called = getattr(getattr(node, "name", None), "name", None)
            self.error("D_PROTO_LEN", node.loc, message, hints.signature(called) if what == "argument" else None)
        word = "key" if what == "key" else "argument"
        for number, (param, arg) in enumerate(zip(params, args), 1):
            if param is not None and not self.fits(param, arg):
                message = f"{name} {word} #{number} is incompatible with prototype:\n"
                message += f"\tprototype: {param}\n\t{word:>9}: {arg.type}"
                error = CompileError("D_PROTO_ARG", arg.loc, message, self.argument_hint(name, what, param, arg))
                error.mark = node.loc.mark
                raise error

    @staticmethod
    def argument_hint(name, what, param, arg):
        if what == "key":
            return "its first use decided the types of its keys"
        if name.startswith("copyinstr") and arg.type.is_string:
            return "it is a string already"
        if t.is_text(param) and arg.type.is_integer:
            return "copyinstr(arg) makes a string of an argument that is an address"
        return None

    @staticmethod
    def fits(param, arg):
        """True if an argument, or what is assigned, goes with a type."""
        if param.is_integer and arg.type.is_integer or t.is_text(param) and t.is_text(arg.type):
            return True
        if param.is_record or arg.type.is_record:
            return t.compatible(param, arg.type)
        if isinstance(arg.type, t.Dynamic):
            return False
        return param is arg.type or pointers_fit(None, arg, param)

    # --- aggregations ---------------------------------------------------------------

    def aggregate(self, node):
        """@a[keys] = func(args), the target of an assignment being an aggregation."""
        target = node.target
        if node.op != "=":
            message = f"@{target.symbol} has not yet been declared or assigned"
            self.error("D_VAR_UNDEF", node.loc, message, f"aggregations are assigned: @{target.symbol} = sum(…)")
        loc = target.loc if target.keys else node.loc
        if type(target.symbol) is str:
            target.symbol = self.names.aggregation(target.symbol, loc, create=True)
        symbol = target.symbol
        if type(node.value) is ast.Call:
            value = self.call(node.value, used=True)
        else:
            value = self.value(node.value)
        kind = prototypes.FUNCTIONS[value.name][0] if type(value) is ast.Call else None
        if kind != prototypes.AGGREGATING:
            message = f"@{symbol.name} must be assigned the result of an aggregating function"
            self.error("D_AGG_FUNC", node.loc, message, "such as count(), sum(x), quantize(x)")
        if value.args and (found := self.floating(value.args[0].type, *[t.FLOATS["double"]] * is_float(symbol.row))):
            found.aggregate(self, node, symbol)
        if symbol.row is not None and symbol.row is not value.row:
            self.redefined(node, symbol, value.name)
        symbol.row = value.row
        target.keys = self.keys(target, symbol, "@" + symbol.name)
        target.type = node.type = t.AGGREGATION
        node.value = value
        return node

    def redefined(self, node, symbol, name):
        at, old = f"@{symbol.name}", symbol.row.name.partition(".")[0]
        line = symbol.loc.source.place(symbol.loc.mark)[1]
        message = f"aggregation redefined: {at}\n\t current: {at} = {name}( )"
        message += f"\n\tprevious: {at} = {old}( ) : line {line}"
        self.error("D_AGG_REDEF", node.loc, message, "use another name for the other function")

    # --- calls --------------------------------------------------------------------

    def call(self, node, used=False):
        """A call.  used: True where an action or aggregating function may stand."""
        if type(node.name) is str:
            return node
        callee = node.name
        name = callee.name
        known = prototypes.FUNCTIONS[name]
        node.args = [self.argument(name, arg) for arg in node.args]
        proto = prototypes.prototype(name)
        self.check_arguments(node, f"{name}( )", "argument", proto.params, node.args, proto.required, proto.varargs)
        self.check_destination(node, name)
        if name == "inet_ntoa6":
            self.check_constant(node)
        row = _ROWS[known[0]].get(name)
        if row is None:
            self.names.absent(node.loc, name, f"the {known[0]} {name}()")
        node.name, node.row = name, row
        node.type = t.AGGREGATING if known[0] == prototypes.AGGREGATING else proto.result
        for i, (arg, to) in enumerate(zip(node.args, proto.params)):
            if to is not None and known[0] != prototypes.AGGREGATING:  # whose constants are checked as written
                node.args[i] = self.convert(arg, t.STRING if t.is_text(to) and t.is_text(arg.type) else to)
        if name in _TEXTS:
            node.args = [self.text(a.loc, a) if a.type.is_array and t.is_char(a.type.to) else a for a in node.args]
        if name in stacks.FUNCTIONS or name in stacks.SYMBOLS:
            stacks.type_call(self, node)
        if known[0] != prototypes.FUNCTION and not used and name not in stacks.FUNCTIONS:
            self.misplaced.append(node)
        return node

    def check_constant(self, node):
        """The second argument of inet_ntoa6()."""
        if type(node.args[-1]) is not ast.IntLit and len(node.args) > 1:
            message = "inet_ntoa6( ) argument #2 is incompatible with prototype:\n\tprototype: integer constant\n"
            self.error("D_PROTO_ARG", node.loc, message + f"\t argument: {node.args[-1].type}")

    def check_destination(self, node, name):
        """Refuse a string where memory of alloca() is to be written."""
        number = _DESTINATIONS.get(name)
        if number is not None and node.args[number - 1].type.is_string:
            message = f"{name}( ) argument #{number} is incompatible with prototype:\n"
            message += "\tprototype: alloca pointer\n\t argument: non-alloca pointer"
            self.error("D_PROTO_ARG", node.loc, message, "alloca(size) gives memory to copy to")

    @staticmethod
    def is_action(node):
        return type(node) is ast.Call and prototypes.FUNCTIONS[node.name][0] == prototypes.ACTION
