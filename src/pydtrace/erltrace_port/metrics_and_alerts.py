"""Metrics and alerts for erltrace, as terms: the same that --metrics and --alert make.

Meter.read_families() gives [{Name, Kind, Help, [{Labels, Value}]}]. Value is a number,
{histogram, [{Le, Count}], Count, Sum} or {summary, [{Quantile, Number}], Count, Sum}; an unknown
sum is `undefined`. Notes.take_note() gives a note (docs/howto/alerts.md) as a map.

- All text is binaries.
- Nothing here waits for Erlang.
"""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any

from pydtrace.driver.sink import Sink
from pydtrace.engine import EngineError
from pydtrace.erlang_node.etf import Atom
from pydtrace.sinks.alerts.alert_receivers import QUEUE_SIZE, make_queue_receiver, open_receiver
from pydtrace.sinks.alerts.alerts_sink import AlertsSink
from pydtrace.sinks.metrics import metric_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client.core import Metric

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.sinks.alerts.alert_receivers import Receiver

RECEIVER = "erlang"  # how the option `alert` calls the process that gets the notes
_SUFFIXES = {"counter": "_total", "info": "_info"}
_ENDS = ("le", "quantile")  # labels of a part of a series
_UNDEFINED, _NULL = Atom("undefined"), Atom("null")


class MetricsKeeper(Sink):
    """Keeps what the aggregations have held.  It shows nothing by itself: see Tee."""

    def __init__(self) -> None:
        self._lost: dict[str, int] = {}
        self._final: list[Any] | None = None

    def begin(self, info: TraceInfo) -> None:
        try:
            from pydtrace.sinks.metrics import prometheus_model
        except ImportError:
            raise EngineError(
                "metrics need prometheus_client: pip install 'pydtrace[prometheus]'"
            ) from None
        self._metrics, self._info = prometheus_model.make_metrics, info
        try:
            self._book = prometheus_model.MetricStore(
                info.actions.aggregates, info.engine, metric_config.collect_lines(info.options)
            )
        except metric_config.MetricConfigError as error:
            raise EngineError(f"metrics: {error}") from None

    def records(self, buffer: bytes) -> None:
        """Aggregations are looked at when they are asked for."""

    def drop(self, kind: str, count: int, line: str) -> None:
        self._lost[kind] = self._lost.get(kind, 0) + count

    def snapshot(self, aggregates: Any) -> None:
        self._final = self.read_families()

    def read_families(self) -> list[Any]:
        """As they are now, or were at the end."""
        if self._final is not None:
            return self._final
        return [
            _encode_family(metric)
            for metric in self._metrics(
                self._book.take_snapshot(self._lost, self._info.error_count)
            )
        ]


def _encode_family(metric: Metric) -> Any:
    kind = metric.type if metric.type in ("counter", "histogram", "summary") else "gauge"
    series: dict[Any, list[Any]] = {}
    for sample in metric.samples:
        labels = tuple(
            (_to_binary(name), _to_binary(text))
            for name, text in sample.labels.items()
            if name not in _ENDS
        )
        series.setdefault(labels, []).append(sample)
    value = _encode_distribution if kind in ("histogram", "summary") else _encode_sample
    name = metric.name + _SUFFIXES.get(metric.type, "")
    return (
        _to_binary(name),
        Atom(kind),
        _to_binary(metric.documentation),
        [(list(labels), value(kind, each)) for labels, each in series.items()],
    )


def _encode_sample(kind: str, samples: list[Any]) -> Any:
    return _plain_number(samples[0].value)


def _encode_distribution(kind: str, samples: list[Any]) -> Any:
    """Of a distribution."""
    parts = [
        (_plain_number(float(end)), _plain_number(sample.value))
        for sample in samples
        for end in map(sample.labels.get, _ENDS)
        if end
    ]
    count, total = (
        next(
            (_plain_number(sample.value) for sample in samples if sample.name.endswith(suffix)),
            _UNDEFINED,
        )
        for suffix in ("_count", "_sum")
    )
    return Atom(kind), parts, count, total


def _plain_number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


class AlertNotes:
    """Alerts of these clauses.  sink: what finds them; take_note(): the next note, None where there is none."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._waiting: queue.Queue[Any] = queue.Queue(QUEUE_SIZE)
        self.sink = AlertsSink(lambda text, error=True: notify(text), self._open_receiver)

    def _open_receiver(self, text: str) -> Receiver:
        return (
            make_queue_receiver("Erlang", self._waiting)
            if text == RECEIVER
            else open_receiver(text)
        )

    def take_note(self) -> Any:
        try:
            return _encode_note(self._waiting.get_nowait())
        except queue.Empty:
            return None

    @property
    def is_empty(self) -> bool:
        return self._waiting.empty()


def _encode_note(value: Any) -> Any:
    """Of what JSON has."""
    if isinstance(value, dict):
        return {_to_binary(key): _encode_note(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_encode_note(each) for each in value]
    return _to_binary(value) if isinstance(value, str) else _NULL if value is None else value


def _to_binary(text: str) -> bytes:
    return text.encode("utf-8", "replace")
