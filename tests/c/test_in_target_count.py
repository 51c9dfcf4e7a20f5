"""Counting in the traced process, without events (docs/internals/ring.md, "Counting").

What was fired is counted by the target (places_target.c), by function; what events would tell, by clauses that can not be counted.
"""

import json
import os
import random
import re
import resource
import signal
import struct
import time

import pytest

from tests.support import harness
from tests.support.core.code_locations import (
    counted,
    end,
    expected,
    pydtrace,
    spoil,
    target,
    tracing,
    wait_until,
)

COUNT = "{ @[probemod, probefunc, probename] = count(); }"
BY_EVENTS = "this->by = 1; "  # no clause of its own variables can be counted
COUNTED, COUNTABLE, TAG = (
    16 * 128 + 40,
    16 * 128 + 44,
    48,
)  # offsets in an area file, and where a word's tag begins
COUNTS = 36864  # where its words are
MAX_PLACES = 65536
ANOTHER_TRACER = "BEGIN { exit(0); }"  # it removes what the dead left


def area_file(world):
    (path,) = world.rundir.glob("*.area")
    return path


def fired_by(child):
    return json.loads(child.stdout.readline())


CLAUSES = [
    "{ @[probefunc] = count(); }",
    "{ @ = count(); }",
    '{ @[probemod, probefunc, probename, probeprov != ""] = count(); }',
    '{ @[pid == $target, execname, "text", 3] = count(); }',
    '/probefunc != "f3" && pid == $target/ { @[probemod] = count(); }',
    "{ @[probemod] = sum(7); @b[probemod] = sum(-2); }",
    "{ @[probefunc] = min(5); @b = max(-5); @c[probemod] = avg(9); }",
    "{ @[uid] = sum(pid == $target ? 2 : 3); }",
]


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_same_as_by_events(world, clause):
    told = []
    for each in (clause, clause.replace("{ @", "{ " + BY_EVENTS + "@")):
        got = pydtrace(world, "-vqZn", "vm$target:::function-*" + each, "-c", target(world, 20, 50))
        assert ("without events: clause 1" in got.stderr) == (each is clause), got.stderr
        assert "drop" not in got.stderr
        told.append(re.sub(r"\A(?s:.*?\n\n\n)", "", got.stdout))
    assert told[0] == told[1] and re.search(r"\d", told[0])


@pytest.mark.parametrize(
    "script",
    [
        "vm$target:::function-entry { @[arg0] = count(); }",
        "vm$target:::function-entry { @ = quantize(1); }",
        "vm$target:::function-entry { @ = count(); trace(1); }",
        "vm$target:::function-entry { @[tid] = count(); }",
        "vm$target:::function-entry { @ = count(); } vm$target:::function-return { exit(0); }",
        "vm$target:::function-entry { @ = count(); } vm$target:::function-return { printa(@); }",
        "vm$target:::function-entry { @ = sum(1 / pid); }",
    ],
)
def test_what_is_not_counted(world, script):
    assert (
        "without events" not in pydtrace(world, "-vqZn", script, "-c", target(world, 2, 2)).stderr
    )


def test_not_where_others_read_it(world, tmp_path):
    script = "vm*:::function-entry { @ = count(); }"
    for options in (["--record", tmp_path / "recording"], ["--keep", "it"]):
        got = pydtrace(world, "-vqZn", script + "tick-100ms { exit(0); }", *options)
        assert "without events" not in got.stderr, options


def test_nothing_is_sent(world):
    """At full speed, into rings that would be full at once."""
    with tracing(world, "-qn", "vm*:::function-entry" + COUNT, "-b", "64k", "-Z") as tracer:
        child = world.start(
            target(world, 10, 100000, "threads=4", "wait", "counts", "linger").split()
        )
        assert fired_by(child) == {f"f{i}": 400000 for i in range(10)}
        (ring,) = world.rundir.glob("*.ring0")
        assert not any(ring.read_bytes())
        assert counted(end(tracer)) == expected(range(10), 400000, ["function-entry"])


def test_beside_clauses_that_want_events(world):
    """At a place that another clause wants the events of, both get those."""
    script = (
        "vm$target:::function-entry { @a = count(); } vm$target:m1::function-entry { @b = sum(arg0); } "
        'END { printa("%@d %@d\\n", @a, @b); }'
    )
    got = pydtrace(world, "-vqZn", script, "-c", target(world, 20, 6))
    assert "without events: clause 1\n" in got.stderr
    assert got.stdout.strip().splitlines()[-1] == f"{20 * 6} {6 * (1 + 11)}"


def test_intervals_have_all(world):
    """Each firing is in one of them, whatever clears or truncates between.  END prints the last: what printa() has printed once is
    not printed at the end by itself, and no tick may come between the last firing and the signal."""
    show = 'printa("%s %@d\\n", @); printa("n %@d\\n", @n);'
    script = (
        f"vm*:::function-entry {{ @[probemod] = count(); @n = count(); }} tick-10ms {{ {show} trunc(@); clear(@n); }} "
        f"END {{ {show} }}"
    )
    with tracing(world, "-qn", script, "-Z") as tracer:
        child = world.start(target(world, 10, 200000, "wait", "counts", "linger").split())
        total = sum(fired_by(child).values())
        out = end(tracer)
    assert len(re.findall(r"^n \d", out, re.MULTILINE)) > 3
    assert sum(map(int, re.findall(r"^n (\d+)$", out, re.MULTILINE))) == total
    assert sum(map(int, re.findall(r"^m1 (\d+)$", out, re.MULTILINE))) == total // 10


