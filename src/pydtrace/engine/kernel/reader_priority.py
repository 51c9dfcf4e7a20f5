"""A higher priority for the reading thread, if traced processes write faster than it can read.

- Only if the user may raise it (CAP_SYS_NICE) and has not chosen a policy (chrt).
- Only for the reading thread, and not for processes that it starts.
"""

from __future__ import annotations

import os

_FULL = 4  # a quarter of the buffer found filled: another look as late loses records
_NICE = -10


class ReaderPriority:
    def __init__(self, size: int) -> None:
        self._enough: float = size // _FULL

    def observe_fill(self, size: int) -> None:
        if size < self._enough:
            return
        self._enough = float("inf")
        try:
            if (
                os.sched_getscheduler(0) == os.SCHED_OTHER
                and os.getpriority(os.PRIO_PROCESS, 0) > _NICE
            ):
                os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, 0, _NICE)
        except OSError:
            pass  # who may not, reads as before
