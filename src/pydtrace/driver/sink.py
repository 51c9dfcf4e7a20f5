"""The protocol between the driver and what shows, writes or keeps a trace.

The driver calls, in this order:

    begin(info)             once, before BEGIN fires; here a sink raises for what is missing (a module, a file)
    records(buffer)         a buffer of whole records (program/program.py), again and again: a fast sink hands it to C
                            (sinks/dtrace_text_sink.py), one that wants values decodes it (results/records.py)
    notice(), drop()        when they happen: warnings, what an action could not do, losses
    text(), reopen(), truncate(), option_changed()      during records(), from info.actions, where a record has such an action
    pause()                 at Ctrl-C; and once when the records are over
    snapshot(aggregates)    once, when the records are over, unless the user is in a hurry
    end(status)             the last call of a tracing that was not broken off; not where the user is in a hurry
    close()                 once, whatever happened

- One thread makes all calls but begin(), which another may make before.
- A sink needs no engine: a test makes an Info of its own.
"""

from __future__ import annotations

import errno

from pydtrace.dtrace_text.runtime_errors import ErrorReporter
from pydtrace.process.identity import existed_at
from pydtrace.program.trace_clock import Clock

TYPE_CHECKING = False  # typing itself is not needed to trace, and takes time
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from pydtrace.dtrace_text.address_text import AddressFormatter
    from pydtrace.engine import Targets
    from pydtrace.program.program import Action, Program
    from pydtrace.results.records import Decoder

    from .aggregation_state import AggregationState

    class ActionHandler(Protocol):
        """What a sink needs of actions.Actions.  symbols: for the names of addresses; aggregates: what the aggregations hold now,
        for who shows them while tracing goes on."""

        @property
        def symbols(self) -> AddressFormatter: ...

        @property
        def aggregates(self) -> AggregationState: ...

        def run_action(self, action: Action, record: bytes) -> None:
            """Do what an action of a record says that records no data."""


class TraceInfo:
    """What a sink knows when the tracing begins.  clock: the time that the tracing is at; targets: what is traced; matched: how many
    probes each description matches, as the engine's, which goes on counting.

    program; options: {name: value}; actions: what does the actions that are not data; probe: (provider, module, function, name)
    of a probe's id; engine: its name, reason: why it is that one; has_places, fired: as the engine's (engine.Engine).
    """

    __slots__ = (
        "actions",
        "clock",
        "engine",
        "existed_at",
        "has_fault_locations",
        "matched",
        "options",
        "probe",
        "program",
        "reason",
        "targets",
        "_error_reporter",
    )

    def __init__(
        self,
        program: Program,
        options: Mapping[str, Any],
        actions: ActionHandler,
        probe: Callable[[int], tuple[str, ...]],
        engine: str = "",
        reason: str = "",
        has_fault_locations: bool = False,
        clock: Clock | None = None,
        existed_at: Callable[[int, int], bool] = existed_at,
        targets: Targets | None = None,
        matched: Sequence[tuple[Any, int]] = (),
    ) -> None:
        self.program, self.options, self.actions, self.probe = program, options, actions, probe
        self.engine, self.reason, self.has_fault_locations = engine, reason, has_fault_locations
        self.clock, self.existed_at = clock or Clock(), existed_at
        self.targets, self.matched = targets, matched
        self._error_reporter: ErrorReporter | None = None

    def make_error_reporter(self, report: Callable[[str, int], None]) -> ErrorReporter:
        """What tells faults (dtrace_text/runtime_errors.py), for a sink that finds them among the records: say is its fault()."""
        absent = None
        if self.engine == "kernel":
            from .absent_pages import AbsentPages

            absent = AbsentPages().load_page
        self._error_reporter = ErrorReporter(
            self.program, self.probe, report, self.has_fault_locations, absent
        )
        return self._error_reporter

    def make_decoder(self, report: Callable[[str, int], None] | None = None) -> Decoder:
        """What makes Records of the program's records.  report: the sink's fault(), of one that does the records' actions, too; None: another
        sink does both."""
        from pydtrace.results.records import Decoder

        if report is None:
            return Decoder(self.program, self.probe, _do_nothing, _do_nothing, self.actions.symbols)
        return Decoder(
            self.program,
            self.probe,
            self.make_error_reporter(report).report_error,
            self.actions.run_action,
            self.actions.symbols,
        )

    @property
    def error_count(self) -> int:
        """How many run-time errors of the script there were."""
        return self._error_reporter.count if self._error_reporter else 0

    def report_error_counts(self) -> None:
        """The records are over: print the faults that were counted."""
        if self._error_reporter:
            self._error_reporter.report_counts()


def _do_nothing(*_: Any) -> None:
    """Of a record whose errors and actions another sink handles."""


class Sink:
    """A sink that has no file and shows nothing by itself.  A sink of one's own has at least records(), text() and notice().

    stays: when all is over it is still there to look at, until the user ends it; formatter: since begin(), of a sink that does
    nothing with records but print them by it."""

    stays = False
    formatter: Any = None  # a _tracer.Formatter: engines may print records by it before they give them (RECORD_TEXT)

    def begin(self, info: TraceInfo) -> None:
        """Tracing is about to begin."""

    def records(self, buffer: bytes) -> None:
        """What the clauses recorded."""
        raise NotImplementedError

    def text(self, text: bytes) -> None:
        """What an action printed: printa(), a stack, bytes in memory."""
        raise NotImplementedError

    def notice(self, text: str, error: bool = True) -> None:
        """A message for the user besides the data; error: False where nothing is wrong."""
        raise NotImplementedError

    def fault(self, text: str, count: int = 0) -> None:
        """A run-time error of the script, or that there were so many more of one; Info.make_error_reporter() calls it."""
        self.notice(text)

    def drop(self, kind: str, count: int, line: str) -> None:
        """So many more were lost (a kind of Engine.drops()); line: dtrace's words for it."""
        self.notice(line)

    def other_users_time(self) -> float:
        """Seconds of this process's processor time that others than its user have caused, by connections to a server of the sink's."""
        return 0.0

    def pause(self) -> None:
        """Where text for people has an empty line."""

    def snapshot(self, aggregates: AggregationState) -> None:
        """What the aggregations hold at the end."""

    def end(self, status: int) -> None:
        """Tracing is over; status: what the script gave to exit(), else 0."""

    def close(self) -> None:
        """Nothing more comes."""

    def reopen(self, path: bytes) -> None:
        """freopen(): text goes to another file from now on (b"": to the first).  OSError."""
        raise OSError(errno.ENOTSUP, "there is no output file")

    def truncate(self) -> None:
        """ftruncate(): the output file becomes empty."""

    def option_changed(self, name: str) -> None:
        """setopt() has changed an option."""
