"""Aggregations as metrics of Prometheus.

In: a tracing's aggregations, what they are called (metric_config.py), what was lost.  Out: metrics of prometheus_client, for pydtrace
--metrics (metrics_sink.py) and for a program's own registry (Collector).
Always: a counter or a distribution never falls, whatever clear() and trunc() of the script do; a bucket ends where D's does: le is the
greatest integer in it; made of a Snapshot, which nothing changes, and in the thread that asks for it.
"""

from __future__ import annotations

import time
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Exemplar, Metric

from pydtrace.driver.cumulative_totals import Present, Totals
from pydtrace.dtrace_text import runtime_errors
from pydtrace.results.aggregation_values import FloatNumber, Histogram, Percentiles, bucket_bounds

from . import metric_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydtrace.driver.aggregation_state import Aggregates
    from pydtrace.driver.cumulative_totals import Labels
    from pydtrace.program.program import AggDef
    from pydtrace.results.aggregations import Aggregation

    from .metric_config import Meaning

    Values = Mapping[Labels | None, Any]

_PAST = ("counter", "summary", "histogram")  # kinds that hold all that there has ever been
OWN = {  # about the tracing itself: kind, help
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


class Snapshot:
    """What there is at a moment.  series: [(Meaning, AggDef, values, values of the sum() beside a distribution or None)]; lost:
    {kind: how many}; exemplars: {aggregation: {labels: [exemplars.Exemplar]}}."""

    __slots__ = ("engine", "errors", "exemplars", "lost", "overflowed", "series", "time")

    def __init__(
        self,
        engine: str,
        series: list[tuple[Meaning, AggDef, Values, Values | None]],
        overflowed: dict[str, int],
        lost: Mapping[str, int],
        errors: int,
    ) -> None:
        self.engine, self.series, self.overflowed, self.lost, self.errors = (
            engine,
            series,
            overflowed,
            dict(lost),
            errors,
        )
        self.exemplars: Mapping[str, Mapping[Labels, list[Any]]] = {}
        self.time = time.time()


class Book:
    """Keeps what the aggregations of a script have ever held; all calls come from the thread that traces.

    meanings: {aggregation: Meaning}; unmapped: names of those that no line of the mapping tells of.  Raises mapping.MappingError."""

    def __init__(
        self, aggregates: Aggregates, engine: str, lines: Iterable[tuple[str, str]]
    ) -> None:
        self._aggregates, self._engine = aggregates, engine
        definitions = aggregates.program.aggregations
        told = metric_config.read(lines, definitions)
        self.meanings, self.unmapped = metric_config.complete(told, definitions, OWN)
        self._definitions = {definition.name: definition for definition in definitions}
        self._totals: dict[str, Totals] = {}
        for name, meaning in self.meanings.items():
            self._totals[name] = made = (
                Totals() if kind_of(meaning, self._definitions[name]) in _PAST else Present()
            )
            if meaning.sum:
                self._totals[meaning.sum] = Totals(beside=made)
        self._also, aggregates.departing = aggregates.departing, self._depart

    def _depart(self, definition: AggDef, leaving: Aggregation) -> None:
        self._totals[definition.name].depart(leaving)
        if self._also:
            self._also(definition, leaving)

    def look(
        self,
        lost: Mapping[str, int],
        errors: int,
        held: Callable[[AggDef], Aggregation] | None = None,
    ) -> Snapshot:
        """What there is now.  held: what an aggregation holds, where it is not to be asked of the engine."""

        def values(name: str) -> Values:
            definition = self._definitions[name]
            return self._totals[name].look((held or self._aggregates.snapshot)(definition))

        series = []
        for name, meaning in self.meanings.items():
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
        overflowed = {name: self._totals[name].overflowed for name in self.meanings}
        return Snapshot(self._engine, series, overflowed, lost, errors)


def kind_of(meaning: Meaning, definition: AggDef) -> str:
    return meaning.kind or str(definition.row.metric)


class Collector:
    """For the registry of a program: asks for a Snapshot at each collect().  strict: only what OpenMetrics permits; a registry does
    not tell in which format it is asked.  left_out: something that it does not permit, and that is said nowhere else, was there."""

    def __init__(self, look: Callable[[], Snapshot], strict: bool = True) -> None:
        self._look, self._strict = look, strict
        self.left_out = False

    def describe(self) -> list[Metric]:
        """Registering asks for nothing: which metrics there are is known when something came."""
        return []

    def collect(self) -> Iterator[Metric]:
        for metric in metrics(self._look()):
            if self._strict:
                self.left_out |= _restrict(metric)
            yield metric


# --- as prometheus_client has it --------------------------------------------------------------


def metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """All of it."""
    for meaning, definition, values, sums in snapshot.series:
        kind = kind_of(meaning, definition)
        metric = Metric(meaning.name, meaning.help, kind, meaning.unit)
        exemplars = snapshot.exemplars.get(definition.name, {})
        for labels, value in values.items():
            if isinstance(value, Percentiles):
                _quantiles(
                    metric, _named(meaning, labels), value, meaning, (sums or {}).get(labels)
                )
            else:
                _SAMPLES[kind](metric, _named(meaning, labels), value, meaning)
                if kind == "counter" and (
                    newest := _exemplar(
                        exemplars.get(labels or (), []), -(2**63) - 1, None, meaning
                    )
                ):
                    metric.samples[-1] = metric.samples[-1]._replace(exemplar=newest)
        if kind == "histogram":
            _distribution(metric, meaning, values, sums or {}, exemplars)
        yield metric
    yield from _own(snapshot)


def _named(meaning: Meaning, labels: Labels | None) -> dict[str, str]:
    if labels is None:
        return {metric_config.OVERFLOW: "true"}
    return dict(zip(meaning.labels or (), labels))


def _scaled(value: Any, multiplier: Decimal) -> float:
    """A value in the metric's unit."""
    if multiplier == 1:
        return float(value)
    return (
        float(value) * float(multiplier)
        if isinstance(value, float)
        else float(Decimal(int(value)) * multiplier)
    )


def _counter(metric: Metric, labels: dict[str, str], value: Any, meaning: Meaning) -> None:
    metric.add_sample(f"{metric.name}_total", labels, _scaled(value, meaning.multiplier))


def _gauge(metric: Metric, labels: dict[str, str], value: Any, meaning: Meaning) -> None:
    metric.add_sample(metric.name, labels, _scaled(value, meaning.multiplier))


def _summary(metric: Metric, labels: dict[str, str], value: Any, meaning: Meaning) -> None:
    """Of a mean, where it is known what it was made of."""
    if not value.row.is_told(value.words):
        total = value.mean * value.n if isinstance(value, FloatNumber) else value.words[1]
        metric.add_sample(f"{metric.name}_count", labels, float(value.n))
        metric.add_sample(f"{metric.name}_sum", labels, _scaled(total, meaning.multiplier))


def _quantiles(
    metric: Metric, labels: dict[str, str], value: Percentiles, meaning: Meaning, total: Any
) -> None:
    """Of percentiles(): 1 is the greatest.  total: of the sum() beside it, or None."""
    for _, percent in value.row.percents:
        metric.add_sample(
            metric.name,
            {**labels, "quantile": f"{percent / 100:g}"},
            _scaled(value.percentile(percent), meaning.multiplier),
        )
    metric.add_sample(f"{metric.name}_count", labels, float(value.n))
    if total is not None:
        metric.add_sample(f"{metric.name}_sum", labels, _scaled(total, meaning.multiplier))


def _nothing(metric: Metric, labels: dict[str, str], value: Any, meaning: Meaning) -> None:
    """A distribution's buckets are those of all its values: _distribution()."""


_SAMPLES = {"counter": _counter, "gauge": _gauge, "summary": _summary, "histogram": _nothing}


def _distribution(
    metric: Metric,
    meaning: Meaning,
    values: Values,
    sums: Values,
    exemplars: Mapping[Labels, list[Any]],
) -> None:
    """All that have the same edges: from those that anything came to, one more on each side."""
    histograms: list[Histogram] = list(values.values())
    if not histograms:
        return
    edges = bucket_bounds(histograms[0].row, histograms[0].params)
    first, last = _used(histograms, edges, meaning.buckets)
    ends = [
        (index, _le(edges[index][1], meaning.multiplier))
        for index in range(first, last + 1)
        if edges[index][1] is not None
    ]
    for labels, histogram in values.items():
        named = _named(meaning, labels)
        below = list(accumulate(histogram.counts))
        mine, low = exemplars.get(labels or (), []), -(2**63) - 1
        for index, le in ends:
            high = edges[index][1]
            metric.add_sample(
                f"{metric.name}_bucket",
                {**named, "le": le},
                float(below[index]),
                exemplar=_exemplar(mine, low, high, meaning),
            )
            low = high if high is not None else low
        metric.add_sample(
            f"{metric.name}_bucket",
            {**named, "le": "+Inf"},
            float(below[-1]),
            exemplar=_exemplar(mine, low, None, meaning),
        )
        metric.add_sample(f"{metric.name}_count", named, float(below[-1]))
        if labels in sums:
            metric.add_sample(
                f"{metric.name}_sum", named, _scaled(sums[labels], meaning.multiplier)
            )


def _exemplar(several: list[Any], low: int, high: int | None, meaning: Meaning) -> Exemplar | None:
    """The newest of those in (low, high], as prometheus_client has it."""
    found = [each for each in several if low < each.value and (high is None or each.value <= high)]
    if not found:
        return None
    newest = max(found, key=lambda each: each.time)
    return Exemplar(newest.labels, _scaled(newest.value, meaning.multiplier), newest.time)


def _used(
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


def _le(high: int | None, multiplier: Decimal) -> str:
    """An upper bound without an exponent, as exact as it is."""
    assert high is not None
    text = format(high * multiplier, "f")
    return (
        (text.rstrip("0") + ("0" if text.rstrip("0")[-1] == "." else ""))
        if "." in text
        else f"{text}.0"
    )


def _restrict(metric: Metric) -> bool:
    """Takes away the samples that OpenMetrics does not permit: a counter, a _sum or a quantile that is negative or NaN; of a histogram
    _sum where a bucket ends below 0 (one that is empty in all series goes instead), and _count where there is no _sum.
    True: among them was something else than buckets without values and counts, which the bucket +Inf has as well."""
    told = _told(metric)
    refused = (
        [metric.name + suffix for suffix in ("", "_total", "_sum")] if metric.type in _PAST else []
    )
    metric.samples = [
        each for each in metric.samples if each.name not in refused or each.value >= 0
    ]
    if metric.type == "histogram":
        negative = [each for each in metric.samples if float(each.labels.get("le", 0)) < 0]
        empty = {each.labels["le"] for each in negative} - {
            each.labels["le"] for each in negative if each.value
        }
        sums = {_series(each) for each in metric.samples if each.name == f"{metric.name}_sum"}
        whole = sums if not any(each.value for each in negative) else ()
        metric.samples = [
            each
            for each in metric.samples
            if (each.labels["le"] not in empty if "le" in each.labels else _series(each) in whole)
        ]
    return _told(metric) < told


def _told(metric: Metric) -> int:
    """How many samples say what no bucket says."""
    return sum(not each.name.endswith(("_bucket", "_count")) for each in metric.samples)


def _series(sample: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sample.labels.items())


def _own(snapshot: Snapshot) -> Iterator[Metric]:
    """About the tracing."""
    samples: dict[str, list[tuple[str, dict[str, str], float]]] = {
        "pydtrace": [("_info", {"engine": snapshot.engine}, 1.0)],
        "pydtrace_lost": [
            ("_total", {"kind": kind}, float(snapshot.lost.get(kind, 0)))
            for kind in runtime_errors.DROP_KINDS
        ],
        "pydtrace_errors": [("_total", {}, float(snapshot.errors))],
        "pydtrace_complete": [("", {}, float(not any(snapshot.lost.values())))],
        "pydtrace_overflowed_keys": [
            ("", {"aggregation": name}, float(count)) for name, count in snapshot.overflowed.items()
        ],
        "pydtrace_snapshot_timestamp_seconds": [("", {}, snapshot.time)],
    }
    for name, (kind, text) in OWN.items():
        metric = Metric(name, text, kind)
        for suffix, labels, value in samples[name]:
            metric.add_sample(name + suffix, labels, value)
        yield metric
