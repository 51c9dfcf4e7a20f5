"""Actions: statements that record data or steer the tracing.

An action's data are its arguments from `first` on, each a field of the clause's record; `type`, where
it is given, is the type that they are recorded as.
"""

from .. import types as t


class ActionRow:
    """name; kind: "printf" (a format and its arguments), "trace" (one value, default format)
    or "exit" (an int status); records: True where the action puts data into the record;
    doc: one line; first, type: see above."""

    __slots__ = ("name", "kind", "records", "doc", "first", "type")

    def __init__(self, name, kind, records, doc, first=0, type=None):
        self.name, self.kind, self.records, self.doc = name, kind, records, doc
        self.first, self.type = first, type


_rows = [
    ActionRow("printf", "printf", True, "formatted output", first=1),
    ActionRow("trace", "trace", True, "a value in its default format"),
    ActionRow("exit", "exit", True, "end the tracing with an exit status", type=t.INT),
]

ACTIONS = {row.name: row for row in _rows}
