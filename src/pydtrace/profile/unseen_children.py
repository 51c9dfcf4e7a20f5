"""The processor time of children that ended before a sample of them was taken."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_LOOK = 0.01  # seconds of a child between its last sample and its end


class UnseenChildren:
    """The processor time of children that ended before they were seen: what wait() gave their parents,
    less what was seen of those that were.  seconds: of all."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._waited: dict[int, int] = {}  # {parent: time of the children that it has waited for}
        self._used: dict[
            int, dict[int, int]
        ] = {}  # {parent: {child that was seen: its time, and that of those which it has waited for}}

    def count_ended(self, pid: int, found: Collection[int]) -> None:
        """found: the children that a process has now."""
        now = self._read_times(pid)
        if now is None:
            return
        _, waited = now
        used, before = self._used.setdefault(pid, {}), self._waited.setdefault(pid, waited)
        ended = [child for child in used if child not in found]
        seen = sum(used.pop(child) for child in ended)
        if waited > before:
            self.seconds += max(0.0, (waited - before - seen) / self._ticks - len(ended) * _LOOK)
            self._waited[pid] = waited
        for child in found:
            times = self._read_times(child)
            if times is not None:
                used[child] = sum(times)

    @staticmethod
    def _read_times(pid: int) -> tuple[int, int] | None:
        """(processor time of a process, that of the children that it has waited for), in the system's ticks; None where it has ended."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
            return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
        except (OSError, LookupError):
            return None
