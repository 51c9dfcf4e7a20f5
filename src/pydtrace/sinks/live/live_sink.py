"""What live views share: a view that is updated at an interval, also while no records come.

- The driver calls records() at least every 0.1 s, with an empty buffer if nothing came.
  refresh_view() is called from there, and at the end.
- In a replay the intervals are those of the recording's time, and so long that all of it is kept.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pydtrace.sinks.dtrace_text_sink import DtraceTextSink
from pydtrace.sinks.output_file import Output

from .live_model import HISTORY, LiveModel
from .run_facts import RunFacts

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.program.trace_clock import Clock
    from pydtrace.sinks.output_file import Notify

_SHORTEST = 0.001  # s, of an interval


class _LogOutput(Output):
    """What the script prints goes into the view; and where it would go without one, if that is wanted or the script names a file."""

    def __init__(self, output: Output, view: LiveModel, also_written: bool) -> None:
        super().__init__(output.fd, output.name)
        self._view, self._also_written = view, also_written

    def write(self, text: bytes) -> None:
        first = self.fd == self._first[0]
        if first:
            self._view.add_text(text)
        if self._also_written or not first:
            super().write(text)


class LiveSink(DtraceTextSink):
    """A sink with a view.  kept: what the script prints goes to the output, too; interval: in seconds, may be changed; columns:
    at most so many of the whole run are kept."""

    interval = 1.0
    clock: Clock
    facts: RunFacts

    def __init__(
        self,
        output: Output,
        notify: Notify,
        also_written: bool,
        history: int = HISTORY,
        columns: int = 0,
    ) -> None:
        self.view = LiveModel(history, columns)
        super().__init__(_LogOutput(output, self.view, also_written), notify)
        self._real_output = output

    def begin(self, info: TraceInfo) -> None:
        super().begin(info)
        self._aggregates = info.actions.aggregates
        self.clock, self.facts = info.clock, RunFacts(info, sys.argv)
        self._last = self.clock.now() / 1e9
        if span := self.clock.span:
            self.interval = max(_SHORTEST, (span[1] - span[0]) / 1e9 / (self.view.history - 1))

    def records(self, buffer: bytes) -> None:
        if buffer:
            super().records(buffer)
        self.check_interval()

    def check_interval(self) -> None:
        """The time has gone on."""
        if (now := self.clock.now() / 1e9) - self._last >= self.interval:
            self._add_interval(now, self._aggregates)

    def _add_interval(self, now: float, aggregates: AggregationState) -> None:
        """What came since the last look came in the last interval: in a recording nothing did in those before."""
        if self.clock.span:
            passed = max(1, int((now - self._last) / self.interval))
            self.view.skip_intervals(passed - 1, self.interval)
            self._last += passed * self.interval  # so that they do not become longer
            self.view.add_interval(aggregates, self.interval)
        else:
            self.view.add_interval(aggregates, now - self._last, self.counted_intervals())
            self._last = now
        self.refresh_view()

    def counted_intervals(self) -> int:
        """As how many intervals the next one counts."""
        return 1

    def refresh_view(self) -> None:
        """The view has one more interval."""
        raise NotImplementedError

    def notice(self, text: str, error: bool = True) -> None:
        self.view.add_text(text.encode("utf-8", "surrogateescape") + b"\n")
        super().notice(text, error)

    def drop(self, kind: str, count: int, line: str) -> None:
        self.view.add_drops(kind, count)
        super().drop(kind, count, line)

    def snapshot(self, aggregates: AggregationState) -> None:
        self._add_interval(self.clock.now() / 1e9, aggregates)
        self._real_output.write(aggregates.render_unprinted())
