"""Subroutines: functions that an expression may call."""

from .. import types as t


class SubroutineRow:
    """name; params: list of types (a type class of types.py stands for any type of it);
    optional: how many of the last may be left out; result: its type; emit(gen, call) gives
    the code, see codegen.py; doc: one line."""

    __slots__ = ("name", "params", "optional", "result", "emit", "doc")

    def __init__(self, name, params, result, emit, doc, optional=0):
        self.name, self.params, self.optional = name, params, optional
        self.result, self.emit, self.doc = result, emit, doc


def emit_copyinstr(gen, call):
    raise NotImplementedError


_rows = [
    SubroutineRow("copyinstr", [t.Integer, t.Integer], t.STRING, emit_copyinstr,
                  "the NUL-terminated string at an address of the firing process", optional=1),
]

SUBROUTINES = {row.name: row for row in _rows}
