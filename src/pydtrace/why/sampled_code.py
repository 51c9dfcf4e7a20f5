"""What samples of stacks showed of each request: which line of the application ran or waited.

A sample belongs to the request whose id is the tag of its thread (profile/sampler.py). Per round of
samples, a thread that waits for the GIL is counted for the line that holds it then.

- At most REQUESTS requests are kept, the oldest go first.
"""

from __future__ import annotations

import re
from collections import Counter

from pydtrace.profile.sample_labels import STATE
from pydtrace.profile.sampler import HAS_GIL, RUNS, WAITS_FOR_GIL, WAITS_FOR_LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydtrace.profile.frame_key import FrameKey
    from pydtrace.profile.sample_labels import Labels

REQUESTS = 20_000
CODE, LOCK, GIL, WAIT, UNKNOWN = "code", "lock", "gil", "wait", "unknown"
_FREED = "?"  # a function whose name could not be read
_KINDS = {HAS_GIL: CODE, RUNS: CODE, WAITS_FOR_LOCK: LOCK}

_LIBRARY = re.compile(r"/(site|dist)-packages/|/lib(64)?/python3\.\d+t?/|^<|/pyusdt/")
Activity = tuple[str, str, str]  # (kind, what in words, line of the application)


def is_application_file(path: str) -> bool:
    """Whether code of a file is the application's: of neither a library nor the interpreter."""
    return path not in ("", _FREED) and not _LIBRARY.search(path)


class SampledCode:
    """Takes the place of a Profile for the sampler."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.rounds = 0
        self.unseen_seconds = 0.0
        self._frames: dict[FrameKey, FrameKey] = {}
        self._requests: dict[str, Counter[Activity]] = {}
        self._gil_waiters: list[str] = []
        self._gil_holder: Activity | None = None

    def intern_frame(self, frame: FrameKey) -> FrameKey:
        return self._frames.setdefault(frame, frame)

    def fold_stack(self, stack: Iterable[FrameKey]) -> tuple[FrameKey, ...]:
        """All of it: the lines of libraries show where a thread waits."""
        return tuple(self.intern_frame(frame) for frame in stack)

    def add_sample(
        self, labels: Labels, stack: tuple[FrameKey, ...], _n: int = 1, _at: float = 0.0
    ) -> None:
        named = dict(labels)
        state, request = named.get(STATE, ""), named.get("tag", "")
        what, line = self._describe_stack(stack)
        if state == HAS_GIL:
            self._gil_holder = GIL, f"{what} holds the GIL", line
        if not request:
            return
        if state == WAITS_FOR_GIL:
            self._gil_waiters.append(request)
        else:
            kind = _KINDS.get(state, WAIT) if what != _FREED else UNKNOWN
            self._count(request, (kind, what if kind != UNKNOWN else "", line))

    def end_round(self) -> None:
        """All threads have been looked at once."""
        holder = self._gil_holder or (GIL, "another thread holds the GIL", "")
        for request in self._gil_waiters:
            self._count(request, holder)
        self._gil_waiters, self._gil_holder = [], None
        if len(self._frames) > REQUESTS:
            self._frames.clear()

    def activities(self, request: str) -> Counter[Activity]:
        return self._requests.get(request, Counter())

    def _count(self, request: str, activity: Activity) -> None:
        if request not in self._requests:
            while len(self._requests) >= REQUESTS:
                del self._requests[next(iter(self._requests))]
        self._requests.setdefault(request, Counter())[activity] += 1

    def _describe_stack(self, stack: tuple[FrameKey, ...]) -> tuple[str, str]:
        """(the innermost function; the line and function of the application that called it, as a span has it)."""
        innermost = stack[-1]
        own = next((each for each in reversed(stack) if is_application_file(each.file)), None)
        if own is None:
            return innermost.function, ""
        what = innermost.function if innermost.file else own.function  # no file: no function
        return what, f"{own.file}:{own.line} {own.function.rpartition('.')[2]}"
