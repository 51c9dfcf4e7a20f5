"""Aggregations as metrics of Prometheus, for --metrics (metrics_sink.py) and for a program's own
registry (Collector).

- A counter or a distribution never falls, whatever clear() and trunc() of the script do.
- A bucket ends where D's does: le is the greatest integer in it.
- Metrics are made of a Snapshot, which does not change, in the thread that asks.
"""

from __future__ import annotations

import time
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Exemplar, Metric

from pydtrace.driver.cumulative_totals import CumulativeTotals, CurrentTotals
from pydtrace.dtrace_text import runtime_errors
from pydtrace.results.aggregation_values import FloatNumber, Histogram, Percentiles, bucket_bounds

from . import metric_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.cumulative_totals import Labels
    from pydtrace.program.program import AggDef
    from pydtrace.results.aggregations import Aggregation

    from .metric_config import MetricSpec

    Values = Mapping[Labels | None, Any]

_CUMULATIVE = ("counter", "summary", "histogram")  # kinds that hold all that there has ever been
TRACER_METRICS = {  # about the tracing itself: kind, help
    "pydtrace": ("info", "What traces."),
    "pydtrace_lost": (
        "counter",
        "Events, records and values that were lost, by kind (dtrace's drops).",
    ),
    "pydtrace_errors": ("counter", "Run-time errors of the script."),
    "pydtrace_complete": ("gauge", "1 while nothing was lost or came out of order, else 0."),
    "pydtrace_overflowed_keys": (
        "gauge",
        "Keys of an aggregation that share one series, since there are more than it may have.",
    ),
    "pydtrace_snapshot_timestamp_seconds": (
        "gauge",
        "When the aggregations had the values that stand here.",
    ),
}


class MetricSnapshot:
    """What there is at a moment.  series: [(Meaning, AggDef, values, values of the sum() beside a distribution or None)]; lost:
    {kind: how many}; exemplars: {aggregation: {labels: [exemplars.Exemplar]}}."""

    __slots__ = ("engine", "errors", "exemplars", "drops", "overflowed", "series", "time")

    def __init__(
        self,
        engine: str,
        series: list[tuple[MetricSpec, AggDef, Values, Values | None]],
        overflowed: dict[str, int],
        drops: Mapping[str, int],
        errors: int,
    ) -> None:
        self.engine, self.series, self.overflowed, self.drops, self.errors = (
            engine,
            series,
            overflowed,
            dict(drops),
            errors,
        )
        self.exemplars: Mapping[str, Mapping[Labels, list[Any]]] = {}
        self.time = time.time()


class MetricStore:
    """Keeps what the aggregations of a script have ever held; all calls come from the thread that traces.

    meanings: {aggregation: Meaning}; unmapped: names of those that no line of the mapping tells of.  Raises mapping.MappingError."""

    def __init__(
        self, aggregates: AggregationState, engine: str, lines: Iterable[tuple[str, str]]
    ) -> None:
        self._aggregates, self._engine = aggregates, engine
        definitions = aggregates.program.aggregations
        specs = metric_config.read_specs(lines, definitions)
        self.specs, self.unmapped = metric_config.complete_specs(specs, definitions, TRACER_METRICS)
        self._definitions = {definition.name: definition for definition in definitions}
        self._totals: dict[str, CumulativeTotals] = {}
        for name, meaning in self.specs.items():
            self._totals[name] = made = (
                CumulativeTotals()
                if metric_kind(meaning, self._definitions[name]) in _CUMULATIVE
                else CurrentTotals()
            )
            if meaning.sum:
                self._totals[meaning.sum] = CumulativeTotals(same_labels_as=made)
        self._next_listener, aggregates.on_removal = aggregates.on_removal, self._add_removed

    def _add_removed(self, definition: AggDef, leaving: Aggregation) -> None:
        self._totals[definition.name].add_removed(leaving)
        if self._next_listener:
            self._next_listener(definition, leaving)

    def take_snapshot(
        self,
        drops: Mapping[str, int],
        errors: int,
        read_current: Callable[[AggDef], Aggregation] | None = None,
    ) -> MetricSnapshot:
        """What there is now.  held: what an aggregation holds, where it is not to be asked of the engine."""

        def values(name: str) -> Values:
            definition = self._definitions[name]
            return self._totals[name].compute_totals(
                (read_current or self._aggregates.take_snapshot)(definition)
            )

        series = []
        for name, meaning in self.specs.items():
            mine = values(
                name
            )  # before those of the sum beside it: which labels are its own is known then
            series.append(
                (
                    meaning,
                    self._definitions[name],
                    mine,
                    values(meaning.sum) if meaning.sum else None,
                )
            )
        overflowed = {name: self._totals[name].overflowed_keys for name in self.specs}
        return MetricSnapshot(self._engine, series, overflowed, drops, errors)


def metric_kind(meaning: MetricSpec, definition: AggDef) -> str:
    return meaning.kind or str(definition.row.metric_type)


