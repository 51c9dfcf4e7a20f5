"""Ends a run of the agent when the time of its policy is over, whatever the run does then.

- Once tracing has begun, it has GRACE seconds to end by itself, with END and its counts.
- The kernel's alarm ends a process whose threads no longer run.
"""

from __future__ import annotations

import os
import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pydtrace.process.command import Command

GRACE = 10.0  # s


class Deadline(threading.Thread):
    """left: seconds from now, None: none; refuse(): where tracing has not begun, before this process ends.  begun, command: to be set."""

    begun = False
    command: Command | None = None

    def __init__(self, left: float | None, refuse: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._left, self._refuse, self._never_set = left, refuse, threading.Event()
        if left is not None:
            signal.setitimer(signal.ITIMER_REAL, left + 2 * GRACE)
            self.start()

    def run(self) -> None:
        self._never_set.wait(min(self._left or 0, threading.TIMEOUT_MAX))
        if self.begun:
            self._never_set.wait(GRACE)
        else:
            self._refuse()
        if self.command:
            self.command.stop()
        os._exit(1)
