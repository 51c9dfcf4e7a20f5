"""The stacks of all threads of a process, with native frames between Python's, read once.

- Threads of Python come first, in the order of their creation.
- Frames of both kinds are of one moment: a running thread is stopped while both are read, and a
  waiting one has not moved meanwhile.
- If native frames are not available, a remark says so, and the Python frames are still there.
"""

from __future__ import annotations

import time

from pydtrace.process import proc_threads
from pydtrace.unwind.native_unwinder import NativeCode, NativeUnwinder, interleave_frames
from pydtrace.unwind.thread_capture import ThreadCapture

from . import python_threads
from .remote_python import StackReadError, make_read_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from pydtrace._tracer import Memory, Walker
    from pydtrace.process.proc_threads import KernelThread
    from pydtrace.unwind.native_unwinder import NativeFrame
    from pydtrace.unwind.thread_capture import ThreadCopy

    from .code_objects import CodeObjects, Frame
    from .python_threads import RawThread, ThreadStack
    from .remote_python import RemotePython

    T = TypeVar("T")

NO_REGISTERS = "a register is not known"  # as Unwinder.unwind_copy() says it
NO_CODE = "it leads to where no code is"
NO_COPY = "it could not be stopped, or went on"
_REFRESH_INTERVAL = 0.1  # seconds between two reads of its mappings
_TRIES = 5  # until no thread has moved


class NativeStacks:
    """Of one process.  memory: _tracer.Memory; child: this process started it.  close() it.  Raises StackReadError."""

    def __init__(self, memory: Memory, child: bool = False) -> None:
        self.pid = memory.pid
        self._capture = ThreadCapture(memory, child)
        try:
            self._code = NativeCode(self.pid)
        except OSError as error:
            raise make_read_error(self.pid, error) from None
        self._unwinder = NativeUnwinder(self._code)
        self._renewed = 0.0

    def close(self) -> None:
        self._capture.close()
        self._code.close()

    def refresh_maps(self) -> None:
        """The process has gone on: it may have loaded files, and others in the place of those."""
        self._renewed = time.monotonic()
        try:
            self._code.read_maps()
        except OSError as error:
            raise make_read_error(self.pid, error) from None

    def copy_threads(
        self, tids: Iterable[int], waiting: bool, read: Callable[[], T]
    ) -> tuple[dict[int, ThreadCopy], T]:
        """As Capture.copy_threads()."""
        return self._capture.copy_threads(tids, waiting, read)

    def unwind_thread(
        self, tid: int, copy: ThreadCopy | None, call: str | None
    ) -> tuple[list[NativeFrame], str | None]:
        """([NativeFrame], what there is to say of them or None).  call: the system call in which it waits, if it does."""
        if copy is None:
            return [], NO_COPY
        found, why = self._unwinder.unwind_copy(copy)
        if why == NO_CODE and time.monotonic() - self._renewed >= _REFRESH_INTERVAL:
            self.refresh_maps()
            found, why = self._unwinder.unwind_copy(copy)
        if why == NO_REGISTERS:
            whole = self._capture.all_registers(tid, copy, call)
            if whole:
                found, why = self._unwinder.unwind_copy(whole)
        return found, why


def dump_threads(
    pid: int,
    memory: Memory,
    python: RemotePython | None,
    codes: CodeObjects | None,
    walker: Walker | None,
) -> list[ThreadStack]:
    """[Thread].  python, codes, walker: None if it is no Python.  Raises StackReadError."""
    native = NativeStacks(memory)
    try:
        for _ in range(_TRIES):
            tasks = _read_tasks(pid)
            copies, raws = native.copy_threads(
                [each.tid for each in tasks.values()],
                True,
                lambda: python_threads.read_raw_threads(walker, pid) if walker else [],
            )
            if len(copies) == len(tasks):
                break
        threads = _make_threads(native, python, codes, raws, tasks, copies)
    finally:
        native.close()
    if not memory.is_same_process():
        raise StackReadError(f"process {pid} has ended")
    return threads


def _read_tasks(pid: int) -> dict[int, KernelThread]:
    try:
        return proc_threads.read_kernel_threads(pid)
    except OSError as error:
        raise make_read_error(pid, error) from None


def _make_threads(
    native: NativeStacks,
    python: RemotePython | None,
    codes: CodeObjects | None,
    raws: list[RawThread],
    tasks: Mapping[int, KernelThread],
    copies: Mapping[int, ThreadCopy],
) -> list[ThreadStack]:
    found, left = [], dict(tasks)
    for raw, task in python_threads.pair_kernel_threads(python, raws, tasks) if python else ():
        if not isinstance(task, python_threads.Gone):
            task = left.pop(task.inner_tid, None) if task else None
            found.append(
                _make_thread(native, raw, raw.read_calls(codes) if codes else [], task, copies)
            )
    return found + [_make_thread(native, None, [], task, copies) for task in left.values()]


def _make_thread(
    native: NativeStacks,
    raw: RawThread | None,
    calls: list[tuple[list[Frame], int]],
    task: KernelThread | None,
    copies: Mapping[int, ThreadCopy],
) -> ThreadStack:
    frames, why = (
        native.unwind_thread(task.tid, copies.get(task.tid), task.syscall)
        if task
        else ([], NO_COPY)
    )
    return python_threads.ThreadStack(raw, interleave_frames(frames, calls), task, why)
