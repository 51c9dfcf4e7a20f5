"""pydtrace --perfetto FILE and --chrome FILE: records as slices on a timeline, aggregations as
counters.

This file decides which slice begins and ends where; a Writer (perfetto_writer.py,
chrome_trace_writer.py) writes the file. docs/howto/timeline.md says what a record becomes. Texts
of printa() go to the output.

- The file appears when it is complete.
- Slices of a track are nested: one that is open when an outer one ends, ends with it. An end
  without a beginning is an instant.
- Of slices that never end a bounded number is remembered.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydtrace.driver import cumulative_totals
from pydtrace.engine import EngineError
from pydtrace.process.process_names import display_name
from pydtrace.results.aggregation_values import Histogram
from pydtrace.sinks.atomic_file import AtomicFile
from pydtrace.sinks.live.readable_values import drawable_number
from pydtrace.sinks.output_file import OutputSink
from pydtrace.untrusted.terminal_escape import escape_for_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.program.program import AggDef
    from pydtrace.program.trace_clock import Clock
    from pydtrace.results.records import Probe, Record
    from pydtrace.sinks.output_file import Notify, Output

    Values = dict[str, Any]

_INTERVAL, _STEPS = (
    1_000_000_000,
    600,
)  # ns between two looks at the aggregations; how many of a recording
_MAX_KEYS = 200  # of an aggregation that are counters at most
_MAX_DEPTH = 10_000  # slices within each other
_MAX_OPEN = 100_000  # slices that have begun and not ended, of all tracks
_PART = re.compile(
    r"(?:(?P<base>.+)[-_])?(?:(?P<begin>start|begin|entry)|(?P<end>done|end|stop|return))"
)
_THREAD = re.compile(r"<\d+\.\d+>")  # what arg0 of our own probes is where no task runs
_RESERVED_NAMES = (
    "begin",
    "end",
    "name",
    "duration",
    "task",
    "tag",
    "execname",
)  # names of values that say what and where a record is


class Track(NamedTuple):
    """kind: "thread", "task", "tag" or "counter"; pid: 0 where it belongs to no process; ident: the thread's id, else its name."""

    kind: str
    pid: int
    ident: int | str


