"""Made-up aggregations for the tests of live views."""

from types import SimpleNamespace

from pydtrace.dlang.builtins.float_aggregations import Sum
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.program.float_values import float_to_bits
from pydtrace.program.trace_clock import Clock
from pydtrace.results.aggregation_values import FloatNumber, Histogram, Number, Percentiles
from pydtrace.results.aggregations import Aggregation
from pydtrace.sinks.live import live_model


def aggregation(name, data):
    """data: {key: value}."""
    definition = SimpleNamespace(
        name=name,
        row=next(iter(data.values())).row if data else AGGREGATIONS["count"],
        params=(),
        keys=[1] if data and next(iter(data)) else [],
    )
    return Aggregation(definition, data)


def count(n):
    return Number(AGGREGATIONS["count"], [n])


def real_sum(n, total):
    """A sum() of n doubles."""
    return FloatNumber(Sum(), [n, float_to_bits(total)])


def quantize(**buckets):
    """_8=3: three values from 8 to 15."""
    counts = [0] * 127
    for name, n in buckets.items():
        low = int(name[1:])
        counts[63 + low.bit_length()] = n
    return Histogram(AGGREGATIONS["quantize"], (), [sum(counts), *counts])


def percentiles(*data):
    """Of these values."""
    row = AGGREGATIONS["percentiles"]
    counts = [
        sum((low is None or low <= value) and value <= high for value in data)
        for low, high in row.bucket_bounds(())
    ]
    return Percentiles(row, (), [len(data), max(data), *counts])


class Aggregates:
    """As driver.aggregation_state.AggregationState, of what a test sets."""

    def __init__(self):
        self.now = {}
        self.program = SimpleNamespace(aggregations=[], arguments=[])

    def set(self, **now):
        self.now = {name: aggregation(name, data) for name, data in now.items()}
        self.program.aggregations = [
            SimpleNamespace(name=name, argument="", key_texts=()) for name in self.now
        ]

    def take_snapshot(self, definition):
        return self.now[definition.name]


def trace_info(aggregates=None):
    """What a live sink wants of the tracing."""
    return SimpleNamespace(
        actions=SimpleNamespace(aggregates=aggregates),
        options={},
        make_error_reporter=lambda report: None,
        clock=Clock(),
        engine="made-up",
        matched=(),
        program=SimpleNamespace(clauses=()),
        targets=None,
    )


def watched(*intervals, seconds=1.0, columns=0):
    """A View that saw these, one after the other: {aggregation: {key: value}} each."""
    made, aggregates = live_model.LiveModel(columns=columns), Aggregates()
    for interval in intervals:
        aggregates.set(**interval)
        made.add_interval(aggregates, seconds)
    return made


FULL = [
    {
        "calls": {("/",): count(3 * i), ("/cart\x1b[31m",): count(i * i), ("",): count(0)},
        "lat": {("/",): quantize(_8=i, _1024=2 * i, _4096=1)},
        "one": {(): count(i)},
    }
    for i in range(1, 40)
]
