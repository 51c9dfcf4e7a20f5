"""The stacks of all threads of a CPython process, read once.

- Threads are in the order of their creation.
- A stack that could not be read consistently has a mark.
- Memory of another process with the same id is never shown.
"""

from __future__ import annotations

import errno
import os
import struct

from pydtrace import _tracer
from pydtrace.process import proc_threads
from pydtrace.unwind.thread_capture import ThreadCapture

from .code_objects import LocatedFrame
from .remote_python import StackReadError, make_read_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydtrace._tracer import Walker
    from pydtrace.process.proc_threads import KernelThread
    from pydtrace.unwind.native_unwinder import NativeFrame

    from .code_objects import CodeObjects, Frame
    from .remote_python import RemotePython

    AnyFrame = Frame | NativeFrame

_HEAD = 6  # words of struct pyusdt_walked
MARKS = (
    (_tracer.STACK_MOVED, "moved"),
    (_tracer.STACK_TORN, "torn"),
    (_tracer.STACK_CUT, "cut"),
    (_tracer.STACK_LOST, "lost"),
)
_INTERPRETER = 2  # in the place of a code's address: the frames so far are of the interpreter whose address follows
_MOVED = _tracer.STACK_MOVED | _tracer.STACK_TORN | _tracer.STACK_LOST
_TID_IN_PTHREAD = {
    "x86_64": 720,
    "aarch64": 208,
}  # glibc's struct pthread, whose address pthread_self() is


def read_marks(flags: int) -> list[str]:
    """The names of what could not be read of a stack."""
    return [name for bit, name in MARKS if flags & bit]


class Gone:
    """Stands for the thread of a PyThreadState that its process does not have."""


GONE = Gone()


class RawThread:
    """A thread as the walker gave it.  stack: the words of its frames, as bytes; key of what was seen before.  home: the interpreter that knows
    the thread by its name: of one that runs code of another interpreter its caller's."""

    __slots__ = ("flags", "home", "ident", "interpreter", "native", "stack", "thread")

    def __init__(self, words: Sequence[int], stack: bytes) -> None:
        self.thread, self.interpreter, self.ident, self.native, self.flags, _ = words
        self.home = self.interpreter
        self.stack = stack

    @property
    def has_gil(self) -> bool:
        return bool(self.flags & _tracer.STACK_GIL)

    @property
    def key(self) -> tuple[int, int, int]:
        """What tells it from other threads."""
        return self.thread, self.ident, self.native

    @property
    def marks(self) -> list[str]:
        return read_marks(self.flags)

    @property
    def is_consistent(self) -> bool:
        """Whether all that is in it was so at one moment."""
        return not self.flags & _MOVED

    @property
    def code_addresses(self) -> set[int]:
        """Addresses of its code objects, each once."""
        found = {code & ~_tracer.FRAME_FIRST for code, _ in struct.iter_unpack("=QQ", self.stack)}
        return found - {0, _INTERPRETER, _tracer.FRAME_ADDRESS}

    @property
    def code_positions(self) -> set[tuple[int, int]]:
        """{(number of the frame, the outermost first, address of its code object)}, the same with and without entries."""
        codes = [
            code & ~_tracer.FRAME_FIRST
            for code, _ in struct.iter_unpack("=QQ", self.stack)
            if code not in (_tracer.FRAME_FIRST, _tracer.FRAME_ADDRESS)
        ]
        return set(enumerate(reversed(codes)))

    def read_frames(self, codes: CodeObjects) -> list[Frame]:
        """[Frame], innermost first."""
        return [frame for call in self.read_calls(codes) for frame in call[0]]

    def read_calls(self, codes: CodeObjects) -> list[tuple[list[Frame], int]]:
        """[([Frame] that one call of the interpreter's C function runs, the address of what that keeps on its stack or 0)], where the walker
        was asked for entries."""
        found: list[tuple[list[Frame], int]] = []
        frames: list[Frame] = []
        instr = 0
        for code, where in struct.iter_unpack("=QQ", self.stack):
            if code == _INTERPRETER:
                frames.append(codes.interpreter_frame(where))
            elif code == _tracer.FRAME_ADDRESS:
                frames[-1] = LocatedFrame(frames[-1], where, instr)
            elif code != _tracer.FRAME_FIRST:
                frames.append(codes.read_frame(code & ~_tracer.FRAME_FIRST, where))
                instr = where
            else:
                found.append((frames, where))
                frames = []
        return [*found, (frames, 0)] if frames else found


class ThreadStack:
    """address: of its PyThreadState; ident: its threading.get_ident(); home: as a Raw has it; name: see thread_names.py; task:
    proc_threads.KernelThread, or None if it is unknown; marks: what could not be read of the stack; native: what there is to say of
    its native frames, in words, or None.  raw: None where it is none of Python's."""

    __slots__ = (
        "address",
        "frames",
        "has_gil",
        "home",
        "ident",
        "interpreter",
        "marks",
        "name",
        "native_remark",
        "kernel_thread",
    )

    def __init__(
        self,
        raw: RawThread | None,
        frames: Sequence[AnyFrame],
        task: KernelThread | None,
        native: str | None = None,
    ) -> None:
        self.interpreter, self.has_gil, self.marks = (
            (raw.interpreter, raw.has_gil, raw.marks) if raw else (0, False, [])
        )
        self.address, self.ident, self.home = (
            (raw.thread, raw.ident, raw.home) if raw else (0, 0, 0)
        )
        self.frames, self.kernel_thread, self.native_remark = frames, task, native
        self.name = task.name if task else None


