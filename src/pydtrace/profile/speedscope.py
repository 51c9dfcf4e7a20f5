"""A profile in the format of speedscope (www.speedscope.app), with a sampled profile for each thread of
each process.

- The samples are in the order of time ("Time Order" there), on one axis for all threads. Where a
  thread has no sample, it has an empty stack: it did not count then, or a round was missed.
- Weights are seconds, so that an hour at 97 Hz and a minute at 997 Hz can be compared. Every
  sample is in it: those without a time are in a profile of their own.

Source: speedscope's file-format-spec.ts, whose own schema accepts the result.
"""

from __future__ import annotations

from collections import Counter

from .sample_labels import PROCESS, THREAD, format_labels, identify_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .frame_key import FrameKey
    from .sample_labels import Labels
    from .stack_profile import Profile, Stack

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_SEPARATED = (PROCESS, THREAD, "task", "tag")
_UNTIMED = "samples without a time"
_MIN_GAP = 0.5  # periods between two samples: what is shorter is jitter


class _FrameTable:
    """The frames of all profiles, each once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[FrameKey, int] = {}

    def find_frames(self, stack: Stack) -> list[int]:
        return [self._frame_index(place) for place in stack]

    def _frame_index(self, place: FrameKey) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self.rows)
            row: dict[str, Any] = {"name": place.function}
            if place.file:
                row["file"] = place.file
            if place.line is not None:
                row["line"] = place.line
            self.rows.append(row)
        return self._numbers[place]


class _TimeLine:
    """The stacks of one thread, one after the other, and how long each lasts: seconds.  Equal neighbours are one."""

    def __init__(self) -> None:
        self.stacks: list[Stack] = []
        self.weights: list[float] = []
        self._end = 0.0

    def add_stack(self, stack: Stack, at: float, n: int, hz: int, is_exact: bool) -> None:
        """at: seconds from the beginning; n: of samples, or of what they are measured in."""
        gap = at - self._end
        if gap > (0 if is_exact else _MIN_GAP / hz):
            self._append((), gap)
            self._end = at
        self._append(stack, n / hz)
        self._end += n / hz

    def _append(self, stack: Stack, weight: float) -> None:
        if self.stacks and self.stacks[-1] == stack:
            self.weights[-1] += weight
            return
        self.stacks.append(stack)
        self.weights.append(weight)


def _make_profile(
    name: str, stacks: Iterable[Stack], weights: list[float], frames: _FrameTable
) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [frames.find_frames(stack) for stack in stacks],
        "weights": weights,
    }


def _order_by_time(profile: Profile, name: str) -> tuple[dict[str, _TimeLine], Counter[Any]]:
    """(the time lines by name, {(labels, stack): samples} that have no time).  A thread has its last name."""
    titles: dict[Labels, str] = {}
    lines: dict[Labels, _TimeLine] = {}
    untimed = Counter(profile.stacks)
    began: float | None = None
    for at, labels, stack, n in profile.order.sort_samples() if profile.order is not None else ():
        began = at if began is None else began
        thread = identify_thread(labels)
        titles[thread] = format_labels(labels, _SEPARATED) or name
        line = lines.setdefault(thread, _TimeLine())
        line.add_stack(stack, at - began, n, profile.hz, profile.is_exact)
        untimed[labels, stack] -= n
    return {titles[thread]: line for thread, line in lines.items()}, +untimed


def _group_by_thread(untimed: Counter[Any], name: str) -> dict[str, Counter[Stack]]:
    found: dict[str, Counter[Stack]] = {}
    for (labels, stack), n in sorted(untimed.items(), key=lambda item: item[0][0]):
        title = format_labels(labels, _SEPARATED) or name
        found.setdefault(title, Counter())[stack] += n
    return found


def make_speedscope(profile: Profile, name: str) -> dict[str, Any]:
    """name: of the whole."""
    frames = _FrameTable()
    lines, untimed = _order_by_time(profile, name)
    profiles = [
        _make_profile(title, line.stacks, line.weights, frames)
        for title, line in sorted(lines.items())
    ]
    for title, stacks in _group_by_thread(untimed, name).items():
        weights = [n / profile.hz for n in stacks.values()]
        shown = f"{title}: {_UNTIMED}" if lines else title
        profiles.append(_make_profile(shown, stacks, weights, frames))
    return {
        "$schema": _SCHEMA,
        "name": name,
        "exporter": "pyusdt",
        **({"activeProfileIndex": 0} if profiles else {}),
        "shared": {"frames": frames.rows},
        "profiles": profiles,
    }
