"""The row of a subroutine: a function that an expression may call; registry.py lists them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..ast import Call
    from ..types.context import TypingContext


class SubroutineRow:
    """name; prototype: as dtrace prints it (prototypes.py); emit(g, call, target): the code, where g is the emit.Emitter: an
    integer result is left in r0, a string result is written, padded, to the emit.Place `target` in the state block; doc: one
    line; the others, where a row has them:

    check_arguments(call): refuses arguments, as written, that the prototype does not; nullable: the string may be NULL
    (strings.set_null); destructive: it needs the option of that name; allocates: the pointer leads into memory of the
    clause; make_room(layout): makes room for what it needs; uses: as VariableRow.uses; read_limit(call, strsize): the bytes of the
    string at its first argument that it may read (code/argument_demand.py); keeps_length: the code knows the length of what it
    writes; key_row(call, options): the row that it has as an aggregation's key."""

    __slots__ = (
        "name",
        "prototype",
        "emit",
        "doc",
        "check_arguments",
        "is_nullable",
        "is_destructive",
        "allocates",
        "make_room",
        "uses",
        "read_limit",
        "knows_length",
        "key_row",
    )
    is_action = is_key = is_operand = takes_text = takes_floats = False
    stack_kind = usage = None

    def __init__(
        self,
        name: str,
        prototype: str,
        emit: Callable[..., Any],
        doc: str,
        check_arguments: Callable[..., Any] = lambda call: None,
        is_nullable: bool = False,
        is_destructive: bool = False,
        allocates: bool = False,
        make_room: Callable[..., Any] | None = None,
        uses: str = "",
        read_limit: Callable[..., Any] | None = None,
        knows_length: bool = False,
        key_row: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.prototype, self.emit, self.doc = name, prototype, emit, doc
        self.check_arguments, self.is_nullable, self.is_destructive, self.allocates = (
            check_arguments,
            is_nullable,
            is_destructive,
            allocates,
        )
        self.make_room, self.uses, self.read_limit, self.knows_length, self.key_row = (
            make_room,
            uses,
            read_limit,
            knows_length,
            key_row,
        )

    def set_type(self, c: TypingContext, call: Call) -> None:
        """A call's value is of the prototype's type."""
