"""The embedded engine of a host under -x hostmode=central: no clause runs, the events are sent.

- The compiled program says what is traced and which arguments are needed.
- Events leave as a recording in portions of whole blocks (docs/internals/recording-format.md), and
  the samples of profile-n beside them.
- Events that are dropped on the way are counted in drops().
"""

from __future__ import annotations

import os
import tempfile
import time

from pydtrace.engine import EngineError
from pydtrace.engine.embedded.engine import BATCH, END_OF_TIME, EmbeddedEngine
from pydtrace.process.identity import read_comm

from . import host_protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pydtrace.engine import ProbeDesc
    from pydtrace.program.program import Clause, Program

    Portion = tuple[list[str], list[list[Any]]]  # names that are new, samples

_ORDERLAG = 100_000_000  # ns, the session's default: so long an unfinished firing is waited for
_MARGIN = 10_000_000
_PORTION = 512 << 10  # bytes, about, of a line of samples
_UNKNOWN_FRAME = "?"


class ForwardingEngine(EmbeddedEngine):
    """complete_until: ns, no event before that time is to come."""

    name = "sending"
    complete_until = 0
    _recording_fd = -1  # the file of what was not taken yet

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        self._sample_rows: list[tuple[Any, ...]] = []  # samples that were not drained yet
        self._name_numbers: dict[str, int] = {}  # of the names that were sent

    def _clause_descriptions(self, clause: Clause) -> list[ProbeDesc]:
        return []

    def _single_consumer_reason(self) -> str:
        return "events are sent"

    def _find_counted_clauses(self) -> list[Clause]:
        return []

    def _needs_native_frames(self, clause: Clause) -> bool:
        """The files that they lie in are on this host alone."""
        return False

    def _open_recording(self) -> int:
        if hasattr(os, "memfd_create"):
            self._recording_fd = os.memfd_create("pyusdt-events", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                self._recording_fd = os.dup(file.fileno())
        return os.dup(self._recording_fd)

    def _recording_error(self, error: OSError) -> EngineError:
        return EngineError(f"failed to send events: {error.strerror}")

    def poll(self, timeout: float) -> bytes:
        records = super().poll(timeout)
        looked = time.monotonic_ns()
        if self._ticks and self._deliver_events(END_OF_TIME) < BATCH:
            come, due = (
                looked - (self.options.get("orderlag") or _ORDERLAG) - _MARGIN,
                self._ticks.next_due(),
            )
            self.complete_until = max(self.complete_until, min(come, due[0]) if due else come)
        return records

    def intern_frame(self, text: str) -> str:  # type: ignore[override]  # names are sent, not words
        """Frames of samples are sent by their names."""
        return text[: host_protocol.LONGEST]

    def _take_samples(self, probe: int) -> None:
        """At the time of the look, which may be late: it is among the events that the thread fired before and after it."""
        name = self.probe(probe)[3]
        for pid in self._living_pids():
            when, found = self.sampler.sample_process(pid)
            who = pid, os.geteuid(), os.getegid(), read_comm(pid)
            self._sample_rows += [(name, when, who, *each) for each in found]

    def drain_samples(self) -> list[Portion]:
        """[(names that are new, samples)] since the last call, in portions."""
        rows, self._sample_rows = self._sample_rows, []
        made: list[Portion] = []
        names: list[str] = []
        found: list[list[Any]] = []
        size = sent = 0
        for name, when, (pid, uid, gid, called), tid, stack, proc in rows:
            frames = [self._intern_name(text, names) for text in stack]
            found.append([name, when, pid, tid, uid, gid, called, frames, proc.decode()])
            size += 100 + len(proc) + 8 * len(frames) + sum(map(len, names[sent:]))
            sent = len(names)
            if size > _PORTION:
                made.append((names, found))
                names, found, size, sent = [], [], 0, 0
        return [*made, (names, found)] if found else made

    def _intern_name(self, text: str, new: list[str]) -> int:
        """new: the names that are sent with it."""
        if text not in self._name_numbers:
            if len(self._name_numbers) >= host_protocol.NAMES - 1:
                text = _UNKNOWN_FRAME
            if text not in self._name_numbers:
                self._name_numbers[text] = len(self._name_numbers)
                new.append(text)
        return self._name_numbers[text]

    def drain_events(self) -> bytes:
        """What has been recorded since the last call."""
        size = os.lseek(self._recording_fd, 0, os.SEEK_CUR)  # the recorder's own position, too
        data = os.pread(self._recording_fd, size, 0)
        os.lseek(self._recording_fd, 0, os.SEEK_SET)
        os.ftruncate(self._recording_fd, 0)
        return data

    def close(self) -> None:
        super().close()
        if self._recording_fd >= 0:
            os.close(self._recording_fd)
            self._recording_fd = -1