def test_a_forked_child_counts_for_itself(world):
    script = 'vm*:::function-entry { @[pid == $target ? "parent" : "child", probefunc] = count(); }'
    got = pydtrace(world, "-qZn", script, "-c", target(world, 20, 10, "fork"))
    rows = re.findall(r"^  (parent|child) +(f\d+) +(\d+)$", got.stdout, re.MULTILINE)
    assert {(who, function): int(n) for who, function, n in rows} == {
        **{("parent", f"f{i}"): 10 for i in range(20)},
        **{("child", f"f{i}"): 5 for i in range(20)},
    }


def test_more_places_than_one_page_has(world):
    got = pydtrace(
        world,
        "-qZn",
        "vm$target:::function-*" + COUNT,
        "-x",
        "aggsize=64m",
        "-c",
        target(world, 5000, 3),
    )
    assert counted(got.stdout) == expected(range(5000), 3) and "drop" not in got.stderr


def test_more_places_than_there_can_be(world):
    more = MAX_PLACES + 500
    got = pydtrace(
        world, "-qZn", "vm$target:::function-entry { @ = count(); }", "-c", target(world, more, 1)
    )
    lost = harness.count_drops(got.stderr)
    assert int(got.stdout) + lost == more and lost == 500


def test_no_room_for_the_keys(world):
    """What finds none is counted as by events: each firing of it."""
    got = pydtrace(
        world,
        "-qZn",
        "vm$target:::function-entry { @[probefunc] = count(); }",
        "-x",
        "aggsize=4k",
        "-c",
        target(world, 50, 20),
    )
    seen = sum(int(n) for n in re.findall(r"^  f\d+ +(\d+)$", got.stdout, re.MULTILINE))
    lost = harness.count_drops(got.stderr, "aggregation")
    assert 0 < seen < 1000 and seen + lost == 1000


# --- sessions come and go ------------------------------------------------------------------------------


def test_sessions_in_turn(world):
    """Each has what was fired while it was there: each function as often as the others, but for those at its two ends."""
    child = world.start(target(world, 8, 10**9, "watch").split())
    for _ in range(12):
        with tracing(world, "-qn", "vm*:::function-entry" + COUNT) as tracer:
            wait_until(lambda: counting_in(world))
            seen = counted(end(tracer))
        assert len(seen) == 8 and max(seen.values()) - min(seen.values()) <= 3
    child.kill()


def counting_in(world):
    """Something was counted in the only area that there is."""
    try:
        words = area_file(world).read_bytes()[COUNTS : COUNTS + 64]
    except (ValueError, OSError):  # none yet
        return False
    return len(words) == 64 and any(word & (1 << TAG) - 1 for word in struct.unpack("<8Q", words))


def has_mapped(pid, path):
    """What a tracer could not open when it came is given up, and told."""
    with open(f"/proc/{pid}/maps") as maps:
        return str(path) in maps.read()


def test_two_sessions_at_once(world):
    with (
        tracing(world, "-qn", "vm*:::function-entry" + COUNT, "-Z") as one,
        tracing(
            world,
            "-qn",
            "vm*:m1::function-entry { @[probemod, probefunc, probename] = count(); }",
            "-Z",
        ) as two,
    ):
        child = world.start(
            target(world, 20, 1000, "threads=2", "wait", "counts", "linger").split()
        )
        fired_by(child)
        assert counted(end(two)) == expected((1, 11), 2000, ["function-entry"])
        assert counted(end(one)) == expected(range(20), 2000, ["function-entry"])


def test_one_counts_one_wants_events_one_reads_them(world):
    """Three ways of one firing, each to its own session."""
    with (
        tracing(world, "-qn", "vm*:::function-entry" + COUNT, "-Z") as counts,
        tracing(
            world,
            "-qn",
            "vm*:::function-entry { this->by = 1; @[probemod, probefunc, probename] = count(); }",
            "-Z",
        ) as events,
        tracing(
            world, "-qn", "vm*:::function-entry /copyinstr(arg1) == probefunc/" + COUNT, "-Z"
        ) as reads,
    ):
        child = world.start(target(world, 20, 30, "wait", "counts", "linger").split())
        fired_by(child)
        for session in (counts, events, reads):
            assert counted(end(session)) == expected(range(20), 30, ["function-entry"])


