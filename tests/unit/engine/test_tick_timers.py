"""tick-n: names and when they are due."""

import pytest

from pydtrace.engine.tick_timers import MAX_OWED, TickTimers, tick_period


@pytest.mark.parametrize(
    "name, nanoseconds",
    [
        ("tick-1s", 10**9),
        ("tick-10ms", 10**7),
        ("tick-1sec", 10**9),
        ("tick-500msec", 5 * 10**8),
        ("tick-300us", 300_000),
        ("tick-1m", 60 * 10**9),
        ("tick-2hour", 7200 * 10**9),
        ("tick-1d", 86400 * 10**9),
        ("tick-100", 10**7),
        ("tick-50hz", 2 * 10**7),
        ("tick-5000", 200_000),
        ("tick-250000ns", 250_000),
    ],
)
def test_period(name, nanoseconds):
    assert tick_period(name) == nanoseconds


@pytest.mark.parametrize(
    "name",
    ["tick-", "tick-0", "tick-1x", "tick-5001hz", "tick-100us", "tick--1s", "tick-1s ", "BEGIN"],
)
def test_not_a_tick(name):
    assert tick_period(name) is None


def test_ticks_come_in_the_order_of_their_times():
    ticks = TickTimers({7: 100, 8: 250}, now=1000)
    fired = []
    while len(fired) < 7:
        when, probe = ticks.next_due()
        fired.append((when, probe))
        ticks.advance(probe, when)
    assert fired == [(1100, 7), (1200, 7), (1250, 8), (1300, 7), (1400, 7), (1500, 7), (1500, 8)]


def test_a_late_tracer_skips_ticks():
    ticks = TickTimers({7: 100}, now=0)
    ticks.advance(7, now=1050)
    assert ticks.next_due() == (1100, 7)


def test_ticks_that_are_made_up_for():
    """Each, as long as not too many are owed."""
    ticks = TickTimers({7: 100}, now=0)
    assert ticks.catch_up(7, 100, now=100 * MAX_OWED) == 0 and ticks.next_due() == (200, 7)
    assert ticks.catch_up(7, 200, now=100 * MAX_OWED + 300) == 0 and ticks.next_due() == (300, 7)
    assert ticks.catch_up(7, 300, now=100 * MAX_OWED + 950) == 5 and ticks.next_due() == (900, 7)


def test_no_ticks():
    assert TickTimers({}, now=0).next_due() is None
