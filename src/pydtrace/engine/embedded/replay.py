"""The embedded engine on a recording: past events, present program (docs/howto/recording.md).

- Time is that of the recording: BEGIN, ticks, END and the events have the times that they had.
- No process is traced.
- The file is untrusted. If it says that nothing happened for years, most ticks of them are skipped.
"""

from __future__ import annotations

import os
import struct
import time

from pydtrace import _tracer
from pydtrace.engine import BEGIN, END, EngineError
from pydtrace.engine.tick_timers import TickTimers

from .engine import BATCH, COMM, EmbeddedEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pydtrace.engine import Targets
    from pydtrace.program.program import Program

_MAX_QUIET_TICKS = (
    10_000_000  # ticks with nothing recorded between them: a week of tick-100ms, and more
)
# docs/internals/recording-format.md
_MAGIC, _HEADER_SIZE, _PATHS_BLOCK, _MAX_PATHS_SIZE = b"pyusdtR1", 128, 7, 4096
_STEPS = 1200  # looks at the whole, so that who shows it over time sees it in intervals


def open_recording(path: str) -> _tracer.Replay:
    """The _tracer.Replay of a file; EngineError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return _tracer.Replay(fd)
    except OSError as error:
        raise EngineError(f"failed to replay {path}: {error.strerror}") from None


def read_recorded_paths(path: str) -> bytes:
    """The paths to values that the recording's events have, one after another.  Damage is reported by open_recording()."""
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_SIZE)
            kind, _, size = struct.unpack("=III4x", file.read(16))
            if header[:8] == _MAGIC and kind == _PATHS_BLOCK and size <= _MAX_PATHS_SIZE:
                return file.read(size)
    except (OSError, struct.error):
        pass
    return b""


class ReplayEngine(EmbeddedEngine):
    name = "replay"
    _can_sample = False  # nothing runs

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        self._replay: Any = open_recording(options["replay"])
        self._header: dict[str, Any] = self._replay.read_header()
        self._consumer.set_wall(self._header["wall"])
        self.span = self._header["begun"], self._header["end"]
        self._reached: int = self._header["begun"]
        self._quiet_ticks_left = _MAX_QUIET_TICKS
        self._step = max(1_000_000, (self._header["end"] - self._header["begun"]) // _STEPS)
        if self._replay.damage:
            self.startup_notices.append(
                f"{options['replay']} is read only in part: {self._replay.damage}"
            )

    def open(self, targets: Targets) -> None:
        known = self._replay.probes()
        self.matched = self._count_matches(known)

    def begin(self) -> None:
        begun = self._header["begun"]
        self._fire_probe(BEGIN, begun)
        if not self.exiting:
            self._ticks = TickTimers(dict(self._periods.values()), begun)

    def _fire_probe(self, probe: int, when: int) -> None:
        about = self._header
        self._consumer.fire(
            probe, when, about["pid"], about["pid"], about["uid"], about["gid"], 0, COMM
        )

    def poll(self, timeout: float) -> bytes:
        if not self.finished:
            self._poll_once()
        return self._take_records()

    def catch_up(self, seconds: float) -> Iterator[bytes]:
        """All of the recording, since it was fired long ago."""
        deadline = time.monotonic() + seconds
        while not (self.finished or self.exiting) and time.monotonic() < deadline:
            yield self.poll(0)

    def _poll_once(self) -> None:
        """Events of a step, up to the next tick, and the tick, unless that is later than the recording."""
        assert self._ticks
        due = self._ticks.next_due()
        until = min(self._step_end(), due[0]) if due else self._step_end()
        n = self._consumer.poll(self._replay, until, BATCH)
        if not self._has_event_before(until):
            self._reached = max(self._reached, until)
            if due and due[0] == until and not self.exiting:
                when, probe = due
                self._replay_tick(when, probe, quiet=not n)

    def _replay_tick(self, when: int, probe: int, quiet: bool) -> None:
        """quiet: nothing was recorded since the one before."""
        assert self._ticks
        self._fire_probe(probe, when)
        self._quiet_ticks_left -= quiet
        if self._quiet_ticks_left >= 0:
            self._ticks.advance(probe, when)
        else:
            following = self._replay.next_time()
            self._missed_ticks.count += self._ticks.catch_up(
                probe, when, self._header["end"] if following is None else following
            )

    def _step_end(self) -> int:
        """A step behind where we are, or behind the next event, where that is later."""
        when: int | None = self._replay.next_time()
        end: int = self._header["end"]
        return end if when is None else min(max(self._reached, when) + self._step, end)

    def now(self) -> int:
        return self._reached

    def wall(self) -> float:
        return float((self._reached + self._header["wall"]) / 1e9)

    def _has_event_before(self, until: int) -> bool:
        """An event that is not later is still to come."""
        when = self._replay.next_time()
        return when is not None and when <= until

    def end(self) -> bytes:
        self._reached = self._reached if self.exiting else self._header["end"]
        self._fire_probe(END, self._header["end"])
        self._has_ended = True
        return self._take_records()

    def existed_at(self, pid: int, when: int) -> bool:
        """Those of a recording are not here: who has the id now is another."""
        return False

    def close(self) -> None:
        self._replay = None

    @property
    def finished(self) -> bool:
        if not (self._replay.is_over and self._ticks):
            return False
        due = self._ticks.next_due()
        return due is None or bool(due[0] > self._header["end"])

    def warnings(self) -> list[str]:
        left_out = self._missed_ticks.count if self._has_ended else 0
        self._missed_ticks.count -= left_out
        return (
            [f"{left_out:,} ticks left out: nothing was recorded for too long"] if left_out else []
        )

    @property
    def _event_source(self) -> Any:
        return self._replay

    def _count_drops(self) -> tuple[int, int]:
        dropped, out_of_order = self._replay.read_drops()
        return dropped, out_of_order
