"""Values and merging: what two sessions counted, merged, is what one would have counted."""

import math
import pickle
import re
import xml.dom.minidom
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydtrace.aggregation.int64 import wrap_int64
from pydtrace.dlang.builtins.float_aggregations import ROWS
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.program import d_types
from pydtrace.program.float_values import float_to_bits
from pydtrace.program.program import AggDef, Data
from pydtrace.results import aggregation_values
from pydtrace.results.aggregations import Aggregation

PARAMS = {"lquantize": (-50, 100, 10), "llquantize": (10, 0, 3, 10)}
FUNCTIONS = [
    (name, PARAMS.get(name, ()))
    for name in (
        "count",
        "sum",
        "min",
        "max",
        "avg",
        "stddev",
        "quantize",
        "lquantize",
        "llquantize",
        "percentiles",
    )
]
INTS = st.integers(-(2**62), 2**62) | st.integers(-2000, 2000)


def feed(function, params, data):
    """The words that an engine keeps, from their definition."""
    n, total = len(data), wrap_int64(sum(data))
    if function == "count":
        return [n]
    if function in ("sum", "avg"):
        return [n, total]
    if function in ("min", "max"):
        return [n, (min if function == "min" else max)(data, default=0)]
    if function == "stddev":
        squares = sum(x * x for x in data) % 2**128
        return [n, total, wrap_int64(squares), wrap_int64(squares >> 64)]
    counts = [0] * len(aggregation_values.bucket_bounds(AGGREGATIONS[function], params))
    for x in data:
        counts[
            next(
                i
                for i, (low, high) in enumerate(
                    aggregation_values.bucket_bounds(AGGREGATIONS[function], params)
                )
                if (low is None or low <= x) and (high is None or x <= high)
            )
        ] += 1
    return [n, *[max(data, default=0)] * (function == "percentiles"), *counts]


def make(function, params, data):
    words = feed(function, params, data)
    return AGGREGATIONS[function].make_value(params, words)


@pytest.mark.parametrize("function, params", FUNCTIONS)
@settings(max_examples=60, deadline=None)
@given(st.lists(INTS), st.lists(INTS))
def test_merging_is_exact(function, params, x0, x1):
    merged = make(function, params, x0).merge(make(function, params, x1))
    whole = make(function, params, x0 + x1)
    assert merged == whole
    assert merged.words == whole.words


