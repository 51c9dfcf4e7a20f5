"""PYUSDT_FLIGHT: the last events of a process, read by pydtrace --replay when it is dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import harness
from tests.support.recordings import COUNT, replay

pytestmark = pytest.mark.own_processes
PROGRAM = """
import os, sys, pyusdt
from pyusdt import _core
late = pyusdt.Provider("flight").probe("late", int, str)
print(_core.flight() or "", flush=True)
with pyusdt.tag("flown"):
    for i in range(3000):
        pyusdt.p(i, "text %d" % i)
    late(7, "seven")
os.kill(os.getpid(), int(sys.argv[1]))
"""


def fly(
    rundir: Path, size: str = "64k", end: int = signal.SIGKILL, **more: str
) -> subprocess.CompletedProcess:
    rundir.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "PYUSDT_RUNDIR": str(rundir), "PYUSDT_FLIGHT": size, **more}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(end))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def rundir():
    path = Path(f"/dev/shm/pyusdt-test-flight-{os.getpid()}")
    yield path
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


@pytest.fixture(scope="module")
def flown(rundir):
    """The path of a file that a killed process left."""
    run = fly(rundir)
    assert run.returncode == -signal.SIGKILL, run
    return Path(run.stdout.strip())


def test_the_last_events_of_a_killed_process(flown):
    got = replay(
        flown,
        "-qn",
        'pyusdt*:::user_trace-i4s4 { printf("%d %s %s\\n", arg2, copyinstr(arg1), copyinstr(arg6)); }',
    )
    lines = [line.split() for line in got.stdout.splitlines() if line]
    assert [int(line[0]) for line in lines] == list(range(3000 - len(lines), 3000)) and len(
        lines
    ) > 300
    assert {line[1] for line in lines} == {"flown"} and lines[-1] == [
        "2999",
        "flown",
        "text",
        "2999",
    ]


def test_probes_of_run_time(flown):
    got = replay(
        flown, "-qn", 'flight$target:::late { printf("%d %s\\n", arg0, copyinstr(arg1)); }'
    )
    assert got.stdout.split() == ["7", "seven"], got


def test_times_are_of_then(flown):
    begun = flown.stat().st_mtime
    got = replay(
        flown,
        "-qn",
        'BEGIN { printf("%d\\n", walltimestamp / 1000000000); } END { printf("%d\\n", pid); }',
    )
    assert abs(int(got.stdout.split()[0]) - begun) < 60, got


def test_replay_leaves_it(flown):
    before = flown.read_bytes()
    assert replay(flown, "-qn", COUNT).status == 0
    assert flown.read_bytes() == before


@pytest.mark.parametrize("size", ["12x", "k", "-1", "1kk"])
def test_a_size_that_is_none(rundir, size):
    run = fly(rundir, size)
    assert (
        f"no flight recorder (PYUSDT_FLIGHT): {size!r} is not a size" in run.stderr
        and run.stdout == ""
    ), run


@pytest.mark.parametrize("size", ["", "0"])
def test_not_asked_for(rundir, size):
    run = fly(rundir, size)
    assert (run.stdout, run.stderr) == ("\n", "")


def test_never_on_a_disk(tmp_path):
    kind = subprocess.run(
        ["stat", "-fc", "%T", tmp_path], capture_output=True, text=True, check=True
    ).stdout.strip()
    if kind == "tmpfs":
        pytest.skip("host: the temporary directory is in memory")
    run = fly(tmp_path / "run")
    assert "no flight recorder" in run.stderr and "not supported" in run.stderr, run
    assert not list((tmp_path / "run").glob("*.flight"))


def test_while_it_is_written(rundir):
    """A living process that never stops firing: each replay is whole, and no older than the one before."""
    program = "import pyusdt\nprint(flush=True)\nn = 0\nwhile True: pyusdt.p(n); n += 1"
    environment = {**os.environ, "PYUSDT_RUNDIR": str(rundir), "PYUSDT_FLIGHT": "64k"}
    last = 0
    with harness.running([sys.executable, "-c", program], env=environment) as process:
        process.stdout.readline()
        (path,) = rundir.glob(f"{process.pid}-*.flight")
        time.sleep(0.2)
        for _ in range(3):
            got = replay(path, "-qn", 'pyusdt*:::user_trace-i4s4 { printf("%d\\n", arg2); }')
            numbers = [int(line) for line in got.stdout.split()]
            assert (
                numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[-1] > last
            ), got
            last = numbers[-1]
        process.kill()


# What an attacker writes: anywhere in the header, the table, the area (offsets of c/shared/layout.h), the first ring.
PLACES = st.one_of(
    st.integers(0, 400),
    st.integers(36992, 37400),
    st.integers(168064, 168700),
    st.integers(1220608, 1220608 + 3000),
    st.integers(1257472, 1257472 + 65536),
)
WORDS = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.sampled_from([b"\xff" * 8, bytes(8), b"\x08" + bytes(7), b"\xff" * 4]),
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(st.lists(st.tuples(PLACES, WORDS), min_size=1, max_size=6), st.integers(0, 2**32))
def test_hostile_files(flown, replayer, mutations, cut):
    """Whatever a stranger changes: an error, or a replay of what makes sense."""
    data = bytearray(flown.read_bytes())
    for at, put in mutations:
        at %= len(data) - 8
        data[at : at + len(put)] = put
    if cut % 4 == 0:
        del data[cut % len(data) :]
    assert replayer(bytes(data)) in ("ok", "EngineError")
