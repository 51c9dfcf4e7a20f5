"""Samples of the stacks of processes, read repeatedly from outside.

- A process that ends, or never becomes a Python, ends only its own samples.
"""

from __future__ import annotations

import time

from pydtrace import _tracer
from pydtrace.process import proc_threads
from pydtrace.process.identity import is_alive
from pydtrace.remote_python.remote_python import StackReadError

from .sampled_process import SampledProcess
from .unseen_children import UnseenChildren

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .sample_clock import SampleClock
    from .sampler_options import SamplerOptions
    from .stack_profile import Profile

_FRESH = 0.5  # seconds for which each round checks whether a new process is a Python


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
        """A round; whether any process is left, or may become one."""
        self._sample_each(list(self._processes))
        self._profile.rounds += bool(self._processes)
        return bool(self._processes or self._waiting)

    def run_rounds(self, clock: SampleClock, seconds: float) -> None:
        """Waits for the next round, which is sample_processes()'s; those of the next `seconds` are done here while nothing new is seen."""
        pids = list(self._processes)
        processes = list(self._processes.values())
        if self._waiting or not all(process.is_quick for process in processes):
            clock.wait_for_sample()
            return
        self._beat()
        step, at, words = clock.run_rounds([each.looker for each in processes], seconds)
        if step != _tracer.LOOK_DONE:
            self._sample(pids[at], lambda process: process.finish_look(step, words))
            self._sample_each(pids[at + 1 :])
            clock.wait_for_sample()

    def _sample_each(self, pids: Iterable[int]) -> None:
        for pid in pids:
            self._beat()
            self._sample(pid, SampledProcess.sample_threads)

    def _sample(self, pid: int, sample: Callable[[SampledProcess], None]) -> None:
        try:
            sample(self._processes[pid])
        except StackReadError:
            self._processes.pop(pid).close()
            if is_alive(pid):  # it may be another program by now
                self.add_process(pid)

    def close(self) -> None:
        """All threads go on."""
        for process in self._processes.values():
            process.close()

    @property
    def has_processes(self) -> bool:
        return bool(self._processes)
