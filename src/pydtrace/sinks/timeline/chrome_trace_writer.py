"""A time line as Chrome's JSON (the "Trace Event Format"): sinks/timeline/timeline_sink.py says what is on it.

In: slices, instants and counters on tracks.  Out: one JSON object in an open file, written event by event.
Always: times are microseconds since tracing began, with three digits behind the point: as many as a double holds for months; what
began before is shown from there on; whole numbers that JavaScript does not hold are text.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from .timeline_sink import shown

if TYPE_CHECKING:
    from typing import BinaryIO

    from pydtrace.program.trace_clock import Clock

    from .timeline_sink import Track, Values

_FIRST = 1 << 24  # what is no thread has a number all the same, beyond those of Linux's threads
_MOST_FLOWS = 100_000  # that are known to have begun
_EXACT = 1 << 53


class Chrome:
    """A timeline.Writer."""

    def __init__(self, file: BinaryIO, clock: Clock) -> None:
        self._file, self._start = file, clock.now()
        self._numbers: dict[Track, int] = {}
        self._flows: set[int] = set()
        self._between = ""
        other = {
            "monotonic_ns": str(self._start),
            "seconds_since_1970": clock.wall(),
            "made by": "pydtrace --chrome",
        }
        file.write(
            f'{{"displayTimeUnit":"ns","otherData":{json.dumps(other)},"traceEvents":['.encode()
        )

    def _write(self, ph: str, pid: int, time: int | None, **members: Any) -> None:
        head = json.dumps({"ph": ph, "pid": pid, **members}, allow_nan=False, ensure_ascii=False)
        when = "" if time is None else f',"ts":{_microseconds(time - self._start)}'
        self._file.write(f"{self._between}\n{head[:-1]}{when}}}".encode())
        self._between = ","

    def _where(self, track: Track) -> dict[str, int]:
        """pid and tid of a track; what is no thread is named at its first event."""
        if track.kind == "thread":
            return {"pid": track.pid, "tid": int(track.ident)}
        number = self._numbers.get(track)
        if number is None:
            number = self._numbers[track] = _FIRST + len(self._numbers)
            if track.pid == 0 and len(self._numbers) == 1:
                self.process(0, "tags")
            self._write(
                "M",
                track.pid,
                None,
                tid=number,
                name="thread_name",
                args={"name": str(track.ident)},
            )
        return {"pid": track.pid, "tid": number}

    def process(self, pid: int, name: str) -> None:
        self._write("M", pid, None, name="process_name", args={"name": name})

    def begin(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        self._event("B", track, time, name, values, flow)

    def end(self, track: Track, time: int, values: Values) -> None:
        self._write("E", time=time, args=_plain(values), **self._where(track))

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
        self._event(
            "X", track, begin, name, values, flow, dur=float(_microseconds(time + duration - begin))
        )

    def instant(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        self._event("i", track, time, name, values, flow, s="t")

    def _event(
        self,
        ph: str,
        track: Track,
        time: int,
        name: str,
        values: Values,
        flow: tuple[int, str] | None,
        **more: Any,
    ) -> None:
        where = self._where(track)
        self._write(
            ph,
            time=time,
            cat="pyusdt",
            name=name,
            args=_plain({**values, "tag": flow[1]} if flow else values),
            **more,
            **where,
        )
        if flow and ph != "i":
            self._flow(where, time, *flow)

    def _flow(self, where: dict[str, int], time: int, number: int, tag: str) -> None:
        """An arrow from the slice before with that tag, if there is one."""
        ph = "t" if number in self._flows else "s"
        if len(self._flows) < _MOST_FLOWS:
            self._flows.add(number)
        self._write(ph, time=time, cat="tag", name=tag, id=f"{number:#x}", bp="e", **where)

    def counter(self, track: Track, time: int, value: float) -> None:
        if isfinite(value):
            self._write("C", 0, time, name=str(track.ident), args={"value": value})

    def close(self) -> None:
        self._file.write(b"\n]}\n")


def _microseconds(ns: int) -> str:
    ns = max(0, ns)
    return f"{ns // 1000}.{ns % 1000:03}"


def _plain(values: Values) -> Values:
    return {
        shown(name): value if isinstance(value, int) and abs(value) < _EXACT else shown(value)
        for name, value in values.items()
    }
