"""Run the actions that do more than print a record.

A row of dlang/builtins/ says what an action does, in perform(); this file has the operations that
it may use.

- An action runs in its place among the other actions of the record.
- A failure is reported as dtrace does, and tracing goes on.
"""

from __future__ import annotations

import os
import struct

from pydtrace.options import OptionError
from pydtrace.process.identity import send_signal
from pydtrace.program import program as p
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .aggregation_state import AggregationState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.engine import Engine
    from pydtrace.options import Options
    from pydtrace.program.program import Action, Program

    from .address_symbolizer import AddressSymbolizer
    from .formatted_text import FormatRenderer
    from .sink import Sink

_NOT_WHILE_TRACING = frozenset(
    [
        "aggsize",
        "bpflog",
        "bpflogsize",
        "bufpolicy",
        "bufresize",
        "bufsize",
        "cleanrate",
        "cpu",
        "destructive",
        "dynvarsize",
        "jstackframes",
        "jstackstrsize",
        "lockmem",
        "maxframes",
        "noresolve",
        "nspec",
        "pcapsize",
        "scratchsize",
        "specsize",
        "stackframes",
        "statusrate",
        "strsize",
        "ustackframes",
    ]
)


class ActionRunner:
    """program; engine; sink: sink.Sink, which gets text, notices and changed options; options: options.Options.
    status: what exit() was given, None before."""

    def __init__(self, program: Program, engine: Engine, sink: Sink, options: Options) -> None:
        self.program, self.engine, self.sink, self.options = program, engine, sink, options
        self._symbols: AddressSymbolizer | None = None
        self.aggregates = AggregationState(program, engine, options, lambda: self.symbols)
        self._format_renderer: FormatRenderer | None = None
        self.exit_status: int | None = None
        self._reported_unsent_signals = False

    @property
    def symbols(self) -> AddressSymbolizer:
        if self._symbols is None:
            from .address_symbolizer import AddressSymbolizer  # few programs print addresses

            engine = self.engine
            self._symbols = AddressSymbolizer(
                self.options, engine.maps_of, engine.name_of, engine.code_of
            )
        return self._symbols

    def symbol_warnings(self) -> list[str]:
        """Which addresses could not be named in time, each reported once."""
        return self._symbols.warnings() if self._symbols else []

    @property
    def format_renderer(self) -> FormatRenderer:
        if self._format_renderer is None:
            from .formatted_text import FormatRenderer  # few programs have such

            self._format_renderer = FormatRenderer(self.program, symbols=self.symbols)
        return self._format_renderer

    def run_action(self, action: Action, record: bytes) -> None:
        """Do one action; record: bytes of its own record."""
        action.row.perform(self, action, record)

    # --- the world outside, as actions need it ------------------------------------------------
    def run_command(self, text: bytes) -> None:
        """The output of the command goes where ours goes by default, as with dtrace."""
        import subprocess  # with it, and not with os.system(), the command ignores no signal that Python does

        subprocess.run(
            ["sh", "-c", text], executable="/bin/sh", check=False
        )  # as system(3) calls it, in its messages, too

    def reopen_output(self, path: bytes, record: bytes) -> None:
        try:
            self.sink.reopen(path)
        except OSError as error:
            name = escape_for_terminal(os.fsdecode(path))
            self.report_error(record, f'couldn\'t freopen "{name}": {error.strerror}')

    def send_signal(self, number: int, record: bytes) -> None:
        """The process may have gone on since, or have ended, and another may have its id.  An untrusted file may say -1, which is
        everybody.  A replay signals nothing, and says so once."""
        if self.engine.name == "replay":
            self._report_unsent_signals()
            return
        pid = struct.unpack_from("=i", record, p.RECORD_PID)[0]
        when = struct.unpack_from("=Q", record, p.RECORD_TIME)[0]
        try:
            send_signal(pid, number, lambda: self.engine.existed_at(pid, when))
        except (OSError, ValueError) as error:
            self.report_error(record, f"couldn't send signal {number} to {pid}: {error}")

    def _report_unsent_signals(self) -> None:
        if not self._reported_unsent_signals:
            self._reported_unsent_signals = True
            self.sink.notice("a replay does not send signals: raise() and stop() have no effect")

    def set_option(self, name: str, value: str | None, record: bytes) -> None:
        try:
            if name in _NOT_WHILE_TRACING:
                raise OptionError("Operation illegal when tracing is active")
            self.options.set(name, value)
        except OptionError as error:
            shown = "1" if value is None else value
            self.report_error(
                record,
                escape_for_terminal(f'couldn\'t set option "{name}" to "{shown}": {error}') + "\n",
            )
        else:
            self.sink.option_changed(name)

    def report_error(self, record: bytes, message: str) -> None:
        clause, probe = struct.unpack_from("=II", record, p.RECORD_CLAUSE)
        names = escape_for_terminal(":".join(self.engine.probe(probe)))
        self.sink.notice(
            f"error in dt_clause_{clause & ~p.RECORD_FLAGS} for probe ID {probe} ({names}): {message}"
        )
