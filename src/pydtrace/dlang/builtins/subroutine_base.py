# mypy: ignore-errors
"""The row of a subroutine: a function that an expression may call; subroutines.py lists them."""


class SubroutineRow:
    """name; prototype: as dtrace prints it (prototypes.py); emit(g, call, target): the code, where g is the emit.Emitter: an
    integer result is left in r0, a string result is written, padded, to the emit.Place `target` in the state block; doc: one
    line; the others, where a row has them:

    accept(call): refuses arguments, as written, that the prototype does not; nullable: the string may be NULL
    (strings.set_null); destructive: it needs the option of that name; allocates: the pointer leads into memory of the
    clause; place(layout): makes room for what it needs; uses: as VariableRow.uses; reads(call, strsize): the bytes of the
    string at its first argument that it may read (code/argument_demand.py); keeps_length: the code knows the length of what it
    writes; as_key(call, options): the row that it has as an aggregation's key."""

    __slots__ = (
        "name",
        "prototype",
        "emit",
        "doc",
        "accept",
        "nullable",
        "destructive",
        "allocates",
        "place",
        "uses",
        "reads",
        "keeps_length",
        "as_key",
    )
    is_action = is_key = is_operand = takes_text = takes_floats = False
    stack = usage = None

    def __init__(
        self,
        name,
        prototype,
        emit,
        doc,
        accept=lambda call: None,
        nullable=False,
        destructive=False,
        allocates=False,
        place=None,
        uses="",
        reads=None,
        keeps_length=False,
        as_key=None,
    ):
        self.name, self.prototype, self.emit, self.doc = name, prototype, emit, doc
        self.accept, self.nullable, self.destructive, self.allocates = (
            accept,
            nullable,
            destructive,
            allocates,
        )
        self.place, self.uses, self.reads, self.keeps_length, self.as_key = (
            place,
            uses,
            reads,
            keeps_length,
            as_key,
        )

    def typed(self, c, call):
        """A call's value is of the prototype's type."""
