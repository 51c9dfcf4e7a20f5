"""SIGKILL between every two shared stores, of the target and of the tracer (the hooks of c/shared/test_hook.h).

After each: the survivor goes on, nothing hangs, the account holds, and no file stays behind once a tracer has been there.
"""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.support.core.programs import ROOT, check

RECORDER_PLACES = {6, 14}  # tests/c/test_flight_recorder.py
TARGET_PLACES = {1, 2, 3, 4, 5, 10, 11, 12, 13, 20, 21, 22, 23, 24, 25}
SKIPPING_PLACES = {7}  # in a target whose ring finds no more pages
FIRING_PLACES = {1, 2, 3, 4, 5}
TRACER_PLACES = {30, 31, 32, 33, 34, 35, 36}
KEEPER_PLACES = {37}  # in the tracer of a kept session
PLACES_PLACES = {16, 17, 18}  # in a target that has a place more: test_code_places.py
WATCHING_PLACES = {19}  # between the watcher's look and its wait: test_watcher.py
MOVING_PLACES = {15}  # in a target that has become another user
WALKING_PLACES = set(
    range(40, 46)
)  # on the way to another user's directory: test_rundir_attacks.py
COUNTING_PLACES = {8, 9, 27}  # in a target that counts, and its tracer: test_in_target_count.py
UNDOING_PLACES = {26}  # in a target whose tracer was killed


def test_all_places_are_listed():
    """A hook that nobody dies at would be a store that nobody thought of."""
    used = {
        int(number)
        for path in Path(ROOT / "c").glob("*/*.[ch]")
        for number in re.findall(r"PYUSDT_HOOK\((\d+)\)", path.read_text())
    }
    assert used == (
        TARGET_PLACES
        | TRACER_PLACES
        | UNDOING_PLACES
        | RECORDER_PLACES
        | KEEPER_PLACES
        | MOVING_PLACES
        | PLACES_PLACES
        | WATCHING_PLACES
        | SKIPPING_PLACES
        | WALKING_PLACES
        | COUNTING_PLACES
    )


def kills(places, first_only):
    return [
        (place, n) for place in sorted(places) for n in ((1,) if place in first_only else (1, 50))
    ]


@pytest.mark.parametrize(
    "place, n, threads",
    [
        *((*each, 2) for each in kills(TARGET_PLACES, {10, 11, 12, 13, 20, 21, 22, 23, 24, 25})),
        *((*each, 1) for each in kills(FIRING_PLACES, ())),
    ],
)
def test_target_killed_at(world, place, n, threads):
    """A thread that is alone takes its ring in another way."""
    command = world.target_command("a", threads, 3000, variant="hooks")
    # A small ring that is read late, so that it is full (place 2) and wraps.
    result = world.trace(
        "bufsize=65536",
        "pause=3000",
        "ms=400" if place in (10, 11, 13) else "pause=3000",
        command=command,
        variant="hooks",
        TARGET_HOOK=f"{place}:{n}",
    )
    check(result)
    account = world.account("a")
    assert account.returned <= result["delivered"] + result["dropped"] <= account.started
    assert account.started - account.returned <= threads
    world.trace(command=world.target_command("b", 1, 10))
    assert world.files() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="host: needs root to mount a small tmpfs")
@pytest.mark.parametrize("place, n", kills(SKIPPING_PLACES, ()))
def test_target_killed_in_a_full_file_system(world, place, n):
    with world.small("128k"):
        result = world.trace(
            "bufsize=1048576",
            command=world.target_command("a", 1, 10**6, variant="hooks"),
            variant="hooks",
            TARGET_HOOK=f"{place}:{n}",
        )
        check(result)
        account = world.account("a")
        assert (
            account.returned
            <= result["delivered"] + result["dropped"]
            <= account.started
            == account.returned + 1
        )
        assert world.files() == []


