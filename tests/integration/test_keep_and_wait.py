"""Processes that start later: pydtrace --keep, a session that outlives its tracer; --wait, one for processes of a name; and
pyusdt*, where there is none yet."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support import harness

pytestmark = pytest.mark.own_processes
PRINT = 'BEGIN { printf("begun\\n"); } pyusdt*:::user_trace-i4s4 { printf("%d\\n", arg2); }'
FIRE = "import sys, pyusdt; [pyusdt.p(i) for i in range(int(sys.argv[1]), int(sys.argv[2]))]"


@pytest.fixture
def world():
    """The environment of a run directory of its own, and the directory."""
    rundir = Path(tempfile.mkdtemp(prefix="pyusdt-test-keep-", dir="/dev/shm"))
    yield {**os.environ, "PYUSDT_RUNDIR": str(rundir)}, rundir
    shutil.rmtree(rundir)


def start(world, *arguments: str):
    """A pydtrace that has begun; its process."""
    process = subprocess.Popen(
        [harness.PYDTRACE, *arguments],
        env=world[0],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while (line := process.stdout.readline()) != "begun\n":
        assert line.strip() == "" and process.poll() is None, process.communicate()
    time.sleep(0.1)  # it starts its session right after BEGIN
    return process


def trace(world, *arguments: str, until=0, end=signal.SIGINT):
    """What a pydtrace --keep prints up to the number `until`, then it is interrupted."""
    process = start(world, "-Zq", "--keep", *arguments, "-n", PRINT)
    seen = []
    while until and (not seen or seen[-1] != until):
        line = process.stdout.readline()
        assert line, process.communicate()
        seen += [int(line)] if line.strip() else []
    process.send_signal(end)
    out, err = process.communicate(timeout=30)
    return seen + [int(line) for line in out.split()], err


def fire(world, first, last):
    subprocess.run(
        [sys.executable, "-c", FIRE, str(first), str(last)], env=world[0], check=True, timeout=30
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_comes_back_for_what_was_fired_meanwhile(world, end):
    """Processes that began, fired and ended while nobody was there, and one that ran all the time."""
    assert trace(world, "boot", end=end)[0] == []
    fire(world, 0, 3)
    seen, err = trace(world, "boot", until=2, end=end)
    assert seen == [0, 1, 2] and "goes on from where it was left" in err
    fire(world, 3, 5)
    assert trace(world, "boot", until=4)[0] == [3, 4]
    got = harness.run(
        [
            harness.PYDTRACE,
            "-Zq",
            "--keep",
            "boot",
            "-n",
            'pyusdt*:::user_trace-i4s4 { printf("%d\\n", arg2); }',
            "-n",
            "tick-100ms { exit(0); }",
        ],
        env=world[0],
    )
    assert got.status == 0 and list(world[1].iterdir()) == [], got


def test_others_leave_it_alone(world):
    """Sessions that come and go take other slots, sweep, and see nothing of it."""
    trace(world, "boot")
    fire(world, 0, 2)
    for _ in range(2):
        got = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-n",
                "pyusdt$target:::user_trace-i4s4 { @ = count(); }",
                "-c",
                f"{sys.executable} {harness.ROOT}/tests/integration/programs/events.py",
            ],
            env=world[0],
        )
        assert got.status == 0, got
    process = start(world, "-Zq", "-n", PRINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert trace(world, "boot", until=1)[0][:2] == [0, 1]


def test_its_time_is_bounded(world):
    """When it is over, a process that fires undoes it, and the next tracer removes what is left."""
    trace(world, "short,1s")
    with harness.running(
        [
            sys.executable,
            "-c",
            "import pyusdt, time\nwhile True:\n pyusdt.p(1); time.sleep(0.01)\n",
        ],
        env=world[0],
    ):
        deadline = time.monotonic() + 20
        while (
            any(path.name.endswith("ring0") for path in world[1].iterdir())
            or time.monotonic() < deadline - 18.5
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    fire(world, 0, 2)
    process = start(world, "-Zq", "-n", PRINT)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0].split() == []
    assert list(world[1].iterdir()) == []


def test_its_memory_is_bounded(world):
    """The rings of all processes together; what finds no room is counted as dropped."""
    trace(world, "small,1h,256k", "-b", "128k")
    for n in range(4):
        fire(world, n * 100, n * 100 + 10)
    rings = [path for path in world[1].iterdir() if ".ring" in path.name]
    assert sum(path.stat().st_size for path in rings) == 256 * 1024
    seen, err = trace(world, "small,1h,256k", "-b", "128k", until=109)
    assert sorted(seen) == [*range(10), *range(100, 110)] and re.search("20 drops", err), err


def test_another_script_can_not_have_it(world):
    trace(world, "boot")
    got = harness.run(
        [harness.PYDTRACE, "-Zq", "--keep", "boot", "-n", "pyusdt*:::user_trace-s1 { exit(0); }"],
        env=world[0],
    )
    assert got.status == 1 and "was left by another script" in got.stderr, got
    assert [path.name for path in world[1].iterdir()] == ["00.session"]


def test_it_has_one_tracer(world):
    process = start(world, "-Zq", "--keep", "boot", "-n", PRINT)
    got = harness.run([harness.PYDTRACE, "-Zq", "--keep", "boot", "-n", PRINT], env=world[0])
    process.kill()
    process.communicate()
    assert got.status == 1 and "session 'boot' has a tracer" in got.stderr, got


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--keep", "", "-n", "BEGIN"], "needs a name"),
        (["--keep", "a,b", "-n", "BEGIN"], "failed to set --keep's time"),
        (["--keep", "a,1s,x", "-n", "BEGIN"], "failed to set --keep's size"),
        (["--keep", "a", "-p", "1", "-n", "BEGIN"], "does not work with -c, -p"),
        (["--wait", "a" * 16, "-n", "BEGIN"], "at most 15 bytes"),
        (["--wait", "", "-n", "BEGIN"], "needs the id"),
        (["--wait", "a", "-c", "true", "-n", "BEGIN"], "does not work with -c"),
        (["--wait", "a", "-n", "a$target:::hit"], "write ruby* instead of ruby$target"),
        (["--wait", "a", "-n", "BEGIN /pid == $target/ {}"], "remove `pid == $target`"),
    ],
)
def test_wrong_usage(pydtrace, arguments, message):
    got = pydtrace(*arguments)
    assert got.status == 1 and message in got.stderr, got


def test_waits_for_a_process(world):
    """By its name, whenever it starts; others of the user do not join; tracing ends with the last of them."""
    process = start(world, "-q", "--wait", "awaited", "-n", PRINT)
    fire(world, 90, 95)
    named = "open('/proc/self/comm', 'w').write('awaited')\n" + FIRE
    subprocess.run([sys.executable, "-c", named, "0", "4"], env=world[0], check=True, timeout=30)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out.split()) == (0, ["0", "1", "2", "3"]), err


# Has no pyusdt yet: loads it, fires, and ends, when it is told to.
LATE = "import sys; sys.stdin.readline(); sys.argv = ['', '0', '4']\n" + FIRE


def test_waits_for_a_process_by_its_id(world):
    """One that has not loaded pyusdt; -p could not have it. Others do not join, whatever the description matches."""
    process = subprocess.Popen(
        [sys.executable, "-c", LATE], env=world[0], stdin=subprocess.PIPE, text=True
    )
    refused = harness.run(
        [harness.PYDTRACE, "-x", "engine=embedded", "-p", str(process.pid), "-Zn", "pyusdt*:::"],
        env=world[0],
    )
    assert refused.status == 1 and "has no pyusdt in it" in refused.stderr, refused
    tracer = start(
        world,
        "-q",
        "--wait",
        str(process.pid),
        "-n",
        PRINT,
        "-n",
        'END { printf("%d\\n", $target); }',
    )
    fire(world, 90, 95)
    process.communicate("go\n", timeout=30)
    out, err = tracer.communicate(timeout=30)
    assert (tracer.returncode, out.split()) == (0, ["0", "1", "2", "3", str(process.pid)]), err


def test_killed_after_it_has_printed(world):
    """What a killed tracer had printed of a poll comes again, if it was not said to be printed; then it is counted."""
    process = start(world, "-Zq", "--keep", "boot", "-n", PRINT)
    fire(world, 0, 5)
    seen = []
    while seen[-1:] != [4]:
        seen += [int(word) for word in process.stdout.readline().split()]
    process.kill()
    process.communicate()
    fire(world, 5, 7)
    again, err = trace(world, "boot", until=6)
    told = re.search(r"(\d+) events? may have been shown before", err)
    assert seen == [0, 1, 2, 3, 4] and again[-2:] == [5, 6], again
    assert len(again) - 2 == (int(told[1]) if told else 0), (again, err)


def test_the_same_command_has_it_when_its_processes_have_ended(world):
    """Without -Z: what a kept session knows is matched, by the processes that have fired for it and are no more."""
    named = ["-q", "--keep", "boot", "-n", PRINT]
    with harness.running(
        [sys.executable, "-c", "import time, pyusdt; time.sleep(60)"], env=world[0]
    ):
        harness.wait_until(
            lambda: (
                harness.run([harness.PYDTRACE, "-ln", "pyusdt*:::"], env=world[0]).stdout.count(
                    "\n"
                )
                > 900
            )
        )
        process = start(world, *named)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    fire(world, 0, 3)
    done = harness.run(
        [harness.PYDTRACE, "--keep", "boot", "-n", PRINT, "-n", "tick-100ms { exit(0); }"],
        env=world[0],
    )
    assert done.status == 0 and re.findall(r":user_trace-i4s4 (\d+)", done.stdout) == [
        "0",
        "1",
        "2",
    ], done
    # BEGIN, and the probe of the process that fired (of the killed one, too, where the first tracer had not noticed its end)
    assert re.search("description 'BEGIN ' matched [23] probes", done.stderr), done


def test_a_kept_session_that_nobody_has_fired_for_is_not_refused(world):
    """Its probes were accepted when it began; own ones too, that no process has now."""
    wanted = "shop*:::order { } tick-100ms { exit(0); }"
    process = start(
        world,
        "-Zq",
        "--keep",
        "shop",
        "-n",
        'BEGIN { printf("begun\\n"); }',
        "-n",
        "shop*:::order { }",
    )
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    again = harness.run([harness.PYDTRACE, "-q", "--keep", "shop", "-n", wanted], env=world[0])
    assert again.status == 0 and "goes on from where it was left" in again.stderr, again
    other = harness.run([harness.PYDTRACE, "-q", "--keep", "other", "-n", wanted], env=world[0])
    assert (
        other.status == 1
        and "probe description shop*:::order does not match any probes" in other.stderr
    ), other


WAITS = "no process has pyusdt in it yet: waiting"


@pytest.mark.parametrize(
    "probe", ["pyusdt*:::user_trace-i4s4", "user_trace-i4s4", "p*:::user*i4s4"]
)
def test_what_every_process_has_is_waited_for(world, probe):
    """Without -Z, as README.md and scripts/ print it."""
    process = start(
        world,
        "-qx",
        "engine=embedded",
        "-n",
        f'BEGIN {{ printf("begun\\n"); }} {probe} {{ printf("%d\\n", arg2); }}',
        "-n",
        f"{probe} /arg2 == 2/ {{ exit(0); }}",
    )
    fire(world, 0, 3)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out.split(), err.count(WAITS)) == (0, ["0", "1", "2"], 1), err


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n", "pyusdt*:::user_trace-i4s5"],
        ["-n", "pyusdt*:libx::user_trace-i4s4"],
        ["-n", "shop*:::user_trace-i4s4"],
        ["-n", "pyusdt1*:::user_trace-s1"],
        ["-n", "pyusdt$1:::user_trace-s1", "4194303"],
    ],
)
def test_what_no_process_may_ever_have_is_refused(world, arguments):
    """As by dtrace: a name may be misspelt."""
    got = harness.run([harness.PYDTRACE, "-x", "engine=embedded", *arguments], env=world[0])
    assert (
        got.status == 1 and "does not match any probes" in got.stderr and WAITS not in got.stderr
    ), got


def test_who_says_that_he_waits_is_told_nothing(world):
    got = harness.run(
        [harness.PYDTRACE, "-Zqn", "pyusdt*:::user_trace-s1", "-n", "tick-1 { exit(0); }"],
        env=world[0],
    )
    assert (got.status, got.stderr) == (0, ""), got
