"""What differs between the aggregations of two runs."""

from __future__ import annotations

import json

import pytest

from pydtrace.differences.aggregation_changes import encode_aggregations, render_aggregations
from pydtrace.differences.aggregation_difference import (
    UnreadableAggregations,
    compare_aggregations,
    read_aggregations,
)


def line(name: str, keys: list, function: str, **members: object) -> str:
    return json.dumps(
        {"type": "aggregation", "name": name, "keys": keys, "function": function, **members}
    )


def quantized(*counts: int) -> dict:
    buckets = [[1 << i, (2 << i) - 1, n] for i, n in enumerate(counts) if n]
    return {"n": sum(counts), "params": [], "buckets": buckets}


BEFORE = [
    '{"type":"begin","schema":1}',
    line("n", ["/cart"], "count", n=100, value=100),
    line("n", ["/shop"], "count", n=100, value=100),
    line("n", ["/old"], "count", n=3, value=3),
    line("t", ["/cart"], "quantize", **quantized(0, 80, 20)),
    line("t", ["/shop"], "quantize", **quantized(0, 80, 20)),
    line("_", [], "avg", n=4, value=10),
]
AFTER = [
    line("n", ["/cart"], "count", n=200, value=200),
    line("n", ["/shop"], "count", n=101, value=101),
    line("t", ["/cart"], "quantize", **quantized(0, 20, 80)),
    line("t", ["/shop"], "quantize", **quantized(0, 79, 21)),
    line("_", [], "avg", n=4, value=15),
]


def test_comparison():
    rows = compare_aggregations(read_aggregations(BEFORE), read_aggregations(AFTER))
    assert [(row.name, row.keys, row.exceeds_chance) for row in rows] == [
        ("_", "[]", False),
        ("n", '["/cart"]', True),
        ("n", '["/old"]', False),
        ("n", '["/shop"]', False),
        ("t", '["/cart"]', True),
        ("t", '["/shop"]', False),
    ]
    assert rows[4].larger == pytest.approx(0.8)


def test_text():
    text = render_aggregations(
        compare_aggregations(read_aggregations(BEFORE), read_aggregations(AFTER))
    )
    head, remark, _, title, average, cart, old, *_ = text.splitlines()
    assert head.startswith("2 of 5 counts and distributions changed by more than chance explains")
    assert remark.startswith("of 1 values chance is not computed")
    assert title.split() == ["AGGREGATION", "BEFORE", "AFTER", "CHANGE", "KEYS"]
    assert average.split() == ["@", "avg", "10", "15", "x", "1.5"]
    assert cart.split() == ["@n", "count", "100", "200", "x", "2", "*", "/cart"]
    assert old.split() == ["@n", "count", "3", "-", "gone", "/old"]
    assert "@t quantize    2..3   4..7  larger in 80%  *  /cart" in text


def test_json():
    rows = compare_aggregations(read_aggregations(BEFORE), read_aggregations(AFTER))
    made = [json.loads(each) for each in encode_aggregations(rows).splitlines()]
    assert made[1]["keys"] == ["/cart"] and made[1]["exceeds_chance"] is True
    assert made[0]["p"] is None and made[0]["exceeds_chance"] is None
    assert made[2]["after"] is None


def test_other_parameters_and_no_values():
    sides = [
        read_aggregations(
            [line("t", [], "lquantize", n=1, params=[0, last, 1], buckets=[[None, -1, 1]])]
        )
        for last in (10, 20)
    ]
    (row,) = compare_aggregations(*sides)
    assert row.p is None and "other parameters" in render_aggregations([row])
    same = compare_aggregations(sides[0], sides[0])
    assert render_aggregations(same).endswith("no difference\n")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["nonsense"], "line 1 is no output"),
        (["[]"], "line 1 is no output"),
        (['{"type":"aggregation"}'], "line 1 is no output"),
        ([line("a", [], "count", n=1, value="x")], "line 1 is no output"),
        ([line("a", [], "quantize", n=1, buckets=[[0, 1]])], "line 1 is no output"),
        ([line("a", [], "quantize", n=1, buckets=[[0, 1, -1]])], "line 1 is no output"),
        (['{"type":"hello","schema":2}'], "--json=1 is wanted"),
        (["[" * 100_000], "line 1 is no output"),
    ],
)
def test_what_is_wrong(lines, said):
    with pytest.raises(UnreadableAggregations, match=said):
        read_aggregations(lines)
