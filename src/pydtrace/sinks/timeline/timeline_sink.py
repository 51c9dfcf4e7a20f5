"""pydtrace --perfetto FILE and --chrome FILE: records as slices on a time line, aggregations as counters.

In: what a sink is given (driver/sink.py), a path.  Out: a file that Perfetto (ui.perfetto.dev) or Chrome (chrome://tracing) shows;
texts of printa() go to the output as ever.  docs/guide/timeline.md says what a record becomes.
Always: a file is at its place when it is whole; slices of a track lie within each other: what has not ended when an outer one
does ends with it; an end without a beginning is told as an instant.  Of slices that never end a bounded number is remembered.

Which file it is, is a Writer's business (perfetto_writer.py, chrome_trace_writer.py): this module knows which slice begins and ends where.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydtrace.driver import cumulative_totals
from pydtrace.engine import EngineError
from pydtrace.results.aggregation_values import Histogram
from pydtrace.sinks.atomic_file import Aside
from pydtrace.sinks.live.live_model import drawn
from pydtrace.sinks.output_file import OutputSink
from pydtrace.untrusted.terminal_escape import escape_for_terminal

if TYPE_CHECKING:
    from typing import BinaryIO

    from pydtrace.driver.aggregation_state import Aggregates
    from pydtrace.driver.sink import Info
    from pydtrace.program.program import AggDef
    from pydtrace.program.trace_clock import Clock
    from pydtrace.results.records import Probe, Record
    from pydtrace.sinks.output_file import Notify, Output

    Values = dict[str, Any]

_INTERVAL, _STEPS = (
    1_000_000_000,
    600,
)  # ns between two looks at the aggregations; how many of a recording
_KEYS = 200  # of an aggregation that are counters at most
_DEEPEST = 10_000  # slices within each other
_MOST = 100_000  # slices that have begun and not ended, of all tracks
_PART = re.compile(
    r"(?:(?P<base>.+)[-_])?(?:(?P<begin>start|begin|entry)|(?P<end>done|end|stop|return))"
)
_THREAD = re.compile(r"<\d+\.\d+>")  # what arg0 of our own probes is where no task runs
_SAYS = (
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
        """The outermost slice that has begun there: its end will not be told."""

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


class Slices:
    """Which slice begins and ends where.  by: what the tracks are, as the option `track` says, or None.

    let_go: slices whose ends are not waited for any more, since too many others have begun: each time the outermost of the track on
    which nothing has happened for the longest time, or of one that is too deep.
    """

    def __init__(self, writer: Writer, by: str | None) -> None:
        self._writer, self._by = writer, by
        self._open: dict[
            Track, deque[str]
        ] = {}  # names of the slices that have begun, the innermost last; the latest track last
        self._named: set[int] = set()  # processes
        self._names: Counter[str] = Counter()  # of all of them
        self._begun = self.let_go = 0
        self._paired = self._astray = (
            0  # ends of what has begun on their track; of what has begun on others alone
        )

    def tell(self, record: Record) -> None:
        values = dict(zip(record.names, record.values))
        track = self._track(record, values)
        tag = shown(values.get("tag") or "")
        flow = (number_of(tag), tag) if tag else None
        rest = {name: value for name, value in values.items() if name not in _SAYS}
        if isinstance(duration := values.get("duration"), int) and duration >= 0:
            self._writer.slice(
                track, record.time - duration, duration, _name(record.probe, values), rest, flow
            )
            return
        kind, name = _part(record.probe, values)
        if kind == "begin":
            self._begin(track, name)
            self._writer.begin(track, record.time, name, rest, flow)
        elif kind == "end" and name in self._open.get(track, ()):
            for _ in range(self._end(track, name)):
                self._writer.end(track, record.time, {})
            self._writer.end(track, record.time, rest)
            self._paired += 1
        else:
            self._astray += kind == "end" and name in self._names
            self._writer.instant(track, record.time, name, rest, flow)

    def trouble(self) -> str:
        """What is not as it was meant, in sentences; or ""."""
        count = "1 slice has" if self.let_go == 1 else f"{self.let_go} slices have"
        let_go = f"{count} no end: too many others had begun and not ended" if self.let_go else ""
        astray = (
            (
                f"most slices, {self._astray}, end on another track than they begin on: what begins them and what ends them must record "
                "the same task=%s, or be of one thread; with -x track=tag the same tag=%s"
            )
            if self._astray > self._paired
            else ""
        )
        return "; ".join(filter(None, (let_go, astray)))

    def _begin(self, track: Track, name: str) -> None:
        opened = self._open.pop(track, None) or deque()
        if len(opened) == _DEEPEST:
            self._let_go(track, opened)
        opened.append(name)
        self._names[name] += 1
        self._open[track] = opened
        self._begun += 1
        if self._begun > _MOST:
            oldest, names = next(iter(self._open.items()))
            self._let_go(oldest, names)
            if not names:
                del self._open[oldest]

    def _let_go(self, track: Track, opened: deque[str]) -> None:
        self._gone(opened.popleft())
        self._writer.forget(track)
        self._begun -= 1
        self.let_go += 1

    def _gone(self, name: str) -> None:
        self._names[name] -= 1
        if not self._names[name]:
            del self._names[name]

    def _end(self, track: Track, name: str) -> int:
        """The innermost slice of that name has ended: how many others were within it."""
        opened, within = self._open.pop(track), 0
        while (last := opened.pop()) != name:
            self._gone(last)
            within += 1
        self._gone(name)
        if opened:
            self._open[track] = opened
        self._begun -= within + 1
        return within

    def _track(self, record: Record, values: Values) -> Track:
        """Where it happened; the process has its name by then."""
        pid, task = record.pid, values.get("task")
        if pid not in self._named:
            self._named.add(pid)
            self._writer.process(pid, shown(values.get("execname") or f"process {pid}"))
        if self._by == "tag" and values.get("tag"):
            return Track("tag", 0, shown(values["tag"]))
        if task and self._by in (None, "task") and not _THREAD.fullmatch(shown(task)):
            return Track("task", pid, shown(task))
        return Track("thread", pid, record.tid)


class Opens(Protocol):
    """Makes a Writer, to an open file; EngineError where what it needs is not installed."""

    def __call__(self, file: BinaryIO, clock: Clock) -> Writer: ...


class Timeline(OutputSink):
    """The sink.  opens: what writes the file."""

    def __init__(self, output: Output, notify: Notify, path: str, opens: Opens) -> None:
        super().__init__(output, notify)
        self._file, self._opens = Aside(path), opens
        self._opened: BinaryIO | None = None
        self._counted: dict[Track, float] = {}

    def begin(self, info: Info) -> None:
        self._clock, self._aggregates = info.clock, info.actions.aggregates
        self._decoder = info.decoder(self.fault)
        with self._file.checked():
            opened = open(self._file.make(), "wb")  # noqa: SIM115  (until close())
            try:
                self._writer = self._opens(opened, self._clock)
            except EngineError:
                opened.close()
                self._file.give_up()
                raise
        self._opened = opened
        self._slices = Slices(self._writer, info.options.get("track"))
        span = self._clock.span
        self._interval = max(1_000_000, (span[1] - span[0]) // _STEPS) if span else _INTERVAL
        self._looked = self._clock.now()

    def records(self, buffer: bytes) -> None:
        if buffer:
            self._decoder.decode(buffer, self)
        if (now := self._clock.now()) - self._looked >= self._interval:
            self._count(now, self._aggregates)

    def snapshot(self, aggregates: Aggregates) -> None:
        self._count(self._clock.now(), aggregates)

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened:
            if trouble := self._slices.trouble():
                self._notify(f"time line: {trouble}")
            with self._file.checked(), opened:
                self._writer.close()
            self._file.done()

    def append(self, record: Record) -> None:
        """One of the decoder's."""
        with self._file.checked():
            self._slices.tell(record)

    # --- aggregations -------------------------------------------------------------------------

    def _count(self, now: int, aggregates: Aggregates) -> None:
        self._looked = now
        with self._file.checked():
            for definition in aggregates.program.aggregations:
                self._counters(now, definition, aggregates)

    def _counters(self, now: int, definition: AggDef, aggregates: Aggregates) -> None:
        """What has changed of an aggregation; of many keys those that there were first."""
        for key, value in [*aggregates.snapshot(definition).items()][:_KEYS]:
            name = " ".join([f"@{definition.name}", *map(shown, key)])
            for suffix, number in _numbers(value):
                track = Track("counter", 0, name + suffix)
                if self._counted.get(track) != number:
                    self._counted[track] = number
                    self._writer.counter(track, now, number)


