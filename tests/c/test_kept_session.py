"""A kept session whose tracers are killed: what all of them have shown is what was fired, but for events that are counted.

A tracer says "shown" after it has written what a poll gave. One that is killed before has written it, or has not; the next
gets those events again, and counts them.
"""

import random
import signal
import time

import pytest

from tests.support.core.programs import check

EVENTS = 6000
OPTIONS = ["keep=boot", "all", "tell", "alive", "targets=1", "bufsize=8388608"]


def written(reader):
    """Of how many events a tracer has written before it was killed, and how many of them it knew as not new."""
    lines = [line.split() for line in reader.stdout.read().splitlines() if " " in line]
    reader.wait()
    return sum(int(n) for n, _ in lines), int(lines[-1][1]) if lines else 0


def last_tracer(world):
    """One that reads all that is left: its result."""
    result = world.finish(world.reader(*OPTIONS))
    check(result)
    return result


def check_account(world, shown, result):
    fired = world.account("a").started - result["dropped"]
    twice = shown + result["delivered"] - fired
    assert 0 <= twice <= result["again"], (shown, fired, result)
    assert [name for name in world.files() if not name.endswith(".session")] == []
    return twice


def start(world, *options, **env):
    reader = world.reader(*OPTIONS, *options, **env)
    assert reader.stdout.readline() == "ready\n"
    return reader


@pytest.mark.parametrize("place", [33, 37])
@pytest.mark.parametrize("n", [1, 4])
def test_killed_between_stores(world, place, n):
    """33: read, not written of; 37: of some rings it is said that it was shown."""
    reader = start(world, "pause=3000", variant="hooks", HOOK=f"{place}:{n}")
    target = world.target("a", 3, EVENTS // 3, "pace=20")
    assert reader.wait(timeout=30) == -signal.SIGKILL
    shown, _ = written(reader)
    assert target.wait(timeout=60) == 0
    twice = check_account(world, shown, last_tracer(world))
    assert twice == 0 or place == 37


@pytest.mark.parametrize("polls", [1, 5])
def test_killed_after_it_was_written(world, polls):
    """Those of one poll come twice, and just these are counted."""
    reader = start(world, "pause=3000", f"mute={polls}")
    target = world.target("a", 2, EVENTS // 2, "pace=20")
    assert reader.wait(timeout=30) == -signal.SIGKILL
    shown, _ = written(reader)
    assert target.wait(timeout=60) == 0
    result = last_tracer(world)
    assert check_account(world, shown, result) == result["again"] > 0


@pytest.mark.parametrize("rounds", [6, pytest.param(1000, marks=pytest.mark.long)])
def test_killed_at_any_moment(world, rounds):
    """Tracer after tracer, while two threads fire."""
    moments = random.Random(rounds)
    readers = [start(world)]
    target = world.target("a", 2, 10**12, "pace=100")
    shown = again = 0
    for n in range(rounds):
        time.sleep(moments.random() * 0.05)
        readers[-1].kill()
        wrote, knew = written(readers[-1])
        shown, again = shown + wrote, again + knew
        if n < rounds - 1:
            readers.append(start(world))
    target.kill()
    target.wait()
    result = last_tracer(world)
    account = world.account("a")
    sum_of_all = shown + result["delivered"] + result["dropped"]
    assert account.returned <= sum_of_all <= account.started + again + result["again"]


def test_a_poll_that_is_shown_is_not_given_again(world):
    """Leaving in order: nothing twice, nothing counted."""
    target = world.target("a", 1, EVENTS, "wait", "pace=20")
    first = world.finish(world.reader(*OPTIONS, "events=1000"))
    check(first)
    assert target.wait(timeout=60) == 0
    second = last_tracer(world)
    assert first["delivered"] + second["delivered"] == EVENTS and second["again"] == 0
