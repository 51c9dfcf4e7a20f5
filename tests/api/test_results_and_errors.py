"""What the API answers: right, or an error that says why not."""

import json
import math
import os
import pickle
import subprocess
import sys
import warnings

import pytest

import pyusdt

flows = pyusdt.Provider("answers_flow")
flow = flows.probe("f", v=float)
NAN, INF = math.nan, math.inf


def traced(script="pyusdt*:::user_trace-i4s4 { trace(arg2); }", **more):
    return pyusdt.trace(script, pid=os.getpid(), **more)


@pytest.mark.parametrize(
    ("values", "stddev", "least", "most"),
    [
        ((1.0, 5.0), 2.0, 1.0, 5.0),
        ((1.0, 5.0, NAN), NAN, NAN, NAN),
        ((NAN, 1.0, 5.0), NAN, NAN, NAN),
        ((NAN,), NAN, NAN, NAN),
        ((1.0, 5.0, INF), NAN, 1.0, INF),
        ((1e200, -1e200), INF, -1e200, 1e200),
        ((-0.0, 0.0), 0.0, 0.0, 0.0),
        ((-2.0, -8.0), 3.0, -8.0, -2.0),
    ],
)
def test_floats_that_are_no_numbers(values, stddev, least, most):
    script = "answers_flow*:::f { @s = stddev(arg.v); @min = min(arg.v); @max = max(arg.v); }"
    with traced(script, pyusdt=True) as t:
        for value in values:
            flow(value)
    found = [float(t.aggregations[name].value) for name in ("s", "min", "max")]
    assert all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(found, (stddev, least, most))
    ), found


def test_no_room_for_records_is_refused():
    for buffer in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            traced(buffer=buffer)
    with traced(buffer=1) as t:
        pyusdt.p(1)
        pyusdt.p(2)
        assert next(t)[0] == 1 and next(t)[0] == 2


def test_the_unnamed_aggregation_keeps_its_name():
    with traced("pyusdt*:::user_trace-i4s4 { @ = count(); @b = count(); }") as t:
        pyusdt.p(1)
    again = pickle.loads(pickle.dumps(t.aggregations))
    assert list(t.aggregations) == list(again) == ["", "b"]
    assert again[""].value == 1 and again[""].name == "" and again["b"].name == "b"


def test_a_string_is_not_cut_inside_a_character():
    with pyusdt.watch("user_trace-i4s4", pid=os.getpid()) as t:
        for size in (127, 128, 200):
            pyusdt.p(1, "é" * size)
            pyusdt.p(1, "€" * size)
        pyusdt.p(1, b"\xff\xfe", b"abc\xc3")
    records = list(t)
    assert [rec["s1"] for rec in records[:6]] == ["é" * 127, "€" * 85] * 3
    assert (records[6]["s1"], records[6]["s2"]) == (b"\xff\xfe", b"abc\xc3")


def test_a_record_is_its_values():
    with traced("pyusdt*:::user_trace-i4s4 { trace(arg2); trace(arg3); }") as t:
        pyusdt.p(424242, 7)
        pyusdt.p(1, 2)
    record, later = t
    assert (
        424242 in record
        and record.count(424242) == 1
        and record.index(7) == 1
        and os.getpid() not in record
    )
    assert (
        record + (1,) == (424242, 7, 1)
        and list(reversed(record)) == [7, 424242]
        and record[:1] == (424242,)
    )
    assert not isinstance(record, tuple) and sorted([later, record]) == [record, later]
    again = pickle.loads(pickle.dumps(record))
    assert again == record and hash(again) == hash(record) and again != later
    with pytest.raises(TypeError):
        json.dumps(record)
    with pytest.raises(AttributeError):
        record.time = 3
    match record:
        case [first, _]:
            assert first == 424242


def test_advice_names_the_option_that_helps():
    def advice(script, fire):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with traced(script, aggsize="4k", dynvarsize="4k") as t:
                fire()
        assert [kind for kind, count in t.drops.items() if count]
        return "".join(str(each.message) for each in said)

    def many():
        for i in range(3000):
            pyusdt.p(i + 1)

    assert "aggsize" in advice("pyusdt*:::user_trace-i4s4 { @[arg2] = count(); }", many)
    assert "dynvarsize" in advice("pyusdt*:::user_trace-i4s4 { x[arg2] = 1; }", many)


def test_declare_refuses_what_it_can_not_map():
    def a(x: list[int]): ...
    def b(x: int, *, k: str): ...
    def c(*x: int): ...
    def d(x: int | str): ...
    def e(x: int | None): ...

    for function in (a, b, c, d):
        with pytest.raises(TypeError):
            flows.declare(function)
    assert flows.declare(e).max_arguments == 1


def test_the_labels_of_user_trace_s1():
    with pyusdt.watch("user_trace-*", where="1 == 1 || 0", pid=os.getpid()) as t:
        pyusdt.user_trace_s1("hello")
        pyusdt.p(1, "x")
        pyusdt.pn(7, 2)
    message, other, numbered = t
    assert (message["message"], message.names) == ("hello", ("message",))
    assert (other["i1"], other["s1"], numbered["i1"]) == (1, "x", 2)


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_flight_recorder_that_can_not_be_is_told(mode, tmp_path):
    tmp_path.chmod(mode)
    run = subprocess.run(
        [sys.executable, "-W", "always", "-c", "import pyusdt"],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYUSDT_RUNDIR": str(tmp_path / "none" if mode == 0o700 else tmp_path),
            "PYUSDT_FLIGHT": "64k",
        },
    )
    assert run.returncode == 0 and "no flight recorder (PYUSDT_FLIGHT)" in run.stderr, run
