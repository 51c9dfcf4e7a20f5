"""Places: probes whose module and function are those of the place where they fire (docs/internals/ring.md, "Places").

What was fired is counted by the target (places_target.c), by function.
"""

import collections
import json
import os
import random
import re
import signal
import struct
import subprocess
import time

import pytest

from tests.support import harness
from tests.support.core.code_locations import (
    PYDTRACE,
    counted,
    end,
    expected,
    pydtrace,
    spoil,
    target,
    tracing,
    wait_until,
)

COUNT = '{ this->by = "events"; @[probemod, probefunc, probename] = count(); }'  # what only counts: test_in_target_count.py
HEADER_PLACES = (
    100  # offsets in a control file's header: where the table of places is, and how many there are
)
PLACE, MAX_PLACES = 16, 65536
HOOKS = [16, 17, 18]


def traced(world, script, *arguments, **env):
    """(what was counted, {(module, function, probe): n}; what the target says that it fired, {function: n})."""
    got = pydtrace(
        world, "-qZn", script, "-x", "aggsize=64m", "-c", target(world, *arguments, "counts"), **env
    )
    assert "drop" not in got.stderr
    return counted(got.stdout), json.loads(re.search(r"^\{.*\}$", got.stdout, re.MULTILINE)[0])


@pytest.mark.parametrize(
    "description, functions",
    [
        ("vm$target:::function-entry", range(30)),
        ("vm$target:m3::function-entry", (3, 13, 23)),
        ("vm$target:m[12]:f?:function-entry", (1, 2)),
        ("vm$target::f2[0-3]:function-entry", (20, 21, 22, 23)),
        ("vm$target:m1::function-entry,vm$target::f2:function-entry", (1, 11, 21, 2)),
        ("vm$target:nowhere::function-entry", ()),
        ("vm*:m1:f1:function-e*", (1,)),
        ("::f7:", (7,)),
    ],
)
def test_the_target_fires_what_is_wanted(world, description, functions):
    seen, fired = traced(world, description + COUNT, 30, 5)
    names = ["function-entry", "function-return"] if description == "::f7:" else ["function-entry"]
    assert seen == expected(functions, 5, names)
    assert fired == {f"f{i}": 5 * len(names) for i in functions}


def test_clauses_are_chosen_by_place(world):
    script = (
        "vm$target:m1::function-entry { this->by = 1; @a = count(); } vm$target::f1*:function-entry { this->by = 1; @b = count(); } "
        'vm$target:::function-return /probefunc == "f2"/ { @c = count(); } vm$target:plain::tick { @d = count(); } '
        'END { printa("%@d %@d %@d %@d\\n", @a, @b, @c, @d); }'
    )
    got = pydtrace(world, "-qZn", script, "-c", target(world, 30, 4))
    assert got.stdout.split() == ["12", "44", "4", "4"]


def test_ten_thousand_places(world):
    seen, fired = traced(world, "vm$target:::function-*" + COUNT, 10000, 3)
    assert seen == expected(range(10000), 3) and fired == {f"f{i}": 6 for i in range(10000)}


def test_several_threads_make_the_same_places(world):
    with tracing(world, "-qZn", "vm*:::function-*" + COUNT) as tracer:
        child = world.start(target(world, 500, 20, "threads=8", "wait", "counts", "linger").split())
        fired = json.loads(child.stdout.readline())
        assert number_of_places(world) == 500
        child.kill()
        seen = counted(end(tracer))
    assert fired == {f"f{i}": 8 * 20 * 2 for i in range(500)} and seen == expected(
        range(500), 8 * 20
    )


def test_a_forked_child_goes_on_with_the_numbers(world):
    """What it remembers of its parent's table is in its own."""
    script = 'vm*:::function-entry { this->by = 1; @[pid == $target ? "parent" : "child", probefunc] = count(); }'
    got = pydtrace(world, "-qZn", script, "-c", target(world, 20, 10, "fork"))
    rows = re.findall(r"^  (parent|child) +(f\d+) +(\d+)$", got.stdout, re.MULTILINE)
    assert {(who, function): int(n) for who, function, n in rows} == {
        **{("parent", f"f{i}"): 10 for i in range(20)},
        **{("child", f"f{i}"): 5 for i in range(20)},
    }


def test_recorded_and_replayed(world, tmp_path):
    script = 'vm*:::function-entry { printf("%s:%s:%s:%s %d\\n", probeprov, probemod, probefunc, probename, arg0); }'
    file = tmp_path / "recording"
    live = pydtrace(world, "-qZn", script, "--record", file, "-c", target(world, 25, 3)).stdout
    assert live.count("\n") == 76
    assert pydtrace(world, "-qn", script, "--replay", file).stdout == live
    seen = counted(pydtrace(world, "-qn", "vm*:m1::function-*" + COUNT, "--replay", file).stdout)
    assert seen == expected((1, 11, 21), 3, ["function-entry"])


