"""Several sinks for one tracing: one that shows the trace, and others that only observe it.

- The observers come first, so that what the other does with a record (exit(), an output that is
  full) hides nothing from them.
- Text, messages and files go to the other alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydtrace.driver.sink import Sink

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo


class Tee(Sink):
    """shown: the sink that shows; others: those that look on."""

    def __init__(self, primary: Sink, *observers: Sink) -> None:
        self._primary, self._observers = primary, observers

    def begin(self, info: TraceInfo) -> None:
        for each in (*self._observers, self._primary):
            each.begin(info)

    def records(self, buffer: bytes) -> None:
        for each in (*self._observers, self._primary):
            each.records(buffer)

    def text(self, text: bytes) -> None:
        self._primary.text(text)

    def notice(self, text: str, error: bool = True) -> None:
        self._primary.notice(text, error)

    def fault(self, text: str, count: int = 0) -> None:
        self._primary.fault(text, count)

    def drop(self, kind: str, count: int, line: str) -> None:
        for each in (*self._observers, self._primary):
            each.drop(kind, count, line)

    def other_users_time(self) -> float:
        return sum(each.other_users_time() for each in (*self._observers, self._primary))

    def pause(self) -> None:
        self._primary.pause()

    def snapshot(self, aggregates: AggregationState) -> None:
        for each in (*self._observers, self._primary):
            each.snapshot(aggregates)

    def end(self, status: int) -> None:
        self._primary.end(status)

    def close(self) -> None:
        try:
            for each in self._observers:
                each.close()
        finally:
            self._primary.close()

    def reopen(self, path: bytes) -> None:
        self._primary.reopen(path)

    def truncate(self) -> None:
        self._primary.truncate()

    def option_changed(self, name: str) -> None:
        for each in (*self._observers, self._primary):
            each.option_changed(name)
