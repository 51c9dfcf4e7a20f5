"""How long the embedded consumer sleeps between two looks."""

import pytest

from pydtrace._tracer import LONGEST_SLEEP, SHORTEST_SLEEP, Pace

SHORTEST, LONGEST = SHORTEST_SLEEP / 1e9, LONGEST_SLEEP / 1e9


def paced(looks):
    """The sleeps after looks of (events, seconds since the look before, whether a ring was more than half full)."""
    pace, now, sleeps = Pace(), 0.0, []
    for n, since, crowded in looks:
        now += since
        sleeps.append(pace.next(n, round(now * 1e9), crowded) / 1e9)
    return sleeps


def test_where_nothing_comes_it_sleeps_longer_and_longer():
    sleeps = paced([(0, 0.02, False)] * 10)
    assert sleeps[:3] == [2 * SHORTEST, 4 * SHORTEST, 8 * SHORTEST]
    assert sleeps[-3:] == [LONGEST] * 3


@pytest.mark.parametrize("n", [17, 1000, 16384])
def test_the_first_look_that_finds_events_is_followed_by_another_soon(n):
    """How fast they come is not known yet: the first of many may have come just now.  In that time half a ring can be filled."""
    assert paced([(0, 0.02, False)] * 10 + [(n, 0.02, False)])[-1] == 0.0015


def test_a_few_events_after_a_pause_make_no_haste():
    """A program that fires now and then is not looked at more often for it."""
    assert paced([(0, 0.02, False)] * 10 + [(1, 0.02, False)])[-1] == 0.003


def test_events_are_waited_for_at_their_pace():
    rare = paced([(10, 0.001, False)] * 3)
    often = paced([(3000, 0.001, False)] * 3)
    very_often = paced([(100_000, 0.001, False)] * 3)
    assert rare[-1] == 0.003
    assert often[-1] == pytest.approx(0.001 * 2048 / 3000)
    assert very_often[-1] == SHORTEST


def test_a_ring_that_is_more_than_half_full_is_not_slept_on():
    assert paced([(0, 0.02, False)] * 5 + [(1000, 0.02, True), (1000, 0.001, True)])[-2:] == [0, 0]


def test_after_a_crowd_it_sleeps_again():
    sleeps = paced([(1000, 0.02, True), (0, 0.001, False), (0, 0.001, False)])
    assert sleeps == [0, SHORTEST, 2 * SHORTEST]