class Collector:
    """For the registry of a program: asks for a Snapshot at each collect().  strict: only what OpenMetrics permits; a registry does
    not tell in which format it is asked.  left_out: something that it does not permit, and that is said nowhere else, was there."""

    def __init__(self, take_snapshot: Callable[[], MetricSnapshot], strict: bool = True) -> None:
        self._take_snapshot, self._strict = take_snapshot, strict
        self.has_omissions = False

    def describe(self) -> list[Metric]:
        """Registering asks for nothing: which metrics there are is known when something came."""
        return []

    def collect(self) -> Iterator[Metric]:
        for metric in make_metrics(self._take_snapshot()):
            if self._strict:
                self.has_omissions |= _restrict_to_openmetrics(metric)
            yield metric


# --- as prometheus_client has it --------------------------------------------------------------


def make_metrics(snapshot: MetricSnapshot) -> Iterator[Metric]:
    """All of it."""
    for meaning, definition, values, sums in snapshot.series:
        kind = metric_kind(meaning, definition)
        metric = Metric(meaning.name, meaning.help, kind, meaning.unit)
        exemplars = snapshot.exemplars.get(definition.name, {})
        for labels, value in values.items():
            if isinstance(value, Percentiles):
                _add_quantiles(
                    metric, _name_labels(meaning, labels), value, meaning, (sums or {}).get(labels)
                )
            else:
                _SAMPLES[kind](metric, _name_labels(meaning, labels), value, meaning)
                if kind == "counter" and (
                    newest := _newest_exemplar(
                        exemplars.get(labels or (), []), -(2**63) - 1, None, meaning
                    )
                ):
                    metric.samples[-1] = metric.samples[-1]._replace(exemplar=newest)
        if kind == "histogram":
            _add_distributions(metric, meaning, values, sums or {}, exemplars)
        yield metric
    yield from _tracer_metrics(snapshot)


def _name_labels(meaning: MetricSpec, labels: Labels | None) -> dict[str, str]:
    if labels is None:
        return {metric_config.OVERFLOW_LABEL: "true"}
    return dict(zip(meaning.labels or (), labels))


def _scale_value(value: Any, multiplier: Decimal) -> float:
    """A value in the metric's unit."""
    if multiplier == 1:
        return float(value)
    return (
        float(value) * float(multiplier)
        if isinstance(value, float)
        else float(Decimal(int(value)) * multiplier)
    )


def _add_counter(metric: Metric, labels: dict[str, str], value: Any, meaning: MetricSpec) -> None:
    metric.add_sample(f"{metric.name}_total", labels, _scale_value(value, meaning.multiplier))


def _add_gauge(metric: Metric, labels: dict[str, str], value: Any, meaning: MetricSpec) -> None:
    metric.add_sample(metric.name, labels, _scale_value(value, meaning.multiplier))


def _add_summary(metric: Metric, labels: dict[str, str], value: Any, meaning: MetricSpec) -> None:
    """Of a mean, where it is known what it was made of."""
    if not value.row.is_from_dtrace(value.words):
        total = value.mean * value.n if isinstance(value, FloatNumber) else value.words[1]
        metric.add_sample(f"{metric.name}_count", labels, float(value.n))
        metric.add_sample(f"{metric.name}_sum", labels, _scale_value(total, meaning.multiplier))


def _add_quantiles(
    metric: Metric, labels: dict[str, str], value: Percentiles, meaning: MetricSpec, total: Any
) -> None:
    """Of percentiles(): 1 is the greatest.  total: of the sum() beside it, or None."""
    for _, percent in value.row.shown_percentiles:
        metric.add_sample(
            metric.name,
            {**labels, "quantile": f"{percent / 100:g}"},
            _scale_value(value.percentile(percent), meaning.multiplier),
        )
    metric.add_sample(f"{metric.name}_count", labels, float(value.n))
    if total is not None:
        metric.add_sample(f"{metric.name}_sum", labels, _scale_value(total, meaning.multiplier))


def _add_nothing(metric: Metric, labels: dict[str, str], value: Any, meaning: MetricSpec) -> None:
    """A distribution's buckets are those of all its values: _add_distributions()."""


_SAMPLES = {
    "counter": _add_counter,
    "gauge": _add_gauge,
    "summary": _add_summary,
    "histogram": _add_nothing,
}


