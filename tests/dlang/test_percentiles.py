"""percentiles(): its code in the interpreter, against the exact percentiles and against Datadog's DDSketch of the same accuracy."""

import json
import math

import pytest
from ddsketch import LogCollapsingLowestDenseDDSketch
from hypothesis import given, settings
from hypothesis import strategies as st

from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.options import Options
from pydtrace.results import aggregation_values
from tests.support.compiler.bpf_machine import Machine

N1 = "pyusdt*:::user_trace-n1"
ROW = AGGREGATIONS["percentiles"]
PERCENTS = (0, 1, 25, 50, 90, 99, 99.9, 100)


def compiled(text, **options):
    return compile_program(text, "x.d", Options(options), macros={"target": 1}, arguments=["x.d"])


@pytest.fixture(scope="module")
def counted():
    """f(values): the value object after these came."""
    program = compiled(f"{N1} {{ @ = percentiles(arg2); }}", pyusdt=True)

    def count(data):
        machine = Machine(program)
        for value in data:
            machine.fire(args=[0, 0, value % 2**64])
        (item,) = (
            machine.items(program.aggregations[0])
            if data
            else [(b"", bytes(8 * ROW.count_words(())))]
        )
        return aggregation_values.unpack_value(program.aggregations[0], item[1])

    return count


def exact(data, percent):
    """The least of the values that `percent` of them do not exceed."""
    ordered = sorted(data)
    return ordered[max(0, math.ceil(len(data) * percent / 100 - 1e-9) - 1)]


MAGNITUDES = (
    st.integers(0, 2**63 - 1)
    | st.integers(0, 300)
    | st.integers(0, 62).map(lambda bits: 1 << bits)
    | st.integers(0, 10**10)
)


@settings(max_examples=120, deadline=None)
@given(st.lists(MAGNITUDES | MAGNITUDES.map(lambda value: -1 - value), min_size=1, max_size=60))
def test_every_percentile_to_one_percent(counted, data):
    """Of either sign; -2^63 has no counterpart above."""
    found = counted(data)
    assert (found.n, found.max) == (len(data), max(data))
    for percent in PERCENTS:
        wanted = exact(data, percent)
        low, high = found.percentile_bounds(percent)
        assert low <= wanted <= high
        assert abs(found.percentile(percent) - wanted) * 100 <= abs(wanted)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(MAGNITUDES | MAGNITUDES.map(lambda value: -1 - value), min_size=1, max_size=40),
    st.integers(0, 40),
)
def test_merged_they_are_what_one_would_have_counted(counted, data, half):
    assert _counted(counted(data[:half]).merge(counted(data[half:]))) == _counted(counted(data))


def _counted(value):
    return value.n, value.max, value.buckets


def test_every_edge_is_in_its_bucket(counted):
    edges = [
        edge
        for low, high in aggregation_values.bucket_bounds(ROW, ())
        for edge in (low, high)
        if edge is not None
    ]
    found = counted(edges)
    assert found.counts == (2,) * len(found.counts) and edges == sorted(edges)
    assert (edges[0], edges[-1], found.n, found.max) == (-(2**63), 2**63 - 1, len(edges), 2**63 - 1)


def test_who_has_none_below_zero_has_no_half_for_them():
    """A key takes one element of the map, whose room is counted in these."""
    machine = Machine(program := compiled(f"{N1} {{ @[arg3] = percentiles(arg2); }}", pyusdt=True))
    for value, key in ((5, 1), (-7, 2), (0, 2), (9, 1), (8, 3)):
        machine.fire(args=[0, 0, value % 2**64, key])
    assert len(machine._read_elements(program.aggregations[0].map)) == 4
    found = {
        key[0]: aggregation_values.unpack_value(program.aggregations[0], words).buckets
        for key, words in machine.items(program.aggregations[0])
    }
    assert sorted(found.values()) == [[(-7, -7, 1), (0, 0, 1)], [(5, 5, 1), (9, 9, 1)], [(8, 8, 1)]]


def test_as_ddsketch_does(counted):
    """The library's sketch with its default accuracy, 1 %, of the same values: each is right to 1 %, so they differ by 2 % at most."""
    data = [
        (int(1000 * math.exp(i % 997 / 90)) + i % 13) * (-1 if i % 3 else 1) for i in range(4000)
    ]
    found, sketch = counted(data), LogCollapsingLowestDenseDDSketch(relative_accuracy=0.01)
    for value in data:
        sketch.add(value)
    for percent in PERCENTS:
        theirs = sketch.get_quantile_value(percent / 100)
        assert abs(theirs - exact(data, percent)) <= abs(exact(data, percent)) / 99, (
            "the test compares other things than it should"
        )
        assert abs(found.percentile(percent) - theirs) <= abs(theirs) * 0.0203


def test_an_increment_weighs():
    machine = Machine(program := compiled(f"{N1} {{ @ = percentiles(arg2, arg3); }}", pyusdt=True))
    for value, weight in ((10, 97), (5000, 3)):
        machine.fire(args=[0, 0, value, weight])
    found = aggregation_values.unpack_value(
        program.aggregations[0], machine.items(program.aggregations[0])[0][1]
    )
    assert (found.n, found.total, found.percentile(97), found.percentile(98)) == (2, 100, 10, 5000)


def test_beside_other_keys():
    machine = Machine(
        program := compiled(
            f"{N1} {{ @[copyinstr(arg6)] = percentiles(arg2); @n[arg2] = count(); }}", pyusdt=True
        )
    )
    for value, name in ((5, b"a"), (7, b"b"), (9, b"a")):
        machine.fire(args=[0, 0, value, 0, 0, 0, name])
    found = {
        key.split(b"\0")[0]: aggregation_values.unpack_value(program.aggregations[0], words).buckets
        for key, words in machine.items(program.aggregations[0])
    }
    assert found == {b"a": [(5, 5, 1), (9, 9, 1)], b"b": [(7, 7, 1)]}


def test_without_the_option_d_has_no_such_function():
    with pytest.raises(CompileError) as error:
        compiled(f"{N1} {{ @ = percentiles(arg2); }}")
    assert (error.value.tag, error.value.hint) == (
        "D_FUNC_UNDEF",
        "-x pyusdt allows it: D has no such function",
    )
    compiled(
        f"{N1} {{ percentiles = arg2; trace(percentiles); }} {N1} {{ this->percentiles = 1; }}"
    )


def test_what_is_no_number():
    for text, tag in (
        ('percentiles("a")', "D_AGG_SCALAR"),
        ("percentiles()", "D_PROTO_LEN"),
        ("percentiles(1, 2, 3)", "D_PROTO_LEN"),
    ):
        with pytest.raises(CompileError) as error:
            compiled(f"BEGIN {{ @ = {text}; }}", pyusdt=True)
        assert error.value.tag == tag


def test_text_and_plain_data(counted):
    found = counted([*range(1, 1001), 123456])
    shown = ROW.format_value(found, 1, ()).decode().split()
    assert [word.partition("=")[0] for word in shown] == [
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
    ] and shown[-1] == "max=123456"
    assert ROW.format_value(found, 1000, ()).split()[-1] == b"max=123"
    assert json.loads(json.dumps(found.to_dict()))["percentiles"]["max"] == 123456
    assert found.text().split() == shown
