"""pydtrace --spans URL: send pairs of records as OpenTelemetry spans while tracing goes on.

sinks/timeline/timeline_sink.py decides which records are a pair; docs/howto/timeline.md describes
a span.

- The tracing thread waits for no receiver. What the receiver did not accept, and what is too much
  to be kept, is counted and reported.
"""

from __future__ import annotations

import re
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pydtrace.driver.sink import Sink
from pydtrace.engine import EngineError
from pydtrace.sinks.timeline.timeline_sink import SliceTracker, escape_value

from . import otlp_exporters, otlp_sink
from .batch_export import BatchExportThread

if TYPE_CHECKING:
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.program.trace_clock import Clock
    from pydtrace.results.records import Record
    from pydtrace.sinks.output_file import Notify
    from pydtrace.sinks.timeline.timeline_sink import Track, Values

_MAX_WAITING = 20_000  # spans that have ended and are not sent yet
_BATCH = 512  # spans of one request
_TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class SpansSink(Sink):
    """The sink, which looks on beside another (sinks/tee.py).  EngineError at begin()."""

    def __init__(self, notify: Notify, url: str) -> None:
        self._notify, self._url = notify, url
        self._thread: SpansExportThread | None = None
        self._lost = self._abandoned = 0  # as reported
        self._next_report = 0.0

    def begin(self, info: TraceInfo) -> None:
        try:
            thread = SpansExportThread(*otlp_exporters.make_exporter(self._url, "--spans", "trace"))
            self._writer = _SpanWriter(thread, info.clock)
        except ImportError:
            raise EngineError(otlp_exporters.INSTALL_HINT.format("--spans")) from None
        self._slices = SliceTracker(self._writer, info.options.get("track"))
        self._decoder = info.make_decoder()
        self._thread = thread
        thread.start()

    def records(self, buffer: bytes) -> None:
        if buffer:
            self._decoder.decode(buffer, self)
        if self._thread and time.monotonic() >= self._next_report:
            self._report_losses(self._thread)

    def append(self, record: Record) -> None:
        """One of the decoder's."""
        self._slices.add_record(record)

    def text(self, text: bytes) -> None:
        """Shown by the other one."""

    def notice(self, text: str, error: bool = True) -> None:
        """Likewise."""

    def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.close()
        self._writer.close()
        self._report_losses(thread)
        self._report_count(self._writer.open_spans, "", " have begun and not ended")

    def _report_losses(self, thread: SpansExportThread) -> None:
        """If there are more than at the last report."""
        lost, let_go = thread.lost, self._slices.abandoned
        if lost > self._lost:
            self._report_count(
                lost, f" {self._url} did not accept", f": {why}" if (why := thread.why) else ""
            )
        if let_go > self._abandoned:
            self._report_count(let_go, "", " had not ended when too many others had begun")
        if (lost, let_go) != (self._lost, self._abandoned):
            self._lost, self._abandoned, self._next_report = (
                lost,
                let_go,
                time.monotonic() + otlp_sink.REPORT_INTERVAL,
            )

    def _report_count(self, count: int, before: str, behind: str) -> None:
        if count:
            self._notify(f"--spans:{before} {count} {'span' if count == 1 else 'spans'}{behind}")


