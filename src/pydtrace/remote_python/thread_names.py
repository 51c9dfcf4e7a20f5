"""Names of the threads of another process, as its module threading has them.

- The process is untrusted: reads are bounded, and all together have a budget of time.
- A name that changed while it was read, or that is inconsistent, is not shown.
- The last name stays, so that the samples of one thread stay together.  The fallback is the
  kernel's name of the thread.
"""

from __future__ import annotations

import time

from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget

from .asyncio_tasks import none_on_error
from .remote_modules import RemoteModules
from .remote_objects import RemoteObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.process.proc_threads import KernelThread

    from .code_objects import CodeObjects
    from .remote_python import RemotePython

_LONGEST = 128  # characters
_AT_ONCE, _SHARE = 2.0, 20  # seconds
_RENEWED = 1.0  # seconds
_KEPT = 8192  # names


class ThreadNames:
    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._codes = codes
        self._objects, self._modules = RemoteObjects(python, codes), RemoteModules(python, codes)
        self._time = CpuTimeBudget(_AT_ONCE, _SHARE)
        self._known: dict[
            tuple[int, int, int | None], tuple[str | None, float]
        ] = {}  # {thread: (its name or None, when it was read)}

    def find_name(self, interpreter: int, ident: int, task: KernelThread | None) -> str | None:
        """The name in threading.enumerate(), else the kernel's; None: neither is known.  ident: the thread's threading.get_ident(); task: its
        proc_threads.KernelThread or None."""
        key = interpreter, ident, task.tid if task else None
        found, read_at = self._known.get(key, (None, 0.0))
        now = time.monotonic()
        if ident and now - read_at >= _RENEWED and self._time.is_available:
            with self._time.charge_time():
                found = none_on_error(self._read_name, interpreter, ident) or found
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = found, now
        return found or (task.name if task else None)

    def _read_name(self, interpreter: int, ident: int) -> str | None:
        """Raises tasks.ERRORS."""
        active = self._modules.find_member(interpreter, "threading", "_active")
        thread = self._objects.find_int_key(active, ident) if active else 0
        if not active or not thread:
            return None
        address = self._objects.read_attribute(thread, "_name")
        text = self._codes.read_text(address)
        unchanged = (
            self._objects.find_int_key(active, ident) == thread
            and self._objects.read_attribute(thread, "_name") == address
        )
        if not unchanged or self._objects.read_type_name(address) != "str":
            return None
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
