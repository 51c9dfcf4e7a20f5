"""dtrace's output, byte for byte: what pydtrace prints by default.

- C prints the records (c/format/formatter.h). What it leaves out is done in its place among them.
- Run-time errors and losses go to the standard error.
"""

from __future__ import annotations

import os
import struct

from pydtrace.program import formatter_table
from pydtrace.program import program as p
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .output_file import OutputSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo

    from .output_file import Notify, Output

_LINE_OPTIONS = ("quiet", "rawbytes", "flowindent")  # options, in the order of Formatter.flags()


class DtraceTextSink(OutputSink):
    """formatter: a _tracer.Formatter, or what has its methods, where it is not to be made of the program."""

    def __init__(self, output: Output, notify: Notify, formatter: Any = None) -> None:
        super().__init__(output, notify)
        self._formatter = formatter

    def begin(self, info: TraceInfo) -> None:
        self._info, self._error_reporter = info, info.make_error_reporter(self.fault)
        if self._formatter is None:
            self._formatter = _make_formatter(info)
            self._set_line_options()
        if type(self) is DtraceTextSink:  # others look at the records, too
            self.formatter = self._formatter

    def _set_line_options(self) -> None:
        """Tell the formatter what the options say about lines."""
        self._formatter.flags(*[bool(self._info.options.get(name)) for name in _LINE_OPTIONS])

    def option_changed(self, name: str) -> None:
        if name in _LINE_OPTIONS:
            self._set_line_options()

    def records(self, buffer: bytes) -> None:
        formatter = self._formatter
        formatter.feed(buffer)
        while True:
            stop, text, offset, action = formatter.next()
            if text:
                self.output.write(text)
            if stop == formatter.DONE:
                return
            if stop == formatter.PROBE:
                self._name_probe(buffer, offset)
            elif stop == formatter.FAULT:
                size = struct.unpack_from("=I", buffer, offset)[0]
                self._error_reporter.report_error(buffer[offset : offset + size])
            elif stop == formatter.ACTION:
                self._run_action(buffer, offset, action)

    def _name_probe(self, records: bytes, offset: int) -> None:
        """Tell the formatter a probe's names."""
        probe = struct.unpack_from("=I", records, offset + p.RECORD_PROBE)[0]
        provider, _, function, name = self._info.probe(probe)
        self._formatter.probe(probe, *map(escape_for_terminal, (provider, function, name)))

    def _run_action(self, records: bytes, offset: int, index: int) -> None:
        """An action that is not printing.  index: of its clause's actions."""
        size, clause = struct.unpack_from("=II", records, offset)
        info = self._info
        info.actions.run_action(
            info.program.clauses[clause & ~p.RECORD_FLAGS].actions[index],
            records[offset : offset + size],
        )

    def pause(self) -> None:
        self.output.write(b"\n")

    def snapshot(self, aggregates: AggregationState) -> None:
        self.output.write(aggregates.render_unprinted())


def _is_dtrace_test() -> bool:
    """DTrace's own suite runs us, and compares what is said."""
    return "_DTRACE_TESTING" in os.environ


def _make_formatter(info: TraceInfo) -> Any:
    from pydtrace._tracer import Formatter

    return Formatter(
        formatter_table.build_table(info.program), Formatter.TESTING if _is_dtrace_test() else 0
    )
