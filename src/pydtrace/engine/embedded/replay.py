# mypy: ignore-errors
"""The embedded engine on a recording: the events of then, the program of now.

In: a compiled program and a file that --record made (docs/guide/recording.md).  Out: the records of the clauses, as if tracing went
on.  Always: time is the recording's: BEGIN, ticks, END and the events have the times
that they had or would have had; nothing is traced, and nothing in the file is trusted: where its times say that nothing happened for
years, not every tick of them is had.
"""

import os
import time

from pydtrace import _tracer
from pydtrace.engine import BEGIN, END, EngineError
from pydtrace.engine.tick_timers import Ticks

from .engine import BATCH, COMM, EmbeddedEngine

_QUIET = 10_000_000  # ticks with nothing recorded between them: a week of tick-100ms, and more
_STEPS = 1200  # looks at the whole, so that who shows it over time sees it in intervals


def open_recording(path):
    """The _tracer.Replay of a file; EngineError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return _tracer.Replay(fd)
    except OSError as error:
        raise EngineError(f"failed to replay {path}: {error.strerror}") from None


class ReplayEngine(EmbeddedEngine):
    name = "replay"
    _can_sample = False  # nothing runs

    def __init__(self, program, options):
        super().__init__(program, options)
        self._replay = open_recording(options["replay"])
        self._about = self._replay.about()
        self._consumer.set_wall(self._about["wall"])
        self.span = self._about["begun"], self._about["end"]
        self._at, self._quiet = self.span[0], _QUIET
        self._step = max(1_000_000, (self.span[1] - self.span[0]) // _STEPS)
        if self._replay.damage:
            self.notes.append(f"{options['replay']} is read only in part: {self._replay.damage}")

    def open(self, targets):
        known = self._replay.probes()
        self.matched = self._counted(known)

    def begin(self):
        begun = self._about["begun"]
        self._fire(BEGIN, begun)
        if not self.exiting:
            self._ticks = Ticks(dict(self._periods.values()), begun)

    def _fire(self, probe, when):
        about = self._about
        self._consumer.fire(
            probe, when, about["pid"], about["pid"], about["uid"], about["gid"], 0, COMM
        )

    def poll(self, timeout):
        if not self.finished:
            self._poll_once()
        return self._consumer.take_records()

    def catch_up(self, seconds):
        """All of the recording, since it was fired long ago."""
        deadline = time.monotonic() + seconds
        while not (self.finished or self.exiting) and time.monotonic() < deadline:
            yield self.poll(0)

    def _poll_once(self):
        """Events of a step, up to the next tick, and the tick, unless that is later than the recording."""
        due = self._ticks.next()
        until = min(self._step_end(), due[0]) if due else self._step_end()
        n = self._consumer.poll(self._replay, until, BATCH)
        if not self._pending(until):
            self._at = max(self._at, until)
            if due and due[0] == until and not self.exiting:
                self._replay_tick(*due, quiet=not n)
        return n

    def _replay_tick(self, when, probe, quiet):
        """quiet: nothing was recorded since the one before."""
        self._fire(probe, when)
        self._quiet -= quiet
        if self._quiet >= 0:
            self._ticks.fired(probe, when)
        else:
            following = self._replay.next_time()
            self._left_out.count += self._ticks.made_up(
                probe, when, self._about["end"] if following is None else following
            )

    def _step_end(self):
        """A step behind where we are, or behind the next event, where that is later."""
        when, end = self._replay.next_time(), self._about["end"]
        return end if when is None else min(max(self._at, when) + self._step, end)

    def now(self):
        return self._at

    def wall(self):
        return (self._at + self._about["wall"]) / 1e9

    def _pending(self, until):
        """An event that is not later is still to come."""
        when = self._replay.next_time()
        return when is not None and when <= until

    def end(self):
        self._at = self._at if self.exiting else self._about["end"]
        self._fire(END, self._about["end"])
        self._ended = True
        return self._consumer.take_records()

    def fired(self, pid, when):
        """Those of a recording are not here: who has the id now is another."""
        return False

    def close(self):
        self._replay = None

    @property
    def finished(self):
        if not (self._replay.over and self._ticks):
            return False
        due = self._ticks.next()
        return due is None or due[0] > self._about["end"]

    def warnings(self):
        left_out = self._left_out.count if self._ended else 0
        self._left_out.count -= left_out
        return (
            [f"{left_out:,} ticks left out: nothing was recorded for too long"] if left_out else []
        )

    @property
    def _feed(self):
        return self._replay

    def _lost(self):
        return self._replay.loss()