class Writer(Protocol):
    """Writes a file's form.  time: ns; values: what stands beside a slice; flow: (number, name) of what it is a part of, or None."""

    def process(self, pid: int, name: str) -> None: ...

    def begin(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None: ...

    def end(self, track: Track, time: int, values: Values) -> None: ...

    def forget(self, track: Track) -> None:
        """The outermost slice that has begun there: its end will not be reported."""

    def slice(
        self,
        track: Track,
        time: int,
        duration: int,
        name: str,
        values: Values,
        flow: tuple[int, str] | None,
    ) -> None: ...

    def instant(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None: ...

    def counter(self, track: Track, time: int, value: float) -> None: ...

    def close(self) -> None: ...


class SliceTracker:
    """Which slice begins and ends where.  by: what the tracks are, as the option `track` says, or None; name_process: the name of a
    process at a time, "" if it is not known.

    let_go: slices whose ends are not waited for any more, since too many others have begun: each time the outermost of the track on
    which nothing has happened for the longest time, or of one that is too deep.
    """

    def __init__(
        self,
        writer: Writer,
        track_by: str | None,
        name_process: Callable[[int, int], str] = lambda pid, time: "",
    ) -> None:
        self._writer, self._track_by, self._name_process = writer, track_by, name_process
        self._open: dict[
            Track, deque[str]
        ] = {}  # names of the slices that have begun, the innermost last; the latest track last
        self._named_pids: set[int] = set()  # processes
        self._names: Counter[str] = Counter()  # of all of them
        self._begun = self.abandoned = 0
        self._paired = self._mismatched = (
            0  # ends of what has begun on their track; of what has begun on others alone
        )

    def add_record(self, record: Record) -> None:
        values = dict(zip(record.names, record.values))
        track = self._find_track(record, values)
        tag = escape_value(values.get("tag") or "")
        flow = (hash_text(tag), tag) if tag else None
        rest = {name: value for name, value in values.items() if name not in _RESERVED_NAMES}
        if isinstance(duration := values.get("duration"), int) and duration >= 0:
            self._writer.slice(
                track,
                record.time - duration,
                duration,
                _slice_name(record.probe, values),
                rest,
                flow,
            )
            return
        kind, name = _slice_part(record.probe, values)
        if kind == "begin":
            self._begin_slice(track, name)
            self._writer.begin(track, record.time, name, rest, flow)
        elif kind == "end" and name in self._open.get(track, ()):
            for _ in range(self._end_slice(track, name)):
                self._writer.end(track, record.time, {})
            self._writer.end(track, record.time, rest)
            self._paired += 1
        else:
            self._mismatched += kind == "end" and name in self._names
            self._writer.instant(track, record.time, name, rest, flow)

    def describe_problems(self) -> str:
        """What is not as it was meant, in sentences; or ""."""
        count = "1 slice has" if self.abandoned == 1 else f"{self.abandoned} slices have"
        let_go = (
            f"{count} no end: too many others had begun and not ended" if self.abandoned else ""
        )
        astray = (
            (
                f"most slices, {self._mismatched}, end on another track than they begin on: what begins them and what ends them must record "
                "the same task=%s, or be of one thread; with -x track=tag the same tag=%s"
            )
            if self._mismatched > self._paired
            else ""
        )
        return "; ".join(filter(None, (let_go, astray)))

    def _begin_slice(self, track: Track, name: str) -> None:
        opened = self._open.pop(track, None) or deque()
        if len(opened) == _MAX_DEPTH:
            self._abandon_outermost(track, opened)
        opened.append(name)
        self._names[name] += 1
        self._open[track] = opened
        self._begun += 1
        if self._begun > _MAX_OPEN:
            oldest, names = next(iter(self._open.items()))
            self._abandon_outermost(oldest, names)
            if not names:
                del self._open[oldest]

    def _abandon_outermost(self, track: Track, opened: deque[str]) -> None:
        self._forget_name(opened.popleft())
        self._writer.forget(track)
        self._begun -= 1
        self.abandoned += 1

    def _forget_name(self, name: str) -> None:
        self._names[name] -= 1
        if not self._names[name]:
            del self._names[name]

    def _end_slice(self, track: Track, name: str) -> int:
        """The innermost slice of that name has ended: how many others were within it."""
        opened, within = self._open.pop(track), 0
        while (last := opened.pop()) != name:
            self._forget_name(last)
            within += 1
        self._forget_name(name)
        if opened:
            self._open[track] = opened
        self._begun -= within + 1
        return within

    def _find_track(self, record: Record, values: Values) -> Track:
        """Where it happened; the process has its name by then."""
        pid, task = record.pid, values.get("task")
        if pid not in self._named_pids:
            self._named_pids.add(pid)
            name = values.get("execname") or self._name_process(pid, record.time)
            self._writer.process(pid, escape_value(name or f"process {pid}"))
        if self._track_by == "tag" and values.get("tag"):
            return Track("tag", 0, escape_value(values["tag"]))
        if task and self._track_by in (None, "task") and not _THREAD.fullmatch(escape_value(task)):
            return Track("task", pid, escape_value(task))
        return Track("thread", pid, record.tid)


class OpenWriter(Protocol):
    """Makes a Writer, to an open file; EngineError where what it needs is not installed."""

    def __call__(self, file: BinaryIO, clock: Clock) -> Writer: ...


def _make_process_namer(info: TraceInfo) -> Callable[[int, int], str]:
    """Names the processes of this machine that still are there."""

    def name_process(pid: int, time: int) -> str:
        return display_name(pid) if info.existed_at(pid, time) else ""

    return name_process


class TimelineSink(OutputSink):
    """The sink.  opens: what writes the file."""

    def __init__(self, output: Output, notify: Notify, path: str, open_writer: OpenWriter) -> None:
        super().__init__(output, notify)
        self._file, self._open_writer = AtomicFile(path), open_writer
        self._opened: BinaryIO | None = None
        self._counted: dict[Track, float] = {}

    def begin(self, info: TraceInfo) -> None:
        self._clock, self._aggregates = info.clock, info.actions.aggregates
        self._decoder = info.make_decoder(self.fault)
        with self._file.report_errors():
            opened = open(self._file.create_file(), "wb")  # noqa: SIM115  (until close())
            try:
                self._writer = self._open_writer(opened, self._clock)
            except EngineError:
                opened.close()
                self._file.discard_file()
                raise
        self._opened = opened
        span = self._clock.span
        namer = [_make_process_namer(info)] * (span is None and "hosts" not in info.options)
        self._slices = SliceTracker(self._writer, info.options.get("track"), *namer)
        self._interval = max(1_000_000, (span[1] - span[0]) // _STEPS) if span else _INTERVAL
        self._counted_at = self._clock.now()

    def records(self, buffer: bytes) -> None:
        if buffer:
            self._decoder.decode(buffer, self)
        if (now := self._clock.now()) - self._counted_at >= self._interval:
            self._write_counters(now, self._aggregates)

    def snapshot(self, aggregates: AggregationState) -> None:
        self._write_counters(self._clock.now(), aggregates)

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened:
            if trouble := self._slices.describe_problems():
                self._notify(f"time line: {trouble}")
            with self._file.report_errors(), opened:
                self._writer.close()
            self._file.commit_file()

    def append(self, record: Record) -> None:
        """One of the decoder's."""
        with self._file.report_errors():
            self._slices.add_record(record)

    # --- aggregations -------------------------------------------------------------------------

    def _write_counters(self, now: int, aggregates: AggregationState) -> None:
        self._counted_at = now
        with self._file.report_errors():
            for definition in aggregates.program.aggregations:
                self._write_aggregation(now, definition, aggregates)

    def _write_aggregation(
        self, now: int, definition: AggDef, aggregates: AggregationState
    ) -> None:
        """What has changed of an aggregation; of many keys those that there were first."""
        for key, value in [*aggregates.take_snapshot(definition).items()][:_MAX_KEYS]:
            name = " ".join([f"@{definition.name}", *map(escape_value, key)])
            for suffix, number in _value_numbers(value):
                track = Track("counter", 0, name + suffix)
                if self._counted.get(track) != number:
                    self._counted[track] = number
                    self._writer.counter(track, now, number)


def _value_numbers(value: Any) -> list[tuple[str, float]]:
    """[(what stands behind the name, number)] of a value."""
    if isinstance(value, Histogram):
        numbers = [
            (f" {name}", value.percentile(percent)) for name, percent in value.row.shown_percentiles
        ]
        return [
            (" values", float(value.n)),
            *[(name, float(number)) for name, number in numbers if number is not None],
        ]
    return [("", float(drawable_number(value)))]


def escape_value(value: Any) -> str:
    """As text: control characters are escaped, bytes that are no UTF-8 as well."""
    return escape_for_terminal(cumulative_totals.format_label(value))


def hash_text(text: str) -> int:
    """A number of 64 bits that stands for a text, not 0."""
    return (
        int.from_bytes(
            blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).digest(), "little"
        )
        or 1
    )


def _slice_name(probe: Probe, values: Values) -> str:
    return escape_value(values["name"]) if values.get("name") else probe.name


def _slice_part(probe: Probe, values: Values) -> tuple[str, str]:
    """("begin", "end" or "", the slice's name) of a record: what its values say, else the probe's name."""
    for kind in ("begin", "end"):
        if kind in values:
            return kind, escape_value(values[kind])
    match = _PART.fullmatch(probe.name)
    if not match:
        return "", _slice_name(probe, values)
    word = match["begin"] or match["end"]
    base = match["base"] or probe.provider
    if word in ("entry", "return") and probe.function:
        base = probe.function
    return ("begin" if match["begin"] else "end"), escape_value(values.get("name") or base)