def test_a_killed_tracer(world):
    """The target goes on, finds out, and the next one begins anew."""
    child = world.start(target(world, 8, 10**9, "watch").split())
    with tracing(world, "-qn", "vm*:::function-entry" + COUNT) as tracer:
        wait_until(lambda: counting_in(world))
        tracer.send_signal(signal.SIGKILL)
        tracer.wait()
    assert [child.stdout.readline(), child.stdout.readline()] == ["wanted\n", "unwanted\n"]
    with tracing(world, "-qn", "vm*:::function-entry" + COUNT) as tracer:
        wait_until(lambda: counting_in(world))
        seen = counted(end(tracer))
    assert len(seen) == 8 and max(seen.values()) - min(seen.values()) <= 3
    child.kill()


def test_a_tracer_that_can_open_nothing(world):
    """It can not look whether its targets live, so it lets them."""
    world.start(target(world, 8, 10**9, "watch").split())
    with tracing(world, "-qn", "vm*:::function-entry" + COUNT) as tracer:
        wait_until(lambda: counting_in(world) and has_mapped(tracer.pid, area_file(world)))
        before, (soft, hard) = (
            area_file(world),
            resource.prlimit(tracer.pid, resource.RLIMIT_NOFILE),
        )
        resource.prlimit(tracer.pid, resource.RLIMIT_NOFILE, (0, hard))
        time.sleep(0.5)
        resource.prlimit(tracer.pid, resource.RLIMIT_NOFILE, (soft, hard))
        assert area_file(world) == before
        seen = counted(end(tracer))
    assert len(seen) == 8 and max(seen.values()) - min(seen.values()) <= 3


# --- somebody is killed, somebody lies -------------------------------------------------------------------


@pytest.mark.parametrize(
    "hook, n, more", [(8, 1, 0), (8, 40, 0), (9, 1, 1), (9, 40, 1), (27, 1, 0), (27, 40, 0)]
)
def test_a_killed_target(world, hook, n, more):
    """What it had counted is read when it is dead; nothing is left of it."""
    got = pydtrace(
        world,
        "-qZn",
        "vm$target:::function-entry" + COUNT,
        "-c",
        target(world, 100, 1, variant="hooks"),
        HOOK=f"{hook}:{n}",
    )
    assert counted(got.stdout) == expected(
        range(n - 1 + more), 1, ["function-entry"]
    ) and not re.search("given up|drop", got.stderr)
    pydtrace(world, "-qZn", ANOTHER_TRACER)
    assert world.files() == []


LIES = {
    "too many": lambda path: [(COUNTS, bump(path, 1 << 47))],
    "another tag": lambda path: [(COUNTS, struct.pack("<Q", 5))],
    "more rows than there can be": lambda path: [
        (COUNTED, struct.pack("<II", 2**32 - 1, 2**32 - 1))
    ],
    "rows of other probes": lambda path: [
        (COUNTED, struct.pack("<II16H", 16, 512, *[2, 9, 4095, 65535] * 4))
    ],
    "cut off": lambda path: os.truncate(path, COUNTS - 4096) or [],
}


def bump(path, n):
    (now,) = struct.unpack("<Q", path.read_bytes()[COUNTS : COUNTS + 8])
    return struct.pack("<Q", now + n)


@pytest.mark.parametrize("lie", LIES)
def test_a_target_that_lies(world, lie):
    """The tracer goes on with the others, and so does the target."""
    child = world.start(target(world, 50, 10**9, "watch").split())
    with tracing(world, "-qn", "vm*:::function-entry" + COUNT) as tracer:
        wait_until(lambda: counting_in(world))
        spoil(area_file(world), LIES[lie](area_file(world)))
        honest = world.start(target(world, 3, 1000, "wait", "counts", "linger").split())
        assert fired_by(honest) == {f"f{i}": 1000 for i in range(3)}
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=60)
    assert tracer.returncode == 0 and child.poll() is None
    assert ("which cannot be" in err) == (lie == "too many"), err
    seen = counted(out)
    assert all(seen[key] >= 1000 for key in expected(range(3), 1000, ["function-entry"]))
    child.kill()


def test_random_lies(world):
    """What is printed is not looked at: it may be more than a pipe holds."""
    dice = random.Random(11)
    child = world.start(target(world, 200, 10**9, "watch").split())
    with tracing(
        world, "-o", os.devnull, "-qn", "vm*:::function-entry" + COUNT + "tick-1s { exit(0); }"
    ) as tracer:
        wait_until(lambda: counting_in(world))
        path = area_file(world)
        while tracer.poll() is None:
            at = dice.choice([COUNTED + 2 * dice.randrange(20), COUNTS + 8 * dice.randrange(200)])
            if path.exists():
                spoil(
                    path,
                    [(at, struct.pack("<Q", dice.choice([0, 1, 2**64 - 1, dice.getrandbits(64)])))],
                )
            time.sleep(0.001)
        assert tracer.returncode == 0
    assert child.poll() is None
    child.kill()


def test_a_full_file_system(world):
    """No pages for the words: events are sent."""
    with world.small("700k"):
        got = pydtrace(
            world,
            "-qZn",
            "vm$target:::function-entry" + COUNT,
            "-b",
            "64k",
            "-x",
            "aggsize=64m",
            "-c",
            target(world, 3000, 1),
        )
    lost = harness.count_drops(got.stderr)
    assert sum(counted(got.stdout).values()) + lost == 3000