@pytest.mark.parametrize("function, params", FUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(st.lists(INTS, min_size=1))
def test_packing_and_pickling_keep_everything(function, params, data):
    value = make(function, params, data)
    for again in (
        aggregation_values.unpack_value(
            AggDef("a", 1, AGGREGATIONS[function], params, [], 3),
            aggregation_values.pack_value(value),
        ),
        pickle.loads(pickle.dumps(value)),
    ):
        assert (again, again.words, again.to_dict()) == (value, value.words, value.to_dict())


@settings(max_examples=60, deadline=None)
@given(st.lists(INTS, min_size=1), st.floats(0, 100))
def test_percentiles_bound_the_values(data, percent):
    found = make("quantize", (), data).percentile(percent)
    assert sum(x <= found for x in data) >= len(data) * percent / 100 - 1e-6
    assert any(found // 2 - 1 <= abs(x) <= abs(found) * 2 + 1 for x in data) or found <= 1


def test_percentiles_of_a_known_distribution():
    value = make("lquantize", (0, 100, 10), list(range(100)))
    assert [value.percentile(p) for p in (0, 10, 50, 90, 99, 100)] == [9, 9, 49, 89, 99, 99]
    assert make("quantize", (), []).percentile(50) is None
    with pytest.raises(ValueError, match="between 0 and 100"):
        value.percentile(101)
    with pytest.raises(ValueError, match="between 0 and 100"):
        value.percentile(math.nan)


def test_percentiles_at_the_ends():
    assert [
        make("quantize", (), [-(1 << 63), (1 << 63) - 1]).percentile(p) for p in (0, 50, 50.5, 100)
    ] == [-(1 << 62), -(1 << 62), (1 << 63) - 1, (1 << 63) - 1]
    outside = make("lquantize", (0, 100, 10), [-5, 1000])
    assert [outside.percentile(p) for p in (0, 50, 51, 100)] == [-1, -1, 100, 100]
    many = aggregation_values.Histogram(
        AGGREGATIONS["lquantize"], (0, 100, 10), [3, 0, (1 << 60), 1, *[0] * 9]
    )  # more than a float tells apart
    assert [many.percentile(p) for p in (100, 100.0, 99.9)] == [19, 19, 9]


@pytest.mark.parametrize(
    "function, params", [item for item in FUNCTIONS if AGGREGATIONS[item[0]].is_distribution]
)
def test_buckets_cover_every_number_once(function, params):
    bounds = aggregation_values.bucket_bounds(AGGREGATIONS[function], params)
    for (_, high), (low, _) in pairwise(bounds):
        assert low == high + 1
    assert (bounds[0][0], bounds[-1][1]) in (
        (None, None),
        (-(1 << 63), (1 << 63) - 1),
        (None, (1 << 63) - 1),
    )


def test_percentiles_say_their_bounds():
    value = make("quantize", (), [*range(100), 5000])
    assert (value.percentile_bounds(50), value.percentile_bounds(100)) == ((32, 63), (4096, 8191))
    assert make("lquantize", (0, 100, 10), [-5, 1000]).percentile_bounds(1) == (None, -1)
    assert make("quantize", (), []).percentile_bounds(50) is None
    fine = make("percentiles", (), [*range(100), 5000])
    assert (fine.percentile_bounds(50), fine.percentile_bounds(100)) == ((50, 50), (4992, 5055))
    assert (fine.percentile(50), fine.percentile(100), fine.max) == (50, 5000, 5000)
    assert fine.percentiles() == {"p50": 50, "p90": 90, "p99": 99, "p99.9": 5000, "max": 5000}
    assert fine.to_dict()["percentiles"] == fine.percentiles()
    assert repr(fine) == "<percentiles of 101 values: p50=50, p90=90, p99=99, p99.9=5000, max=5000>"


def test_percentiles_of_nothing_and_of_what_is_below_0():
    none = make("percentiles", (), [])
    assert none.max is None and set(none.percentiles().values()) == {None}
    below = make("percentiles", (), [-5000, -123456, -7, 3, 2**62])
    assert [below.percentile(percent) for percent in (0, 20, 40, 60, 80)] == [
        -123903,
        -123903,
        -5023,
        -7,
        3,
    ]
    assert below.buckets[0][:2] == (-124927, -122880) and pickle.loads(pickle.dumps(below)) == below
    assert make("percentiles", (), [-5, -7]).percentiles() == {
        "p50": -7,
        **dict.fromkeys(("p90", "p99", "p99.9", "max"), -5),
    }


def test_what_came_between_two_looks():
    """The greatest of what came is exact where it is the greatest of all."""
    row = AGGREGATIONS["percentiles"]
    old, new = feed("percentiles", (), [5, 9000]), feed("percentiles", (), [5, 9000, 4100])
    came = row.make_value((), row.subtract_words(old, new))
    assert (came.n, came.buckets[0].count, came.max) == (1, 1, 4159)
    assert abs(came.percentile(50) - 4100) <= 41
    assert (
        row.make_value((), row.subtract_words(old, feed("percentiles", (), [5, 9000, 9500]))).max
        == 9500
    )
    assert row.subtract_words(new, old) is None


def test_the_rows_of_a_picture():
    edges = aggregation_values.display_edges(AGGREGATIONS["percentiles"], ())
    assert edges[0][0] == -1 << 63 and (0, 0) in edges and edges[-1][1] == (1 << 63) - 1
    assert all(low == high + 1 for (_, high), (low, _) in pairwise(edges))
    assert (
        all(high < 2 * low or low > 2 * high or low == high == 0 for low, high in edges)
        and len(edges) < 260
    )
    assert {(-high, -low) for low, high in edges[1:-1]} == set(edges[1:-1]), "below 0 as above"
    data = [-4, 0, 1, 60, 80, 1000, 1000]
    rows = make("percentiles", (), data).rows
    assert sum(rows) == len(data) and max(rows) == 2
    assert [edges[row] for row, count in enumerate(rows) if count == 2] == [(800, 1199)]


def test_numbers():
    assert make("avg", (), [1, 2, 2]) == 1
    assert make("avg", (), [1, 2, 2]).mean == 5 / 3
    assert make("avg", (), [-3, -4]) == -3  # towards zero, as in dtrace
    assert make("stddev", (), [-(1 << 63)] * 2) == -(
        1 << 63
    )  # the sum wraps; a register's value, as dtrace prints it
    assert make("stddev", (), [2, 4, 4, 4, 5, 5, 7, 9]) == 2
    assert make("max", (), [-5]).merge(make("max", (), [])) == -5
    with pytest.raises(AttributeError):
        make("sum", (), [1]).mean  # noqa: B018


def test_only_what_is_alike_merges():
    with pytest.raises(aggregation_values.MergeError):
        make("sum", (), [1]).merge(make("count", (), [1]))
    with pytest.raises(aggregation_values.MergeError):
        make("lquantize", (0, 10, 1), []).merge(make("lquantize", (0, 10, 2), []))
    integers, floats = (
        make("sum", (), [1]),
        aggregation_values.FloatNumber(ROWS["sum"], [1, float_to_bits(1.0)]),
    )
    for one, other in ((integers, floats), (floats, integers)):
        with pytest.raises(aggregation_values.MergeError, match="of different kinds"):
            one.merge(other)


def definition(function, *types_of_keys):
    fields = [
        Data(type, 264 * i, 256 if type.is_string else type.size)
        for i, type in enumerate(types_of_keys)
    ]
    return AggDef("a", 1, AGGREGATIONS[function], PARAMS.get(function, ()), fields, 3)


def test_aggregations_merge_key_by_key():
    keys = definition("sum", d_types.STRING, d_types.INT64)
    one = Aggregation(keys, {("a", 1): make("sum", (), [1]), ("b", -2): make("sum", (), [5])})
    two = Aggregation(keys, {("a", 1): make("sum", (), [10]), ("c", 3): make("sum", (), [7])})
    assert dict(one.merge(two)) == {("a", 1): 11, ("b", -2): 5, ("c", 3): 7}
    assert dict(one) == {("a", 1): 1, ("b", -2): 5}
    with pytest.raises(aggregation_values.MergeError):
        one.merge(Aggregation(definition("count"), {}))


def test_an_aggregation_can_be_pickled():
    made = definition("lquantize", d_types.STRING, d_types.INT64)
    one = Aggregation(made, {("ä", -7): make("lquantize", PARAMS["lquantize"], [1, 5, 5])})
    two = pickle.loads(pickle.dumps(one))
    assert (dict(two), two.name, two.function, two.params) == (
        dict(one),
        "a",
        "lquantize",
        PARAMS["lquantize"],
    )
    assert two.text() == one.text() and two.merge(one)["ä", -7].n == 6


def test_an_aggregation_prints_as_dtrace_does():
    one = Aggregation(
        definition("count", d_types.STRING, d_types.INT64),
        {("a", -1): make("count", (), [0]), ("b", 2): make("count", (), [0, 0])},
    )
    assert one.text() == f"  {'a':50} {-1:16} {1:16}\n  {'b':50} {2:16} {2:16}\n"


def test_a_histogram_prints_as_dtrace_does():
    assert (
        make("quantize", (), [1, 1, 2]).text()
        == """
           value  ------------- Distribution ------------- count    
               0 |                                         0        
               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@              2        
               2 |@@@@@@@@@@@@@                            1        
               4 |                                         0        

"""
    )


def test_a_picture_of_percentiles_has_few_rows():
    value = make("percentiles", (), [*range(-9000, 9000, 7), 123456])
    picture = value._repr_html_()
    heights = [int(height) for height in re.findall(r' height="(\d+)"', picture)]
    assert len(value.buckets) > 500 and len(value.pictured) < 60 and max(heights) < 61 * 18
    assert sum(bucket.count for bucket in value.pictured) == value.total
    assert f">p50 {value.percentile(50)}  p90 " in picture and "max 123456<" in picture
    assert (
        "p50"
        not in make("percentiles", (), [])._repr_html_() + make("quantize", (), [1])._repr_html_()
    )


def test_html_is_svg_with_every_bucket_and_keys_escaped():
    value = make("quantize", (), [1, 1, 100])
    html = Aggregation(definition("quantize", d_types.STRING), {("<b>",): value})._repr_html_()
    assert "&lt;b&gt;" in html and html.count("<rect") == 2 and "64 … 127" in html
    xml.dom.minidom.parseString(value._repr_html_())


def test_html_of_what_increments_made_negative():
    """quantize(x, -5): bars have no negative width."""
    words = list(make("quantize", (), [1, 100]).words)
    words[words.index(1)] = -5
    value = aggregation_values.Histogram(AGGREGATIONS["quantize"], (), words)
    assert [bucket.count for bucket in value.buckets] == [-5, 1]
    bars = xml.dom.minidom.parseString(value._repr_html_()).getElementsByTagName("rect")
    assert [float(bar.getAttribute("width")) >= 0 for bar in bars] == [True] * len(value.buckets)


def test_html_of_floats_is_not_cut():
    assert (
        "<td>2.5</td>"
        in Aggregation(
            definition("avg"),
            {(): aggregation_values.FloatNumber(ROWS["avg"], [2, float_to_bits(5.0)])},
        )._repr_html_()
    )
