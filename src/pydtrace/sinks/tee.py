"""Several sinks for one tracing: one that shows what is traced, and others that only look on.

In: sinks (driver/sink.py).  Out: each call, to those whom it concerns.
Always: those that look on come first, so that what the other does with a record (exit(), an output that is full) keeps nothing from
them; text, messages and files are the other's alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydtrace.driver.sink import Sink

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import Aggregates
    from pydtrace.driver.sink import Info


class Tee(Sink):
    """shown: the sink that shows; others: those that look on."""

    def __init__(self, shown: Sink, *others: Sink) -> None:
        self._shown, self._others = shown, others

    def begin(self, info: Info) -> None:
        for each in (*self._others, self._shown):
            each.begin(info)

    def records(self, buffer: bytes) -> None:
        for each in (*self._others, self._shown):
            each.records(buffer)

    def text(self, text: bytes) -> None:
        self._shown.text(text)

    def notice(self, text: str, error: bool = True) -> None:
        self._shown.notice(text, error)

    def fault(self, text: str, count: int = 0) -> None:
        self._shown.fault(text, count)

    def drop(self, kind: str, count: int, line: str) -> None:
        for each in (*self._others, self._shown):
            each.drop(kind, count, line)

    def others_time(self) -> float:
        return sum(each.others_time() for each in (*self._others, self._shown))

    def pause(self) -> None:
        self._shown.pause()

    def snapshot(self, aggregates: Aggregates) -> None:
        for each in (*self._others, self._shown):
            each.snapshot(aggregates)

    def end(self, status: int) -> None:
        self._shown.end(status)

    def close(self) -> None:
        try:
            for each in self._others:
                each.close()
        finally:
            self._shown.close()

    def reopen(self, path: bytes) -> None:
        self._shown.reopen(path)

    def truncate(self) -> None:
        self._shown.truncate()

    def option_changed(self, name: str) -> None:
        for each in (*self._others, self._shown):
            each.option_changed(name)
