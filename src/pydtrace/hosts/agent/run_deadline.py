"""The end of the time that a policy gives a run, whatever the run does then: reading a request, compiling, opening an engine, writing to
who does not read.

In: seconds; what says so.  Out: this process ends, and a command that it has started.
Always: once tracing has begun it has some seconds to end by itself, with END and what was counted; the kernel's alarm ends a process
whose threads do not come to it any more.
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
