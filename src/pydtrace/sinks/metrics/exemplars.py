"""Exemplars: single values of a metric, with what leads to their source (a trace's id, a tag).

metric_config.py names the value and the texts. For each series the newest record of each
magnitude is kept.

- A record counts if it has all that the configuration names, the metric's labels included.
- What OpenMetrics would refuse (more than 128 characters) is left out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from pydtrace.driver.cumulative_totals import format_label
from pydtrace.results.records import iter_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydtrace.driver.sink import TraceInfo

    from .metric_config import MetricSpec

_MAX_SERIES = 1000  # series of a metric, as many as it may have
_MAX_CHARACTERS = 128  # characters of names and values, by OpenMetrics


class Exemplar(NamedTuple):
    """value: as recorded; labels: {name: text}; time: seconds since 1970."""

    value: int
    labels: dict[str, str]
    time: float


class Exemplars:
    """meanings: {aggregation: Meaning}, of which some ask for exemplars."""

    def __init__(self, meanings: Mapping[str, MetricSpec], info: TraceInfo) -> None:
        self._found: dict[str, dict[tuple[str, ...], dict[int, Exemplar]]] = {}
        self._decoder = info.make_decoder()
        self._wanted: dict[int, list[tuple[str, MetricSpec]]] = {}  # by clause
        for name, meaning in meanings.items():
            for clause in info.program.clauses if meaning.exemplar else ():
                if {*meaning.exemplar, *(meaning.labels or ())} <= {
                    *self._decoder.value_names(clause.index or 0)
                }:
                    self._wanted.setdefault(clause.index or 0, []).append((name, meaning))

    def add_records(self, buffer: bytes) -> None:
        """Of the records of a buffer."""
        for raw, clause, *_ in iter_records(buffer) if self._wanted else ():
            for record in self._decoder.decode(raw) if clause in self._wanted else ():
                for name, meaning in self._wanted[clause]:
                    self._add_exemplar(name, meaning, record)

    def _add_exemplar(self, name: str, meaning: MetricSpec, record: Any) -> None:
        value, labels = (
            record[meaning.exemplar[0]],
            {each: format_label(record[each]) for each in meaning.exemplar[1:]},
        )
        if (
            not isinstance(value, int)
            or sum(len(key) + len(text) for key, text in labels.items()) > _MAX_CHARACTERS
        ):
            return
        series = tuple(format_label(record[each]) for each in meaning.labels or ())
        of = self._found.setdefault(name, {})
        if series in of or len(of) < _MAX_SERIES:
            when = time.time() - (time.monotonic_ns() - record.time) / 1e9
            of.setdefault(series, {})[value.bit_length()] = Exemplar(value, labels, round(when, 3))

    def list_exemplars(self) -> dict[str, dict[tuple[str, ...], list[Exemplar]]]:
        """{aggregation: {labels: exemplars}}, now."""
        return {
            name: {labels: list(kept.values()) for labels, kept in of.items()}
            for name, of in self._found.items()
        }
