# mypy: ignore-errors
"""The embedded engine of a host under -x hostmode=central: no clause runs, what fires is sent.

In: a compiled program, which says what is traced and which arguments its clauses need; processes.  Out: a recording
(docs/internals/recording-format.md), in portions, to whoever takes them, and so the samples of profile-n.
Always: what is taken are whole blocks; what was lost on the way is counted in drops().
"""

import os
import tempfile
import time

from pydtrace.engine import EngineError
from pydtrace.engine.embedded.engine import BATCH, EVERYTHING, EmbeddedEngine
from pydtrace.process.identity import comm

from . import host_protocol

_ORDERLAG = 100_000_000  # ns, the session's default: so long an unfinished firing is waited for
_MARGIN = 10_000_000
_PORTION = 512 << 10  # bytes, about, of a line of samples
_UNKNOWN = "?"


class SendingEngine(EmbeddedEngine):
    """come: ns, no event before that time is to come."""

    name = "sending"
    come = 0
    _made = None  # the file of what was not taken yet

    def __init__(self, program, options):
        super().__init__(program, options)
        self._rows, self._numbers = (
            [],
            {},
        )  # samples that were not taken yet; the number of each name that was told

    def _described(self, clause):
        return []

    def _why_one(self):
        return "events are sent"

    def _find_counting(self):
        return []

    def _natives(self, clause):
        """The files that they lie in are on this host alone."""
        return False

    def _recording(self):
        if hasattr(os, "memfd_create"):
            self._made = os.memfd_create("pyusdt-events", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                self._made = os.dup(file.fileno())
        return os.dup(self._made)

    def _not_recorded(self, error):
        return EngineError(f"failed to send events: {error.strerror}")

    def poll(self, timeout):
        records = super().poll(timeout)
        looked = time.monotonic_ns()
        if self._ticks and self._deliver(EVERYTHING) < BATCH:
            come, due = (
                looked - (self.options.get("orderlag") or _ORDERLAG) - _MARGIN,
                self._ticks.next(),
            )
            self.come = max(self.come, min(come, due[0]) if due else come)
        return records

    def frame_word(self, text):
        """Frames of samples are told by their names."""
        return text[: host_protocol.LONGEST]

    def _sample(self, probe):
        """At the time of the look, which may be late: it is among the events that the thread fired before and after it."""
        name = self.probe(probe)[3]
        for pid in self._living():
            when, found = self.sampler.look(pid)
            who = pid, os.geteuid(), os.getegid(), comm(pid)
            self._rows += [(name, when, who, *each) for each in found]

    def taken_samples(self):
        """[(names that are new, samples)] since the last call, in portions."""
        rows, self._rows = self._rows, []
        made, names, found, size, told = [], [], [], 0, 0
        for name, when, (pid, uid, gid, called), tid, stack, proc in rows:
            frames = [self._number(text, names) for text in stack]
            found.append([name, when, pid, tid, uid, gid, called, frames, proc.decode()])
            size += 100 + len(proc) + 8 * len(frames) + sum(map(len, names[told:]))
            told = len(names)
            if size > _PORTION:
                made.append((names, found))
                names, found, size, told = [], [], 0, 0
        return [*made, (names, found)] if found else made

    def _number(self, text, new):
        """new: the names that are told with it."""
        if text not in self._numbers:
            if len(self._numbers) >= host_protocol.NAMES - 1:
                text = _UNKNOWN
            if text not in self._numbers:
                self._numbers[text] = len(self._numbers)
                new.append(text)
        return self._numbers[text]

    def taken(self):
        """What has been recorded since the last call."""
        size = os.lseek(self._made, 0, os.SEEK_CUR)  # the recorder's own position, too
        data = os.pread(self._made, size, 0)
        os.lseek(self._made, 0, os.SEEK_SET)
        os.ftruncate(self._made, 0)
        return data

    def close(self):
        super().close()
        if self._made is not None:
            os.close(self._made)
            self._made = None
