"""Aggregations as a script would have them, without a script and an engine."""

from types import SimpleNamespace

from pydtrace.aggregation.int64 import pack_words, unpack_words
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.driver.aggregation_state import AggregationState
from pydtrace.program import d_types as t
from pydtrace.program.program import AggDef, Data
from pydtrace.results.aggregation_values import bucket_bounds

KEY = 32  # bytes of a string key


class World:
    """Aggregations of a script, by (function, constants) each, with one string as their key, or none; values are added by hand."""

    def __init__(self, keyed=True, **functions):
        self.maps = [{} for _ in functions]
        keys = [Data(t.String(), 0, KEY)] if keyed else []
        definitions = [
            AggDef(name, number + 1, AGGREGATIONS[function], params, keys, number)
            for number, (name, (function, *params)) in enumerate(functions.items())
        ]
        self.of_name = {definition.name: definition for definition in definitions}
        engine = SimpleNamespace(
            items=lambda index: list(self.maps[index].items()),
            clear=self._clear,
            remove=self._remove,
        )
        program = SimpleNamespace(aggregations=definitions, strsize=KEY, clauses=[])
        self.aggregates = AggregationState(program, engine, {}, lambda: None)

    def _clear(self, index):
        self.maps[index] = {key: bytes(len(value)) for key, value in self.maps[index].items()}

    def _remove(self, index, keys):
        for key in keys:
            del self.maps[index][key]

    def add(self, name, value, key="", times=1):
        definition = self.of_name[name]
        row, params = definition.row, tuple(definition.params)
        packed_key = (
            (key if isinstance(key, bytes) else key.encode()).ljust(KEY, b"\0")
            if definition.keys
            else b""
        )
        words = [times, value * times]
        if row.is_distribution:
            words = [
                times,
                *[value] * (row.header_words - 1),
                *[
                    times * (low is None or low <= value) * (high is None or value <= high)
                    for low, high in bucket_bounds(row, params)
                ],
            ]
        elif row.metric_type == "counter":
            words = [times]
        elif row.function_name in ("min", "max"):
            words = [times, value]
        elif row.function_name == "stddev":
            square = value * value * times
            words = [
                times,
                value * times,
                *((part & (1 << 64) - 1 ^ 1 << 63) - (1 << 63) for part in (square, square >> 64)),
            ]
        held = self.maps[definition.map].get(packed_key)
        if held is not None and unpack_words(held)[0]:
            words = row.merge_words(unpack_words(held), words)
        self.maps[definition.map][packed_key] = pack_words(words)

    def clear(self, name):
        self.aggregates.clear(self.of_name[name])

    def trunc(self, name, count=0):
        self.aggregates.trunc(self.of_name[name], count)
