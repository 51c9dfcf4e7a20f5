"""When a lost host is tried again."""

import pytest

from pydtrace.hosts.reconnect import ReconnectSchedule

pytestmark = pytest.mark.own_processes
S = 1_000_000_000


def tries_of(returns, host, until, step=S // 10):
    """When it is tried, in tenths of a second, if each try fails."""
    found = []
    for now in range(0, until, step):
        if returns.take_due(now):
            found.append(now * 10 // S)
            returns.note_failure(host, now)
    return found


def test_a_lost_host_is_tried_seldom_and_then_not_at_all():
    returns = ReconnectSchedule(100 * S, 10 * S)
    returns.add_lost("a", 0)
    assert tries_of(returns, "a", 300 * S) == [5, 15, 35, 75, 155, 315, 615, 915, 1215]
    assert not returns.take_due(10**6 * S)


def test_a_try_that_takes_too_long_has_its_turn_again():
    returns = ReconnectSchedule(100 * S, 10 * S)
    returns.add_lost("a", 0)
    assert [returns.take_due(now * S) for now in (0, 1, 2, 10, 11)] == [[], ["a"], [], [], ["a"]]


def test_one_that_is_lost_again_and_again_is_tried_as_seldom():
    """Unless it was back for a while."""
    returns = ReconnectSchedule(600 * S, 10 * S)
    for at, delay in ((0, 0.5), (10, 1), (20, 2), (30, 4), (100, 0.5)):
        returns.add_lost("a", at * S)
        due = int((at + delay) * S)
        assert not returns.take_due(due - 1) and returns.take_due(due) == ["a"]
        returns.note_return("a", due)
        assert not returns.take_due(due + 10**6 * S)


def test_not_all_are_tried_at_once():
    returns = ReconnectSchedule(600 * S, 10 * S)
    for number in range(20):
        returns.add_lost(number, 0)
    assert [len(returns.take_due(S)) for _ in range(4)] == [8, 8, 4, 0]
    returns.stop_retrying()
    assert not returns.take_due(100 * S)
