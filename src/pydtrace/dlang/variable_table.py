"""Variables, aggregations, inlines and translators: the symbols that names resolve to.

resolve.ProgramNames makes them, the types pass types them, layout places them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.program.d_types import Type

    from . import ast
    from .front.source_text import Location


def variable_kind(keys: list[Any] | None) -> str:
    """What dtrace calls a variable with these key types."""
    return "scalar" if keys is None else "associative array"


class Variable:
    """A D variable.

    scope: "global", "self", "task" or "this".  keys: None for a scalar, else the list of the key
    types of an associative array.  type: types.Type of the (element) value, None until it is
    known.  known: True once it is declared, assigned or read; before that it can not be read.
    allocated: True where it was given a pointer into alloca()'s memory, False for one to elsewhere, None before.
    slot: set by layout: the byte offset in its home for a scalar ("this": in the state
    block; "global": in the globals map), the index of its map for self and associative.
    by_host: of self-> and task->: threads of several hosts fire here (dlang/host_placement.py).
    """

    __slots__ = (
        "scope",
        "name",
        "type",
        "keys",
        "loc",
        "is_known",
        "slot",
        "is_allocated",
        "is_per_host",
    )

    def __init__(
        self, scope: str, name: str, loc: Location, type: Type | None = None, keys: Any = None
    ) -> None:
        self.scope, self.name, self.loc, self.type, self.keys = scope, name, loc, type, keys
        self.is_known = self.is_per_host = False
        self.slot: int | None = None
        self.is_allocated: bool | None = None

    @property
    def known_type(self) -> Type:
        """Its type, after the types pass, which refuses a variable that has none."""
        assert self.type
        return self.type

    @property
    def placed_slot(self) -> int:
        """Its slot, after layout."""
        assert self.slot is not None
        return self.slot

    def __str__(self) -> str:
        return self.name if self.scope == "global" else f"{self.scope}->{self.name}"


class Aggregation:
    """@name: one aggregating function (`row` of builtins.AGGREGATIONS) with constant `params`
    and one tuple of key types.  `ident` counts from 1 in the order of first use; `constant`: the Call
    that params were read from, None until then."""

    __slots__ = ("name", "ident", "row", "params", "first_call", "keys", "loc", "map")

    def __init__(self, name: str, ident: int, loc: Location) -> None:
        self.name, self.ident, self.loc = name, ident, loc
        self.row: Any = None
        self.keys: list[Type] | None = None
        self.map: int | None = None
        self.first_call: ast.Call | None = None
        self.params: tuple[int, ...] = ()

    @property
    def placed_map(self) -> int:
        """The index of its map, after layout."""
        assert self.map is not None
        return self.map


class Inline:
    """A name that stands for an expression, or for an enumerator's value.

    kind: as messages call it; type: what the value is converted to; keys: None, or the Parameters of
    an inline array; value: the Expr; builtin: True where the program may not define it anew."""

    __slots__ = ("name", "kind", "type", "keys", "value", "loc", "builtin")

    def __init__(
        self,
        name: str | None,
        kind: str,
        type: Type,
        keys: list[Inline] | None,
        value: ast.Expr | None,
        loc: Location,
        builtin: bool = False,
    ) -> None:
        self.name, self.kind, self.type, self.keys = name, kind, type, keys
        self.value, self.loc, self.builtin = value, loc, builtin


class Translator:
    """to, source: types; symbol: the Inline that stands for what is translated; members: {name: Expr}, typed."""

    __slots__ = ("to", "source", "symbol", "members", "loc")

    def __init__(self, to: Type, source: Type, symbol: Inline, loc: Location) -> None:
        self.to, self.source, self.symbol, self.loc = to, source, symbol, loc
        self.members: dict[str, ast.Expr] = {}
