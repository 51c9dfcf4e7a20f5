"""exit(), setopt(), ftruncate(), raise() and stop(): control of the tracing or of the firing
process; and refused actions.
"""

from __future__ import annotations

from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import d_types as t
from pydtrace.program.fields import read_integer, read_string

from .action_base import Action, RefusedAction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...program import program
    from ..ast import Call
    from ..types.action_order import ActionOrder


class Exit(Action):
    name, prototype, doc = "exit", "void(int)", "ends the tracing with an exit status"
    record_type = t.INT
    ends_tracing = True

    def check_order(self, order: ActionOrder, call: Call) -> None:
        if order.has_speculate:
            refuse("D_EXIT_SPEC", call.loc, "exit( ) may not follow speculate( )")
        super().check_order(order, call)

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.exit_status = read_integer(action.data[0], record)


class Setopt(Action):
    name, prototype, doc = (
        "setopt",
        "void(const char *, [const char *])",
        "sets an option while tracing",
    )

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        name, *rest = [read_string(data, record) for data in action.data]
        run.set_option(name, rest[0] if rest else None, record)


class Ftruncate(Action):
    name, prototype, doc = "ftruncate", "void()", "empties the output file"

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.sink.truncate()


class Raise(Action):
    name, prototype, doc = "raise", "void(int)", "sends a signal to the firing process"
    record_type = t.INT
    is_destructive = True

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.send_signal(read_integer(action.data[0], record), record)


class Stop(Action):
    name, prototype, doc = "stop", "void()", "stops the firing process until it gets SIGCONT"
    is_destructive = True

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        from signal import SIGSTOP

        run.send_signal(SIGSTOP, record)


ROWS = [
    Exit(), Setopt(), Ftruncate(), Raise(), Stop(),
    RefusedAction("panic", "void()", "it would stop the whole machine"),
    RefusedAction("breakpoint", "void()", "it enters a debugger of the kernel"),
    RefusedAction("chill", "void(int)", "the firing process does not wait for D"),
    RefusedAction("return", "void(int)", "it changes what a function of the kernel returns"),
]  # fmt: skip
