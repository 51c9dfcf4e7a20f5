"""A run directory that is full: the traced program goes on, and pydtrace says why it sees nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support import harness

pytestmark = [
    pytest.mark.own_processes,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small tmpfs"),
]
FIRES = "import pyusdt; print(sum(pyusdt.p(i) for i in range(100)))"


@pytest.fixture
def small(tmp_path):
    """small(size): the environment of a run directory with so much room."""
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    mounted = []

    def make(size):
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", path], check=True
        )
        mounted.append(path)
        return {**os.environ, "PYUSDT_RUNDIR": str(path)}

    yield make
    for each in mounted:
        subprocess.run(["umount", "-l", each], check=True)


def test_no_room_for_rings(small, tmp_path):
    """Each event is counted, the reason is said, and with --strict it is a failure."""
    (tmp_path / "fires.py").write_text(FIRES)
    got = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--strict",
            "-n",
            "pyusdt$target:::user_trace-i4s4 { @ = count(); }",
            "-c",
            f"{sys.executable} {tmp_path}/fires.py",
        ],
        env=small("60k"),
    )
    assert got.status == 3 and "100" in got.stdout.split(), got
    assert re.search(
        r"process \d+ cannot make its buffers in \S+: No space left on device \(\d+ of its file system's 60 KiB are free; "
        r"a process needs 51, and up to bufsize for each thread\)\. Make room there, .*\(-b 64k\), or set PYUSDT_RUNDIR",
        got.stderr,
    ), got
    assert "100 drops" in got.stderr, got


def test_room_for_small_buffers(small, tmp_path):
    """They are as small as they must be; what is lost in them is counted, and the reason is said."""
    (tmp_path / "fires.py").write_text(FIRES.replace("100", "20000"))
    got = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-b",
            "16k",
            "-n",
            "pyusdt$target:::user_trace-i4s4 { @ = count(); }",
            "-c",
            f"{sys.executable} {tmp_path}/fires.py",
        ],
        env=small("100k"),
    )
    fired, counted = map(int, got.stdout.split())
    dropped = harness.count_drops(got.stderr)
    assert counted > 100 and fired == 20000 == counted + dropped, got
    if dropped:
        assert "cannot make larger buffers in" in got.stderr, got


def test_no_room_for_a_session(small):
    environment = small("4k")
    with open(os.path.join(environment["PYUSDT_RUNDIR"], "filled"), "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    assert harness.run([sys.executable, "-c", FIRES], env=environment).stdout == "0\n"
    got = harness.run(
        [harness.PYDTRACE, "-x", "engine=embedded", "-Zqn", "pyusdt*::: { @ = count(); }"],
        env=environment,
    )
    assert (
        got.status == 1
        and "No space left on device (" in got.stderr
        and "set PYUSDT_RUNDIR" in got.stderr
    ), got


def test_no_room_for_a_recording(small, tmp_path):
    """Not from the first event on: it is told, the command is ended, and what fitted can be replayed."""
    path = os.path.join(small(128 << 10)["PYUSDT_RUNDIR"], "recording")
    (tmp_path / "fires.py").write_text(
        "import os, pyusdt, time\nprint(os.getpid(), flush=True)\nwhile True:\n    pyusdt.p(1, 'x' * 500)\n"
    )
    got = harness.run(
        [
            harness.PYDTRACE,
            "--record",
            path,
            "-qn",
            "pyusdt$target:::user_trace-i4s4 { @ = count(); }",
            "-c",
            f"{sys.executable} {tmp_path / 'fires.py'}",
        ]
    )
    assert (got.status, got.stderr.splitlines()[-1]) == (
        1,
        f"dtrace: failed to record to {path}: No space left on device",
    ), got
    with pytest.raises(ProcessLookupError):
        os.kill(int(got.stdout.split()[0]), 0)
    again = harness.run(
        [harness.PYDTRACE, "--replay", path, "-qn", "pyusdt*:::user_trace-i4s4 { @ = count(); }"]
    )
    assert again.status == 0 and int(again.stdout) > 100 and "ends in the middle" in again.stderr, (
        again
    )
