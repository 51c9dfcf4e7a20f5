"""A forked child that can not publish itself: its events are counted, in what its parent shared with the tracer; and it tries again."""

import os
import signal

import pytest

from tests.support.core.programs import check, wait_for

LIMITS = ["nofile", "fsize", "as"]


def account_is(result, delivered, dropped):
    """ring_target's forking parent fires one event of another number first."""
    check({**result, "repeated": 0})
    assert (result["delivered"], result["dropped"]) == (delivered, dropped)


@pytest.mark.parametrize("how", ["fork", "rawfork"])
@pytest.mark.parametrize("limit", LIMITS)
def test_its_events_are_counted(world, limit, how):
    result = world.trace("all", command=world.target_command("a", 1, 500, how, f"limit={limit}"))
    account_is(result, 501, 500)
    assert world.account("a.child").returned == 500


def test_it_tries_again(world):
    """Without the limit, it is traced from its next attempt on."""
    result = world.trace(
        "all", command=world.target_command("a", 1, 500, "fork", "limit=nofile", "lift")
    )
    account_is(result, 1001, 500)
    assert world.account("a.child").returned == 1000


def test_who_does_not_want_children(world):
    """A session of the parent alone: nothing of the child is lost to it."""
    target = world.target("a", 1, 500, "fork", "limit=nofile", "wait")
    result = world.finish(world.reader(f"pid={target.pid}"))
    account_is(result, 500, 0)  # the first event was too early


@pytest.mark.parametrize("limit", LIMITS)
def test_whose_parent_is_gone(world, limit):
    """A daemon: its parent has ended, and been read to its end, before the child fires."""
    keeper = world.target("b", 1, 10**12, "pace=1000")
    reader = world.reader("all", "alive", "targets=2", variant="plain")
    reader.stdout.readline()
    parent = world.start(world.target_command("a", 1, 500, "orphan", f"limit={limit}"))
    child = int(parent.stdout.readline())
    assert parent.wait(30) == 0
    wait_for(
        lambda: len([name for name in world.files() if name.endswith(".ctl")]) == 1, 20
    )  # the parent's is removed
    os.kill(child, signal.SIGUSR1)
    wait_for(lambda: world.account("a").returned == 500, 20)
    keeper.kill()
    result = world.finish(reader)
    check({**result, "repeated": 0})
    assert result["dropped"] == 500
