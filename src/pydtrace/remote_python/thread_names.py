# mypy: ignore-errors
"""Names of the threads of another process, as its module threading has them.

In: a process.Python, its code.Codes.  Out: texts.
Invariants: the process is untrusted: reads are bounded, and all of them together have an allowance of time.  A name that the process changed
while it was read, or that does not fit together, is not shown.  The last name that was read stays, so that the samples of one thread stay
together; the kernel's name of the thread is the fall-back.
"""

import time

from pydtrace.untrusted.cpu_time_budget import Allowance

from .asyncio_tasks import or_none
from .remote_modules import Modules
from .remote_objects import Objects

_LONGEST = 128  # characters
_AT_ONCE, _SHARE = 2.0, 20  # seconds
_RENEWED = 1.0  # seconds
_KEPT = 8192  # names


class ThreadNames:
    def __init__(self, python, codes):
        self._codes = codes
        self._objects, self._modules = Objects(python, codes), Modules(python, codes)
        self._time = Allowance(_AT_ONCE, _SHARE)
        self._known = {}  # {thread: (its name or None, when it was read)}

    def name(self, interpreter, ident, task):
        """The name in threading.enumerate(), else the kernel's; None: neither is known.  ident: the thread's threading.get_ident(); task: its
        kernel_side.Task or None."""
        key = interpreter, ident, task and task.tid
        found, read_at = self._known.get(key, (None, 0.0))
        now = time.monotonic()
        if ident and now - read_at >= _RENEWED and self._time.left:
            with self._time.spent():
                found = or_none(self._read_name, interpreter, ident) or found
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = found, now
        return found or (task.name if task else None)

    def _read_name(self, interpreter, ident):
        """Raises tasks.ERRORS."""
        active = self._modules.member(interpreter, "threading", "_active")
        thread = active and self._objects.numbered(active, ident)
        if not thread:
            return None
        address = self._objects.attribute(thread, "_name")
        text = self._codes.text(address)
        unchanged = (
            self._objects.numbered(active, ident) == thread
            and self._objects.attribute(thread, "_name") == address
        )
        if not unchanged or self._objects.type_name(address) != "str":
            return None
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
