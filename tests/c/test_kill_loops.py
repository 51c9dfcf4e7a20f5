"""SIGKILL at random moments, under load: the survivor goes on, the account holds, no file stays.

Thirty each in `make test`, a thousand each in `make test-long`.
"""

import random
import signal
import time

import pytest

from tests.support.core.programs import check

ROUNDS = [30, pytest.param(1000, marks=pytest.mark.long)]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_targets_killed(world, rounds):
    """Each with three threads; at most the one event of each thread that was inside is missing."""
    moments = random.Random(rounds)
    for _ in range(rounds):
        reader = world.reader("bufsize=8388608", "all", "alive", "targets=1")
        reader.stdout.readline()
        target = world.target("a", 3, 10**12, "pace=1")
        time.sleep(moments.random() * 0.02)
        target.send_signal(signal.SIGKILL)
        target.wait()
        result = world.finish(reader)
        check(result)
        account = world.account("a")
        assert account.returned <= result["delivered"] + result["dropped"] <= account.started
        assert world.files() == []


@pytest.mark.parametrize("rounds", ROUNDS)
def test_tracers_killed(world, rounds):
    """One target outlives them all, while another session on it stays complete."""
    moments = random.Random(rounds)
    target = world.target("a", 2, 10**12, "wait", "pace=200")
    witness = world.reader(f"pid={target.pid}", "bufsize=16777216", "alive")
    assert witness.stdout.readline() == "ready\n"
    for _ in range(rounds):
        tracer = world.reader(f"pid={target.pid}", "alive")
        time.sleep(moments.random() * 0.03)
        tracer.kill()
        tracer.wait()
        assert target.poll() is None and witness.poll() is None
    target.send_signal(signal.SIGKILL)
    target.wait()
    result = world.finish(witness)
    check(result)
    account = world.account("a")
    assert (
        result["delivered"] > 0
        and account.returned - 2 <= result["delivered"] + result["dropped"] + 2
    )
    assert result["delivered"] + result["dropped"] <= account.started
    world.trace(command=world.target_command("b", 1, 10))
    assert world.files() == []