@pytest.mark.parametrize("place", sorted(TRACER_PLACES))
def test_tracer_killed_at(world, place):
    """Whether or not it got so far as to switch the probe on: soon it is off, and another tracer works."""
    target = world.target("a", 2, 10**12, variant="hooks")
    reader = world.reader(f"pid={target.pid}", "events=3000", variant="hooks", HOOK=f"{place}:1")
    assert reader.wait(timeout=20) == -signal.SIGKILL
    until, fired = time.monotonic() + 20, -1
    while fired != (fired := world.account("a").returned):
        assert time.monotonic() < until, "its probe is still on"
        time.sleep(0.3)
    after = world.finish(world.reader(f"pid={target.pid}", "events=2000"))
    check(after)
    assert after["delivered"] >= 2000
    assert [name for name in world.files() if not name.endswith(".ctl")] == []
    target.kill()
    target.wait()
    world.trace(command=world.target_command("b", 1, 10))
    assert world.files() == []


@pytest.mark.parametrize("place", sorted(UNDOING_PLACES))
def test_target_killed_while_it_undoes(world, place):
    target = world.target("a", 2, 0, "until-off", "wait", variant="hooks", HOOK=f"{place}:1")
    assert world.reader(f"pid={target.pid}", "die=1000").wait(timeout=20) == -signal.SIGKILL
    assert target.wait(timeout=5) == -signal.SIGKILL
    world.trace(command=world.target_command("b", 1, 10))
    assert world.files() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.xdist_group(
    "users"
)  # a tracer of all processes, beside it, would be the one for which it waits
@pytest.mark.parametrize("place", [None, *sorted(MOVING_PLACES)])
def test_target_killed_while_it_moves(world, place):
    """To the directory of its new user: there it is whole, or it is nowhere. (In a /dev/shm of its own, without what others have
    in /tmp, and among processes of its own: root's reader would find theirs, and wait for their end.  Who looks late finds the
    target there already.)"""
    target = world.target_command("a", 1, 1000, "wait", "setuid=54001", variant="hooks")
    script = (
        "mount -t tmpfs tmpfs /dev/shm && for other in /tmp/pyusdt-[0-9]*; do ! [ -d $other ] || mount -t tmpfs tmpfs $other; done &&"
        f" {{ HOOK={place}:1 {' '.join(target)} & }} &&"
        " until ls /dev/shm/pyusdt-*/*.ctl || ! [ -e /proc/$!/exe ]; do sleep 0.01; done >/dev/null 2>&1 && sleep 0.1 &&"
        f" {' '.join(world.reader_command('all', 'targets=1'))}; ls -A /dev/shm/pyusdt-0 /dev/shm/pyusdt-54001 >&2"
    )
    reader = world.start(
        ["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script], PYUSDT_RUNDIR=""
    )
    result = world.finish(reader)
    check(result)
    account = world.account("a")
    assert account.returned <= result["delivered"] + result["dropped"] <= account.started
    assert result["delivered"] == (0 if place else 1000) and result["dropped"] == 0


def test_producer_stopped_between_clock_and_commit(world):
    """It is waited for no longer than orderlag; its event still comes, and is counted as out of order."""
    target = world.target(
        "a", 2, 10**12, "wait", "pace=100", variant="hooks", HOOK="3:500", HOOK_SIGNAL="stop"
    )
    reader = world.reader(f"pid={target.pid}", "all", "ms=900", "orderlag=50000", "alive")
    reader.stdout.readline()
    other = world.target("b", 1, 3000, "pace=100")  # goes on meanwhile
    time.sleep(0.5)
    target.send_signal(signal.SIGCONT)
    result = world.finish(reader)
    assert result["out_of_order"] == 1 and result["unordered"] == 1
    assert result["bad"] == result["repeated"] == result["corrupt"] == 0
    assert other.wait() == 0
    target.kill()
    account = world.account("a").started + world.account("b").started
    assert account - 2 <= result["delivered"] + result["dropped"] <= account


@pytest.mark.parametrize("place, lost", [(1, 1), (3, 1), (4, 0)])
def test_thread_that_ends_inside(world, place, lost):
    """Its ring is taken over by others: here there is no second one."""
    target = world.target(
        "a", 3, 2000, "wait", variant="hooks", HOOK=f"{place}:1000", HOOK_SIGNAL="end-thread"
    )
    result = world.finish(
        world.reader(f"pid={target.pid}", "rings=1", "bufsize=4194304", variant="hooks")
    )
    check(result)
    started = world.account("a").started
    assert 4000 < started < 6000 and result["delivered"] + result["dropped"] == started - lost
    assert world.files() == []
