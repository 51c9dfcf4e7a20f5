"""pydtrace --metrics: the aggregations for Prometheus while tracing goes on; the script's output
stays where it is.

- The tracing thread makes a snapshot at an interval, and nothing else. A request gets the last
  one, made into text in a thread of its own.
"""

from __future__ import annotations

import errno
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any

from pydtrace.engine import EngineError
from pydtrace.sinks.dtrace_text_sink import DtraceTextSink
from pydtrace.sinks.http.http_server import is_loopback
from pydtrace.sinks.http.token_server import read_token

from . import metric_config
from .exemplars import Exemplars
from .metrics_http import MetricsServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.sinks.output_file import Notify, Output

    from .prometheus_model import MetricSnapshot

_INTERVAL = 1.0  # s
_SHARE = 20  # a snapshot may take at most one part in so many of the time
_NAMED_AT_MOST = 3  # aggregations that a warning names


class MetricsSink(DtraceTextSink):
    """The sink.  address: (host, port)."""

    def __init__(self, output: Output, notify: Notify, address: tuple[str, int]) -> None:
        super().__init__(output, notify)
        self._address = address
        self._drops: dict[str, int] = {}
        self._server: MetricsServer | None = None

    def begin(self, info: TraceInfo) -> None:
        try:
            from . import prometheus_model
        except ImportError:
            raise EngineError(
                "--metrics needs prometheus_client: pip install 'pydtrace[prometheus]'"
            ) from None
        super().begin(info)
        try:
            self._store = prometheus_model.MetricStore(
                info.actions.aggregates, info.engine, metric_config.collect_lines(info.options)
            )
        except metric_config.MetricConfigError as error:
            raise EngineError(f"--metrics: {error}") from None
        self._exemplars = Exemplars(self._store.specs, info)
        self._answers = _SnapshotTexts()
        self._take_snapshot(time.monotonic())
        self._start_server(info.options)
        if self._store.unmapped:
            self._report_unmapped(self._store.unmapped)

    def _start_server(self, options: Mapping[str, Any]) -> None:
        host, port = self._address
        token, context = (
            _read_token(options.get("metricstoken")),
            _load_certificate(options.get("metricscert")),
        )
        try:
            server = self._server = MetricsServer(
                host, port, self._answers.encode_answer, token, context
            )
        except OSError as error:
            raise EngineError(
                f"--metrics: port {port} of {host}: {error.strerror}",
                "choose another port, or 0 for any free port"
                if error.errno == errno.EADDRINUSE
                else None,
            ) from None
        server.connection_cost.report = self._notify
        server.start()
        self._notify(f"the metrics are at {server.address}", error=not port)
        if not (token or is_loopback(host)):
            self._notify(
                f"--metrics: every client that reaches {host} can read them; -x metricstoken=FILE requires a token"
            )

    def _report_unmapped(self, names: list[str]) -> None:
        """Of aggregations that no line of a mapping tells of."""
        shown = ", ".join(f"@{name}" for name in names[:_NAMED_AT_MOST]) + (
            f" and {len(names) - _NAMED_AT_MOST} more" if len(names) > _NAMED_AT_MOST else ""
        )
        self._notify(
            f"--metrics: no line of a mapping describes {shown}: the metric has the aggregation's name and the labels key1, key2 …"
            "; see `pyusdt help metrics`"
        )

    def records(self, buffer: bytes) -> None:
        if buffer:
            self._exemplars.add_records(buffer)
            super().records(buffer)
        if (now := time.monotonic()) >= self._next:
            self._take_snapshot(now)

    def _take_snapshot(self, began: float) -> None:
        snapshot = self._store.take_snapshot(self._drops, self._info.error_count)
        snapshot.exemplars = self._exemplars.list_exemplars()
        self._answers.snapshot = snapshot
        took = time.monotonic() - began
        self._next = began + max(_INTERVAL, _SHARE * took)

    def drop(self, kind: str, count: int, line: str) -> None:
        self._drops[kind] = self._drops.get(kind, 0) + count
        super().drop(kind, count, line)

    def other_users_time(self) -> float:
        return self._server.connection_cost.others_seconds if self._server else 0.0

    def close(self) -> None:
        server, self._server = self._server, None
        if server:
            server.stop()


class _SnapshotTexts:
    """Snapshots as text; each is made once, whoever asks.  snapshot: the last one, set by the thread that traces."""

    snapshot: MetricSnapshot

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoded: MetricSnapshot | None = None
        self._encodings: dict[str, tuple[bytes, bool]] = {}

    def encode_answer(self, accept: str) -> tuple[bytes, str]:
        """(text, its type) for an Accept header: the text of Prometheus, where it is accepted and says more than OpenMetrics may."""
        from prometheus_client.exposition import choose_encoder

        encode, kind = choose_encoder(accept)
        with self._lock:
            text, left_out = self._encode_snapshot(encode, kind)
            if left_out and ("text/plain" in accept or "*/*" in accept):
                encode, kind = choose_encoder("")
                text, _ = self._encode_snapshot(encode, kind)
            return text, kind

    def _encode_snapshot(self, encode: Callable[[Any], bytes], kind: str) -> tuple[bytes, bool]:
        from .prometheus_model import Collector

        snapshot = self.snapshot
        if snapshot is not self._encoded:
            self._encoded, self._encodings = snapshot, {}
        if kind not in self._encodings:
            collector = Collector(lambda: snapshot, "openmetrics" in kind)
            self._encodings[kind] = encode(collector), collector.has_omissions
        return self._encodings[kind]


# --- what the options say ---------------------------------------------------------------------


def _read_token(path: str | None) -> bytes:
    """The word in a file, or none."""
    if path is None:
        return b""
    try:
        return read_token(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EngineError(f"-x metricstoken={path}: {reason}") from None


def _load_certificate(path: str | None) -> ssl.SSLContext | None:
    if path is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(path)
    except OSError as error:  # ssl.SSLError is one
        why = (
            "the file is to hold a certificate and its key, as PEM"
            if isinstance(error, ssl.SSLError)
            else error.strerror
        )
        raise EngineError(f"-x metricscert={path}: {why}") from None
    return context
