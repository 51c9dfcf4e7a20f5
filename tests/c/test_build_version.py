"""Two builds of different layouts on one machine: neither touches what the other keeps, and each says that it does not understand the other."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support.core.programs import check, wait_for
from tests.support.harness import PYDTRACE

DOCTOR = [os.path.join(os.path.dirname(PYDTRACE), "pyusdt"), "doctor"]
SENTENCE = (
    r"{} has pyusdt [\d.]+(, commit \w+\+?)? \(layout 99\), and this is pyusdt [\d.]+(, commit \w+\+?)? \(layout \d+\): they do not "
    "understand each other; install the same build for both"
)
COUNT = "pyusdt*:::user_trace-i4s4 {{ @ = count(); }} {}"


@pytest.mark.parametrize(("own", "other"), [("layout", "plain"), ("plain", "layout")])
@pytest.mark.parametrize("lives", [True, False])
def test_a_kept_session_is_its_layout_s(world, own, other, lives):
    """Whether the process that fired lives or not: its control file, its rings and the session file are there for the next tracer."""
    options = ["keep=boot", "all", "tell", "alive", "targets=1", "bufsize=1048576"]
    reader = world.reader(*options, variant=own)
    assert reader.stdout.readline() == "ready\n"
    target = world.target("a", 1, 10**6, "pace=1000", variant=own)
    reader.send_signal(signal.SIGKILL)
    reader.wait()
    wait_for(lambda: world.account("a").started > 20)
    if not lives:
        target.kill()
        target.wait()
    kept = world.files()
    for keep in ([], ["keep=boot"]):
        result = world.trace(
            "all",
            "ms=500",
            *keep,
            "bufsize=1048576",
            command=world.target_command("b", 1, 50, variant=other),
            variant=other,
        )
        assert (result["delivered"], result["targets"]) == (50, 1)
    assert set(kept) <= set(world.files())
    if lives:
        target.kill()
        target.wait()
    result = world.finish(world.reader(*options, variant=own))
    check(result)
    assert (
        result["delivered"] + result["dropped"] >= world.account("a").returned - 1
    )  # it was killed


def run(world, *words, **more):
    return subprocess.run(
        [*words], env=world.env, capture_output=True, text=True, timeout=60, check=False, **more
    )


def test_every_way_to_trace_says_it(world):
    target = world.target("a", 1, 10**9, "pace=10000", variant="layout")
    said = SENTENCE.format(f"process {target.pid}")
    pid = str(target.pid)
    named = run(world, PYDTRACE, "-x", "engine=embedded", "-qn", COUNT.format(""), "-p", pid)
    assert named.returncode == 1 and re.search(said, named.stderr), named
    for more in ([], ["-Z"]):
        everybody = run(
            world,
            PYDTRACE,
            "-x",
            "engine=embedded",
            "-q",
            *more,
            "-n",
            COUNT.format("tick-300ms { exit(0); }"),
        )
        assert len(re.findall(said, everybody.stderr)) == 1, everybody
        assert "no process has pyusdt in it" not in everybody.stderr
    command = world.target_command("b", 1, 300, "pace=1000", variant="layout")
    started = run(
        world, PYDTRACE, "-x", "engine=embedded", "-qn", COUNT.format(""), "-c", " ".join(command)
    )
    assert (
        re.search(SENTENCE.format(r"process \d+"), started.stderr)
        and "no pyusdt was seen" not in started.stderr
    ), started
    for words in ([*DOCTOR, "-p", pid], DOCTOR):
        assert re.search(said, run(world, *words).stdout)
    code = f"import pyusdt\ntry: pyusdt.watch('user_trace-i4s4', pid={pid}, engine='embedded').__enter__()\nexcept pyusdt.EngineError as e: print(e)"
    assert re.search(said, run(world, sys.executable, "-c", code).stdout)
    listed = run(world, PYDTRACE, "-x", "engine=embedded", "-l", "-p", pid)
    assert listed.returncode == 1 and re.search(said, listed.stderr), listed
    assert target.poll() is None


def test_a_flight_recorder_s_file_says_it(world):
    """The header of one is a control file's."""
    path = world.rundir / "x.flight"
    target = world.target("a", 1, 10**9, "pace=10000", variant="layout")
    [control] = [name for name in world.files() if name.endswith(".ctl")]
    header = (world.rundir / control).read_bytes()
    path.write_bytes((0x31746C6673757970).to_bytes(8, "little") + header[8:])
    done = run(world, PYDTRACE, "-q", "--replay", str(path), "-n", COUNT.format(""))
    assert done.returncode == 1 and re.search(
        SENTENCE.format("what wrote this flight recorder's file"), done.stderr
    ), done
    assert target.poll() is None
