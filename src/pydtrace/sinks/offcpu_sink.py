# mypy: ignore-errors
"""When the threads of a Python program do not run, for how long, and where: a profile of times that are measured, not of samples.

In: events of the kernel engine: a thread goes (with its stack), a thread comes.  Out: microseconds by stack, in a data.profile.Profile.
Always: each wait is counted whole or not at all, and how many were not is told.  A thread that waited when tracing began has the stack that was
read then, from outside; one that still waits at the end has waited until then.
"""

from __future__ import annotations

from typing import NamedTuple

from pydtrace.driver.sink import Sink
from pydtrace.profile.stack_profile import Place, marked
from pydtrace.remote_python import python_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import RemotePython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pydtrace.driver.sink import Info
    from pydtrace.profile.stack_profile import Profile, Stack
    from pydtrace.results.records import Record

FRAMES = 127  # of a stack, at most: perf_event_max_stack
PER_SECOND = 1_000_000  # of the unit: microseconds
_TRIES = 64
_OF_ALL = "(pid == $target || progenyof($target))"
_PREEMPTED, _ENDED = "R", "Z"
_FOR_A_PROCESSOR = marked("waits for a processor")


def script(frames: int, subprocesses: bool) -> str:
    """In D.  It tells how a thread's state is called, its name and its stack."""
    which = _OF_ALL if subprocesses else "pid == $target"
    return (
        f"sched:::off-cpu /{which}/ {{ trace(curlwpsinfo->pr_sname); trace(execname); jstack({min(frames, FRAMES)}); }}\n"
        f"sched:::on-cpu /{which}/ {{ trace(0); }}"
    )


class Wait(NamedTuple):
    """began: ns."""

    began: int
    thread: str
    stack: Stack


class Waits(Sink):
    """lines, threads: they are told apart.  now: ns, until when there is something to know."""

    def __init__(self, profile: Profile, lines: bool, threads: bool) -> None:
        self._profile, self._lines, self._threads = profile, lines, threads
        self._waiting: dict[int, Wait] = {}  # by thread
        self._seen: set[int] = set()
        self.notices: list[str] = []
        self.now = 0

    # --- the sink ---------------------------------------------------------------------------------

    def begin(self, info: Info) -> None:
        self._decoder = info.decoder(self.fault)

    def records(self, buffer: bytes) -> None:
        for record in self._decoder.decode(buffer):
            self._seen.add(record.tid)
            if record.probe.name == "off-cpu":
                self._goes(record)
            else:
                self._comes(record.tid, record.time)

    def text(self, text: bytes) -> None:
        """The script prints nothing."""

    def notice(self, text: str, error: bool = True) -> None:
        if error:
            self.notices.append(text)

    def drop(self, kind: str, count: int, line: str) -> None:
        self._profile.counts["dropped"] += count

    # --- waits ------------------------------------------------------------------------------------

    def waited(self, pid: int, now: int) -> None:
        """The threads of a process that wait already, and of which nothing was heard.  Raises NoStacks."""
        python = RemotePython(pid)
        for thread in python_threads.read_threads(
            python, python.make_walker(FRAMES, _TRIES), CodeObjects(python)
        ):
            task = thread.kernel_thread
            if task and task.state_letter != _PREEMPTED and task.tid not in self._seen:
                stack = [self._place(frame.name, frame.file, frame.line) for frame in thread.frames]
                self._waiting[task.tid] = Wait(
                    now, self._thread(task.name, task.tid), tuple(reversed(stack))
                )

    def finish(self) -> None:
        """Those that still wait."""
        for tid in list(self._waiting):
            self._comes(tid, self.now)

    def _goes(self, record: Record) -> None:
        state, name, texts = record
        self._waiting.pop(record.tid, None)  # when it came was lost
        if chr(state) != _ENDED:
            stack = tuple(self._stack(texts, chr(state)))
            self._waiting[record.tid] = Wait(record.time, self._thread(name, record.tid), stack)

    def _comes(self, tid: int, time: int) -> None:
        wait = self._waiting.pop(tid, None)
        if wait and time > wait.began:
            self._profile.looks += 1
            self._profile.add(
                wait.thread, wait.stack, (time - wait.began) * PER_SECOND // 1_000_000_000
            )

    def _stack(self, texts: Any, state: str) -> Iterator[Place]:
        for text in reversed(texts):
            place = Place.of(text)
            yield self._place(*place)
        if not texts:
            yield marked("no Python function")
        if state == _PREEMPTED:
            yield _FOR_A_PROCESSOR

    def _place(self, function: str, file: str, line: int | None) -> Place:
        return self._profile.place(Place((function, file, line if self._lines else None)))

    def _thread(self, name: str, tid: int) -> str:
        return f"{name} {tid}" if self._threads else ""
