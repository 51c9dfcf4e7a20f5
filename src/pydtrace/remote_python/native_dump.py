# mypy: ignore-errors
"""The stacks of all threads of a process, native frames beside Python's, once.

In: a process id, its process.Python and its Codes, if it is one.  Out: snapshot.Threads; those of Python first, in the order in which they
began.  Always: frames of both kinds are of one moment: a thread that runs stands still while both are read, one that waits has not moved
meanwhile.  Where native frames can not be had, that is said, and Python's are there all the same.
"""

import time

from pydtrace.process import proc_threads
from pydtrace.unwind.native_unwinder import Code, Unwinder, merged
from pydtrace.unwind.thread_capture import Capture

from . import python_threads
from .remote_python import NoStacks, refusal

NO_REGISTERS = "a register is not known"  # as Unwinder.frames() says it
NO_CODE = "it leads to where no code is"
NO_COPY = "it could not be stopped, or went on"
_LOADS = 0.1  # seconds between looks whether it has loaded files
_TRIES = 5  # until no thread has moved


class Native:
    """Of one process.  memory: _tracer.Memory; child: it was started by this one.  close() it.  Raises NoStacks."""

    def __init__(self, memory, child=False):
        self.pid = memory.pid
        self._capture = Capture(memory, child)
        try:
            self._code = Code(self.pid)
        except OSError as error:
            raise refusal(self.pid, error) from None
        self._unwinder = Unwinder(self._code)
        self._renewed = 0.0

    def close(self):
        self._capture.close()
        self._code.close()

    def renew(self):
        """The process has gone on: it may have loaded files, and others in the place of those."""
        self._renewed = time.monotonic()
        try:
            self._code.read_maps()
        except OSError as error:
            raise refusal(self.pid, error) from None

    def copies(self, tids, waiting, read=lambda: None):
        """As Capture.copies()."""
        return self._capture.copies(tids, waiting, read)

    def frames(self, tid, copy, call):
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


def of_process(pid, memory, python, codes, walker):
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
    if not memory.is_its():
        raise NoStacks(f"process {pid} has ended")
    return threads


def _tasks(pid):
    try:
        return proc_threads.tasks(pid)
    except OSError as error:
        raise refusal(pid, error) from None


def _threads(native, python, codes, raws, tasks, copies):
    found, left = [], dict(tasks)
    for raw, task in python_threads.with_tasks(python, raws, tasks):
        if task is not python_threads.GONE:
            task = left.pop(task.inner, None) if task else None
            found.append(_thread(native, raw, raw.calls(codes), task, copies))
    return found + [_thread(native, None, [], task, copies) for task in left.values()]


def _thread(native, raw, calls, task, copies):
    frames, why = (
        native.frames(task.tid, copies.get(task.tid), task.call) if task else ([], NO_COPY)
    )
    return python_threads.Thread(raw, merged(frames, calls), task, why)
