"""Ctrl-C, SIGTERM and SIGHUP while tracing.

The first signal ends the tracing as exit() does. The second ends it without further output and
without waiting for the command. The third ends the process.

- Afterwards the signals do what they did before. A signal that is ignored (nohup, a background
  job) stays ignored.
- timeout(1) sends each signal twice, to its child and to the group: while there is something to
  print, or a command to wait for, these count as one.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from pydtrace.process.group_witness import ENDING_SIGNALS as SIGNALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from pydtrace.cli.commands.profile import SamplingState
    from pydtrace.driver.driver import Driver
    from pydtrace.process.command import Command

_DUPLICATE_INTERVAL = 0.2  # s between two signals that are one


class InterruptHandler:
    """A context manager."""

    def __init__(self, driver: Driver | SamplingState) -> None:
        self._driver = driver
        self._newline = False  # the first is not yet answered with an empty line
        self._first = float("-inf")
        self._before: dict[int, Any] = {}

    def __enter__(self) -> InterruptHandler:  # noqa: PYI034
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        driver = self._driver
        if time.monotonic() - self._first < _DUPLICATE_INTERVAL and (
            driver.targets.command or not driver.output_complete
        ):
            return
        if driver.aborting:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if not driver.stopping:
            self._newline, self._first = True, time.monotonic()
        driver.aborting, driver.stopping, driver.interrupted = driver.stopping, True, True

    def acknowledge(self) -> None:
        """Between two looks at the engine: show that the first was seen."""
        if self._newline:
            self._newline = False
            self._driver.sink.pause()  # type: ignore[union-attr]


def make_waiting_command(words: list[str]) -> Command | None:
    """Of a pyusdt command; None without words."""
    from pydtrace.process.command import Command

    command = Command(words) if words else None
    if command:
        command.report = lambda text: print(f"pyusdt: {text}", file=sys.stderr, flush=True)
    return command