def _add_distributions(
    metric: Metric,
    meaning: MetricSpec,
    values: Values,
    sums: Values,
    exemplars: Mapping[Labels, list[Any]],
) -> None:
    """All that have the same edges: from those that anything came to, one more on each side."""
    histograms: list[Histogram] = list(values.values())
    if not histograms:
        return
    edges = bucket_bounds(histograms[0].row, histograms[0].params)
    first, last = _find_used_buckets(histograms, edges, meaning.buckets)
    ends = [
        (index, _format_bound(edges[index][1], meaning.multiplier))
        for index in range(first, last + 1)
        if edges[index][1] is not None
    ]
    for labels, histogram in values.items():
        named = _name_labels(meaning, labels)
        below = list(accumulate(histogram.counts))
        mine, low = exemplars.get(labels or (), []), -(2**63) - 1
        for index, le in ends:
            high = edges[index][1]
            metric.add_sample(
                f"{metric.name}_bucket",
                {**named, "le": le},
                float(below[index]),
                exemplar=_newest_exemplar(mine, low, high, meaning),
            )
            low = high if high is not None else low
        metric.add_sample(
            f"{metric.name}_bucket",
            {**named, "le": "+Inf"},
            float(below[-1]),
            exemplar=_newest_exemplar(mine, low, None, meaning),
        )
        metric.add_sample(f"{metric.name}_count", named, float(below[-1]))
        if labels in sums:
            metric.add_sample(
                f"{metric.name}_sum", named, _scale_value(sums[labels], meaning.multiplier)
            )


def _newest_exemplar(
    several: list[Any], low: int, high: int | None, meaning: MetricSpec
) -> Exemplar | None:
    """The newest of those in (low, high], as prometheus_client has it."""
    found = [each for each in several if low < each.value and (high is None or each.value <= high)]
    if not found:
        return None
    newest = max(found, key=lambda each: each.time)
    return Exemplar(newest.labels, _scale_value(newest.value, meaning.multiplier), newest.time)


def _find_used_buckets(
    histograms: list[Histogram],
    edges: Sequence[tuple[int | None, int | None]],
    least: tuple[int, int] | None,
) -> tuple[int, int]:
    """(first, last) index of a bucket that is shown; least: values whose buckets are, whether anything came to them or not."""
    used = [
        index
        for index, counts in enumerate(zip(*(each.counts for each in histograms)))
        if any(counts)
    ]
    if least:
        used += [
            index
            for index, (low, high) in enumerate(edges)
            if (low is None or low <= least[1]) and (high is None or high >= least[0])
        ]
    return max(min(used, default=0) - 1, 0), min(max(used, default=0) + 1, len(edges) - 1)


def _format_bound(high: int | None, multiplier: Decimal) -> str:
    """An upper bound without an exponent, as exact as it is."""
    assert high is not None
    text = format(high * multiplier, "f")
    return (
        (text.rstrip("0") + ("0" if text.rstrip("0")[-1] == "." else ""))
        if "." in text
        else f"{text}.0"
    )


def _restrict_to_openmetrics(metric: Metric) -> bool:
    """Takes away the samples that OpenMetrics does not permit: a counter, a _sum or a quantile that is negative or NaN; of a histogram
    _sum where a bucket ends below 0 (one that is empty in all series goes instead), and _count where there is no _sum.
    True: among them was something else than buckets without values and counts, which the bucket +Inf has as well."""
    before = _count_unique_samples(metric)
    refused = (
        [metric.name + suffix for suffix in ("", "_total", "_sum")]
        if metric.type in _CUMULATIVE
        else []
    )
    metric.samples = [
        each for each in metric.samples if each.name not in refused or each.value >= 0
    ]
    if metric.type == "histogram":
        negative = [each for each in metric.samples if float(each.labels.get("le", 0)) < 0]
        empty = {each.labels["le"] for each in negative} - {
            each.labels["le"] for each in negative if each.value
        }
        sums = {_series_key(each) for each in metric.samples if each.name == f"{metric.name}_sum"}
        whole = sums if not any(each.value for each in negative) else ()
        metric.samples = [
            each
            for each in metric.samples
            if (
                each.labels["le"] not in empty
                if "le" in each.labels
                else _series_key(each) in whole
            )
        ]
    return _count_unique_samples(metric) < before


def _count_unique_samples(metric: Metric) -> int:
    """How many samples say what no bucket says."""
    return sum(not each.name.endswith(("_bucket", "_count")) for each in metric.samples)


def _series_key(sample: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sample.labels.items())


def _tracer_metrics(snapshot: MetricSnapshot) -> Iterator[Metric]:
    """About the tracing."""
    samples: dict[str, list[tuple[str, dict[str, str], float]]] = {
        "pydtrace": [("_info", {"engine": snapshot.engine}, 1.0)],
        "pydtrace_lost": [
            ("_total", {"kind": kind}, float(snapshot.drops.get(kind, 0)))
            for kind in runtime_errors.DROP_KINDS
        ],
        "pydtrace_errors": [("_total", {}, float(snapshot.errors))],
        "pydtrace_complete": [("", {}, float(not any(snapshot.drops.values())))],
        "pydtrace_overflowed_keys": [
            ("", {"aggregation": name}, float(count)) for name, count in snapshot.overflowed.items()
        ],
        "pydtrace_snapshot_timestamp_seconds": [("", {}, snapshot.time)],
    }
    for name, (kind, text) in TRACER_METRICS.items():
        metric = Metric(name, text, kind)
        for suffix, labels, value in samples[name]:
            metric.add_sample(name + suffix, labels, value)
        yield metric
