# mypy: ignore-errors
"""printf(), system() and freopen(): what a format makes of values; parse_format() for printa(), too.

Always: call.format is the parsed format (program/printf_format.py); args[0] is its StrLit still.
"""

from pydtrace.dlang import ast, beginner_hints
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program.program import PRINTS_FORMAT

from .action_base import Action


def parse_format(call, args, types, value_types=None):
    """Compare the format with what it formats.  value_types: of the aggregations that printa() names."""
    from pydtrace.program import printf_format as formats

    text = call.args[0]
    try:
        call.format = formats.parse_format(text.value)
        formats.check_format(call.format, types, call.name, 2, value_types)
    except formats.FormatError as error:
        known = error.index is not None and error.index < len(args)
        at = args[error.index].loc if known else text.loc
        hint = beginner_hints.conversion(
            error.tag, error.message, args[error.index].type if known else None
        )
        raise CompileError(error.tag, at, error.message, hint, mark=call.loc.mark) from None


class Formatted(Action):
    first = 1
    takes_text = True

    def check(self, call):
        text = call.args[0]
        if type(text) is not ast.StrLit:
            message = f"{self.name}( ) argument #1 is incompatible with prototype:\n"
            message += f"\tprototype: string constant\n\t argument: {text.type}"
            refuse("D_PRINTF_ARG_FMT", call.loc, message, 'printf("%s", string) prints any string')
        parse_format(call, call.args[1:], [arg.type for arg in call.args[1:]])


class Printf(Formatted):
    name, prototype, doc = "printf", "void(string, ...)", "formatted output"
    takes_floats = is_value = True
    prints = PRINTS_FORMAT

    def perform(self, run, action, record):
        """One that has addresses to name in it."""
        run.sink.text(run.format_renderer.render_record(action, record))


class System(Formatted):
    name, prototype, doc = "system", "void(@, ...)", "run a command of the shell"
    destructive = True

    def perform(self, run, action, record):
        run.run_command(run.format_renderer.render_record(action, record))


class Freopen(Formatted):
    name, prototype, doc = "freopen", "void(@, ...)", "what follows is printed to another file"
    destructive = True

    def check(self, call):
        """As of printf(), but that an empty name means the first output."""
        text = call.args[0]
        if type(text) is ast.StrLit and text.value == b".":
            refuse("D_FREOPEN_INVALID", call.loc, 'freopen( ) argument #1 cannot be "."')
        if type(text) is ast.StrLit and not text.value and len(call.args) == 1:
            from pydtrace.program.printf_format import Format

            call.format = Format(b"", [], b"")
        else:
            super().check(call)

    def perform(self, run, action, record):
        run.reopen_output(run.format_renderer.render_record(action, record), record)


ROWS = [Printf(), System(), Freopen()]
