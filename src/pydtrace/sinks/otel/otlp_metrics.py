"""Metrics of Prometheus (sinks/metrics/prometheus_model.py) as the SDK's MetricsData, cumulative or
as deltas to the last accepted ones.

- An aggregation has one meaning: what prometheus_model.py gives is written in another form. A
  bucket's bounds stay, since in both a value belongs to the first bucket whose bound is not below
  it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from pydtrace.sinks.metrics.prometheus_model import make_metrics

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from pydtrace.sinks.metrics.prometheus_model import MetricSnapshot

    Key = tuple[str, tuple[tuple[str, str], ...]]  # of a series: its name, its labels

_SUMS = ("_total", "_count", "_sum")  # of samples that only grow


def make_resource() -> Resource:
    """Who we are, where OpenTelemetry's variables do not say it."""
    ours: dict[str, Any] = {
        "service.name": "pydtrace",
        "process.pid": os.getpid(),
        "host.name": os.uname().nodename,
    }
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})


class MetricsConverter:
    """delta: differences, not all that there has ever been."""

    def __init__(self, is_delta: bool) -> None:
        self._is_delta = is_delta
        self._began = self._last = time.time_ns()
        self._received_values: dict[Key, Any] = {}  # what was received
        self._converted_values: dict[Key, Any] = {}  # what was made since
        kind = export.AggregationTemporality
        self._temporality = kind.DELTA if is_delta else kind.CUMULATIVE
        self._resource = make_resource()
        self._scope = InstrumentationScope("pyusdt")

    def convert_snapshot(self, snapshot: MetricSnapshot) -> Any:
        """A MetricsData."""
        self._converted_values, self._time = {}, int(snapshot.time * 1e9)
        found = [each for metric in make_metrics(snapshot) for each in self._convert_metric(metric)]
        return export.MetricsData(
            [
                export.ResourceMetrics(
                    self._resource, [export.ScopeMetrics(self._scope, found, "")], ""
                )
            ]
        )

    def mark_received(self) -> None:
        """What was made last has arrived."""
        self._received_values, self._last = self._converted_values, self._time

    # --- one metric ---------------------------------------------------------------------------

    def _convert_metric(self, metric: Metric) -> list[Any]:
        if metric.type == "histogram":
            points = [
                self._convert_histogram(metric.name, *each) for each in _read_distributions(metric)
            ]
            return (
                [
                    self._make_metric(
                        metric, metric.name, export.Histogram(points, self._temporality)
                    )
                ]
                if points
                else []
            )
        sums: dict[str, list[Any]] = {}
        gauges = []
        for sample in metric.samples:
            if sample.name.endswith(_SUMS) and metric.type in ("counter", "summary"):
                sums.setdefault(sample.name.removesuffix("_total"), []).append(
                    self._convert_sum(sample)
                )
            else:
                gauges.append(self._make_point(sample.labels, self._began, sample.value))
        made = [
            self._make_metric(metric, name, export.Sum(points, self._temporality, True))
            for name, points in sums.items()
        ]
        return (
            [*made, self._make_metric(metric, metric.name, export.Gauge(gauges))]
            if gauges
            else made
        )

    def _make_metric(self, metric: Metric, name: str, data: Any) -> Any:
        return export.Metric(name, metric.documentation, metric.unit, data)

    def _make_point(self, labels: dict[str, str], since: int, value: float) -> Any:
        return export.NumberDataPoint(dict(labels), since, self._time, value)

    def _start_time(self) -> int:
        return self._last if self._is_delta else self._began

    def _convert_sum(self, sample: Any) -> Any:
        key = sample.name, tuple(sample.labels.items())
        self._converted_values[key] = sample.value
        before = self._received_values.get(key, 0.0) if self._is_delta else 0.0
        return self._make_point(sample.labels, self._start_time(), sample.value - before)

    def _convert_histogram(
        self,
        name: str,
        labels: dict[str, str],
        bounds: list[float],
        counts: list[int],
        total: float | None,
    ) -> Any:
        key = name, tuple(labels.items())
        self._converted_values[key] = dict(zip([*bounds, float("inf")], counts)), total or 0.0
        before, before_total = (
            self._received_values.get(key, ({}, 0.0)) if self._is_delta else ({}, 0.0)
        )
        counts = [
            count - before.get(bound, 0) for bound, count in zip([*bounds, float("inf")], counts)
        ]
        total = None if total is None else total - before_total
        point: Any = (
            export.HistogramDataPoint
        )  # its stub forbids None for what the protocol leaves out
        return point(
            labels, self._start_time(), self._time, sum(counts), total, counts, bounds, None, None
        )


def _read_distributions(
    metric: Metric,
) -> list[tuple[dict[str, str], list[float], list[int], float | None]]:
    """(labels, bounds, counts of the buckets, sum) of each series."""
    found: dict[Any, tuple[dict[str, str], list[float], list[int], list[float]]] = {}
    for sample in metric.samples:
        labels = {name: value for name, value in sample.labels.items() if name != "le"}
        _, bounds, below, total = found.setdefault(tuple(labels.items()), (labels, [], [], []))
        if sample.name.endswith("_bucket"):
            below.append(int(sample.value))
            if sample.labels["le"] != "+Inf":
                bounds.append(float(sample.labels["le"]))
        elif sample.name.endswith("_sum"):
            total.append(sample.value)
    return [
        (
            labels,
            bounds,
            [count - before for before, count in zip([0, *below], below)],
            total[0] if total else None,
        )
        for labels, bounds, below, total in found.values()
    ]
