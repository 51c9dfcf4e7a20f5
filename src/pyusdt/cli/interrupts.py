"""Ctrl-C and SIGTERM while tracing: the first ends the tracing as exit() does, the second ends it without showing more, the third
ends the process.

In: signals.  Out: driver.Driver's `stopping` and `hurry`; a pause of the sink for the first.
Always: afterwards the signals do what they did before; a signal that is ignored (nohup, a background job) stays ignored.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ..tracing.driver import Driver

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context manager.  driver: driver.Driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._newline = False  # the first is not yet answered with an empty line
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:  # noqa: PYI034
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        driver = self._driver
        if driver.hurry:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._newline = self._newline or not driver.stopping
        driver.hurry, driver.stopping = driver.stopping, True

    def answer(self) -> None:
        """Between two looks at the engine: show that the first was seen."""
        if self._newline:
            self._newline = False
            self._driver.sink.pause()
