"""The pytest fixture `usdt`, used as its users use it."""

import pytest

import pyusdt


def test_says_what_fired(usdt):
    with usdt() as fired:
        with pyusdt.tag("order 7"):
            pyusdt.p(200, "/checkout")
        pyusdt.pn(5, 1)
        pyusdt.user_trace_s1("done")
    (rec,) = fired.expect("user_trace-i4s4", times=1, i1=200, s1="/checkout")
    assert rec["user_tag"] == "order 7"
    fired.expect("user_trace-n5", i1=1)
    fired.expect(message="done")
    fired.expect("user_trace-i4s4", times=0, i1=404)
    assert len(fired.records) == 3


def test_can_be_asked_inside_the_block(usdt):
    with usdt("user_trace-i4s4", where="arg2 > 10") as fired:
        pyusdt.p(5)
        pyusdt.p(50)
        fired.expect(i1=50)
        pyusdt.p(50)
        pyusdt.p(50)
        fired.expect(i1=50, times=3)
    assert [rec["i1"] for rec in fired.records] == [50] * 3


def test_fails_with_what_did_fire(usdt):
    with usdt() as fired:
        pyusdt.p(1, "there")
    with pytest.raises(pytest.fail.Exception, match=r"i1=2 should have fired at least once(.|\n)*s1='there'"):
        fired.expect("user_trace-i4s4", i1=2)
    with pytest.raises(pytest.fail.Exception, match="2 times, did 1 times"):
        fired.expect("user_trace-i4s4", times=2)


def test_takes_a_script(usdt):
    with usdt.trace("pyusdt*:::user_trace-i4s4 { @ = sum(arg2); }") as fired:
        pyusdt.p(3)
        pyusdt.p(4)
    assert fired.tracing.aggregations[""].value == 7
