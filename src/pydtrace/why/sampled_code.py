"""What samples of stacks showed of each request: which line of the application ran or waited.

A sample belongs to the request of its process whose id is the tag of its thread (profile/sampled_process.py).
Per round of samples, a thread that waits for the GIL is counted for the line that holds it then, in the
same process. Of a lock it is counted who holds it, where that is known.

- At most REQUESTS requests are kept, the oldest go first. A command that does not end says which
  ones it still needs: forget_others().
"""

from __future__ import annotations

from collections import Counter

from pydtrace.profile.sample_labels import HOLDER, PROCESS, STATE, THREAD
from pydtrace.profile.sampled_process import (
    HAS_GIL,
    RUNS,
    WAITS_FOR_GIL,
    WAITS_FOR_LOCK,
    WAITS_FOR_PAGE,
    WAITS_IN,
)
from pydtrace.profile.short_paths import library_of, own_package_of

from .throttling import ThrottleLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from pydtrace.profile.frame_key import FrameKey
    from pydtrace.profile.sample_labels import Labels

    from .request_log import Request

REQUESTS = 20_000
CODE, LOCK, GIL, WAIT, PAGE, UNKNOWN = "code", "lock", "gil", "wait", "page", "unknown"
_LOCKS = 1000  # places that wait for locks, at most
_THREADS = 10_000  # whose last line is known
_FREED = "?"  # a function whose name could not be read
_KINDS = {HAS_GIL: CODE, RUNS: CODE, WAITS_FOR_LOCK: LOCK, WAITS_FOR_PAGE: PAGE}
_SLEEPS = {"clock_nanosleep": "sleep", "nanosleep": "sleep"}  # {system call: its usual word}

Activity = tuple[str, str, str]  # (kind, what in words, line of the application)
RequestKey = tuple[int, str]  # (process, id)


def is_application_file(path: str) -> bool:
    """Whether code of a file is the application's: of neither a library nor the interpreter."""
    return path not in ("", _FREED) and not (
        path.startswith("<") or library_of(path) or own_package_of(path)
    )


def _describe_activity(state: str, what: str, line: str) -> Activity:
    """A system call stands for the function of the application that is in it."""
    kind = _KINDS.get(state, WAIT) if what != _FREED else UNKNOWN
    if kind == UNKNOWN:
        return kind, "", line
    if kind == WAIT and state.startswith(WAITS_IN) and line.endswith(f" {what}"):
        call = state.removeprefix(WAITS_IN)
        return kind, _SLEEPS.get(call, call), line
    return kind, what, line


