"""What a walk of erltrace finds since the last one: with what was there before, merged, it is what is there now."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pydtrace.aggregation.int64 import unpack_words, wrap_int64
from pydtrace.dlang.builtins.float_aggregations import ROWS
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.erlang_node import etf
from pydtrace.erltrace_port.port_session import CommandError, Session
from pydtrace.program.float_values import float_to_bits
from pydtrace.results import aggregation_values
from pydtrace.sinks.erlang_terms_sink import subtract_values

INTS = st.lists(st.integers(-(10**6), 10**6), min_size=1)
FLOATS = st.lists(st.floats(-1000, 1000), min_size=1)


def integers(function, data):
    """The words that an engine keeps."""
    squares = sum(x * x for x in data)
    return aggregation_values.Number(
        AGGREGATIONS[function],
        {
            "count": [len(data)],
            "stddev": [len(data), sum(data), wrap_int64(squares), wrap_int64(squares >> 64)],
        }.get(function, [len(data), sum(data)]),
    )


def reals(function, data):
    mean = sum(data) / len(data)
    words = [mean, sum((x - mean) ** 2 for x in data)] if function == "stddev" else [sum(data)]
    return aggregation_values.FloatNumber(ROWS[function], [len(data), *map(float_to_bits, words)])


@pytest.mark.parametrize("function", ["count", "sum", "avg", "stddev"])
@settings(max_examples=50, deadline=None)
@given(INTS, INTS)
def test_of_integers(function, before, came):
    old, now = integers(function, before), integers(function, before + came)
    row = AGGREGATIONS[function]
    found = row.make_value(
        (),
        unpack_words(
            subtract_values(
                row, aggregation_values.pack_value(old), aggregation_values.pack_value(now)
            )
        ),
    )
    assert found.words == integers(function, came).words
    assert old.merge(found).words == now.words


@pytest.mark.parametrize("function", ["sum", "avg", "stddev"])
@settings(max_examples=50, deadline=None)
@given(FLOATS, FLOATS)
def test_of_floats(function, before, came):
    old, now = reals(function, before), reals(function, before + came)
    row = ROWS[function]
    found = row.make_value(
        (),
        unpack_words(
            subtract_values(
                row, aggregation_values.pack_value(old), aggregation_values.pack_value(now)
            )
        ),
    )
    assert found.n == len(came)
    assert math.isclose(
        found, reals(function, came), rel_tol=1e-6, abs_tol=1e-2 if function == "stddev" else 1e-6
    )


@given(INTS, INTS)
def test_what_was_cleared_is_new(before, came):
    assume(len(came) < len(before))
    now = aggregation_values.pack_value(integers("sum", came))
    assert (
        subtract_values(
            AGGREGATIONS["sum"], aggregation_values.pack_value(integers("sum", before)), now
        )
        == now
    )


def test_what_is_known_of_all_only():
    """Extremes; and what dtrace tells of an avg or stddev, whatever came."""
    for row, before, now in (
        (AGGREGATIONS["min"], [3, 5], [4, 2]),
        (ROWS["max"], [3, float_to_bits(1.0)], [4, float_to_bits(2.0)]),
        (AGGREGATIONS["avg"], [-1, -5], [-1, -7]),
        (AGGREGATIONS["stddev"], [1, 0, 4, 0], [1, 0, 9, 0]),
    ):
        old, new = (struct.pack(f"={len(words)}q", *words) for words in (before, now))
        assert subtract_values(row, old, new) == new
        assert subtract_values(row, None, new) == new
        assert subtract_values(row, new, new) is None


@pytest.mark.parametrize(
    "value, atom", [(math.nan, "nan"), (math.inf, "infinity"), (-math.inf, "-infinity")]
)
def test_floats_that_erlang_has_not(value, atom):
    """binary_to_term() refuses them: the port's reader would end."""
    assert etf.decode(etf.encode([value, 0.5])) == [etf.Atom(atom), 0.5]


def test_buffers_that_are_too_small_are_refused():
    session = Session(0, (), None, 10, strict=False)
    session.setopt("bufsize", "8")
    session.compile(b"BEGIN { trace(1); }", [])
    with pytest.raises(
        CommandError, match="could not enable tracing: Enabling exceeds size of buffer"
    ):
        session.go()
    assert session.state == "compiled"


def test_a_session_from_begin_to_its_end():
    session = Session(0, (), None, 10, strict=False)
    session.compile(b'BEGIN { trace(1); @a["k"] = count(); } END { printf("over"); exit(4); }', [])
    session.go()
    session.poll(0)
    session.stop()
    where = [["dtrace", "", "", name] for name in ("BEGIN", "END")]
    assert session.take_terms(10) == [("probe", where[0], 1), ("printf", where[1], "over")]
    assert (session.state, session.status, session.snapshot()) == (
        "stopped",
        4,
        [("a", [("count", ["k"], 1)])],
    )
