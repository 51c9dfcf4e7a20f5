"""When processes had to wait since their control group had used up its quota of processor time.

- The kernel counts a wait when it has ended, so that a change of a counter is of the time before it.
- At most CHANGES changes of a file are kept, the oldest go first.
"""

from __future__ import annotations

import time
from collections import deque

from pydtrace.process.cgroups import list_cpu_statistics, read_throttled_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CHANGES = 20_000
_LISTED = 5.0  # seconds for which a process is taken to be in the same group


class ThrottleLog:
    def __init__(self) -> None:
        self._files: dict[int, list[str]] = {}  # by process
        self._counted: dict[str, int] = {}
        self._changes: dict[
            str, deque[tuple[int, int]]
        ] = {}  # {file: [(ns of the clock, ns of waiting)]}
        self._listed = 0.0

    def read_counters(self, pids: Iterable[int]) -> None:
        now = time.monotonic_ns()
        if now / 1e9 - self._listed >= _LISTED:
            self._listed, self._files = now / 1e9, {}
        for pid in pids:
            if pid not in self._files:
                self._files[pid] = list_cpu_statistics(pid)
        for path in {path for paths in self._files.values() for path in paths}:
            value = read_throttled_time(path)
            self.add_change(path, now, value - self._counted.setdefault(path, value))
            self._counted[path] = value

    def add_change(self, path: str, now: int, waited: int) -> None:
        if waited > 0:
            self._changes.setdefault(path, deque(maxlen=CHANGES)).append((now, waited))

    def forget_groups(self) -> None:
        """Those of processes that have ended."""
        known = {path for paths in self._files.values() for path in paths}
        for path in self._counted.keys() - known:
            del self._counted[path]
            self._changes.pop(path, None)

    def waited_within(self, pid: int, began: int, ended: int) -> int:
        """ns, of the group that waited longest."""
        return max(
            (
                sum(
                    max(0, min(now, ended) - max(now - waited, began))
                    for now, waited in self._changes.get(path, ())
                )
                for path in self._files.get(pid, ())
            ),
            default=0,
        )
