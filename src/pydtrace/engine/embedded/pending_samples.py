"""Samples of profile-n on the embedded engine, from the read of a stack until its clauses run.

- Samples fire in the order in which they were taken.
- When one fires, the clauses have run on all earlier events: the state of a request is that of the
  moment of the sample, however late the tracer is.
"""

from __future__ import annotations

import os
from collections import deque

from pydtrace.process.identity import read_comm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PendingSamples:
    def __init__(self) -> None:
        self._rows: deque[tuple[int, int, int, str, int, list[int], bytes]] = deque()

    def add_samples(self, sampler: Any, probe: int, pid: int, until: int) -> None:
        """until: no sample is later (ns)."""
        when, found = sampler.sample_process(pid)
        called = read_comm(pid)
        self._rows += [(min(when, until), probe, pid, called, *each) for each in found]

    def next_due(self, tick: tuple[int, int | None] | None) -> tuple[int, int | None] | None:
        """(time, None) of the one that is next, or the tick where that is due before it."""
        if self._rows and (tick is None or self._rows[0][0] <= tick[0]):
            return self._rows[0][0], None
        return tick

    def fire_first(self, consumer: Any, cpu: int) -> None:
        """Run the clauses on the first."""
        when, probe, pid, called, tid, stack, proc = self._rows.popleft()
        consumer.fire(
            probe,
            when,
            pid,
            tid,
            os.geteuid(),
            os.getegid(),
            cpu,
            called,
            args=sample_arguments(stack, proc),
            stack=stack,
        )

    def __len__(self) -> int:
        return len(self._rows)


def sample_arguments(stack: list[int], proc: bytes) -> tuple[Any, ...]:
    """arg0 and on of profile-n: nothing, the innermost frame, who works there (program.program.SAMPLED_PROC) or nothing."""
    return 0, stack[0] if stack else 0, proc or 0
