"""Profiles of pprof as amounts of stacks, whichever program wrote them.

- Of several values the default one is read, as `go tool pprof` does: default_sample_type, else the
  last. A number of samples, if there is one, says how many samples an amount is of.
"""

from __future__ import annotations

from .frame_key import FrameKey
from .pprof_schema import load_profile_message
from .stack_amounts import FrameCount, StackAmounts, UnreadableProfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {
    "nanoseconds": ("seconds", 1e-9),
    "microseconds": ("seconds", 1e-6),
    "milliseconds": ("seconds", 1e-3),
    "seconds": ("seconds", 1.0),
    "bytes": ("bytes", 1.0),
    "kilobytes": ("bytes", 1024.0),
}
_SAMPLES = "samples"


def read_pprof(data: bytes, with_lines: bool) -> StackAmounts:
    """data: uncompressed.  Raises UnreadableProfile, pprof_schema.NoProtobuf."""
    from google.protobuf.message import DecodeError

    message = load_profile_message()()
    try:
        message.ParseFromString(data)
        return _PprofFile(message, with_lines).read_stacks()
    except DecodeError as error:
        raise UnreadableProfile(f"no profile of pprof: {error}") from None
    except (LookupError, OverflowError) as error:
        raise UnreadableProfile(f"a damaged profile of pprof: {error!r}") from None


class _PprofFile:
    def __init__(self, message: Any, with_lines: bool) -> None:
        self._message, self._with_lines = message, with_lines
        if not message.sample_type:
            raise UnreadableProfile("no profile of pprof: it has no type of values")
        self._functions = {each.id: each for each in message.function}
        self._places = {each.id: self._make_places(each) for each in message.location}

    def read_stacks(self) -> StackAmounts:
        message, types = (
            self._message,
            [self._text(each.type) for each in self._message.sample_type],
        )
        wanted = self._text(message.default_sample_type)
        at = types.index(wanted) if wanted in types else len(types) - 1
        name = self._text(message.sample_type[at].unit)
        unit, factor = _UNITS.get(name, (types[at] if name == "count" else name, 1.0))
        found = StackAmounts(unit, None)
        count, samples = FrameCount(), 0
        for sample in message.sample:
            if len(sample.value) != len(types) or sample.value[at] < 0:
                raise UnreadableProfile("a damaged profile of pprof: values of a sample")
            stack = tuple(
                place for number in reversed(sample.location_id) for place in self._places[number]
            )
            count.take(len(stack))
            if stack and sample.value[at]:
                found.stacks[stack] += sample.value[at] * factor
                samples += sample.value[types.index(_SAMPLES)] if _SAMPLES in types else 0
        if samples > 0:
            found.sample_amount = found.total / samples
        return found

    def _text(self, number: int) -> str:
        return str(self._message.string_table[number]) if number >= 0 else ""

    def _make_places(self, location: Any) -> list[FrameKey]:
        """Outermost first; several where functions are inlined."""
        if not location.line:
            return [FrameKey((f"{location.address:#x}", "", None))]
        return [self._make_place(line) for line in reversed(location.line)]

    def _make_place(self, line: Any) -> FrameKey:
        function = self._functions[line.function_id]
        name, file = self._text(function.name), self._text(function.filename)
        return FrameKey((name, file, line.line or None if self._with_lines else None))
