"""Actions: statements that record data or steer the tracing."""


class ActionRow:
    """name; kind: "printf" (a format and its arguments), "trace" (one value, default format)
    or "exit" (an int status); records: True where the action puts data into the record;
    doc: one line."""

    __slots__ = ("name", "kind", "records", "doc")

    def __init__(self, name, kind, records, doc):
        self.name, self.kind, self.records, self.doc = name, kind, records, doc


_rows = [
    ActionRow("printf", "printf", True, "formatted output"),
    ActionRow("trace", "trace", True, "a value in its default format"),
    ActionRow("exit", "exit", True, "end the tracing with an exit status"),
]

ACTIONS = {row.name: row for row in _rows}
