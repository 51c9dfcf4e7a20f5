"""The embedded engine of a host under -x hostmode=central: no clause runs, what fires is sent.

In: a compiled program, which says what is traced and which arguments its clauses need; processes.  Out: a recording
(docs/internals/recording-format.md), in portions, to whoever takes them.
Always: what is taken are whole blocks; what was lost on the way is counted in drops().
"""

import os
import tempfile
import time

from . import EngineError
from .embedded import BATCH, EVERYTHING, EmbeddedEngine

_ORDERLAG = 100_000_000  # ns, the session's default: so long an unfinished firing is waited for
_MARGIN = 10_000_000


class SendingEngine(EmbeddedEngine):
    """come: ns, no event before that time is to come."""

    name = "sending"
    come = 0
    _made = None  # the file of what was not taken yet

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
            self.come = max(self.come, looked - (self.options.get("orderlag") or _ORDERLAG) - _MARGIN)
        return records

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