def test_the_flight_recorder(world):
    """Its process wants every place, and is dead."""
    pydtrace(world, "-qZn", "BEGIN { exit(0); }")
    subprocess.run(
        target(world, 25, 3).split(),
        env={**world.env, "PYUSDT_FLIGHT": "1m"},
        check=True,
        timeout=60,
    )
    (file,) = world.rundir.glob("*.flight")
    assert counted(
        pydtrace(world, "-qn", "vm*:::function-*" + COUNT, "--replay", file).stdout
    ) == expected(range(25), 3)


def test_names_in_every_output(world):
    got = pydtrace(
        world, "-Zn", "vm$target:m1:f1:function-entry { trace(arg0); }", "-c", target(world, 3, 1)
    )
    assert re.search(r" f1:function-entry +1$", got.stdout, re.MULTILINE)
    got = pydtrace(
        world,
        "--json",
        "-Zn",
        "vm$target:m1:f1:function-entry { trace(arg0); }",
        "-c",
        target(world, 3, 1),
    )
    record = next(
        json.loads(line) for line in got.stdout.splitlines() if '"f1"' in line or "f1:" in line
    )
    assert "m1" in json.dumps(record)


def test_listed(world):
    """The probe, and the places that are known so far."""
    child = world.start(target(world, 12, 2, "wait", "linger").split())
    wait_until(lambda: list(world.rundir.glob("*.ctl")))
    assert listed(world, child.pid) == {
        ("", "", "function-entry"),
        ("", "", "function-return"),
        ("plain", "plain", "tick"),
    }
    with tracing(world, "-qn", "vm*:m1:f1*:function-entry { }") as tracer:
        wait_until(lambda: number_of_places(world) == 2)
        end(tracer)
    places = {
        (module, function, f"function-{which}")
        for module, function in (("m1", "f1"), ("m1", "f11"))
        for which in ("entry", "return")
    }
    assert places <= listed(world, child.pid)
    got = pydtrace(world, "-l", "-n", f"vm{child.pid}::f11:function-return")
    assert re.fullmatch(rf" *ID .*\n *\d+ +vm{child.pid} +m1 +f11 function-return\n", got.stdout)


def test_strange_names(world):
    """What could be a terminal's is shown as escapes; too long names are cut; absent ones are empty."""
    script = 'vm$target:::function-entry { printf("%s", ""); }'
    got = pydtrace(world, "-Zn", script, "-c", target(world, 8, 1, "strange"))
    assert r"esc\x1b[31m:function-entry" in got.stdout and r"new\nline:function-entry" in got.stdout
    assert "\x1b" not in got.stdout and "äö:function-entry" in got.stdout
    assert "f" + 126 * "0" + ":function-entry" in got.stdout
    assert re.search(r"^ +\d+ +\d+ +:function-entry", got.stdout, re.MULTILINE)
    got = pydtrace(
        world,
        "-qZn",
        'vm$target:esc*:esc*:function-entry { printf("found\\n"); }',
        "-c",
        target(world, 8, 1, "strange"),
    )
    assert got.stdout.strip() == "found"


def test_no_room_for_one_more(world):
    """What is fired at a place without a number is counted as dropped."""
    more = MAX_PLACES + 500
    got = pydtrace(
        world,
        "-qZn",
        'vm$target:::function-entry { this->by = 1; @ = count(); } END { printa("%@d\\n", @); }',
        "-c",
        target(world, more, 1),
        "-x",
        "bufsize=64m",
    )
    lost = harness.count_drops(got.stderr)
    assert int(got.stdout) + lost == more and lost >= 500


# --- somebody is killed, somebody lies -------------------------------------------------------------


@pytest.mark.parametrize("place", HOOKS)
@pytest.mark.parametrize("n", [1, 40])
def test_killed_while_it_makes_a_place(world, place, n):
    """Every event that was published has its place."""
    got = pydtrace(
        world,
        "-qZn",
        "vm$target:::function-entry" + COUNT,
        "-c",
        target(world, 100, 1, variant="hooks"),
        HOOK=f"{place}:{n}",
    )
    assert counted(got.stdout) == expected(range(n - 1), 1, ["function-entry"]) and not re.search(
        "given up|drop", got.stderr
    )
    pydtrace(world, "-qZn", "BEGIN { exit(0); }")
    assert [name for name in world.files() if not name.endswith(".flight")] == []


def control_file(world):
    (path,) = world.rundir.glob("*.ctl")
    return path


def table_of(world):
    """(the control file, where its table of places begins), once both are there."""
    found = []

    def is_written():
        for path in world.rundir.glob("*.ctl"):
            with open(path, "rb") as file:
                head = file.read(128)
            if len(head) == 128 and (at := struct.unpack_from("<I", head, HEADER_PLACES)[0]):
                found.append((path, at))
        return found

    wait_until(is_written)
    return found[0]


