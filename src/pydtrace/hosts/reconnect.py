"""When the hosts whose lines have broken are tried again.

In: that one was lost, that a try failed, that it is back.  Out: whose turn it is.
Always: the time between two tries of a host doubles up to _SELDOM, and begins anew where it was back for _LASTED; not more than _AT_ONCE
are started at one look, since starting a process takes time that the others wait; after `lasts` a host is not tried any more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .host_messages import Host

_SECOND = 1_000_000_000
_SOON, _SELDOM = _SECOND // 2, 30 * _SECOND
_LASTED = 60 * _SECOND
_AT_ONCE = 8


class _Try:
    """lost, back: when it was; due: the next try, or the end of the patience with the one that is under way."""

    def __init__(self, now: int) -> None:
        self.lost, self.delay, self.back, self.due = now, _SOON, now, now + _SOON


class Returns:
    """lasts: how long a host is tried, 0: not at all; patience: how long one try may take.  Both in ns."""

    def __init__(self, lasts: int, patience: int) -> None:
        self.lasts, self._patience = lasts, patience
        self._tries: dict[Host, _Try] = {}
        self._waiting: set[Host] = set()

    def lost(self, host: Host, now: int) -> None:
        each = self._tries.get(host)
        if each is None or now - each.back >= _LASTED:
            self._tries[host] = _Try(now)
        else:
            each.lost = now
            self.failed(host, now)
        self._waiting.add(host)

    def failed(self, host: Host, now: int) -> bool:
        """Whether it is to be tried again."""
        each = self._tries[host]
        each.delay = min(2 * each.delay, _SELDOM)
        each.due = now + each.delay
        if now - each.lost < self.lasts:
            return True
        self._waiting.discard(host)
        return False

    def is_back(self, host: Host, now: int) -> None:
        self._tries[host].back = now
        self._waiting.discard(host)

    def forget(self, host: Host) -> None:
        self._waiting.discard(host)

    def due(self, now: int) -> list[Host]:
        """Those to be tried now, or whose try has taken too long."""
        found = [host for host in self._waiting if self._tries[host].due <= now][:_AT_ONCE]
        for host in found:
            self._tries[host].due = now + self._patience
        return found

    def stop(self) -> None:
        """Nobody is tried any more."""
        self.lasts = 0
        self._waiting.clear()
