"""What was added to the aggregations between two looks: what a host sends to the coordinator.

The result is {key: words} for each aggregation; merged with those of all looks before, it is what
one session would have counted (aggregation/merge_values.py).

- Nothing is sent twice or left out. Where the engine stands still between two calls the elements
  are taken out of its maps, which so never fill. Where the kernel goes on counting they stay, and
  the values of the last look are subtracted.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.program.program import AggDef
    from pydtrace.results.aggregations import Key

    from .aggregation_state import AggregationState

    Words = tuple[int, ...]


class AggregationDeltas:
    def __init__(self, aggregates: AggregationState) -> None:
        self._aggregates = aggregates
        self._previous: dict[int, dict[Key, Words]] = {}  # by ident, of the look before

    def collect_delta(self, definition: AggDef) -> dict[Key, Any]:
        """What came since the last call."""
        engine = self._aggregates.engine
        entries = engine.items(definition.map)
        held: dict[Key, Any] = {
            key: value.words
            for key, value in self._aggregates.make_aggregation(definition, entries).items()
        }
        if engine.changes_only_when_polled:
            engine.remove(definition.map, [key for key, _ in entries])
            return held
        before = self._previous.get(definition.ident, {})
        self._previous[definition.ident] = held
        came = {
            key: self._subtract_previous(definition, before.get(key), words)
            for key, words in held.items()
        }
        return {key: words for key, words in came.items() if words}

    @staticmethod
    def _subtract_previous(definition: AggDef, old: Words | None, new: Words) -> Any:
        return new if old is None else definition.row.mergeable_delta(old, new)
