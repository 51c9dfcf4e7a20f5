"""The stacks of all threads of a process, with native frames between Python's, read once.

- Threads of Python come first, in the order of their creation.
- Frames of both kinds are of one moment: a running thread is stopped while both are read, and a
  waiting one has not moved meanwhile.
- If native frames are not available, a remark says so, and the Python frames are still there.
"""

from __future__ import annotations

import time

from pydtrace.process import proc_threads
from pydtrace.unwind.native_unwinder import Code, Unwinder, merged
from pydtrace.unwind.thread_capture import Capture

from . import python_threads
from .remote_python import NoStacks, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from pydtrace._tracer import Memory, Walker
    from pydtrace.process.proc_threads import Task
    from pydtrace.unwind.native_unwinder import NativeFrame
    from pydtrace.unwind.thread_capture import Copy

    from .code_objects import Codes, Frame
    from .python_threads import Raw, Thread
    from .remote_python import Python

    T = TypeVar("T")

NO_REGISTERS = "a register is not known"  # as Unwinder.frames() says it
NO_CODE = "it leads to where no code is"
NO_COPY = "it could not be stopped, or went on"
_LOADS = 0.1  # seconds between looks whether it has loaded files
_TRIES = 5  # until no thread has moved


class Native:
    """Of one process.  memory: _tracer.Memory; child: it was started by this one.  close() it.  Raises NoStacks."""

    def __init__(self, memory: Memory, child: bool = False) -> None:
        self.pid = memory.pid
        self._capture = Capture(memory, child)
        try:
            self._code = Code(self.pid)
        except OSError as error:
            raise refusal(self.pid, error) from None
        self._unwinder = Unwinder(self._code)
        self._renewed = 0.0

    def close(self) -> None:
        self._capture.close()
        self._code.close()

    def renew(self) -> None:
        """The process has gone on: it may have loaded files, and others in the place of those."""
        self._renewed = time.monotonic()
        try:
            self._code.read_maps()
        except OSError as error:
            raise refusal(self.pid, error) from None

    def copies(
        self, tids: Iterable[int], waiting: bool, read: Callable[[], T]
    ) -> tuple[dict[int, Copy], T]:
        """As Capture.copies()."""
        return self._capture.copies(tids, waiting, read)

    def frames(
        self, tid: int, copy: Copy | None, call: str | None
    ) -> tuple[list[NativeFrame], str | None]:
        """([NativeFrame], what there is to say of them or None).  call: the system call in which it waits, if it does."""
        if copy is None:
            return [], NO_COPY
        found, why = self._unwinder.frames(copy)
        if why == NO_CODE and time.monotonic() - self._renewed >= _LOADS:
            self.renew()
            found, why = self._unwinder.frames(copy)
        if why == NO_REGISTERS:
            whole = self._capture.all_registers(tid, copy, call)
            if whole:
                found, why = self._unwinder.frames(whole)
        return found, why


def of_process(
    pid: int, memory: Memory, python: Python | None, codes: Codes | None, walker: Walker | None
) -> list[Thread]:
    """[Thread].  python, codes, walker: None where it is no Python.  Raises NoStacks."""
    native = Native(memory)
    try:
        for _ in range(_TRIES):
            tasks = _tasks(pid)
            copies, raws = native.copies(
                [each.tid for each in tasks.values()],
                True,
                lambda: python_threads.raws(walker, pid) if walker else [],
            )
            if len(copies) == len(tasks):
                break
        threads = _threads(native, python, codes, raws, tasks, copies)
    finally:
        native.close()
    if not memory.is_same_process():
        raise NoStacks(f"process {pid} has ended")
    return threads


def _tasks(pid: int) -> dict[int, Task]:
    try:
        return proc_threads.tasks(pid)
    except OSError as error:
        raise refusal(pid, error) from None


def _threads(
    native: Native,
    python: Python | None,
    codes: Codes | None,
    raws: list[Raw],
    tasks: Mapping[int, Task],
    copies: Mapping[int, Copy],
) -> list[Thread]:
    found, left = [], dict(tasks)
    for raw, task in python_threads.with_tasks(python, raws, tasks) if python else ():
        if not isinstance(task, python_threads.Gone):
            task = left.pop(task.inner, None) if task else None
            found.append(_thread(native, raw, raw.calls(codes) if codes else [], task, copies))
    return found + [_thread(native, None, [], task, copies) for task in left.values()]


def _thread(
    native: Native,
    raw: Raw | None,
    calls: list[tuple[list[Frame], int]],
    task: Task | None,
    copies: Mapping[int, Copy],
) -> Thread:
    frames, why = (
        native.frames(task.tid, copies.get(task.tid), task.call) if task else ([], NO_COPY)
    )
    return python_threads.Thread(raw, merged(frames, calls), task, why)
