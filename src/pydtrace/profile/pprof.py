"""A profile in the format of pprof, for `go tool pprof`, Parca, Pyroscope and Grafana.

- A sample has two values, a number and nanoseconds; what was measured has nanoseconds only.
- Labels of samples are process, thread, task and tag, if they are known. A label that is not there
  says that there is none; the value "?" says that it is not known.
- Frames of Python have no addresses. The one mapping says that names, files and lines are
  complete, so that no reader looks for them elsewhere.
"""

from __future__ import annotations

import gzip

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .pprof_schema import load_profile_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .frame_key import FrameKey
    from .stack_profile import Profile

NANOSECONDS = 1_000_000_000
_TIME_NAMES = {
    "running threads": "cpu",
    "all threads": "wall",
    "threads that hold the GIL": "gil",
}  # by Profile.thread_kind
_OFF_CPU = "offcpu"
_MAPPING = 1  # its id


class _PprofTables:
    """The strings, functions and locations of a message, each once."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self._strings = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[FrameKey, int] = {}
        message.string_table.append("")

    def string_number(self, text: str) -> int:
        text = escape_for_terminal(text)  # readers print names to terminals
        text = text.encode("utf-8", "backslashreplace").decode()
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self._message.string_table.append(text)
        return self._strings[text]

    def location_id(self, place: FrameKey) -> int:
        if place not in self._locations:
            number = self._locations[place] = len(self._locations) + 1
            location = self._message.location.add(id=number, mapping_id=_MAPPING)
            location.line.add(function_id=self._function_id(place), line=place.line or 0)
        return self._locations[place]

    def _function_id(self, place: FrameKey) -> int:
        key = place.function, place.file
        if key not in self._functions:
            number = self._functions[key] = len(self._functions) + 1
            self._message.function.add(  # without system_name: pprof would take it for C++ and remove <…>
                id=number,
                name=self.string_number(place.function),
                filename=self.string_number(place.file),
            )
        return self._functions[key]


def encode_pprof(profile: Profile, title: str) -> bytes:
    """The file's bytes.  title: the command, as a comment.  Raises pprof_schema.NoProtobuf."""
    message = load_profile_message()()
    tables = _PprofTables(message)
    message.mapping.add(
        id=_MAPPING, has_functions=True, has_filenames=True, has_line_numbers=True
    ).filename = tables.string_number(title)
    _add_types(message, tables, profile)
    for (labels, stack), n in profile.stacks.items():
        nanoseconds = n if profile.pprof_type else n * NANOSECONDS // profile.hz
        sample = message.sample.add(
            location_id=[tables.location_id(place) for place in reversed(stack)],
            value=[nanoseconds] if profile.is_exact else [n, nanoseconds],
        )
        for name, value in labels:
            if value:
                sample.label.add(key=tables.string_number(name), str=tables.string_number(value))
    message.comment.append(tables.string_number(title))
    message.time_nanos = profile.began_ns
    message.duration_nanos = round(profile.seconds * NANOSECONDS)
    return gzip.compress(message.SerializeToString(), mtime=0)


def _add_types(message: Any, tables: _PprofTables, profile: Profile) -> None:
    if profile.pprof_type:
        kind, unit = map(tables.string_number, profile.pprof_type)
        message.sample_type.add(type=kind, unit=unit)
        message.default_sample_type = kind
        return
    kind = tables.string_number(
        _OFF_CPU if profile.is_exact else _TIME_NAMES.get(profile.thread_kind, "cpu")
    )
    nanoseconds = tables.string_number("nanoseconds")
    if not profile.is_exact:
        message.sample_type.add(
            type=tables.string_number("samples"), unit=tables.string_number("count")
        )
        message.period_type.type, message.period_type.unit = kind, nanoseconds
        message.period = NANOSECONDS // profile.hz
    message.sample_type.add(type=kind, unit=nanoseconds)
    message.default_sample_type = kind
