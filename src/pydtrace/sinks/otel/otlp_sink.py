"""pydtrace --otlp URL: send the aggregations to an OpenTelemetry receiver while tracing goes on.

Options: `otlpinterval` (ns), `otlptemporality` ("cumulative", "delta"); the URL is that of
otlp_exporters.py. The metrics are those of --metrics (sinks/metrics/prometheus_model.py).

- The tracing thread makes a snapshot at an interval and waits for no receiver: another thread
  sends the newest one.
- A receiver that was away misses nothing: cumulative numbers hold everything, and a delta is
  taken to what was last accepted.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from pydtrace.driver.sink import Sink
from pydtrace.engine import EngineError
from pydtrace.sinks.metrics import metric_config

from . import otlp_exporters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.sinks.metrics.prometheus_model import MetricSnapshot
    from pydtrace.sinks.output_file import Notify

    from .otlp_metrics import MetricsConverter

_INTERVAL = 10 * 10**9  # ns, the option's default
CLOSE_TIMEOUT = 5.0  # s that the end waits for the last one
REPORT_INTERVAL = 60.0  # s between two messages about a receiver that takes nothing


class OtlpSink(Sink):
    """The sink, which looks on beside another (sinks/tee.py).  EngineError at begin()."""

    def __init__(self, notify: Notify, url: str) -> None:
        self._notify, self._url = notify, url
        self._drops: dict[str, int] = {}
        self._sender: _Sender | None = None

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
        self._sender = _Sender(
            exporter,
            heard,
            MetricsConverter(info.options.get("otlptemporality") == "delta"),
            self._url,
        )

    def records(self, buffer: bytes) -> None:
        if (now := time.monotonic()) >= self._next and self._sender:
            self._next = now + self._interval
            self._sender.send(self._take_snapshot())
            for each in self._sender.trouble(now):
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
        if self._sender:
            self._sender.send(self._take_snapshot())

    def close(self) -> None:
        sender, self._sender = self._sender, None
        if sender:
            sender.close()
            for each in sender.trouble(float("inf")):
                self._notify(each)


class _Sender:
    """The thread that sends.  points: what makes points of a snapshot, and remembers what was received."""

    def __init__(
        self,
        exporter: Any,
        heard: otlp_exporters.PartialSuccess,
        points: MetricsConverter,
        url: str,
    ) -> None:
        self._exporter, self._heard, self._points, self._url = exporter, heard, points, url
        self._condition = threading.Condition()
        self._newest: MetricSnapshot | None = None
        self._closing = False
        self._failed = 0  # exports since one succeeded
        self._refused = 0  # points, as reported
        self._why = ""
        self._tell_next = 0.0
        self._log = ExporterLog()
        self._thread = threading.Thread(target=self._work, name="pyusdt-otlp", daemon=True)
        self._thread.start()

    def send(self, snapshot: MetricSnapshot) -> None:
        """Instead of one that was not sent yet."""
        with self._condition:
            self._newest = snapshot
            self._condition.notify()

    def trouble(self, now: float) -> Iterator[str]:
        """Messages for the user, once in a while."""
        failed, refused = self._failed, self._heard.refused
        if now < self._tell_next or not (failed or refused > self._refused):
            return
        self._tell_next = now + REPORT_INTERVAL
        if failed:
            lasts = "" if now == float("inf") else "; it gets all the same when it is back"
            yield f"--otlp: {self._url} has taken nothing for {failed} exports{f': {self._why}' if self._why else ''}{lasts}"
        if refused > self._refused:
            self._refused = refused
            yield f"--otlp: {self._url} has refused {refused} points of what it took{f': {self._heard.reason}' if self._heard.reason else ''}"

    def close(self) -> None:
        with self._condition:
            self._closing = True
            self._condition.notify()
        self._thread.join(CLOSE_TIMEOUT)
        if self._thread.is_alive():
            self._failed += 1
            self._why = "it does not answer"

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._newest or self._closing)
                snapshot, self._newest = self._newest, None
            if snapshot is None:
                return
            self._export(snapshot)

    def _export(self, snapshot: MetricSnapshot) -> None:
        from opentelemetry.sdk.metrics.export import MetricExportResult

        data = self._points.convert_snapshot(snapshot)
        try:
            result = self._exporter.export(data, timeout_millis=otlp_exporters.TIMEOUT * 1000)
        except Exception as error:  # noqa: BLE001 (mistakes of the exporter, a body that is no answer)
            result, self._log.last = None, f"{type(error).__name__}: {error}"
        if result is MetricExportResult.SUCCESS:
            self._points.mark_received()
            self._failed = 0
        else:
            self._failed += 1
            self._why = self._log.last


class ExporterLog(logging.Handler):
    """What the exporters say, in the place of the standard error.  last: the newest line."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage().split("\n", 1)[0][:500]
