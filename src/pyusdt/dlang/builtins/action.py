"""An action: a statement that records data or steers the tracing.

Everything about one is in its class, a subclass of Action in a file of this folder; actions.py lists them.  What a class
does not say is as it is here.  Other rooms ask the row (program.Action.row) and compare no names:

- the types pass (types/): prototype, accept, typed, check, follow, takes_text, takes_floats, is_key, is_operand;
- code generation (code/): data, record, type, in_memory, records, speculates, ends, destructive;
- who reads records (data/records.py): is_value, fields;  who prints them (report/): prints;
- tracing (tracing/actions.py): perform;
- the dtrace engine (engine/dtrace/): dtrace_shows, dtrace_does, any_value, said, spelled.
"""

from ...data.program import PRINTS_ITSELF
from .. import ast
from ..code.integers import store_field
from ..errors import refuse


class Action:
    """name; prototype: as dtrace prints it (prototypes.py); doc: one line, and of a refused one why there is no such thing."""

    name = prototype = doc = ""
    is_action = True
    usage: str | None = None  # a hint for a call with other arguments; None: the prototype
    refused = False  # D has it, and nothing here does it
    destructive = False  # it needs the option of that name

    # --- in the types pass -----------------------------------------------------------------------
    takes_text = False  # an argument that is an array of char is a string
    takes_floats = False  # an argument may be a variable of a floating-point type
    is_key = False  # a call may be a key of an array or aggregation
    is_operand = False  # a call may stand in any expression

    def accept(self, call):
        """Refuse arguments, as written, that the prototype does not."""

    def typed(self, c, call):
        """Give a call, whose arguments fit the prototype, the type of its value."""

    def check(self, call):
        """Refuse what the prototype does not; may make the call's arguments what is recorded of them."""

    def follow(self, flow, call):
        """Refuse a call after what is before it in the clause, and add it.  flow: types.flow.Flow."""
        if self.destructive and flow.speculated:
            refuse("D_ACT_SPEC", call.loc, "destructive actions may not follow speculate( )")
        if self.records and flow.committed:
            refuse("D_DREC_COMM", call.loc, "data-recording actions may not follow commit( )")
        flow.data = flow.data or self.records

    # --- in code generation ------------------------------------------------------------------------
    first = 0  # what is recorded are the arguments from this one on, without aggregations; None: the call's own value
    type = None  # the types.Type that they are recorded as; None: each as its own
    in_memory = False  # strings among them are recorded as they lie in memory
    records = True  # False: a clause with nothing else has no record
    speculates = False  # the clause's record is held back
    ends = False  # no other clause runs after the record
    uses, reads, nullable, allocates, place, stack, as_key = "", None, False, False, None, None, None  # as in row.SubroutineRow

    def data(self, call):
        """The typed expressions that are recorded."""
        if self.first is None:
            return [call]
        return [arg for arg in call.args[self.first :] if arg.__class__ is not ast.AggRef]

    def record(self, g, call, at, action):
        """The code.  g: code.emit.Emitter; at: where the record is in the state block; action: the program.Action, None
        where nothing is recorded."""
        mark = g.scratch
        for data, expr in zip(action.data, self.data(call)):
            keeps_length = expr.__class__ is ast.Call and expr.row.keeps_length
            g.fields = {at + data.offset: data} if keeps_length else {}
            store_field(g, at, data, expr)
            g.fields, g.scratch = {}, mark

    keeps_length = False

    # --- in who reads and prints records --------------------------------------------------------------
    is_value = False  # what is recorded is for who reads the records, and not only for perform()
    prints = PRINTS_ITSELF  # who prints it: data.program.PRINTS_…

    def fields(self, action, symbols):
        """[data.fields.Field] of its values in a record; symbols: tracing.symbols.Symbols, None where only the places matter."""
        from ...data.fields import field_of

        return [field_of(data, symbols) for data in action.data]

    # --- in tracing --------------------------------------------------------------------------------------
    def perform(self, run, action, record):
        """Do it, where C does not.  run: tracing.actions.Actions; action: program.Action; record: bytes."""

    # --- in the dtrace engine ------------------------------------------------------------------------------
    dtrace_shows = False  # dtrace prints it for people, and what it prints is read
    dtrace_does = False  # dtrace does it, as well as we
    any_value = False  # its last value may be one that dtrace can only print for people
    said = None  # how many of its data dtrace says; the others are the numbers of bytes that it shows.  None: all

    def spelled(self, given):
        """The D expressions of its data; given: the texts of the arguments that are not aggregations."""
        return given


class Refused(Action):
    """What would do harm."""

    refused = destructive = True
    records = False

    def __init__(self, name, prototype, doc):
        self.name, self.prototype, self.doc = name, prototype, doc

    def check(self, call):
        refuse("D_UNSUPPORTED", call.loc, f"{self.name}() is not supported: {self.doc}")
