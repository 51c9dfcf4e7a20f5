"""Aggregations that many hosts add rows to."""

import random
import struct

import pytest

from pydtrace.aggregation.int64 import wrap_int64
from pydtrace.aggregation.merge_values import merge_words
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.hosts import merged_aggregations
from pydtrace.hosts.merged_aggregations import MergedAggregation
from pydtrace.program.program import AggDef

pytestmark = pytest.mark.own_processes


def test_values_that_wait_have_a_bound(counts, monkeypatch):
    """Those of many keys, each of which has few."""
    monkeypatch.setattr(merged_aggregations, "_WAITING_LIMIT", 1000)
    for _ in range(50):
        counts.add_rows([[[], [1, 5]]], 0, lambda key: b"")
        assert counts._waiting_bytes <= 1000 and sum(map(len, counts._slots.values())) < 10
    assert counts.items() == [(b"", (50).to_bytes(8, "little") + (250).to_bytes(8, "little"))]


@pytest.fixture
def counts():
    """One without keys, of sum(); its room is of no account."""
    return MergedAggregation(AggDef("a", 1, AGGREGATIONS["sum"], (), [], 3), 1)


def test_rows_of_several_hosts_add_up(counts):
    for _ in range(200):
        assert (
            counts.add_rows([[[], [1, 5]]], 0, lambda key: b"")
            + counts.add_rows([[[], [2, 6]]], 1, lambda key: b"")
            == 0
        )
    ((key, value),) = counts.items()
    assert (key, value) == (b"", (600).to_bytes(8, "little") + (2200).to_bytes(8, "little"))
    counts.clear()
    assert counts.items() == [(b"", bytes(16))]
    counts.add_rows([[[], [1, 7]]], 0, lambda key: b"")
    assert counts.items() == [(b"", (1).to_bytes(8, "little") + (7).to_bytes(8, "little"))]


@pytest.mark.parametrize(("name", "head"), [("quantize", 1), ("percentiles", 2)])
def test_rows_of_distributions_add_up(name, head):
    """As merge_words() has it of all buckets, looks and all; one that a stranger names twice counts twice; counts wrap."""
    row, chosen = AGGREGATIONS[name], random.Random(7)
    size = row.count_words(())
    merged, whole = MergedAggregation(AggDef("a", 1, row, (), [], 3), 1), []
    for number in range(300):
        heads = [chosen.randrange(1, 1000) for _ in range(head)]
        pairs = [
            (chosen.randrange(size - head), chosen.choice((-3, 1, 5, 2**63 - 1)))
            for _ in range(chosen.randrange(5))
        ] + [(9, 1), (9, 2)]
        assert (
            merged.add_rows(
                [[[], heads + [part for pair in pairs for part in pair]]], number, lambda key: b""
            )
            == 0
        )
        dense = [*heads, *[0] * (size - head)]
        for bucket, count in pairs:
            dense[head + bucket] = wrap_int64(dense[head + bucket] + count)
        whole = [merge_words(row, [*whole, dense])]
        if number % 97 == 0:
            assert merged.items() == [(b"", struct.pack(f"={size}q", *whole[0]))]
    assert merged.items() == [(b"", struct.pack(f"={size}q", *whole[0]))]
    merged.clear()
    assert merged.items() == [(b"", bytes(8 * size))]


def test_no_host_takes_the_room_of_others():
    from pydtrace.program import d_types as t
    from pydtrace.program.program import Data

    merged = MergedAggregation(
        AggDef("a", 1, AGGREGATIONS["count"], (), [Data(t.INT64, 0, 8)], 3), 2
    )

    def pack(key):
        return key[0].to_bytes(8, "little", signed=True)

    assert merged.add_rows([[[i], [1]] for i in range(10)], 7, pack) == 8
    assert (
        merged.add_rows([[[5], [1]], [[0], [1]], [[6], [1]]], 8, pack) == 0
    )  # a key that is there takes no room
    assert merged.add_rows([[[9], [1]]], 8, pack) == 1
    assert {
        int.from_bytes(key, "little"): int.from_bytes(value, "little")
        for key, value in merged.items()
    } == {0: 2, 1: 1, 5: 1, 6: 1}
    merged.remove([pack((0,)), pack((1,))])
    assert merged.add_rows([[[3], [1]]], 7, pack) == 0
    assert len(merged.items()) == 3
