"""What connections of others cost this process: a share of a processor for each, and who takes more is cut off for a while, by name.

In: who it is (peers.Peer), seconds of processor time.  Out: whether he is cut off; what all of them took, which is not the tracing's.
Always: the server's own user is never cut off, and what a request with the right token takes is the tracing's; any thread may call.
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
CUT = 60.0  # s
_MOST = 1024  # who is remembered


class Expenses:
    """tell(text): of who is cut off.  taken: seconds of processor time that others took."""

    def __init__(self, tell: Callable[[str], object] | None = None) -> None:
        self.tell, self.taken = tell, 0.0
        self._own: Peer = ("uid", os.geteuid())
        self._left: dict[Peer, tuple[float, float]] = {}  # (s, when)
        self._cut: dict[Peer, float] = {}  # until when
        self._lock = threading.Lock()

    def add(self, who: Peer, seconds: float) -> None:
        if who == self._own:
            return
        now = time.monotonic()
        with self._lock:
            self.taken += seconds
            left, before = self._left.pop(who, (BURST, now))
            left = min(BURST, left + SHARE * (now - before)) - seconds
            self._left[who] = (left, now)
            while len(self._left) > _MOST:
                del self._left[next(iter(self._left))]
            is_new = left < 0 and self._cut.get(who, 0.0) < now
            if left < 0:
                self._cut[who] = now + CUT
            while len(self._cut) > _MOST:
                del self._cut[next(iter(self._cut))]
        if is_new and self.tell:
            self.tell(
                f"connections of {'user' if who[0] == 'uid' else 'address'} {who[1]} are refused for {CUT:.0f} s: they have taken more than "
                f"{100 * SHARE:.0f} % of a processor"
            )

    def is_cut_off(self, who: Peer) -> bool:
        with self._lock:
            return self._cut.get(who, 0.0) > time.monotonic()
