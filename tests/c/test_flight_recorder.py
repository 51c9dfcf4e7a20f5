"""The flight recorder: what a process leaves of its last events, killed anywhere, is whole and without holes."""

import collections
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.core.programs import check

SIZE = "64k"
EVENTS = (
    'pyusdt*:::user_trace-i4s4 { printf("%d %d %d %s\\n", arg0, arg1, arg2, copyinstr(arg5)); } '
    'END { printf("end\\n"); }'
)
PYDTRACE = [sys.executable, "-c", "from pydtrace.cli.pydtrace.main import main; main()"]
PLACES = [1, 3, 4, 5, 6]  # of c/shared/test_hook.h, on the recorder's path


def checksum(thread, sequence):
    return ((thread * 0x9E3779B97F4A7C15) ^ (sequence * 0xBF58476D1CE4E5B9)) % 2**64


def replay(path):
    """{thread: [sequence, …]} of a flight recorder's file, each event checked."""
    got = subprocess.run(
        [*PYDTRACE, "--replay", path, "-qn", EVENTS],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = got.stdout.split("\n")
    assert got.returncode == 0 and "end" in lines, got
    seen = collections.defaultdict(list)
    for line in lines[: lines.index("end")]:
        thread, sequence, check_word, text = line.split()
        thread, sequence = int(thread), int(sequence)
        assert int(check_word) % 2**64 == checksum(thread, sequence)
        assert text == f"{thread}/{sequence}".ljust(
            len(f"{thread}/{sequence}") + sequence % 61, "."
        )
        seen[thread].append(sequence)
    return seen


def flights(world, alive=()):
    return [
        path
        for path in world.rundir.iterdir()
        if path.name.endswith(".flight") and int(path.name.split("-")[0]) not in alive
    ]


def check_last(seen, account, threads, others=0):
    """No thread's events have a hole, and the last that it fired is there; it may have been inside one more.
    others: firings of its that are not numbered in this row."""
    assert 200 < sum(map(len, seen.values()))
    newest = 0
    for thread in range(threads):
        sequences = seen[thread]
        assert (
            sequences == list(range(sequences[0], sequences[0] + len(sequences)))
            if sequences
            else True
        )
        if sequences:
            newest += 1
            assert (
                account.returned_by[thread] - 1 - others
                <= sequences[-1]
                <= account.started_by[thread] - 1
            )
    assert newest >= 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("n", [3000, 3001])
def test_killed_between_stores(world, place, n):
    target = world.start(
        world.target_command("a", 2, 10**12, variant="hooks"),
        PYUSDT_FLIGHT=SIZE,
        HOOK=f"{place}:{n}",
    )
    assert target.wait(timeout=20) == -signal.SIGKILL
    (path,) = flights(world)
    check_last(replay(path), world.account("a"), 2)


def test_killed_before_it_is_one(world):
    """Its file is no recording yet, and goes as those of the dead do."""
    target = world.start(
        world.target_command("a", 1, 10, variant="hooks"), PYUSDT_FLIGHT=SIZE, HOOK="14:1"
    )
    assert target.wait(timeout=20) == -signal.SIGKILL
    (path,) = flights(world)
    got = subprocess.run(
        [*PYDTRACE, "--replay", path, "-qn", EVENTS], capture_output=True, text=True, check=False
    )
    assert got.returncode == 1 and "not a recording" in got.stderr


def replay_by_core(world, path):
    """The same by the core alone, which costs a hundredth of a pydtrace."""
    got = subprocess.run(
        [world.build.program("replay_main"), path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seen = collections.defaultdict(list)
    for line in got.stdout.splitlines()[:-1]:
        words = line.split()
        thread, sequence, check_word = map(int, words[5:8])
        written = f"{thread}/{sequence}"
        assert check_word == checksum(thread, sequence) and words[-1] == "5=" + written.ljust(
            len(written) + sequence % 61, "."
        )
        seen[thread].append(sequence)
    return seen


@pytest.mark.parametrize("rounds", [20, pytest.param(1000, marks=pytest.mark.long)])
def test_killed_at_any_moment(world, rounds):
    """Under load, three threads; read while it runs, too; one in fifty by pydtrace."""
    moments = random.Random(rounds)
    for n in range(rounds):
        target = world.target("a", 3, 10**12, PYUSDT_FLIGHT=SIZE)
        while world.account("a").returned < 2000:
            time.sleep(0.001)
        time.sleep(moments.random() * 0.03)
        if n % 4 == 0:
            (path,) = flights(world)
            for sequences in replay_by_core(world, path).values():
                assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
        target.send_signal(signal.SIGKILL)
        world.end_of(target)
        (path,) = flights(world)
        seen = replay_by_core(world, path) if n % 50 else replay(path)
        check_last(seen, world.account("a"), 3)
        path.unlink()


def test_beside_a_session(world):
    """A session on the same process is complete, whatever the recorder overwrites."""
    result = world.trace(
        "bufsize=16777216", command=world.target_command("a", 2, 20000), PYUSDT_FLIGHT=SIZE
    )
    check(result)
    assert result["delivered"] == 40000
    (path,) = flights(world)
    assert sum(map(len, replay(path).values())) < 2000


@pytest.mark.parametrize("how", ["fork", "rawfork"])
def test_forked_child_has_its_own(world, how):
    target = world.start(world.target_command("a", 2, 20000, how), PYUSDT_FLIGHT=SIZE)
    assert target.wait(timeout=30) == 0
    files = flights(world)
    assert len(files) == 2
    for path, name in zip(
        sorted(files, key=lambda path: int(path.name.split("-")[0]) != target.pid), ("a", "a.child")
    ):
        check_last(replay(path), world.account(name), 2, others=name == "a")


def test_signal_handler_fires(world):
    target = world.start(world.target_command("a", 1, 300000, "signal"), PYUSDT_FLIGHT=SIZE)
    assert target.wait(timeout=30) == 0
    (path,) = flights(world)
    check_last(replay(path), world.account("a"), 2)


def test_few_are_kept(world):
    """Of the dead seven at most, the youngest, beside the one that is new; a living one's stays."""
    living = world.target("alive", 1, 0, "linger", PYUSDT_FLIGHT=SIZE)
    pids = []
    for _ in range(12):
        target = world.start(world.target_command("a", 1, 10), PYUSDT_FLIGHT=SIZE)
        pids.append(target.pid)
        target.wait()
    left = {int(path.name.split("-")[0]) for path in flights(world)}
    assert living.pid in left and len(left) == 9
    assert pids[-1] in left
    assert world.files()  # the recorder's files are nobody else's to remove
    world.trace(command=world.target_command("b", 1, 10))
    assert {int(path.name.split("-")[0]) for path in flights(world)} == left


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small tmpfs")
def test_no_room(world):
    """Firing goes on, and nothing of it is left."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", world.rundir], check=True
    )
    try:
        target = world.start(world.target_command("a", 2, 2000), PYUSDT_FLIGHT="1m")
        assert target.wait(timeout=20) == 0 and world.files() == []
        assert world.account("a").off == 4000
    finally:
        subprocess.run(["umount", "-l", world.rundir], check=True)