class SampledCode:
    """Takes the place of a Profile for the sampler."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.rounds = 0
        self.unseen_seconds = 0.0
        self.throttling = ThrottleLog()
        self._throttled: dict[RequestKey, int] = {}  # of requests of a file
        self._frames: dict[FrameKey, FrameKey] = {}
        self._requests: dict[RequestKey, Counter[Activity]] = {}
        self._gil_waiters: list[RequestKey] = []
        self._gil_holders: dict[int, Activity] = {}  # by process
        self._lock_waiters: list[tuple[Activity, tuple[int, str]]] = []
        self._lines: dict[tuple[int, str], str] = {}  # of a thread of a process
        self.lock_holders: dict[Activity, Counter[str]] = {}
        self._sampled: set[RequestKey] = set()  # since the last forget_others()

    def intern_frame(self, frame: FrameKey) -> FrameKey:
        return self._frames.setdefault(frame, frame)

    def fold_stack(self, stack: Iterable[FrameKey]) -> tuple[FrameKey, ...]:
        """All of it: the lines of libraries show where a thread waits."""
        return tuple(self.intern_frame(frame) for frame in stack)

    def add_sample(
        self, labels: Labels, stack: tuple[FrameKey, ...], _n: int = 1, _at: float = 0.0
    ) -> None:
        named = dict(labels)
        state, tag = named[STATE], named["tag"]
        pid = int(named[PROCESS].rpartition(" ")[2])
        what, line = self._describe_stack(stack)
        self._lines[pid, named[THREAD].rpartition(" ")[2]] = f"{what} at {line}" if line else what
        if state == HAS_GIL:
            self._gil_holders[pid] = GIL, f"{what} holds the GIL", line
        if not tag:
            return
        if state == WAITS_FOR_GIL:
            self._gil_waiters.append((pid, tag))
        else:
            activity = _describe_activity(state, what, line)
            self._count((pid, tag), activity)
            if activity[0] == LOCK and named.get(HOLDER, "0") != "0":
                self._lock_waiters.append((activity, (pid, named[HOLDER])))

    def end_round(self) -> None:
        """All threads have been looked at once."""
        unknown = GIL, "another thread holds the GIL", ""
        for request in self._gil_waiters:
            self._count(request, self._gil_holders.get(request[0], unknown))
        self._gil_waiters, self._gil_holders = [], {}
        for activity, thread in self._lock_waiters:
            if activity in self.lock_holders or len(self.lock_holders) < _LOCKS:
                counts = self.lock_holders.setdefault(activity, Counter())
                counts[self._lines.get(thread, "a thread that was not seen")] += 1
        self._lock_waiters = []
        if len(self._lines) > _THREADS:
            self._lines.clear()
        if len(self._frames) > REQUESTS:
            self._frames.clear()

    def forget_others(self, kept: Container[RequestKey]) -> None:
        """Forgets requests that are not kept, and have no sample since the last call; of the holders of locks those that were seen
        least often."""
        for key in [key for key in self._requests if key not in kept and key not in self._sampled]:
            del self._requests[key]
        self._sampled = set()
        seen = sorted(self.lock_holders.items(), key=lambda each: -each[1].total())
        self.lock_holders = dict(seen[: _LOCKS // 2])
        self.throttling.forget_groups()

    def take_from(self, other: SampledCode, requests: Iterable[Request]) -> None:
        """What another one has of these requests, and of the locks that they waited for."""
        for request in requests:
            activities = Counter(other.activities(request.key))
            self.set_activities(request, activities, other.throttled_time(request))
            for activity in activities.keys() & other.lock_holders.keys():
                self.lock_holders[activity] = Counter(other.lock_holders[activity])

    def activities(self, request: RequestKey) -> Counter[Activity]:
        return self._requests.get(request, Counter())

    def throttled_time(self, request: Request) -> int:
        """ns of a request for which its control group had used up its quota."""
        known = self._throttled.get(request.key)
        if known is not None:
            return known
        began = request.ended - request.duration
        return self.throttling.waited_within(request.pid, began, request.ended)

    def set_activities(
        self, request: Request, activities: Counter[Activity], throttled: int
    ) -> None:
        """Of a request of a file."""
        self._requests[request.key] = activities
        self._throttled[request.key] = throttled

    def lock_holder(self, activity: Activity) -> tuple[str, int, int] | None:
        """Of a wait for a lock: (function and line that held it in most samples, in how many, of how many); None: unknown."""
        counts = self.lock_holders.get(activity)
        if not counts:
            return None
        holder, times = counts.most_common(1)[0]
        return holder, times, counts.total()

    def _count(self, request: RequestKey, activity: Activity) -> None:
        if request not in self._requests:
            while len(self._requests) >= REQUESTS:
                del self._requests[next(iter(self._requests))]
        self._requests.setdefault(request, Counter())[activity] += 1
        self._sampled.add(request)

    def _describe_stack(self, stack: tuple[FrameKey, ...]) -> tuple[str, str]:
        """(the innermost function; the line and function of the application that called it, as a span has it)."""
        innermost = stack[-1]
        own = next((each for each in reversed(stack) if is_application_file(each.file)), None)
        if own is None:
            return innermost.function, ""
        what = innermost.function if innermost.file else own.function  # no file: no function
        return what, f"{own.file}:{own.line} {own.function.rpartition('.')[2]}"
