"""Samples of the stacks of processes, read repeatedly from outside.

- A thread counts if it runs at that moment (or, on request, in any state).
- A name counts only if its code object is the same at the next sample, so a freed one cannot get
  the name of its successor.
- A process that ends, or never becomes a Python, ends only its own samples.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from pydtrace.process import proc_threads
from pydtrace.process.identity import is_alive
from pydtrace.process.process_names import read_name
from pydtrace.remote_python.code_objects import CodeObjects, unknown_frame
from pydtrace.remote_python.deadlocks import LockReader
from pydtrace.remote_python.native_dump import NO_COPY, NativeStacks
from pydtrace.remote_python.python_threads import read_raw_threads
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from pydtrace.remote_python.thread_finder import ThreadFinder
from pydtrace.remote_python.thread_labels import UNKNOWN, ThreadLabels
from pydtrace.remote_python.thread_names import ThreadNames
from pydtrace.unwind.native_unwinder import interleave_frames
from pydtrace.unwind.thread_capture import ThreadCapture

from .frame_key import FrameKey, pseudo_frame
from .sample_labels import HOLDER, PROCESS, STATE, THREAD
from .stack_profile import RUNNING_THREADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace.process.proc_threads import KernelThread
    from pydtrace.remote_python.python_threads import AnyFrame, RawThread

    from .sample_labels import Labels
    from .stack_profile import Profile

RUNNING, GIL, ALL = "running", "gil", "all"
# What a thread does, as the label of its samples; WAITS_IN is followed by a system call.
HAS_GIL, RUNS, WAITS_FOR_GIL, WAITS_FOR_LOCK, WAITS_FOR_PAGE, WAITS, WAITS_IN = (
    "has the GIL",
    "runs",
    "waits for the GIL",
    "waits for a lock",
    "waits for a page of memory",
    "waits",
    "waits in ",
)
WORDS = {RUNNING: RUNNING_THREADS, GIL: "threads that hold the GIL", ALL: "all threads"}
_TRIES = 32
_RUNTIME = 1 << 20  # bytes of CPython's runtime, in which the GIL is
_RENEWED = 1.0  # seconds
_CONFIRMED_LIMIT = 1 << 16  # code objects
_REPLACED = b""  # no identity: the code object whose frame was seen is gone
_FRESH = 0.5  # seconds for which each round checks whether a new process is a Python
_LOOK = 0.01  # seconds of a child between its last sample and its end
_HOLDERS = 0.05  # seconds between two reads of who holds the locks, at least
_REST = 20  # the pause between two such reads, in durations of one


class SamplerOptions:
    """which: RUNNING, GIL or ALL; lines: a frame has its line, not only its function; threads: samples have labels of their process and thread; frames: of a stack, at most;
    native: with native frames; stop: a thread that runs is stopped for the moment in which its stack is read;
    tasks, tags: asyncio tasks, tags are separate; states: what a thread does is the first label; of one that waits for a lock another is the id of the thread that holds it, 0: unknown."""

    __slots__ = (
        "frames",
        "lines",
        "native",
        "states",
        "stop",
        "tags",
        "tasks",
        "threads",
        "which",
    )

    def __init__(
        self,
        which: str = RUNNING,
        lines: bool = False,
        threads: bool = False,
        frames: int = 1000,
        native: bool = False,
        stop: bool = False,
        tasks: bool = False,
        tags: bool = False,
        states: bool = False,
    ) -> None:
        self.which, self.lines, self.threads, self.frames, self.native = (
            which,
            lines,
            threads,
            frames,
            native,
        )
        self.stop, self.tasks, self.tags, self.states = stop, tasks, tags, states


class _Moment(NamedTuple):
    """at: seconds of the monotonic clock."""

    labels: Labels
    at: float


class _LockThread(NamedTuple):
    """What LockReader needs of a thread."""

    address: int
    kernel_thread: KernelThread


class SampledProcess:
    """A sampled process.  child: this process started it.  Raises StackReadError if it cannot be sampled."""

    def __init__(
        self, pid: int, profile: Profile, options: SamplerOptions, child: bool = False
    ) -> None:
        self.python = RemotePython(pid)
        self.pid, self._profile, self._options = pid, profile, options
        self._codes = CodeObjects(self.python)
        self._walker = self.python.make_walker(options.frames, _TRIES, options.native)
        self._single_try_walker = self.python.make_walker(options.frames, 1, options.native)
        self._native = NativeStacks(self.python.memory, child) if options.native else None
        self._capture = (
            ThreadCapture(self.python.memory, child)
            if options.stop and not options.native
            else None
        )
        self._labels = ThreadLabels(self.python, self._codes, options.tasks, options.tags)
        self._names = ThreadNames(self.python, self._codes)
        self._process_label = f"{read_name(pid) or PROCESS} {pid}"
        self._needs_tasks = (
            options.which == RUNNING or options.threads or options.native or options.states
        )
        self._known: dict[
            tuple[bytes, int], tuple[FrameKey, ...]
        ] = {}  # (stack, flags) -> tuple of Place
        self._confirmed: dict[
            int, bytes
        ] = {}  # code object -> its identity, the same at two samples
        self._unsure: list[
            tuple[_Moment, RawThread, Sequence[AnyFrame], Mapping[int, bytes | None]]
        ] = []  # samples of the last round whose names are not confirmed yet: (labels and time, raw, frames, {code object: identity})
        self._threads = ThreadFinder(self.python)
        self._holders: dict[int, int] = {}  # {thread that waits for a lock: thread that holds it}
        self._holders_read = 0.0
        self._renewed = time.monotonic()

    def sample_threads(self) -> None:
        """One sample of each of its threads that count.  Raises StackReadError."""
        self._expire_caches()
        found = []
        self._resolve_unsure()
        self._labels.read_before()
        if self._needs_tasks:
            self._threads.read_states()
        copies, raws = self._read_stacks()
        at = time.monotonic()
        alone = self._walker.thread_count == 1
        if self._options.states and at - self._holders_read >= _HOLDERS:
            self._read_holders(raws, alone)
        for raw in raws:
            task = self._threads.find_thread(raw, alone) if self._needs_tasks else None
            if self._is_counted(raw, task, copies):
                moment = _Moment(self._read_labels(raw, task), at)
                found.append((moment, raw, self._find_new_codes(raw), task))
        self._mark_replaced([(raw, new) for _, raw, new, _ in found if new])
        samples = [
            (moment, raw, self._build_stack(raw, task, copies, new), new)
            for moment, raw, new, task in found
        ]
        if (
            not self.python.memory.is_same_process()
        ):  # the names may be those of the process that has its id now
            raise StackReadError(f"process {self.pid} has ended")
        for moment, raw, stack, new in samples:
            if new:
                self._unsure.append((moment, raw, stack, new))
            else:
                self._add_sample(moment, raw, stack)

    def _read_holders(self, raws: Sequence[RawThread], alone: bool) -> None:
        """Who holds the locks that threads wait for; not each time, since all frames are read."""
        threads = [(raw, self._threads.find_thread(raw, alone)) for raw in raws]
        waiting = [_LockThread(raw.thread, task) for raw, task in threads if task is not None]
        began = time.monotonic()
        reader = LockReader(self.python, self._codes)
        self._holders = reader.find_waiting(waiting)  # type: ignore[arg-type]  # each has what it needs
        self._holders_read = began + _REST * (time.monotonic() - began)

    def _add_sample(self, moment: _Moment, raw: RawThread, stack: tuple[FrameKey, ...]) -> None:
        self._profile.add_sample(moment.labels, stack, 1, moment.at)
        self._profile.counts.update(raw.marks)

    def _find_new_codes(self, raw: RawThread) -> dict[int, bytes | None]:
        """{code object: its identity} of those that are not known to be what they were."""
        now = self._codes.read_identities(raw.code_addresses)
        new = {
            code: identity
            for code, identity in now.items()
            if self._confirmed.get(code, ...) != identity
        }
        for code in new:
            if self._confirmed.pop(code, None):
                self._codes.forget_code(code)
                self._known.clear()
        return new

    def _mark_replaced(self, found: Sequence[tuple[RawThread, dict[int, bytes | None]]]) -> None:
        """Between the stack and the identity another code object may have come to the address: only a frame that still stands where it
        stood shows that the identity is of the code that it runs."""
        if not found:
            return
        later = {raw.thread: raw.code_positions for raw in self._walk(self._single_try_walker)}
        for raw, new in found:
            standing = raw.code_positions & later.get(raw.thread, set())
            for code in new.keys() - {code for _, code in standing}:
                new[code] = _REPLACED

    def _resolve_unsure(self) -> None:
        """Add the samples of the last round, now that their names can be confirmed."""
        if len(self._confirmed) > _CONFIRMED_LIMIT:
            self._confirmed.clear()
        unsure, self._unsure = self._unsure, []
        if not unsure:
            return
        now = self._codes.read_identities({code for _, _, _, new in unsure for code in new})
        for moment, raw, frames, new in unsure:
            changed = {code for code, identity in new.items() if now[code] != identity}
            self._confirmed.update(
                (code, identity)
                for code, identity in new.items()
                if identity and code not in changed
            )
            for code in changed:
                self._codes.forget_code(code)
            self._add_unsure(moment, raw, frames, changed)

    def _add_unsure(
        self, moment: _Moment, raw: RawThread, frames: Sequence[AnyFrame], replaced: set[int]
    ) -> None:
        known = [unknown_frame() if frame.code in replaced else frame for frame in frames]
        self._add_sample(moment, raw, self._make_frame_keys(raw, known))

    def _walk(self, walker: Any) -> list[RawThread]:
        """Those that wait are left out where only those count that run."""
        leaves_out = (
            self._options.which == RUNNING
            and not self._native
            and not (self._capture and self._capture.has_late)  # it stands still for this sampler
        )
        return read_raw_threads(walker, self.pid, self._threads.waiting if leaves_out else ())

    def _read_stacks(self) -> tuple[Any, list[RawThread]]:
        """(copies of the native stacks, or threads that were stopped, what the walker says), of one moment."""
        if self._native is None:
            return (
                self._read_stopped(self._capture)
                if self._capture
                else ((), self._walk(self._walker))
            )
        tids = proc_threads.list_thread_ids(self.pid)
        if self._options.which != ALL:
            tids = [tid for tid in tids if proc_threads.read_state_letter(self.pid, tid) == "R"]
        return self._native.copy_threads(
            tids, self._options.which == ALL, lambda: self._walk(self._walker)
        )

    def _read_stopped(self, capture: ThreadCapture) -> tuple[Collection[int], list[RawThread]]:
        """(threads that were stopped, raws).  Those that are on a processor are stopped, by a first look that says which these are: one that
        waits for a processor would stop only when it has one, and stands still anyway.  No sample is of the first look: what holds still in
        it lasts longer than what does not, and would have too large a share."""
        running = [raw for raw in self._walk(self._single_try_walker) if raw.was_running]
        tasks = [self._threads.find_thread(raw, False) for raw in running]
        tids = [task.tid for task in tasks if task and task.state_letter == "R"]
        if not tids and not capture.has_late:
            return (), self._walk(self._walker)
        stopped, raws = capture.read_stopped(tids, lambda: self._walk(self._single_try_walker))
        if all(raw.is_consistent for raw in raws):
            return stopped, raws
        again = {
            raw.thread: raw for raw in self._walk(self._walker)
        }  # those that could not be stopped, or go on just now
        return stopped, [raw if raw.is_consistent else again.get(raw.thread, raw) for raw in raws]

    def close(self) -> None:
        if self.python.memory.is_same_process():
            self._resolve_unsure()
        for moment, raw, frames, new in self._unsure:  # it is too late to confirm them
            replaced = {code for code, identity in new.items() if identity == _REPLACED}
            self._add_unsure(moment, raw, frames, replaced)
        self._unsure = []
        for each in (self._native, self._capture):
            if each:
                each.close()

    def _expire_caches(self) -> None:
        now = time.monotonic()
        if now - self._renewed >= _RENEWED:
            self._renewed = now
            self._codes.expire_frames()
            self._known.clear()
            if self._native:
                self._native.refresh_maps()

    def _is_counted(
        self, raw: RawThread, task: KernelThread | None, copies: Container[int]
    ) -> bool:
        """A thread of which there is a copy ran when it was asked to stop; by now it may do anything."""
        if self._options.which == GIL:
            return raw.has_gil
        return self._options.which == ALL or (
            task is not None and (task.state_letter == "R" or task.tid in copies)
        )

    def _read_labels(self, raw: RawThread, task: KernelThread | None) -> Labels:
        """The labels of its samples."""
        labels = self._labels.read_labels(raw)
        if self._options.states:
            state = self._describe_state(raw, task)
            labels = [(STATE, state), *labels]
            if state == WAITS_FOR_LOCK and task is not None:
                labels.append((HOLDER, str(self._holders.get(task.tid, 0))))
        if self._options.threads:
            name = self._names.find_name(raw.home, raw.ident, task) or THREAD
            labels = [
                (PROCESS, self._process_label),
                (THREAD, f"{name} {task.tid if task else UNKNOWN}"),
                *labels,
            ]
        return tuple(labels)

    def _describe_state(self, raw: RawThread, task: KernelThread | None) -> str:
        """By the interpreter's word who has the GIL, by the kernel's who runs, and what the others wait at."""
        if raw.has_gil:
            return HAS_GIL
        if task is None or task.state_letter == "R":
            return RUNS if task else UNKNOWN
        call, address = proc_threads.read_wait(self.pid, task.tid) or (None, 0)
        if call != "futex":
            return WAITS if call is None else f"{WAITS_IN}{call}" if call else WAITS_FOR_PAGE
        gil = 0 <= address - self.python.runtime < _RUNTIME
        return WAITS_FOR_GIL if gil else WAITS_FOR_LOCK

    def _build_stack(
        self,
        raw: RawThread,
        task: KernelThread | None,
        copies: Any,
        new: Mapping[int, bytes | None],
    ) -> Any:
        """Its Places, or, where there are new code objects in it, its Frames."""
        if self._native:
            frames, why = (
                self._native.unwind_thread(task.tid, copies.get(task.tid), task.syscall)
                if task
                else ([], NO_COPY)
            )
            self._profile.counts["no_native"] += why is not None
            frames = interleave_frames(frames, raw.read_calls(self._codes))
            return frames if new else self._make_frame_keys(raw, frames)
        if new:
            return raw.read_frames(self._codes)
        key = raw.stack, raw.flags
        stack = self._known.get(key)
        if stack is None:
            stack = self._known[key] = self._make_frame_keys(raw, raw.read_frames(self._codes))
        return stack

    def _make_frame_keys(self, raw: RawThread, frames: Iterable[AnyFrame]) -> tuple[FrameKey, ...]:
        """Outermost first."""
        places = [self._make_frame_key(frame) for frame in frames]
        if "lost" in raw.marks:
            places = [pseudo_frame("lost")]
        elif "torn" in raw.marks:
            places.insert(0, pseudo_frame("moving"))
        return self._profile.fold_stack(reversed(places)) or (pseudo_frame("no Python function"),)

    def _make_frame_key(self, frame: AnyFrame) -> FrameKey:
        return self._profile.intern_frame(
            FrameKey((frame.name, frame.file, frame.line if self._options.lines else None))
        )


class UnseenChildren:
    """The processor time of children that ended before they were seen: what wait() gave their parents,
    less what was seen of those that were.  seconds: of all."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._waited: dict[int, int] = {}  # {parent: time of the children that it has waited for}
        self._used: dict[
            int, dict[int, int]
        ] = {}  # {parent: {child that was seen: its time, and that of those which it has waited for}}

    def count_ended(self, pid: int, found: Collection[int]) -> None:
        """found: the children that a process has now."""
        now = self._read_times(pid)
        if now is None:
            return
        _, waited = now
        used, before = self._used.setdefault(pid, {}), self._waited.setdefault(pid, waited)
        ended = [child for child in used if child not in found]
        seen = sum(used.pop(child) for child in ended)
        if waited > before:
            self.seconds += max(0.0, (waited - before - seen) / self._ticks - len(ended) * _LOOK)
            self._waited[pid] = waited
        for child in found:
            times = self._read_times(child)
            if times is not None:
                used[child] = sum(times)

    @staticmethod
    def _read_times(pid: int) -> tuple[int, int] | None:
        """(processor time of a process, that of the children that it has waited for), in the system's ticks; None where it has ended."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b") ")[2].split()
            return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
        except (OSError, LookupError):
            return None


class Sampler:
    """All that are sampled together.  child: the process that this one has started; beat: called before each process is read;
    why_none: the last that was said of one that is no Python, or None."""

    def __init__(
        self,
        profile: Profile,
        options: SamplerOptions,
        beat: Callable[[], None],
        child: int | None = None,
    ) -> None:
        self._profile, self._options, self._beat = profile, options, beat
        self._child = child
        self._processes: dict[int, SampledProcess] = {}
        self._waiting: dict[
            int, float
        ] = {}  # {id of one that is none yet, and is tried again: when it was seen first}
        self._unseen = UnseenChildren()
        self.no_python_reason: StackReadError | None = None

    def add_process(self, pid: int) -> None:
        """A process that is one, or becomes one by and by."""
        if pid not in self._processes:
            self._waiting.setdefault(pid, time.monotonic())

    def retry_waiting(self, fresh: bool = False) -> None:
        """Look whether those that were no Python are one now.  fresh: only those that were seen just now."""
        since = time.monotonic() - _FRESH if fresh else 0
        for pid in [pid for pid, seen in self._waiting.items() if seen >= since]:
            self._beat()
            try:
                self._processes[pid] = SampledProcess(
                    pid, self._profile, self._options, pid == self._child
                )
                del self._waiting[pid]
            except StackReadError as error:
                self.no_python_reason = error
                if not is_alive(pid):
                    del self._waiting[pid]

    def add_children(self) -> None:
        """Add children of all processes; those that ended unseen are counted."""
        for pid in [*self._processes, *self._waiting]:
            found = proc_threads.list_children(pid)
            self._unseen.count_ended(pid, found)
            for child in found:
                self.add_process(child)
        self._profile.unseen_seconds = self._unseen.seconds

    def sample_processes(self) -> bool:
        """Whether any process is left, or may become one."""
        for pid in list(self._processes):
            self._beat()
            try:
                self._processes[pid].sample_threads()
            except StackReadError:
                self._processes.pop(pid).close()
                if is_alive(pid):  # it may be another program by now
                    self.add_process(pid)
        self._profile.rounds += bool(self._processes)
        return bool(self._processes or self._waiting)

    def close(self) -> None:
        """All threads go on."""
        for process in self._processes.values():
            process.close()

    @property
    def has_processes(self) -> bool:
        return bool(self._processes)