class _SpanWriter:
    """A timeline.Writer."""

    def __init__(self, thread: SpansExportThread, clock: Clock) -> None:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor, TracerProvider
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        from .otlp_metrics import make_resource

        class Processor(SynchronousMultiSpanProcessor):
            def on_end(self, span: Any) -> None:
                thread.send(span)

        self._api = trace
        processor = Processor()  # type: ignore[no-untyped-call]
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=make_resource(),
            shutdown_on_exit=False,
            active_span_processor=processor,
        )
        self._tracer = self._provider.get_tracer("pyusdt")
        self._to_wall = int(clock.wall() * 1e9) - clock.now()
        self._open: dict[Track, deque[Any]] = {}  # the innermost last
        self._processes: dict[int, str] = {}
        self.open_spans = 0

    def process(self, pid: int, name: str) -> None:
        self._processes[pid] = name

    def begin(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        span = self._start_span(track, time, name, values, flow)
        self._open.setdefault(track, deque()).append(span)
        self.open_spans += 1

    def end(self, track: Track, time: int, values: Values) -> None:
        span = self._pop_span(track, -1)
        span.set_attributes(_plain_values(values))
        span.end(time + self._to_wall)

    def forget(self, track: Track) -> None:
        """A span that does not end is not sent."""
        self._pop_span(track, 0)

    def _pop_span(self, track: Track, place: int) -> Any:
        spans = self._open[track]
        span = spans[place]
        del spans[place]
        if not spans:
            del self._open[track]
        self.open_spans -= 1
        return span

    def slice(
        self,
        track: Track,
        time: int,
        duration: int,
        name: str,
        values: Values,
        flow: tuple[int, str] | None,
    ) -> None:
        self._start_span(track, time, name, values, flow).end(time + duration + self._to_wall)

    def instant(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        """An event of the span around it; without one it is nothing that OpenTelemetry has a place for."""
        if (around := self._enclosing_span(track)) is not None:
            around.add_event(name, _plain_values(values), time + self._to_wall)

    def counter(self, track: Track, time: int, value: float) -> None:
        """Aggregations are metrics: --otlp."""

    def close(self) -> None:
        self._provider.shutdown()

    def _enclosing_span(self, track: Track) -> Any:
        spans = self._open.get(track)
        return spans[-1] if spans else None

    def _start_span(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> Any:
        around = self._enclosing_span(track)
        context = (
            self._api.set_span_in_context(around)
            if around is not None
            else self._remote_context(flow[1] if flow else "")
        )
        where: Values = {"tag": flow[1]} if flow else {}
        if track.pid:
            where |= {
                "process.pid": track.pid,
                "process.executable.name": self._processes.get(track.pid, ""),
            }
            where[f"{track.kind}.id" if track.kind == "thread" else track.kind] = track.ident
        return self._tracer.start_span(
            name,
            context,
            attributes={**where, **_plain_values(values)},
            start_time=time + self._to_wall,
        )

    def _remote_context(self, tag: str) -> Any:
        """The context of a tag that is W3C's traceparent; that of no span otherwise."""
        from opentelemetry.context import Context

        if not (found := _TRACEPARENT.match(tag)):
            return Context()
        trace_id, span_id, flags = (int(each, 16) for each in found.groups())
        parent = self._api.SpanContext(
            trace_id, span_id, is_remote=True, trace_flags=self._api.TraceFlags(flags)
        )
        return self._api.set_span_in_context(self._api.NonRecordingSpan(parent), Context())


def _plain_values(values: Values) -> Values:
    """Whole numbers of 64 bits as they are, all else as text."""
    return {
        escape_value(name): value
        if isinstance(value, int) and -(1 << 63) <= value < 1 << 63
        else escape_value(value)
        for name, value in values.items()
    }


class SpansExportThread(BatchExportThread):
    """Exports the spans each second, or when there are enough for a request."""

    interval = 1.0

    def __init__(self, exporter: Any, refused: otlp_exporters.PartialSuccess) -> None:
        super().__init__("pyusdt-spans", exporter, refused)
        self._waiting: deque[Any] = deque()
        self._sending = 0
        self._lost, self._why = 0, ""

    @property
    def lost(self) -> int:
        """Spans that were not sent, or not accepted."""
        return self._lost + self.refused.refused

    @property
    def why(self) -> str:
        return self._why or self.refused.reason

    def send(self, span: Any) -> None:
        with self.condition:
            if len(self._waiting) >= _MAX_WAITING:
                self._lost += 1
                return
            self._waiting.append(span)
            if self.has_batch():
                self.condition.notify()

    def has_batch(self) -> bool:
        return len(self._waiting) >= _BATCH

    def take_batch(self) -> list[Any] | None:
        batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
        self._sending = len(batch)
        return batch or None

    def export_batch(self, batch: list[Any]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        accepted = self.call_exporter(batch) is SpanExportResult.SUCCESS
        with self.condition:
            self._sending = 0
            if not accepted:
                self._lost += len(batch)
                self._why = self.log.last

    def close(self) -> bool:
        ended = super().close()
        with self.condition:
            if not ended:
                self._lost += len(self._waiting) + self._sending
                self._why = self._why or "it does not answer"
        return ended
