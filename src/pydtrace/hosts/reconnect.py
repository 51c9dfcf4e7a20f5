"""The schedule by which lost hosts are tried again.

- The time between two tries of a host doubles up to _MAX_DELAY. It begins anew if the host was back
  for _STABLE_TIME.
- At most _MAX_AT_ONCE tries start at once, since starting a process delays the other hosts.
- After `retry_time` a host is given up.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .host_messages import Host

_SECOND = 1_000_000_000
_FIRST_DELAY, _MAX_DELAY = _SECOND // 2, 30 * _SECOND
_STABLE_TIME = 60 * _SECOND
_MAX_AT_ONCE = 8


class _Retry:
    """lost, back: when it was; due: the next try, or the end of the patience with the one that is under way."""

    def __init__(self, now: int) -> None:
        self.lost, self.delay, self.back, self.due = now, _FIRST_DELAY, now, now + _FIRST_DELAY


class ReconnectSchedule:
    """lasts: how long a host is tried, 0: not at all; patience: how long one try may take.  Both in ns."""

    def __init__(self, retry_time: int, timeout: int) -> None:
        self.retry_time, self._timeout = retry_time, timeout
        self._retries: dict[Host, _Retry] = {}
        self._waiting: set[Host] = set()

    def add_lost(self, host: Host, now: int) -> None:
        each = self._retries.get(host)
        if each is None or now - each.back >= _STABLE_TIME:
            self._retries[host] = _Retry(now)
        else:
            each.lost = now
            self.note_failure(host, now)
        self._waiting.add(host)

    def note_failure(self, host: Host, now: int) -> bool:
        """Whether it is to be tried again."""
        each = self._retries[host]
        each.delay = min(2 * each.delay, _MAX_DELAY)
        each.due = now + each.delay
        if now - each.lost < self.retry_time:
            return True
        self._waiting.discard(host)
        return False

    def note_return(self, host: Host, now: int) -> None:
        self._retries[host].back = now
        self._waiting.discard(host)

    def remove_host(self, host: Host) -> None:
        self._waiting.discard(host)

    def take_due(self, now: int) -> list[Host]:
        """Those to be tried now, or whose try has taken too long."""
        found = [host for host in self._waiting if self._retries[host].due <= now][:_MAX_AT_ONCE]
        for host in found:
            self._retries[host].due = now + self._timeout
        return found

    def stop_retrying(self) -> None:
        """Nobody is tried any more."""
        self.retry_time = 0
        self._waiting.clear()
