"""What live views have in common: a view that is brought up to date each interval, while records come or not.

In: what a sink is given (tracing/sink.py).  Out: a view.View, and refresh() for each interval.  Always: the driver calls records() at
least every 0.1 s, with nothing in it where nothing came; refresh() is only called from there, and at the end.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .output import Output
from .text import Text
from .view import View

if TYPE_CHECKING:
    from ..tracing.aggregates import Aggregates
    from ..tracing.sink import Info
    from .output import Notify


class _Tee(Output):
    """What the script prints goes into the view; and where it would go without one, if that is wanted or the script names a file."""

    def __init__(self, output: Output, view: View, kept: bool) -> None:
        super().__init__(output.fd, output.name)
        self._view, self._kept = view, kept

    def write(self, text: bytes) -> None:
        first = self.fd == self._first[0]
        if first:
            self._view.print(text)
        if self._kept or not first:
            super().write(text)


class Watching(Text):
    """A sink with a view.  kept: what the script prints goes to the output, too; interval: in seconds, may be changed."""

    interval = 1.0

    def __init__(self, output: Output, notify: Notify, kept: bool) -> None:
        self.view = View()
        super().__init__(_Tee(output, self.view, kept), notify)
        self._real = output

    def begin(self, info: Info) -> None:
        super().begin(info)
        self._aggregates = info.actions.aggregates
        self._last = time.monotonic()

    def records(self, buffer: bytes) -> None:
        if buffer:
            super().records(buffer)
        self.look(time.monotonic())

    def look(self, now: float) -> None:
        """The time has gone on."""
        if now - self._last >= self.interval:
            self._take(now, self._aggregates)

    def _take(self, now: float, aggregates: Aggregates) -> None:
        self.view.update(aggregates, now - self._last)
        self._last = now
        self.refresh()

    def refresh(self) -> None:
        """The view has one more interval."""
        raise NotImplementedError

    def notice(self, text: str, error: bool = True) -> None:
        self.view.print(text.encode("utf-8", "surrogateescape") + b"\n")
        super().notice(text, error)

    def drop(self, kind: str, count: int, line: str) -> None:
        self.view.lose(kind, count)
        super().drop(kind, count, line)

    def snapshot(self, aggregates: Aggregates) -> None:
        self._take(time.monotonic(), aggregates)
        self._real.write(aggregates.rest())
