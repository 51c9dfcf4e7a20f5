"""The formatter's table: a Program in, the bytes that c/format/formatter.h describes out.

The table tells C what each record holds and how its values are printed, so that C needs neither the
program nor Python.  Everything that depends on types is decided here.
"""

from __future__ import annotations

import struct

from . import d_types as t
from . import printf_format as f
from . import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .printf_format import Conversion, Format
    from .program import Data, Program

_MAGIC = 0x31464450
_NONE = 0xFFFFFFFF
_PART_LITERAL = 0
_NO_STARS = (_NONE, 0, _NONE, 0)
_HEAD, _CLAUSE, _ACTION, _PART = (
    struct.Struct(layout) for layout in ("=8I", "=3I", "=3I", "=4B8I")
)


class _TableBuilder:
    """Collects the table's parts; literals are shared."""

    def __init__(self) -> None:
        self.clauses: list[bytes] = []
        self.actions: list[bytes] = []
        self.parts: list[bytes] = []
        self.literals = bytearray()

    def add_literal(self, text: bytes) -> None:
        if text:
            place = len(self.literals), len(text)
            self.parts.append(_PART.pack(_PART_LITERAL, 0, 0, 0, *place, 0, 0, *_NO_STARS))
            self.literals += text

    def add_value(
        self,
        data: Data,
        kind: int,
        letter: str = "d",
        conversion: Conversion | None = None,
        stars: Sequence[int] = _NO_STARS,
    ) -> None:
        """A value of the record; conversion: its place in a format, None for trace()."""
        flags = width = precision = 0
        if conversion:
            flags, width, precision = conversion.flags, conversion.width, conversion.precision
        head = (
            kind,
            ord(letter),
            flags,
            data.type.is_string or data.type.is_array and kind == f.ESCAPED,
        )
        self.parts.append(_PART.pack(*head, data.offset, data.size, width, precision, *stars))

    def add_clause(self, clause: Any) -> None:
        first = len(self.actions)
        for action in clause.actions:
            self.add_action(action)
        self.clauses.append(_CLAUSE.pack(clause.record_size, first, len(self.actions) - first))

    def add_action(self, action: Any) -> None:
        first = len(self.parts)
        kind = p.PRINTS_ITSELF
        if action.row.printed_by == p.PRINTS_VALUE and not t.is_real(action.data[0].type):
            kind = p.PRINTS_VALUE
            self.add_value(action.data[0], _kind_of_type(action.data[0].type))
        elif prints_format(action):
            kind = p.PRINTS_FORMAT
            self.add_format(action.fmt, action.data)
        self.actions.append(_ACTION.pack(kind, first, len(self.parts) - first))

    def add_format(self, fmt: Format, data: Iterable[Data]) -> None:
        values = iter(data)
        for conversion in fmt.conversions:
            row = conversion.row
            if row.kind == f.PERCENT:
                self.add_literal(conversion.prefix + b"%")
                continue
            self.add_literal(conversion.prefix)
            stars: list[int] = []
            for present in (conversion.star_width, conversion.star_precision):
                star = next(values) if present else None
                stars += (star.offset, star.size) if star else (_NONE, 0)
            value = next(values)
            kind = _kind_of_type(value.type) if row.kind == f.BY_TYPE else row.kind
            self.add_value(value, kind, row.letter, conversion, stars)
        self.add_literal(fmt.tail)

    def join_parts(self, strsize: int) -> bytes:
        rows = [*self.clauses, *self.actions, *self.parts, bytes(self.literals)]
        size = _HEAD.size + sum(map(len, rows))
        counts = len(self.clauses), len(self.actions), len(self.parts), len(self.literals)
        return b"".join([_HEAD.pack(_MAGIC, size, *counts, strsize, 0), *rows])


def prints_format(action: p.Action) -> bool:
    """Whether C prints the action's format; it does not know names of addresses."""
    return action.row.printed_by == p.PRINTS_FORMAT and not action.fmt.has_named_values


def _kind_of_type(type: Any) -> int:
    if not (type.is_integer or type.is_pointer):
        return f.STRING  # a struct or an array shows as text, too, where its bytes are such
    return f.SIGNED if type.is_integer and type.signed else f.UNSIGNED


def build_table(program: Program) -> bytes:
    """The table of a program (dlang.program.Program)."""
    return build_clause_table(program.clauses, program.strsize)


def build_clause_table(clauses: Iterable[Any], strsize: int) -> bytes:
    """The table of clauses: of each its record_size and its actions."""
    builder = _TableBuilder()
    for clause in clauses:
        builder.add_clause(clause)
    return builder.join_parts(strsize)
