"""Actions: statements that record data or steer the tracing.

An action's data are its arguments from `first` on (None: the call's own value), each a field of the clause's record; `type`,
where it is given, is the type that they are recorded as.  Arguments that are aggregations are not data but
operands: Action.args has them.
"""

from ...data import types as t


class ActionRow:
    """name; kind: what checks it (check_actions.py), emits it (statements.py) and does it (the consumer):
    most have one of their own, and share it where they do the same; records: False where a clause with
    nothing else has no record; destructive: True where it needs the option of that name; doc: one line, of
    the kind "refused" why there is no such thing; first, type: see above."""

    __slots__ = ("name", "kind", "records", "doc", "first", "type", "destructive")

    def __init__(self, name, kind, doc, first=0, type=None, records=True, destructive=False):
        self.name, self.kind, self.records, self.doc = name, kind, records, doc
        self.first, self.type, self.destructive = first, type, destructive


_rows = [
    ActionRow("printf", "printf", "formatted output", first=1),
    ActionRow("trace", "trace", "a value in its default format"),
    ActionRow("tracemem", "tracemem", "bytes of memory, as a table"),
    ActionRow("exit", "exit", "end the tracing with an exit status", type=t.INT),
    ActionRow("printa", "printa", "aggregations, by a format or in the default one"),
    ActionRow("clear", "clear", "an aggregation's values become zero"),
    ActionRow("trunc", "trunc", "an aggregation loses its elements, or all but n of them", type=t.INT64),
    ActionRow("normalize", "normalize", "an aggregation's values are printed divided by a number"),
    ActionRow("denormalize", "denormalize", "undo normalize()"),
    ActionRow("setopt", "setopt", "set an option while tracing"),
    ActionRow("freopen", "freopen", "what follows is printed to another file", first=1, destructive=True),
    ActionRow("system", "system", "run a command of the shell", first=1, destructive=True),
    ActionRow("ftruncate", "ftruncate", "the output file becomes empty"),
    ActionRow("raise", "raise", "send a signal to the firing process", type=t.INT, destructive=True),
    ActionRow("stop", "stop", "stop the firing process, until it gets SIGCONT", destructive=True),
    *[ActionRow(name, "refused", reason, destructive=True, records=False) for name, reason in (
        ("panic", "it would stop the whole machine"),
        ("breakpoint", "it enters a debugger of the kernel"),
        ("chill", "the firing process does not wait for D"),
        ("return", "it changes what a function of the kernel returns"),
    )],
    ActionRow("print", "print", "what a pointer points to, with its types and members"),
    *[ActionRow(name, "stack", doc, first=None) for name, doc in (
        ("stack", "the kernel's stack"),
        ("ustack", "the stack of the firing thread"),
        ("jstack", "the same; no frame of Java's is named"),
    )],
    *[ActionRow(name, "symbol", doc, first=None) for name, doc in (
        ("sym", "the name of an address of the kernel"),
        ("func", "the name of the kernel's function at an address"),
        ("mod", "the kernel's module that an address lies in"),
        ("usym", "the name of an address of the firing process"),
        ("ufunc", "the name of the function at an address of the firing process"),
        ("umod", "the file that an address of the firing process was mapped from"),
        ("uaddr", "the name of an address of the firing process, and the distance to it"),
    )],
    ActionRow("speculate", "speculate", "what the clause records is held back", records=False),
    ActionRow("commit", "commit", "what a speculation holds back is released", records=False),
    ActionRow("discard", "discard", "what a speculation holds back is forgotten", records=False),
]

ACTIONS = {row.name: row for row in _rows}
