"""A profile in the format of speedscope (www.speedscope.app), with a sampled profile for each thread
that is distinguished.

- Weights are seconds, so that an hour at 97 Hz and a minute at 997 Hz can be compared. Every
  sample is in it.

Source: speedscope's file-format-spec.ts, whose own schema accepts the result.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .frame_key import FrameKey
    from .stack_profile import Profile, Stack

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _FrameTable:
    """The frames of all profiles, each once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[FrameKey, int] = {}

    def frame_index(self, place: FrameKey) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self.rows)
            row: dict[str, Any] = {"name": place.function}
            if place.file:
                row["file"] = place.file
            if place.line is not None:
                row["line"] = place.line
            self.rows.append(row)
        return self._numbers[place]


def _make_profile(
    name: str, stacks: list[tuple[Stack, int]], hz: int, frames: _FrameTable
) -> dict[str, Any]:
    weights = [n / hz for _, n in stacks]
    return {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[frames.frame_index(place) for place in stack] for stack, _ in stacks],
        "weights": weights,
    }


def make_speedscope(profile: Profile, name: str) -> dict[str, Any]:
    """name: of the whole."""
    frames = _FrameTable()
    profiles = [
        _make_profile(thread or name, stacks, profile.hz, frames)
        for thread, stacks in profile.group_by_thread()
    ]
    return {
        "$schema": _SCHEMA,
        "name": name,
        "exporter": "pyusdt",
        **({"activeProfileIndex": 0} if profiles else {}),
        "shared": {"frames": frames.rows},
        "profiles": profiles,
    }
