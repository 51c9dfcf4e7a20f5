"""The thread or task of another process, as arg0 of pyusdt's probes: <pid.tid>, or
<pid.tid.number.name> in an asyncio task.

- A task has a number from its first firing on; before, it is 0, which no task has.
- The task is shown only if the thread ran it before and after its stack was read; else it is "?".
- The process is untrusted: a number counts only if the weak reference beside it leads to the task.
- All threads together have _LOOK seconds; after that their task is "?".
"""

from __future__ import annotations

import time

from pydtrace.process import proc_threads

from .asyncio_tasks import AsyncioTasks, none_on_error
from .remote_modules import RemoteModules
from .remote_objects import RemoteObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .code_objects import CodeObjects
    from .python_threads import RawThread
    from .remote_python import RemotePython

_UNKNOWN = ".?"
_NO_NUMBER = "0"
_LONGEST = 1023  # bytes of such a text, as c/shared/limits.h has it
_DIGITS = 20
_LOOK = 0.1  # seconds


class ThreadArg0:
    """unknown: how often the task was not known."""

    def __init__(self, python: RemotePython, codes: CodeObjects) -> None:
        self._python, self._objects = python, RemoteObjects(python, codes)
        self._codes, self._tasks, self._modules = (
            codes,
            AsyncioTasks(python, codes),
            RemoteModules(python, codes),
        )
        self._head = python.layout["object_type"] + 8
        self._pid = proc_threads.read_inner_pid(python.pid)
        self._threads: dict[int, int] = {}  # {thread: interpreter} of the last sample
        self._seen: dict[
            int, tuple[int | None, str | None]
        ] = {}  # {thread: (its task, the text of that)} of this one
        self._until = 0.0  # when the reads of this sample have to end
        self.unknown = 0

    def read_tasks(self) -> None:
        """Stacks are about to be read.  The slow part first: the less time between the tasks and the stacks, the fewer have changed."""
        self._until = time.monotonic() + _LOOK
        seen = {
            thread: self._read_task(thread, interpreter)
            for thread, interpreter in self._threads.items()
            if time.monotonic() < self._until
        }
        self._seen = {
            thread: found
            for thread, found in seen.items()
            if self._is_still_running(thread, self._threads[thread], found[0])
        }

    def confirm_tasks(self, raws: Iterable[RawThread]) -> None:
        """They were read."""
        self._until = time.monotonic() + _LOOK
        before, self._threads = self._threads, {raw.thread: raw.interpreter for raw in raws}
        self._seen.update(
            (thread, (0, "")) for thread in self._threads if thread not in before
        )  # a new thread counts as one without a task
        self._seen = {
            thread: self._seen[thread]
            for thread, interpreter in self._threads.items()
            if thread in self._seen
            and self._is_still_running(thread, interpreter, self._seen[thread][0])
        }

    def format_arg0(self, raw: RawThread, tid: int) -> bytes:
        """Who works in one of their threads."""
        task, text = self._seen.get(raw.thread, (0, None))
        if task and (text is None or text.startswith(f".{_NO_NUMBER}.")):
            text = none_on_error(
                self._format_task, raw.interpreter, task
            )  # it has perhaps fired since
        if text is None:
            self.unknown += 1
            text = _UNKNOWN
        data = f"<{self._pid}.{tid}{text}".encode("utf-8", "replace")[: _LONGEST - 1]
        return data.decode("utf-8", "ignore").encode() + b">"

    def _read_task(self, thread: int, interpreter: int) -> tuple[int | None, str | None]:
        """(the task that runs in a thread, 0: none, None: unknown; its text)."""
        task = none_on_error(self._tasks.find_running, thread, interpreter)
        return task, none_on_error(self._format_task, interpreter, task) if task else ""

    def _is_still_running(self, thread: int, interpreter: int, task: int | None) -> bool:
        in_time = task is not None and time.monotonic() < self._until
        return in_time and bool(
            none_on_error(self._tasks.is_still_running, thread, interpreter, task)
        )

    def _format_task(self, interpreter: int, task: int) -> str:
        """Raises tasks.ERRORS."""
        if not self._objects.is_instance(task, "_asyncio.Task"):
            raise LookupError("no task of C")
        return f".{self._read_task_number(interpreter, task)}.{self._tasks.read_name(task)}"

    def _read_task_number(self, interpreter: int, task: int) -> str:
        """Digits.  Raises tasks.ERRORS."""
        proxy = self._modules.find_member(interpreter, "pyusdt._core", "task_numbers")
        entry = proxy and self._objects.find_int_key(
            self._python.read_word(proxy + self._head), task
        )
        if not entry:
            return _NO_NUMBER
        number, reference = self._objects.read_pair(entry)
        digits = self._codes.read_bytes(number)
        if (
            self._objects.read_weakref(reference) != task
            or not digits.isdigit()
            or len(digits) > _DIGITS
        ):
            raise LookupError("no number")
        return digits.decode()
