"""What one host sends under -x hostmode=central, while it waits: recorded events, and samples.

- Portions are untrusted.
- The times of one source do not go back, and none is later than the arrival of its portion.
- The memory that a source keeps is bounded.
"""

from __future__ import annotations

from collections import deque

from pydtrace.engine.embedded.engine import BATCH
from pydtrace.engine.embedded.pending_samples import sample_arguments

from . import host_protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .host_messages import Host

UNKNOWN_FRAME = "?"
_ID_LIMIT = 1 << 32
_ROW_SIZE = 500  # bytes of memory, about, of a sample without its frames
_MAX_COMM = 64  # characters of a process's name


class EventSource:
    """many: the _tracer.MergedReplay that reads it; last: the time of what was run last; target: the host's $target, 0: none, or not known yet."""

    def __init__(self, host: Host, merged_replay: Any) -> None:
        self.host, self._merged_replay = host, merged_replay
        self.number = -1  # among the sources of the engine
        self._number = merged_replay.add(host.number + 1)

    @property
    def last_time(self) -> int:
        return int(self._merged_replay.last_time(self._number))

    @property
    def target(self) -> int:
        return int(self._merged_replay.target(self._number))

    def add_events(self, data: bytes, offset: int) -> None:
        self._merged_replay.put(self._number, data, offset)

    def next_time(self) -> int | None:
        found: int | None = self._merged_replay.next_time(self._number)
        return found

    def run_clauses(self, consumer: Any, until: int) -> int:
        """On what is not later; how many there were."""
        self._merged_replay.choose(self._number)
        return int(consumer.poll(self._merged_replay, until, BATCH))

    def find_damage(self) -> str | None:
        found: str | None = self._merged_replay.damage(self._number)
        return found

    def waiting_bytes(self) -> int:
        """Bytes of what was not run yet."""
        return int(self._merged_replay.unread_bytes(self._number))

    def kept_bytes(self) -> int:
        """Bytes that stay."""
        return int(self._merged_replay.retained_bytes(self._number))

    def finish(self) -> None:
        self._merged_replay.finish(self._number)


class SampleSource:
    """events: the same incarnation's; probes: {name of a probe: its id here}; word: Engine.intern_frame."""

    def __init__(self, events: EventSource, probes: dict[str, int], intern_frame: Any) -> None:
        self.number = -1  # among the sources of the engine
        self.number = -1  # among the sources of the engine
        self.host, self._events = events.host, events
        self._probes, self._intern_frame = probes, intern_frame
        self._words: list[int] = []  # of the names that it has sent
        self._rows: deque[tuple[int, int, tuple[Any, ...], list[int], bytes]] = (
            deque()
        )  # (time, probe, who, stack, proc)
        self._waiting_bytes = self.last_time = self._newest = 0

    @property
    def target(self) -> int:
        return self._events.target

    def add_samples(self, names: list[Any], rows: list[list[Any]], offset: int) -> None:
        """ValueError and the like: it is none."""
        if len(self._words) + len(names) > host_protocol.NAMES:
            raise ValueError("too many names of functions")
        for text in map(host_protocol.name, names):
            self._words.append(
                self._intern_frame(text if self.host.can_name(text) else UNKNOWN_FRAME)
            )
        for name, when, pid, tid, uid, gid, comm, frames, *more in rows:
            proc = str(more[0]) if more else ""  # who works there, where that is wanted
            if (
                any(
                    number.__class__ is not int or not 0 <= number < _ID_LIMIT
                    for number in (pid, tid, uid, gid)
                )
                or len(comm) > _MAX_COMM
            ):
                raise ValueError("no sample")
            if len(proc) > host_protocol.LONGEST:
                raise ValueError("no sample")
            self._newest = max(self._newest, min(when + offset, self.host.heard_at))
            stack = [self._words[frame] for frame in frames[: host_protocol.FRAMES]]
            self._rows.append(
                (
                    self._newest,
                    self._probes[name],
                    (pid, tid, uid, gid, 0, comm),
                    stack,
                    proc.encode("utf-8", "replace"),
                )
            )
            self._waiting_bytes += _ROW_SIZE + 8 * len(stack) + len(self._rows[-1][4])

    def next_time(self) -> int | None:
        return self._rows[0][0] if self._rows else None

    def run_clauses(self, consumer: Any, until: int) -> int:
        """On the first, which is not later: its record may have to be seen before the next one."""
        self.last_time, probe, who, stack, proc = self._rows.popleft()
        self._waiting_bytes -= _ROW_SIZE + 8 * len(stack) + len(proc)
        consumer.fire(
            probe,
            self.last_time,
            *who,
            args=sample_arguments(stack, proc),
            stack=stack,
            host=self.host.number + 1,
        )
        return 1

    def find_damage(self) -> str | None:
        return None

    def waiting_bytes(self) -> int:
        return self._waiting_bytes

    def kept_bytes(self) -> int:
        return 8 * len(self._words)

    def finish(self) -> None:
        """What it has named stays with its host."""
