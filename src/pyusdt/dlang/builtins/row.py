"""The row of a subroutine; its functions are in subroutines.py, text.py and others beside it."""


class SubroutineRow:
    """name; result: its type; emit(g, call, target): the code, where g is the emit.Emitter: an integer
    result is left in r0, a string result is written, padded, to the emit.Place `target` in the state block;
    doc: one line; nullable: True where the string may be NULL (strings.set_null); destructive: True where it
    needs the option of that name.  Parameters: prototypes.py."""

    __slots__ = ("name", "result", "emit", "doc", "nullable", "destructive")

    def __init__(self, name, result, emit, doc, nullable=False, destructive=False):
        self.name, self.result, self.emit, self.doc = name, result, emit, doc
        self.nullable, self.destructive = nullable, destructive