def number_of_places(world):
    with open(control_file(world), "rb") as file:
        return struct.unpack_from("<I", file.read(128), HEADER_PLACES + 4)[0]


LIES = {
    "strings out of the table": lambda at: [
        (at, struct.pack("<III", 2**32 - 1, 4 << 20, 1 << 31) * 40)
    ],
    "strings without end": lambda at: [(at + PLACE * MAX_PLACES, b"x" * (4 << 20))],
    "more places than there can be": lambda at: [(HEADER_PLACES + 4, struct.pack("<I", 2**32 - 1))],
    "fewer than there were": lambda at: [(HEADER_PLACES + 4, struct.pack("<I", 0))],
    "another table": lambda at: [(HEADER_PLACES, struct.pack("<I", 8))],
    "no table": lambda at: [(HEADER_PLACES, struct.pack("<I", 0))],
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_table_that_lies(world, lie, when):
    """The tracer says something, and goes on with the others."""
    child = world.start(target(world, 50, 100000, "wait", "linger").split())
    path, at = table_of(world)
    if when == "before":
        spoil(path, LIES[lie](at))
    with tracing(
        world,
        "-qn",
        "vm*:::function-entry { this->by = 1; @[probefunc] = count(); } tick-1s { exit(0); }",
    ) as tracer:
        if when == "meanwhile":
            wait_until(lambda: number_of_places(world) >= 5)
            spoil(path, LIES[lie](at))
        tracer.communicate(timeout=60)
        assert tracer.returncode == 0
    assert child.poll() is None
    pydtrace(world, "-l", "-n", f"vm{child.pid}:::")


def test_names_that_fill_memory(world):
    """Every place has names of its own, which lie in the same bytes: 46 MiB of them in a file of 4."""
    child = world.start(target(world, 1, 1, "linger").split())
    path, at = table_of(world)
    places = b"".join(struct.pack("<IIII", i, i + 1, i + 2, i) for i in range(MAX_PLACES))
    names = bytes(random.Random(1).choices(b"abcdefghij", k=4 << 20))
    spoil(
        path,
        [
            (at + PLACE * MAX_PLACES, names),
            (at, places),
            (HEADER_PLACES + 4, struct.pack("<I", MAX_PLACES)),
        ],
    )
    done = subprocess.Popen(
        [*PYDTRACE, "-l", "-n", f"vm{child.pid}:::function-entry"],
        stdout=subprocess.PIPE,
        env=world.env,
    )
    listed = done.stdout.read().decode()
    _, status, usage = os.wait4(done.pid, 0)
    done.stdout.close()
    assert (
        status == 0
        and listed.count("\n") == MAX_PLACES + 2
        and re.search(r" \? +\? function-entry$", listed, re.MULTILINE)
    ), usage.ru_maxrss


def test_random_lies(world):
    """What is printed is not looked at: it may be more than a pipe holds."""
    dice = random.Random(7)
    child = world.start(target(world, 200, 10**6, "wait", "linger").split())
    path, at = table_of(world)
    with tracing(
        world,
        "-o",
        os.devnull,
        "-qn",
        "vm*:::function-entry { this->by = 1; @[probemod, probefunc] = count(); } tick-2s { exit(0); }",
    ) as tracer:
        wait_until(lambda: number_of_places(world) >= 5)
        while tracer.poll() is None:
            place = dice.choice(
                [
                    HEADER_PLACES + 4,
                    at + dice.randrange(200 * PLACE),
                    at + PLACE * MAX_PLACES + dice.randrange(4000),
                ]
            )
            spoil(
                path,
                [
                    (
                        place & ~3,
                        struct.pack("<I", dice.choice([0, 1, 2**32 - 1, dice.getrandbits(32)])),
                    )
                ],
            )
        assert tracer.returncode == 0
    assert child.poll() is None


def test_an_event_of_no_place(world):
    """A number that the table does not have: the ring is given up."""
    with tracing(world, "-Zqn", "vm*:::function-entry { this->by = 1; @ = count(); }") as tracer:
        tracer.send_signal(signal.SIGSTOP)
        child = world.start(target(world, 5, 1, "linger", "counts").split())
        assert sum(json.loads(child.stdout.readline()).values()) == 5
        (ring,) = world.rundir.glob("*.ring0")
        size, word = struct.unpack_from("<II", ring.read_bytes())
        assert word == 1 << 12
        spoil(ring, [(size + 4, struct.pack("<I", 6 << 12))])
        tracer.send_signal(signal.SIGCONT)
        time.sleep(0.2)
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=60)
        assert out.split() == ["1"] and "1 ring given up" in err


# --- help ------------------------------------------------------------------------------------------


def listed(world, pid):
    got = pydtrace(world, "-l", "-n", f"vm{pid}:::")
    rows = collections.deque(line for line in got.stdout.splitlines()[1:])
    return {(row[17:34].strip(), row[35:68].strip(), row[69:].strip()) for row in rows}
