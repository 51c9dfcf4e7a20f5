"""`pydtrace -p PID` as root on a process of a user who shows it what is not so."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tests.support import harness

pytestmark = [
    pytest.mark.xdist_group("users"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user's process"),
]
ALICE = 54001

# Maps a file that is named like a process's control file, removes it with its directories, and puts a link in their place: what is
# mapped is now shown with a name that leads to a directory of root's.
PROGRAM = """
import mmap, os, sys
if os.fork():
    sys.exit(os.wait()[1])
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
base, victim, number = sys.argv[2:]
os.makedirs(base + "/private", 0o700)
with open(f"{base}/private/{number or os.getpid()}-1-0.ctl", "w+b") as file:
    file.truncate(4096)
    mapped = mmap.mmap(file.fileno(), 4096)
    os.unlink(file.name)
os.rmdir(base + "/private"); os.rmdir(base)
os.symlink(victim, base)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def all_that_is_made_in(folder, seen, end):
    while not end.is_set():
        seen.update(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "number, said", [("1", "cannot be traced"), ("", "its control file was removed")]
)
def test_a_deleted_mapping_is_no_path(number, said):
    """Of another process's number (it wrote 00.session into the directory of root's, each time), and of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        (victim := Path(folder, "victim")).mkdir()
        (private := victim / "private").mkdir(mode=0o700)
        (private / "1-1-0.ctl").write_text("precious")
        (writable := Path(folder, "writable")).mkdir()
        Path(folder).chmod(0o711)
        os.chown(writable, ALICE, ALICE)
        before = private.stat()
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(ALICE), writable / "base", victim, number],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            pid, seen, end = process.stdout.readline().strip(), set(), threading.Event()
            watcher = threading.Thread(target=all_that_is_made_in, args=(private, seen, end))
            watcher.start()
            got = subprocess.run(
                [
                    harness.PYDTRACE,
                    "-q",
                    "-x",
                    "engine=embedded",
                    "-Z",
                    "-p",
                    pid,
                    "-n",
                    "tick-100ms { exit(0); }",
                    "-n",
                    "pyusdt*:::user_trace-i4s4",
                ],
                stdin=subprocess.DEVNULL,
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            end.set()
            watcher.join()
            process.stdin.close()
        after = private.stat()
        assert seen == {"1-1-0.ctl"} and (after.st_mtime_ns, after.st_ctime_ns) == (
            before.st_mtime_ns,
            before.st_ctime_ns,
        )
    assert number or said in got.stderr, got
