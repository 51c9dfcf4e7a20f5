"""pydtrace --otlp URL: send the aggregations to an OpenTelemetry receiver while tracing goes on.

Options: `otlpinterval` (ns), `otlptemporality` ("cumulative", "delta"); the URL is that of
otlp_exporters.py. The metrics are those of --metrics (sinks/metrics/prometheus_model.py).

- The tracing thread makes a snapshot at an interval and waits for no receiver: another thread
  sends the newest one.
- A receiver that was away misses nothing: cumulative numbers hold everything, and a delta is
  taken to what was last accepted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pydtrace.driver.sink import Sink
from pydtrace.engine import EngineError
from pydtrace.sinks.metrics import metric_config

from . import otlp_exporters
from .batch_export import BatchExportThread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.sinks.metrics.prometheus_model import MetricSnapshot
    from pydtrace.sinks.output_file import Notify

    from .otlp_metrics import MetricsConverter

_INTERVAL = 10 * 10**9  # ns, the option's default
REPORT_INTERVAL = 60.0  # s between two messages about a receiver that takes nothing


class OtlpSink(Sink):
    """The sink, which looks on beside another (sinks/tee.py).  EngineError at begin()."""

    def __init__(self, notify: Notify, url: str) -> None:
        self._notify, self._url = notify, url
        self._drops: dict[str, int] = {}
        self._thread: MetricsExportThread | None = None

    def begin(self, info: TraceInfo) -> None:
        try:
            from pydtrace.sinks.metrics import prometheus_model

            from .otlp_metrics import MetricsConverter

            exporter, heard = otlp_exporters.make_exporter(self._url, "--otlp", "metric")
        except ImportError:
            raise EngineError(otlp_exporters.INSTALL_HINT.format("--otlp")) from None
        self._info = info
        lines = metric_config.collect_lines(info.options)
        try:
            self._store = prometheus_model.MetricStore(info.actions.aggregates, info.engine, lines)
        except metric_config.MetricConfigError as error:
            raise EngineError(f"--otlp: {error}") from None
        self._interval = info.options.get("otlpinterval", _INTERVAL) / 1e9
        self._next = time.monotonic() + self._interval
        self._thread = MetricsExportThread(
            exporter,
            heard,
            MetricsConverter(info.options.get("otlptemporality") == "delta"),
            self._url,
        )
        self._thread.start()

    def records(self, buffer: bytes) -> None:
        if (now := time.monotonic()) >= self._next and self._thread:
            self._next = now + self._interval
            self._thread.send(self._take_snapshot())
            for each in self._thread.report_losses(now):
                self._notify(each)

    def _take_snapshot(self) -> MetricSnapshot:
        return self._store.take_snapshot(self._drops, self._info.error_count)

    def text(self, text: bytes) -> None:
        """Shown by the other one."""

    def notice(self, text: str, error: bool = True) -> None:
        """Likewise."""

    def drop(self, kind: str, count: int, line: str) -> None:
        self._drops[kind] = self._drops.get(kind, 0) + count

    def snapshot(self, aggregates: Any) -> None:
        """The last one, when END has run."""
        if self._thread:
            self._thread.send(self._take_snapshot())

    def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread:
            thread.close()
            for each in thread.report_losses(float("inf")):
                self._notify(each)


class MetricsExportThread(BatchExportThread):
    """Exports the newest snapshot. converter: remembers what was accepted."""

    def __init__(
        self,
        exporter: Any,
        refused: otlp_exporters.PartialSuccess,
        converter: MetricsConverter,
        url: str,
    ) -> None:
        super().__init__("pyusdt-otlp", exporter, refused)
        self._converter, self._url = converter, url
        self._newest: MetricSnapshot | None = None
        self.failed = 0  # exports since one succeeded
        self._refused = 0  # points, as reported
        self._why = ""
        self._next_report = 0.0

    def send(self, snapshot: MetricSnapshot) -> None:
        """Instead of one that was not sent yet."""
        with self.condition:
            self._newest = snapshot
            self.condition.notify()

    def has_batch(self) -> bool:
        return self._newest is not None

    def take_batch(self) -> MetricSnapshot | None:
        snapshot, self._newest = self._newest, None
        return snapshot

    def export_batch(self, batch: MetricSnapshot) -> None:
        from opentelemetry.sdk.metrics.export import MetricExportResult

        data = self._converter.convert_snapshot(batch)
        result = self.call_exporter(data, timeout_millis=otlp_exporters.TIMEOUT * 1000)
        if result is MetricExportResult.SUCCESS:
            self._converter.mark_received()
            self.failed = 0
        else:
            self.failed += 1
            self._why = self.log.last

    def report_losses(self, now: float) -> Iterator[str]:
        """Messages for the user, once in a while."""
        failed, refused = self.failed, self.refused.refused
        if now < self._next_report or not (failed or refused > self._refused):
            return
        self._next_report = now + REPORT_INTERVAL
        if failed:
            lasts = "" if now == float("inf") else "; it gets all the same when it is back"
            yield f"--otlp: {self._url} has taken nothing for {failed} exports{f': {self._why}' if self._why else ''}{lasts}"
        if refused > self._refused:
            self._refused = refused
            yield f"--otlp: {self._url} has refused {refused} points of what it took{f': {self.refused.reason}' if self.refused.reason else ''}"

    def close(self) -> bool:
        ended = super().close()
        if not ended:
            self.failed += 1
            self._why = "it does not answer"
        return ended
