"""What connections of others cost in processor time: each has a share, and who takes more is cut off
for a while.

- The server's own user is never cut off. What a request with the right token takes is the
  tracing's.
- Any thread may call.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .connection_limit import Peer

SHARE, BURST = 0.05, 0.5  # of a processor; s of it that may be taken at once
REFUSAL_TIME = 60.0  # s
_MAX_PEERS = 1024  # who is remembered


class ConnectionCost:
    """report(text): of who is cut off.  taken: seconds of processor time that others took."""

    def __init__(self, report: Callable[[str], object] | None = None) -> None:
        self.report, self.others_seconds = report, 0.0
        self._own: Peer = ("uid", os.geteuid())
        self._budgets: dict[Peer, tuple[float, float]] = {}  # (s, when)
        self._refused_until: dict[Peer, float] = {}  # until when
        self._lock = threading.Lock()

    def add_seconds(self, peer: Peer, seconds: float) -> None:
        if peer == self._own:
            return
        now = time.monotonic()
        with self._lock:
            self.others_seconds += seconds
            left, before = self._budgets.pop(peer, (BURST, now))
            left = min(BURST, left + SHARE * (now - before)) - seconds
            self._budgets[peer] = (left, now)
            while len(self._budgets) > _MAX_PEERS:
                del self._budgets[next(iter(self._budgets))]
            is_new = left < 0 and self._refused_until.get(peer, 0.0) < now
            if left < 0:
                self._refused_until[peer] = now + REFUSAL_TIME
            while len(self._refused_until) > _MAX_PEERS:
                del self._refused_until[next(iter(self._refused_until))]
        if is_new and self.report:
            self.report(
                f"connections of {'user' if peer[0] == 'uid' else 'address'} {peer[1]} are refused for {REFUSAL_TIME:.0f} s: they have taken more than "
                f"{100 * SHARE:.0f} % of a processor"
            )

    def is_refused(self, peer: Peer) -> bool:
        with self._lock:
            return self._refused_until.get(peer, 0.0) > time.monotonic()
