"""Write a timeline as Chrome's JSON (the "Trace Event Format"), event by event.

- Times are microseconds since tracing began, with three decimals: a double holds these for
  months. What began before is shown from there on.
- Integers that JavaScript cannot hold are text.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from .timeline_sink import escape_value

if TYPE_CHECKING:
    from typing import BinaryIO

    from pydtrace.program.trace_clock import Clock

    from .timeline_sink import Track, Values

_FIRST_NUMBER = (
    1 << 24
)  # what is no thread has a number all the same, beyond those of Linux's threads
_MAX_FLOWS = 100_000  # that are known to have begun
_MAX_EXACT = 1 << 53


class ChromeTraceWriter:
    """A timeline.Writer."""

    def __init__(self, file: BinaryIO, clock: Clock) -> None:
        self._file, self._start = file, clock.now()
        self._numbers: dict[Track, int] = {}
        self._flows: set[int] = set()
        self._separator = ""
        other = {
            "monotonic_ns": str(self._start),
            "seconds_since_1970": clock.wall(),
            "made by": "pydtrace --chrome",
        }
        file.write(
            f'{{"displayTimeUnit":"ns","otherData":{json.dumps(other)},"traceEvents":['.encode()
        )

    def _write_event(self, ph: str, pid: int, time: int | None, **members: Any) -> None:
        head = json.dumps({"ph": ph, "pid": pid, **members}, allow_nan=False, ensure_ascii=False)
        when = "" if time is None else f',"ts":{_format_microseconds(time - self._start)}'
        self._file.write(f"{self._separator}\n{head[:-1]}{when}}}".encode())
        self._separator = ","

    def _track_ids(self, track: Track) -> dict[str, int]:
        """pid and tid of a track; what is no thread is named at its first event."""
        if track.kind == "thread":
            return {"pid": track.pid, "tid": int(track.ident)}
        number = self._numbers.get(track)
        if number is None:
            number = self._numbers[track] = _FIRST_NUMBER + len(self._numbers)
            if track.pid == 0 and len(self._numbers) == 1:
                self.process(0, "tags")
            self._write_event(
                "M",
                track.pid,
                None,
                tid=number,
                name="thread_name",
                args={"name": str(track.ident)},
            )
        return {"pid": track.pid, "tid": number}

    def process(self, pid: int, name: str) -> None:
        self._write_event("M", pid, None, name="process_name", args={"name": name})

    def begin(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        self._write_named_event("B", track, time, name, values, flow)

    def end(self, track: Track, time: int, values: Values) -> None:
        self._write_event("E", time=time, args=_plain_values(values), **self._track_ids(track))

    def forget(self, track: Track) -> None:
        """It has no end in the file."""

    def slice(
        self,
        track: Track,
        time: int,
        duration: int,
        name: str,
        values: Values,
        flow: tuple[int, str] | None,
    ) -> None:
        begin = max(time, self._start)
        self._write_named_event(
            "X",
            track,
            begin,
            name,
            values,
            flow,
            dur=float(_format_microseconds(time + duration - begin)),
        )

    def instant(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        self._write_named_event("i", track, time, name, values, flow, s="t")

    def _write_named_event(
        self,
        ph: str,
        track: Track,
        time: int,
        name: str,
        values: Values,
        flow: tuple[int, str] | None,
        **more: Any,
    ) -> None:
        where = self._track_ids(track)
        self._write_event(
            ph,
            time=time,
            cat="pyusdt",
            name=name,
            args=_plain_values({**values, "tag": flow[1]} if flow else values),
            **more,
            **where,
        )
        if flow and ph != "i":
            self._write_flow(where, time, *flow)

    def _write_flow(self, where: dict[str, int], time: int, number: int, tag: str) -> None:
        """An arrow from the slice before with that tag, if there is one."""
        ph = "t" if number in self._flows else "s"
        if len(self._flows) < _MAX_FLOWS:
            self._flows.add(number)
        self._write_event(ph, time=time, cat="tag", name=tag, id=f"{number:#x}", bp="e", **where)

    def counter(self, track: Track, time: int, value: float) -> None:
        if isfinite(value):
            self._write_event("C", 0, time, name=str(track.ident), args={"value": value})

    def close(self) -> None:
        self._file.write(b"\n]}\n")


def _format_microseconds(ns: int) -> str:
    ns = max(0, ns)
    return f"{ns // 1000}.{ns % 1000:03}"


def _plain_values(values: Values) -> Values:
    return {
        escape_value(name): value
        if isinstance(value, int) and abs(value) < _MAX_EXACT
        else escape_value(value)
        for name, value in values.items()
    }