def read_raw_threads(walker: Walker, pid: int, skip: Sequence[int] = ()) -> list[RawThread]:
    """[Raw], in the order in which the threads began, without those of skip (sorted addresses).  Raises StackReadError."""
    try:
        data = walker.walk(skip)
    except OSError as error:
        raise make_read_error(pid, error) from None
    return merge_interpreters(parse_walk(data))


def parse_walk(data: bytes) -> list[RawThread]:
    """A walk's words; the thread that began first is the first."""
    words, at, found = memoryview(data).cast("Q"), 0, []
    while at < len(words):
        end = at + _HEAD + 2 * words[at + _HEAD - 1]
        found.append(RawThread(words[at : at + _HEAD], data[8 * (at + _HEAD) : 8 * end]))
        at = end
    return found[::-1]


def merge_interpreters(found: list[RawThread]) -> list[RawThread]:
    """One Raw for each thread of the system: a thread that runs code of another interpreter has a PyThreadState in both.  The caller's frames
    stand behind those of the interpreter that it has called, and a frame between them names it.  found: begins with the main interpreter.

    The called one is the one that holds its interpreter's lock, else the one that is not the main interpreter's, which is always the first
    caller.  If several are left, their order is unknown, and they stay separate.  A state without frames runs nothing.
    """
    if len({raw.interpreter for raw in found}) < 2:
        return found
    by_thread: dict[int, list[RawThread]] = {}
    for raw in found:
        if raw.interpreter != found[0].interpreter and raw.stack:
            raw.stack += struct.pack("=QQ", _INTERPRETER, raw.interpreter)
        by_thread.setdefault(raw.ident or raw.thread, []).append(raw)
    merged: list[RawThread] = []
    for raws_of_thread in by_thread.values():
        busy = [raw for raw in raws_of_thread if raw.stack] or raws_of_thread[:1]
        inner = [raw for raw in busy if raw.has_gil] or [
            raw for raw in busy if raw.interpreter != found[0].interpreter
        ]
        if len(busy) == 2 and len(inner) == 1:
            caller = next(raw for raw in busy if raw is not inner[0])
            inner[0].stack += caller.stack
            inner[0].home = caller.home
            inner[0].flags |= caller.flags & ~_tracer.STACK_GIL
            busy = inner
        merged += busy
    return merged


def reread_moving(python: RemotePython, walker: Walker, found: list[RawThread]) -> list[RawThread]:
    """Raws; of found those that moved while they were read, and run, are read again, stopped for that moment."""
    moved = [raw for raw in found if not raw.is_consistent]
    tasks = proc_threads.read_kernel_threads(python.pid) if moved else {}
    tids = {find_tid(python, raw, tasks, len(found) == 1) for raw in moved}
    running = [
        task.tid for inner, task in tasks.items() if inner in tids and task.state_letter == "R"
    ]
    if not running:
        return found
    capture = ThreadCapture(python.memory)
    try:
        _, again = capture.read_stopped(running, lambda: read_raw_threads(walker, python.pid))
    finally:
        capture.close()
    standing = {raw.thread: raw for raw in again}
    return [raw if raw.is_consistent else standing.get(raw.thread, raw) for raw in found]


def read_threads(
    python: RemotePython, walker: Walker, codes: CodeObjects, stop: bool = False
) -> list[ThreadStack]:
    """The stacks of all threads.  stop: a thread whose stack changes is stopped while it is read.  Raises StackReadError."""
    codes.expire_frames()
    found = read_raw_threads(walker, python.pid)
    try:
        if stop:
            found = reread_moving(python, walker, found)
        frames = [raw.read_frames(codes) for raw in found]
        tasks = proc_threads.read_kernel_threads(python.pid)
    except OSError as error:
        raise make_read_error(python.pid, error) from None
    threads = [
        ThreadStack(raw, frames, task)
        for (raw, task), frames in zip(pair_kernel_threads(python, found, tasks), frames)
        if not isinstance(task, Gone)
    ]
    if not python.memory.is_same_process():
        raise StackReadError(f"process {python.pid} has ended")
    return threads


def pair_kernel_threads(
    python: RemotePython, found: list[RawThread], tasks: Mapping[int, KernelThread]
) -> list[tuple[RawThread, KernelThread | Gone | None]]:
    """[(raw, its task)]; None: not known; GONE: the process does not have this thread.  found: all raws.

    The child of a fork() in C has the PyThreadStates of all threads of its parent, and the thread that called fork().
    """
    tids = [find_tid(python, raw, tasks, len(found) == 1) for raw in found]
    is_known = not tasks.keys().isdisjoint(
        tids
    )  # else their ids are not those that the kernel shows
    return [
        (raw, (tasks.get(tid) or (GONE if is_known else None)) if tid is not None else None)
        for raw, tid in zip(found, tids)
    ]


def find_tid(
    python: RemotePython, raw: RawThread, tasks: Mapping[int, KernelThread], alone: bool
) -> int | None:
    """The thread's id as its process knows it; None: not known; 0: it has ended.  tasks: the process's threads, perhaps of a moment ago.

    Before 3.11 only glibc knows the id, unless the thread is alone.  In the child of a fork() in C, Python's is that of the parent, and
    glibc's is right.
    """
    if not python.layout["thread_native"]:
        return next(iter(tasks)) if alone and len(tasks) == 1 else _read_glibc_tid(python, raw)
    if raw.native in tasks or (found := _read_glibc_tid(python, raw)) not in tasks:
        return raw.native
    return found


def _read_glibc_tid(python: RemotePython, raw: RawThread) -> int | None:
    offset = _TID_IN_PTHREAD.get(os.uname().machine)
    if not offset:
        return None
    try:
        return int(struct.unpack("=I", python.memory.read(raw.ident + offset, 4))[0])
    except OSError as error:
        if error.errno == errno.EFAULT:
            return 0
        raise make_read_error(python.pid, error) from None