def _numbers(value: Any) -> list[tuple[str, float]]:
    """[(what stands behind the name, number)] of a value."""
    if isinstance(value, Histogram):
        told = [(f" {name}", value.percentile(percent)) for name, percent in value.row.percents]
        return [
            (" values", float(value.n)),
            *[(name, float(number)) for name, number in told if number is not None],
        ]
    return [("", float(drawn(value)))]


def shown(value: Any) -> str:
    """As text: control characters are escaped, bytes that are no UTF-8 as well."""
    return escape_for_terminal(cumulative_totals.shown(value))


def number_of(text: str) -> int:
    """A number of 64 bits that stands for a text, not 0."""
    return (
        int.from_bytes(
            blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).digest(), "little"
        )
        or 1
    )


def _name(probe: Probe, values: Values) -> str:
    return shown(values["name"]) if values.get("name") else probe.name


def _part(probe: Probe, values: Values) -> tuple[str, str]:
    """("begin", "end" or "", the slice's name) of a record: what its values say, else the probe's name."""
    for kind in ("begin", "end"):
        if kind in values:
            return kind, shown(values[kind])
    match = _PART.fullmatch(probe.name)
    if not match:
        return "", _name(probe, values)
    word = match["begin"] or match["end"]
    base = match["base"] or probe.provider
    if word in ("entry", "return") and probe.function:
        base = probe.function
    return ("begin" if match["begin"] else "end"), shown(values.get("name") or base)
