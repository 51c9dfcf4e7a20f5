"""How long, and where, the threads of a Python program do not run: a Profile of measured times, in
microseconds.

The events of the kernel engine are: a thread leaves a processor (with its stack), a thread comes
back.

- Each wait is counted whole or not at all; those that are not are reported.
- A thread that waited when tracing began has the stack that was read then, from outside. One that
  waits at the end has waited until then.
"""

from __future__ import annotations

from typing import NamedTuple

from pydtrace.driver.sink import Sink
from pydtrace.profile.frame_key import FrameKey, pseudo_frame
from pydtrace.profile.sample_labels import THREAD
from pydtrace.remote_python import python_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import RemotePython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.profile.sample_labels import Labels
    from pydtrace.profile.stack_profile import Profile, Stack
    from pydtrace.results.records import Record

MAX_FRAMES = 127  # of a stack, at most: perf_event_max_stack
UNITS_PER_SECOND = 1_000_000  # of the unit: microseconds
_TRIES = 64
_SUBTREE_PREDICATE = "(pid == $target || progenyof($target))"
_PREEMPTED, _ENDED = "R", "Z"
_WAITS_FOR_PROCESSOR = pseudo_frame("waits for a processor")


def make_script(frames: int, subprocesses: bool) -> str:
    """In D.  It tells how a thread's state is called, its name and its stack."""
    which = _SUBTREE_PREDICATE if subprocesses else "pid == $target"
    return (
        f"sched:::off-cpu /{which}/ {{ trace(curlwpsinfo->pr_sname); trace(execname); jstack({min(frames, MAX_FRAMES)}); }}\n"
        f"sched:::on-cpu /{which}/ {{ trace(0); }}"
    )


class OffCpuInterval(NamedTuple):
    """began: ns."""

    began: int
    labels: Labels
    stack: Stack


class OffCpuSink(Sink):
    """lines, threads: whether they are distinguished.  now: ns, until when there is something to know."""

    def __init__(self, profile: Profile, lines: bool, threads: bool) -> None:
        self._profile, self._lines, self._threads = profile, lines, threads
        self._waiting: dict[int, OffCpuInterval] = {}  # by thread
        self._seen: set[int] = set()
        self.notices: list[str] = []
        self.last_time = 0

    # --- the sink ---------------------------------------------------------------------------------

    def begin(self, info: TraceInfo) -> None:
        self._decoder = info.make_decoder(self.fault)

    def records(self, buffer: bytes) -> None:
        for record in self._decoder.decode(buffer):
            self._seen.add(record.tid)
            if record.probe.name == "off-cpu":
                self._begin_interval(record)
            else:
                self._end_interval(record.tid, record.time)

    def text(self, text: bytes) -> None:
        """The script prints nothing."""

    def notice(self, text: str, error: bool = True) -> None:
        if error:
            self.notices.append(text)

    def drop(self, kind: str, count: int, line: str) -> None:
        self._profile.counts["dropped"] += count

    # --- waits ------------------------------------------------------------------------------------

    def add_waiting_threads(self, pid: int, now: int) -> None:
        """The threads of a process that wait already, and of which nothing was heard.  Raises NoStacks."""
        python = RemotePython(pid)
        for thread in python_threads.read_threads(
            python, python.make_walker(MAX_FRAMES, _TRIES), CodeObjects(python)
        ):
            task = thread.kernel_thread
            if task and task.state_letter != _PREEMPTED and task.tid not in self._seen:
                stack = [
                    self._make_frame(frame.name, frame.file, frame.line) for frame in thread.frames
                ]
                self._waiting[task.tid] = OffCpuInterval(
                    now,
                    self._make_labels(task.name, task.tid),
                    self._profile.fold_stack(reversed(stack)),
                )

    def end_intervals(self) -> None:
        """Those that still wait."""
        for tid in list(self._waiting):
            self._end_interval(tid, self.last_time)

    def _begin_interval(self, record: Record) -> None:
        state, name, texts = record
        self._waiting.pop(record.tid, None)  # when it came was lost
        if chr(state) != _ENDED:
            stack = self._profile.fold_stack(self._read_stack(texts, chr(state)))
            self._waiting[record.tid] = OffCpuInterval(
                record.time, self._make_labels(name, record.tid), stack
            )

    def _end_interval(self, tid: int, time: int) -> None:
        wait = self._waiting.pop(tid, None)
        if wait and time > wait.began:
            self._profile.rounds += 1
            units = (time - wait.began) * UNITS_PER_SECOND // 1_000_000_000
            self._profile.add_sample(wait.labels, wait.stack, units, wait.began / 1e9)

    def _read_stack(self, texts: Any, state: str) -> Iterator[FrameKey]:
        for text in reversed(texts):
            place = FrameKey.parse_text(text)
            yield self._make_frame(*place)
        if not texts:
            yield pseudo_frame("no Python function")
        if state == _PREEMPTED:
            yield _WAITS_FOR_PROCESSOR

    def _make_frame(self, function: str, file: str, line: int | None) -> FrameKey:
        return self._profile.intern_frame(FrameKey((function, file, line if self._lines else None)))

    def _make_labels(self, name: str, tid: int) -> Labels:
        return ((THREAD, f"{name} {tid}"),) if self._threads else ()
