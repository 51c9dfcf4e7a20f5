"""An action: a statement that records data or controls the tracing.

A subclass of Action has everything about one action; registry.py lists the instances. Other
folders use these attributes of the row (program.Action.row) and never compare names:

- the types pass: prototype, check_arguments, set_type, check, check_order, takes_text,
  takes_floats, is_key, is_operand;
- code generation: recorded_values, emit_record, record_type, in_memory, has_record, speculates,
  ends_tracing, is_destructive;
- readers of records (results/records.py): is_value, record_fields; sinks: printed_by;
- the driver (driver/action_runner.py): perform;
- the dtrace engine: is_shown_by_dtrace, is_done_by_dtrace, may_be_shown, dtrace_value_count,
  dtrace_expressions.
"""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.code.integer_expressions import store_field
from pydtrace.dlang.compile_errors import refuse
from pydtrace.program.program import PRINTS_ITSELF

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.program import program
    from pydtrace.program.d_types import Type
    from pydtrace.program.fields import Field


class Action:
    """name; prototype: as dtrace prints it (prototypes.py); doc: one line, and of a refused one why there is no such thing."""

    name = prototype = doc = ""
    is_action = True
    usage: str | None = None  # a hint for a call with other arguments; None: the prototype
    is_refused = False  # D has it, and nothing here does it
    is_destructive = False  # it needs the option of that name

    # --- in the types pass -----------------------------------------------------------------------
    takes_text = False  # an argument that is an array of char is a string
    takes_floats = False  # an argument may be a variable of a floating-point type
    is_key = False  # a call may be a key of an array or aggregation
    is_operand = False  # a call may stand in any expression

    def check_arguments(self, call: ast.Call) -> None:
        """Refuse arguments, as written, that the prototype does not."""

    def set_type(self, c: Any, call: ast.Call) -> None:
        """Give a call, whose arguments fit the prototype, the type of its value."""

    def check(self, call: ast.Call) -> None:
        """Refuse what the prototype does not; may make the call's arguments what is recorded of them."""

    def check_order(self, order: Any, call: ast.Call) -> None:
        """Refuse a call after what is before it in the clause, and add it.  flow: types.action_order.ActionOrder."""
        order.add_action(call, self.has_record, self.is_destructive)

    # --- in code generation ------------------------------------------------------------------------
    first_recorded: int | None = (
        0  # what is recorded are the arguments from this one on, without aggregations; None: the call's own value
    )
    record_type: Type | None = (
        None  # the types.Type that they are recorded as; None: each as its own
    )
    in_memory = False  # strings among them are recorded as they lie in memory
    has_record = True  # False: a clause with nothing else has no record
    speculates = False  # the clause's record is held back
    ends_tracing = False  # no other clause runs after the record
    # As in row.SubroutineRow, so that code generation asks any call.
    uses = ""
    is_nullable = allocates = knows_length = False
    read_limit = make_room = key_row = None
    stack_kind: str | None = None  # whose stack it is, "user" or "kernel"

    def recorded_values(self, call: ast.Call) -> list[ast.Expr]:
        """The typed expressions that are recorded."""
        if self.first_recorded is None:
            return [call]
        return [arg for arg in call.args[self.first_recorded :] if type(arg) is not ast.AggRef]

    def emit_record(self, g: Any, call: ast.Call, at: int, action: Any) -> None:
        """The code.  g: code.emitter.Emitter; at: where the record is in the state block; action: the program.Action, None
        where nothing is recorded."""
        mark = g.scratch
        for data, expr in zip(action.data, self.recorded_values(call)):
            keeps_length = isinstance(expr, ast.Call) and expr.row.knows_length
            g.fields = {at + data.offset: data} if keeps_length else {}
            store_field(g, at, data, expr)
            g.fields, g.scratch = {}, mark

    # --- in who reads and prints records --------------------------------------------------------------
    is_value = False  # what is recorded is for who reads the records, and not only for perform()
    printed_by = PRINTS_ITSELF  # who prints it: program.program.PRINTS_…

    def record_fields(self, action: program.Action, symbols: Any) -> list[Field]:
        """[program.fields.Field] of its values in a record; symbols: driver.address_symbolizer.AddressSymbolizer, None where only the places matter."""
        from pydtrace.program.fields import make_field

        return [make_field(data, symbols) for data in action.data]

    # --- in tracing --------------------------------------------------------------------------------------
    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        """Do it, where C does not.  run: driver.action_runner.ActionRunner; action: program.Action; record: bytes."""

    # --- in the dtrace engine ------------------------------------------------------------------------------
    is_shown_by_dtrace = False  # dtrace prints it for people, and what it prints is read
    is_done_by_dtrace = False  # dtrace does it, as well as we
    may_be_shown = False  # its last value may be one that dtrace can only print for people
    dtrace_value_count: int | None = (
        None  # how many of its data dtrace says; the others are the numbers of bytes that it shows.  None: all
    )

    def dtrace_expressions(self, arguments: list[str]) -> list[str]:
        """The D expressions of its data; given: the texts of the arguments that are not aggregations."""
        return arguments


class RefusedAction(Action):
    """What would do harm."""

    is_refused = is_destructive = True
    has_record = False

    def __init__(self, name: str, prototype: str, doc: str) -> None:
        self.name, self.prototype, self.doc = name, prototype, doc

    def check(self, call: ast.Call) -> None:
        refuse("D_UNSUPPORTED", call.loc, f"{self.name}() is not supported: {self.doc}")
