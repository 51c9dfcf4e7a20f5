"""The context of the types pass: what its parts share, each of which is a file of functions that take it as `c`.

In: resolve.Names; a table, node class -> function(c, node), by which a part types what lies below its own node.
Always: typing a node twice changes nothing: a clause may be typed again (see typecheck.py).
"""

from ...data import types as t
from .. import ast
from ..errors import refuse, unsupported
from .operands import floating

_LITERALS = {ast.StrLit: t.STRING, ast.FloatLit: t.FLOATS["double"]}


class Typing:
    """probes: of the clause that is typed, list of ast.ProbeDesc; misplaced: calls of actions and aggregating functions
    that were met inside expressions: they are errors, but only after the whole clause is typed; takes_floats: a variable of a
    floating-point type may be read, since it is an argument of printf() itself."""

    __slots__ = ("names", "rules", "probes", "misplaced", "takes_floats")

    def __init__(self, names, rules, probes=()):
        self.names, self.rules, self.probes = names, rules, probes
        self.misplaced, self.takes_floats = [], False

    def value(self, node):
        """Type an expression that is read."""
        if type(node) is ast.Index:
            return self.rules[ast.Index](self, node, read=True)
        node = self.place(node)
        if type(node) in (ast.Var, ast.AssocRef):
            self.need_known(node)
        return node

    def place(self, node):
        """Type an expression that is written, or whose variable may not be known yet."""
        if node.type is not None or type(node) in (ast.Var, ast.AssocRef):
            return node
        if type(node) in _LITERALS:
            node.type = _LITERALS[type(node)]
            return node
        return self.rules[type(node)](self, node)

    def need_known(self, node):
        symbol = node.symbol
        if not symbol.known:
            message = f"{symbol} has not yet been declared or assigned"
            hint = f"declare it, or assign it in a clause before this one ({symbol} = …)"
            refuse("D_VAR_UNDEF", node.loc, message, hint)
        node.type = symbol.type
        if isinstance(symbol.type, t.Float) and not (self.takes_floats or floating(self, symbol.type)):
            unsupported(node.loc, f"values of type {symbol.type} are")

    def operand(self, node):
        """The operand of a unary operator, which makes an unknown variable an int64_t."""
        node = self.place(node)
        if type(node) in (ast.Var, ast.AssocRef):
            symbol = node.symbol
            if symbol.type is None:
                symbol.type = t.INT64
            symbol.known = True
            node.type = symbol.type
        return node
