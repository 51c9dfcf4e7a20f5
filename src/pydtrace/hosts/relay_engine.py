"""The engine of a relay: a coordinator to its hosts, and a host to its own coordinator.

- Records of the hosts go on at once, through the request's forward(record, error of its time in ns,
  number of its host), with the relay's times. Counts are merged in the maps.
- BEGIN, END and ticks fire only at the coordinator, which also orders the records.
"""

from __future__ import annotations

import time

from .engine import RemoteEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydtrace.engine import ProbeDesc


class RelayEngine(RemoteEngine):
    name = "relay"

    _coordinator_wall = (
        None  # what is to be added to the relay's times for the coordinator's wall clock
    )

    def set_wall_offset(self, offset: int) -> None:
        self._coordinator_wall = offset

    def _wall_offset(self) -> int:
        return super()._wall_offset() if self._coordinator_wall is None else self._coordinator_wall

    def _count_tracer_probes(self, desc: ProbeDesc, own: Sequence[tuple[str, ...]]) -> int:
        """What fires here fires at the coordinator."""
        return 0

    def begin(self) -> None:
        self._start_tracing()

    def keep_record(self, when: int, error: int, host: int, record: bytes) -> None:
        assert self._request.forward
        self._request.forward(record, error, host)

    def poll(self, timeout: float) -> bytes:
        deadline = time.monotonic_ns() + int(timeout * 1e9)
        while (left := deadline - time.monotonic_ns()) > 0 and not self.finished:
            self._receive_lines(left)
        return b""

    @property
    def complete_until(self) -> int:
        """No record before that time is to come."""
        return min(
            (host.complete_until for host in self._tracing_hosts()), default=time.monotonic_ns()
        )

    def bring_up_to_date(self) -> None:
        """What the hosts have counted up to now is here, or who is late is reported."""
        self._flush_epochs()

    def drain_end(self) -> bytes:
        return self._await_ends()

    @property
    def exiting(self) -> bool:
        return False
