# mypy: ignore-errors
"""The engine of a host that relays: a coordinator to its hosts, and a host to its own coordinator.

In: what the hosts say, as RemoteEngine.  Out: their records at once, to the request's forward(record, how sure its time is in ns, number of
its host), with the relay's times; what they count, merged, to whoever takes it out of the maps.
Always: BEGIN, END and ticks fire at the coordinator alone; nothing is ordered here, since only there are the records of all.
"""

from __future__ import annotations

import time

from .engine import RemoteEngine


class RelayEngine(RemoteEngine):
    name = "relay"

    _told = None  # what is to be added to the relay's times for the coordinator's wall clock

    def set_wall(self, offset):
        self._told = offset

    def _wall(self):
        return super()._wall() if self._told is None else self._told

    def _own_count(self, desc, own):
        """What fires here fires at the coordinator."""
        return 0

    def begin(self):
        self._go()

    def keep(self, when, error, host, record):
        self._request.forward(record, error, host)

    def poll(self, timeout):
        deadline = time.monotonic_ns() + int(timeout * 1e9)
        while (left := deadline - time.monotonic_ns()) > 0 and not self.finished:
            self._listen(left)
        return b""

    @property
    def come(self):
        """No record before that time is to come."""
        return min((host.until for host in self._running()), default=time.monotonic_ns())

    def bring_up_to_date(self):
        """What the hosts have counted up to now is here, or who is late is told."""
        self._flush()

    def more(self):
        return self._await_ends()

    @property
    def exiting(self):
        return False
