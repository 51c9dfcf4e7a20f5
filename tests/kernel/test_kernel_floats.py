"""Floating-point values on the kernel engine: what is about bits works there, what computes is refused."""

import os

import pytest

import pyusdt
from pydtrace.engine import EngineError

pytestmark = pytest.mark.usefixtures("bpf")

SHOP = "provider floats { probe sold(double price, float rate); };\n"


@pytest.fixture(scope="module")
def sold():
    return pyusdt.Provider("floats").probe("sold", float, "float")


def traced(text):
    return pyusdt.trace(SHOP + text, pid=os.getpid(), engine="kernel", pyusdt=True)


def test_doubles_are_printed_compared_and_have_their_extremes(sold):
    with traced("""floats*:::sold /args[0] >= -1.5/ { printf("price=%f rate=%f", args[0], args[1]); @low = min(args[0]);
                @high[pid] = max(-args[0]); }""") as t:
        for price in (-2.0, -1.5, 3.25, 0.5):
            sold(price, 0.25)
    assert [(rec["price"], rec["rate"]) for rec in t] == [(-1.5, 0.25), (3.25, 0.25), (0.5, 0.25)]
    assert (t.aggregations["low"].value, t.aggregations["high"][os.getpid()]) == (-1.5, 1.5)


def test_arithmetic_is_refused_with_the_reason(sold):
    with (
        pytest.raises(EngineError, match="no floating-point arithmetic"),
        traced("floats*:::sold { @ = sum(args[0]); }"),
    ):
        pass
