"""The context of the types pass, which its functions take as `c`.

Typing a node twice changes nothing: a clause may be typed again (typecheck.py).
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.compile_errors import refuse, refuse_unsupported
from pydtrace.program import d_types as t

from .operands import are_floats

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .resolve import ProgramNames


_LITERALS: dict[type[ast.Expr], t.Type] = {ast.StrLit: t.STRING, ast.FloatLit: t.FLOATS["double"]}


class TypingContext:
    """probes: of the clause that is typed, list of ast.ProbeDesc; misplaced: calls of actions and aggregating functions
    that were met inside expressions: they are errors, but only after the whole clause is typed; takes_floats: a variable of a
    floating-point type may be read, since it is an argument of printf() itself; destructive: a function of that kind was called."""

    __slots__ = ("names", "rules", "probes", "misplaced", "takes_floats", "destructive")

    def __init__(
        self,
        names: ProgramNames,
        rules: dict[type[ast.Expr], Callable[..., ast.Expr]],
        probes: Sequence[ast.ProbeDesc] = (),
    ) -> None:
        self.names, self.rules, self.probes = names, rules, probes
        self.misplaced: list[ast.Call] = []
        self.takes_floats = self.destructive = False

    def type_value(self, node: Any) -> Any:
        """Type an expression that is read."""
        if type(node) is ast.Index:
            return self.rules[ast.Index](self, node, read=True)
        node = self.type_target(node)
        if isinstance(node, (ast.Var, ast.AssocRef)):
            self.require_known(node)
        return node

    def type_target(self, node: Any) -> Any:
        """Type an expression that is written, or whose variable may not be known yet."""
        if node.type is not None or isinstance(node, (ast.Var, ast.AssocRef)):
            return node
        if type(node) in _LITERALS:
            node.type = _LITERALS[type(node)]
            return node
        return self.rules[type(node)](self, node)

    def require_known(self, node: ast.Var | ast.AssocRef) -> None:
        symbol = node.symbol
        if not symbol.is_known:
            message = f"{symbol} has not yet been declared or assigned"
            hint = f"declare it, or assign it in a clause before this one ({symbol} = …)"
            refuse("D_VAR_UNDEF", node.loc, message, hint)
        node.type = symbol.type
        if isinstance(symbol.type, t.Float) and not (
            self.takes_floats or are_floats(self, symbol.type)
        ):
            refuse_unsupported(node.loc, f"values of type {symbol.type} are")

    def type_operand(self, node: Any) -> Any:
        """The operand of a unary operator, which makes an unknown variable an int64_t."""
        node = self.type_target(node)
        if isinstance(node, (ast.Var, ast.AssocRef)):
            symbol = node.symbol
            if symbol.type is None:
                symbol.type = t.INT64
            symbol.is_known = True
            node.type = symbol.type
        return node
