# mypy: ignore-errors
"""exit(), setopt(), ftruncate(), raise() and stop(): what steers the tracing or the firing process; and what is refused."""

from pydtrace.dlang.compile_errors import refuse
from pydtrace.program import d_types as t
from pydtrace.program.fields import read_integer, read_string

from .action_base import Action, Refused


class Exit(Action):
    name, prototype, doc = "exit", "void(int)", "end the tracing with an exit status"
    type = t.INT
    ends = True

    def follow(self, flow, call):
        if flow.speculated:
            refuse("D_EXIT_SPEC", call.loc, "exit( ) may not follow speculate( )")
        super().follow(flow, call)

    def perform(self, run, action, record):
        run.exit_status = read_integer(action.data[0], record)


class Setopt(Action):
    name, prototype, doc = (
        "setopt",
        "void(const char *, [const char *])",
        "set an option while tracing",
    )

    def perform(self, run, action, record):
        name, *rest = [read_string(data, record) for data in action.data]
        run.set_option(name, rest[0] if rest else None, record)


class Ftruncate(Action):
    name, prototype, doc = "ftruncate", "void()", "the output file becomes empty"

    def perform(self, run, action, record):
        run.sink.truncate()


class Raise(Action):
    name, prototype, doc = "raise", "void(int)", "send a signal to the firing process"
    type = t.INT
    destructive = True

    def perform(self, run, action, record):
        run.send_signal(read_integer(action.data[0], record), record)


class Stop(Action):
    name, prototype, doc = "stop", "void()", "stop the firing process, until it gets SIGCONT"
    destructive = True

    def perform(self, run, action, record):
        from signal import SIGSTOP

        run.send_signal(SIGSTOP, record)


ROWS = [
    Exit(), Setopt(), Ftruncate(), Raise(), Stop(),
    Refused("panic", "void()", "it would stop the whole machine"),
    Refused("breakpoint", "void()", "it enters a debugger of the kernel"),
    Refused("chill", "void(int)", "the firing process does not wait for D"),
    Refused("return", "void(int)", "it changes what a function of the kernel returns"),
]  # fmt: skip
