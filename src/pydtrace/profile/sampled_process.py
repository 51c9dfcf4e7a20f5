"""Samples of the stacks of one process.

- A thread counts if it runs at that moment (or, on request, in any state).
- A name counts only if its code object is the same at the next sample, so a freed one cannot get
  the name of its successor.
- Stacks whose code is known are counted by c/pystack/stack_looks.h; their names are found when the
  counts are taken.
"""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from typing import NamedTuple

from pydtrace import _tracer
from pydtrace.process import proc_threads
from pydtrace.process.process_names import read_name
from pydtrace.remote_python.code_objects import CodeObjects, unknown_frame
from pydtrace.remote_python.deadlocks import LockReader
from pydtrace.remote_python.native_dump import NO_COPY, NativeStacks
from pydtrace.remote_python.python_threads import (
    merge_interpreters,
    parse_walk,
    read_marks,
    read_raw_threads,
)
from pydtrace.remote_python.remote_python import RemotePython, StackReadError, make_read_error
from pydtrace.remote_python.thread_finder import ThreadFinder
from pydtrace.remote_python.thread_labels import UNKNOWN, ThreadLabels
from pydtrace.remote_python.thread_names import ThreadNames
from pydtrace.unwind.native_unwinder import interleave_frames

from .frame_key import FrameKey, pseudo_frame
from .sample_labels import HOLDER, PROCESS, STATE, THREAD
from .sampler_options import ALL, GIL, RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace._tracer import Looker
    from pydtrace.process.proc_threads import KernelThread
    from pydtrace.remote_python.code_objects import Frame
    from pydtrace.remote_python.python_threads import AnyFrame, RawThread

    from .sample_labels import Labels
    from .sampler_options import SamplerOptions
    from .stack_profile import Profile, Stack

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
_WHICH = {RUNNING: _tracer.LOOK_RUNNING, GIL: _tracer.LOOK_GIL, ALL: _tracer.LOOK_ALL}
_TRIES = 32
_RUNTIME = 1 << 20  # bytes of CPython's runtime, in which the GIL is
_RENEWED = 1.0  # seconds
_TAKEN = 0.25  # seconds between two reads of what was counted
_CONFIRMED_LIMIT = 1 << 15  # code objects
_REPLACED = b""  # no identity: the code object whose frame was seen is gone
_HOLDERS = 0.05  # seconds between two reads of who holds the locks, at least
_REST = 20  # the pause between two such reads, in durations of one


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
        self._labels = ThreadLabels(self.python, self._codes, options.tasks, options.tags)
        self._names = ThreadNames(self.python, self._codes)
        self._process_label = f"{read_name(pid) or PROCESS} {pid}"
        self._needs_tasks = (
            options.which == RUNNING or options.threads or options.native or options.states
        )
        self._counts = not (options.native or options.tasks or options.tags or options.states)
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
        self.looker = self._make_looker(child)
        self._shared: Mapping[tuple[int, int, int], KernelThread] = {}  # what the looker knows
        self._keys: list[tuple[int, int, int]] = []
        self._homes: dict[tuple[int, int, int], int] = {}  # {thread: its interpreter}
        self._counted: list[
            tuple[list[str], tuple[FrameKey, ...]]
        ] = []  # (marks, stack) by the looker's number
        self._taken = 0.0  # when what the looker had counted was taken
        self._holders: dict[int, int] = {}  # {thread that waits for a lock: thread that holds it}
        self._holders_read = 0.0
        self._renewed = time.monotonic()

    def _make_looker(self, child: bool) -> Looker:
        options = self._options
        try:
            return _tracer.Looker(
                self.python.memory,
                self.python.layout,
                self._walker,
                self._threads.states,
                _WHICH[options.which],
                self._needs_tasks or options.stop,
                options.stop,
                child,
                options.lines,
                self._counts,
                _TRIES,
            )
        except ValueError as error:
            raise StackReadError(
                f"process {self.pid}: its Python's memory holds impossible values: {error}"
            ) from None

    def sample_threads(self) -> None:
        """One sample of each of its threads that count.  Raises StackReadError."""
        self._expire_caches()
        self._resolve_unsure()
        self._labels.read_before()
        if self._native:
            if self._needs_tasks:
                self._threads.read_states()
            self._add_stacks(*self._copy_native(self._native))
        else:
            self._look()

    def _look(self) -> None:
        try:
            step, words = self.looker.look(False)
        except OSError as error:
            raise make_read_error(self.pid, error) from None
        self.finish_look(step, words)

    @property
    def is_quick(self) -> bool:
        """Whether a round may be a look of the looker's: nothing is to be done here before."""
        return self._counts and not self._unsure

    def finish_look(self, step: int, words: bytes) -> None:
        """What a look of the looker's leaves: stacks whose code is known have been counted.  step: a negative errno where it failed."""
        try:
            if step == _tracer.LOOK_THREADS:
                self._find_threads(parse_walk(words))
                step, words = self.looker.look(True)
            if step < 0:
                raise OSError(-step, os.strerror(-step))
        except OSError as error:
            raise make_read_error(self.pid, error) from None
        if step == _tracer.LOOK_DONE:
            return
        self.take_counts()
        self._threads.set_letters(self.looker.letters)
        self._add_stacks(self.looker.stopped, merge_interpreters(parse_walk(words)))
        self._share_threads()

    def _find_threads(self, raws: Sequence[RawThread]) -> None:
        """raws: threads that the looker does not know."""
        self.take_counts()
        self._threads.set_letters(self.looker.letters)
        alone = self._walker.thread_count == 1
        for raw in raws:
            task = self._threads.find_thread(raw, alone)
            self._homes[raw.key] = raw.home
            if self._options.threads:
                self._names.find_name(raw.home, raw.ident, task)
        self._share_threads()

    def _share_threads(self) -> None:
        """The looker knows what is known of threads."""
        found = self._threads.found
        if found is self._shared:
            return
        self.take_counts()
        self._shared, self._keys = found, list(found)
        self._homes = {key: home for key, home in self._homes.items() if key in found}
        self.looker.set_threads([(*key, task.tid) for key, task in found.items()])

    def _add_stacks(self, copies: Any, raws: Sequence[RawThread]) -> None:
        """Samples of these threads, as far as they count.  copies: of native stacks, or threads that were stopped.  Raises StackReadError."""
        at = time.monotonic()
        found = []
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
                self._add_sample(moment.labels, raw.marks, stack, moment.at)

    # --- what the looker has counted --------------------------------------------------------

    def take_counts(self) -> None:
        """Into the profile, with the names of code that has been confirmed."""
        self._taken = time.monotonic()
        if not self._counts:
            return
        stacks, samples, times = self.looker.take_counts()
        for flags, words in stacks:
            marks = read_marks(flags)
            frames = [self._find_known_frame(*each) for each in struct.iter_unpack("=QQ", words)]
            self._counted.append((marks, self._make_frame_keys(marks, frames)))
        words_of_samples = memoryview(samples).cast("Q")
        if self._profile.order is None:
            for word, n in Counter(words_of_samples).items():
                self._add_counted(word, n, 0.0)
        else:
            for word, at in zip(words_of_samples, memoryview(times).cast("d"), strict=True):
                self._add_counted(word, 1, at)
        if self.looker.is_full:
            self._clear_counts()

    def _add_counted(self, word: int, n: int, at: float) -> None:
        marks, stack = self._counted[word & 0xFFFFFFFF]
        self._add_sample(self._label_counted(word >> 32), marks, stack, at, n)

    def _label_counted(self, number: int) -> Labels:
        if not self._options.threads:
            return ()
        key = self._keys[number]
        return tuple(self._label_thread(self._homes.get(key, 0), key[1], self._shared[key]))

    def _find_known_frame(self, code: int, instr: int) -> Frame:
        """Of code that was the same as when it was confirmed."""
        frame = self._codes.known_frame(code, instr)
        if frame is None:  # there was no room to keep it
            frame = self._codes.read_frame(code, instr)
            if self.looker.read_identities([code]) != [self._confirmed.get(code)]:
                return unknown_frame()
        return frame

    def _clear_counts(self) -> None:
        """Numbers of stacks, and what they are called, begin anew."""
        self.looker.clear_counts()
        self._counted.clear()

    # --- code that is new -------------------------------------------------------------------

    def _read_holders(self, raws: Sequence[RawThread], alone: bool) -> None:
        """Who holds the locks that threads wait for; not each time, since all frames are read."""
        threads = [(raw, self._threads.find_thread(raw, alone)) for raw in raws]
        waiting = [_LockThread(raw.thread, task) for raw, task in threads if task is not None]
        began = time.monotonic()
        reader = LockReader(self.python, self._codes)
        self._holders = reader.find_waiting(waiting)  # type: ignore[arg-type]  # each has what it needs
        self._holders_read = began + _REST * (time.monotonic() - began)

    def _add_sample(
        self, labels: Labels, marks: Iterable[str], stack: Stack, at: float, n: int = 1
    ) -> None:
        self._profile.add_sample(labels, stack, n, at)
        for mark in marks:
            self._profile.counts[mark] += n

    def _read_identities(self, codes: Collection[int]) -> dict[int, bytes | None]:
        """{code object: its identity}; None: there is none."""
        return dict(zip(codes, self.looker.read_identities(codes), strict=True))

    def _find_new_codes(self, raw: RawThread) -> dict[int, bytes | None]:
        """{code object: its identity} of those that are not known to be what they were."""
        now = self._read_identities(raw.code_addresses)
        new = {
            code: identity
            for code, identity in now.items()
            if self._confirmed.get(code, ...) != identity
        }
        for code in new:
            if self._confirmed.pop(code, None):
                self._forget_code(code)
                self._known.clear()
        return new

    def _forget_code(self, code: int) -> None:
        """Another one has taken its place."""
        self.looker.forget_code(code)
        self._clear_counts()
        self._codes.forget_code(code)

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
        unsure, self._unsure = self._unsure, []
        if not unsure:
            return
        self.take_counts()
        if len(self._confirmed) > _CONFIRMED_LIMIT:
            self._confirmed.clear()
            self.looker.forget_all()
        now = self._read_identities({code for _, _, _, new in unsure for code in new})
        for moment, raw, frames, new in unsure:
            changed = {code for code, identity in new.items() if now[code] != identity}
            for code, identity in new.items():
                if identity and code not in changed:
                    self._confirmed[code] = identity
                    self.looker.confirm_code(code, identity)
            for code in changed:
                self._forget_code(code)
            self._add_unsure(moment, raw, frames, changed)

    def _add_unsure(
        self, moment: _Moment, raw: RawThread, frames: Sequence[AnyFrame], replaced: set[int]
    ) -> None:
        known = [unknown_frame() if frame.code in replaced else frame for frame in frames]
        stack = self._make_frame_keys(raw.marks, known)
        self._add_sample(moment.labels, raw.marks, stack, moment.at)

    def _walk(self, walker: Any) -> list[RawThread]:
        """Those that wait are left out where only those count that run."""
        leaves_out = self._options.which == RUNNING and not self._native
        return read_raw_threads(walker, self.pid, self._threads.waiting if leaves_out else ())

    def _copy_native(self, native: NativeStacks) -> tuple[Any, list[RawThread]]:
        """(copies of the native stacks, what the walker says), of one moment."""
        tids = proc_threads.list_thread_ids(self.pid)
        if self._options.which != ALL:
            tids = [tid for tid in tids if proc_threads.read_state_letter(self.pid, tid) == "R"]
        copies, raws = native.copy_threads(
            tids, self._options.which == ALL, lambda: self._walk(self._walker)
        )
        return copies, raws

    def close(self) -> None:
        self.take_counts()
        if self.python.memory.is_same_process():
            self._resolve_unsure()
        for moment, raw, frames, new in self._unsure:  # it is too late to confirm them
            replaced = {code for code, identity in new.items() if identity == _REPLACED}
            self._add_unsure(moment, raw, frames, replaced)
        self._unsure = []
        if self._native:
            self._native.close()
        self.looker.close()

    def _expire_caches(self) -> None:
        now = time.monotonic()
        if now - self._taken >= _TAKEN:
            self.take_counts()
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
            labels = [*self._label_thread(raw.home, raw.ident, task), *labels]
        return tuple(labels)

    def _label_thread(
        self, home: int, ident: int, task: KernelThread | None
    ) -> list[tuple[str, str]]:
        name = self._names.find_name(home, ident, task) or THREAD
        return [
            (PROCESS, self._process_label),
            (THREAD, f"{name} {task.tid if task else UNKNOWN}"),
        ]

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
            return frames if new else self._make_frame_keys(raw.marks, frames)
        if new:
            return raw.read_frames(self._codes)
        key = raw.stack, raw.flags
        stack = self._known.get(key)
        if stack is None:
            stack = self._known[key] = self._make_frame_keys(
                raw.marks, raw.read_frames(self._codes)
            )
        return stack

    def _make_frame_keys(self, marks: Container[str], frames: Iterable[AnyFrame]) -> Stack:
        """Outermost first."""
        places = [self._make_frame_key(frame) for frame in frames]
        if "lost" in marks:
            places = [pseudo_frame("lost")]
        elif "torn" in marks:
            places.insert(0, pseudo_frame("moving"))
        return self._profile.fold_stack(reversed(places)) or (pseudo_frame("no Python function"),)

    def _make_frame_key(self, frame: AnyFrame) -> FrameKey:
        return self._profile.intern_frame(
            FrameKey((frame.name, frame.file, frame.line if self._options.lines else None))
        )
