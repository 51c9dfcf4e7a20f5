"""printf(), system() and freopen(): actions with a format string; parse_format() serves
printa(), too.

call.format is the parsed format (program/format_parse.py); args[0] is still its StrLit.
"""

from __future__ import annotations

from pydtrace.dlang import ast, beginner_hints
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program.program import PRINTS_FORMAT

from .action_base import Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...program import program
    from ...program.d_types import Type


def parse_format(
    call: ast.Call,
    args: list[ast.Expr] | tuple[Any, ...],
    types: list[Type],
    value_types: Sequence[Type] | None = None,
) -> None:
    """Compare the format with what it formats.  value_types: of the aggregations that printa() names."""
    from pydtrace.program import printf_format as formats

    text = call.args[0]
    assert isinstance(text, ast.StrLit)  # FormatAction.check() has refused all else
    try:
        call.format = formats.parse_format(text.value)
        formats.check_format(call.format, types, call.name, 2, value_types)
    except formats.FormatError as error:
        wrong = None
        if error.index is not None and error.index < len(args):
            wrong = args[error.index]
        hint = beginner_hints.hint_for_conversion(error.tag, error.message, wrong)
        raise CompileError(
            error.tag, (wrong or text).loc, error.message, hint, mark=call.loc.mark
        ) from None


class FormatAction(Action):
    first_recorded = 1
    takes_text = True

    def check(self, call: ast.Call) -> None:
        text = call.args[0]
        if type(text) is not ast.StrLit:
            message = f"{self.name}( ) argument #1 is incompatible with prototype:\n"
            message += f"\tprototype: string constant\n\t argument: {text.type}"
            refuse("D_PRINTF_ARG_FMT", call.loc, message, 'printf("%s", string) prints any string')
        parse_format(call, call.args[1:], [arg.type for arg in call.args[1:]])


class Printf(FormatAction):
    name, prototype, doc = "printf", "void(string, ...)", "prints values in a given format"
    takes_floats = is_value = True
    printed_by = PRINTS_FORMAT

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        """One that has addresses to name in it."""
        run.sink.text(run.format_renderer.render_record(action, record))


class System(FormatAction):
    name, prototype, doc = "system", "void(@, ...)", "runs a command of the shell"
    is_destructive = True

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.run_command(run.format_renderer.render_record(action, record))


class Freopen(FormatAction):
    name, prototype, doc = "freopen", "void(@, ...)", "sends all later output to another file"
    is_destructive = True

    def check(self, call: ast.Call) -> None:
        """As of printf(), but that an empty name means the first output."""
        text = call.args[0]
        if type(text) is ast.StrLit and text.value == b".":
            refuse("D_FREOPEN_INVALID", call.loc, 'freopen( ) argument #1 cannot be "."')
        if type(text) is ast.StrLit and not text.value and len(call.args) == 1:
            from pydtrace.program.printf_format import Format

            call.format = Format(b"", [], b"")
        else:
            super().check(call)

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        run.reopen_output(run.format_renderer.render_record(action, record), record)


ROWS = [Printf(), System(), Freopen()]
