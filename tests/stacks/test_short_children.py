"""pyusdt profile --subprocesses and children that live for moments: seen from their beginning on, and what was not seen is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from pydtrace.profile.profile_table import render_remarks
from pydtrace.profile.stack_profile import Profile
from pydtrace.profile.unseen_children import UnseenChildren

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PARENT = """
import subprocess, sys, time
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
if len(sys.argv) > 1:
    busy(float(sys.argv[1]))
else:
    for n in range(8): subprocess.run([sys.executable, __file__, "0.12"])
"""


def test_children_are_seen_from_their_beginning_on(tmp_path):
    """0.12 s of eight children are some 93 samples; a look each quarter of a second saw none of them."""
    path = tmp_path / "parent.py"
    path.write_text(PARENT)
    done = subprocess.run(
        [PYUSDT, "profile", "--subprocesses", "--folded", "--", sys.executable, str(path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    samples = sum(int(n) for n in re.findall(r";busy \(.* (\d+)$", done.stdout, re.MULTILINE))
    assert samples > 25, done


def test_time_of_children_that_nobody_saw():
    """This process's own: one that is over before the second look."""
    unseen = UnseenChildren()
    unseen.count_ended(os.getpid(), [])
    subprocess.run(
        [sys.executable, "-c", "import time\nwhile time.process_time() < .3: pass"], check=True
    )
    unseen.count_ended(os.getpid(), [])
    assert 0.25 < unseen.seconds < 0.6


def test_the_remark():
    profile = Profile(97, "threads")
    assert "not seen" not in render_remarks(profile)
    profile.unseen_seconds = 0.5
    assert "0.50 s of processor time of child processes were not seen" in render_remarks(profile)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("", 0),
    ],
)
def test_the_exit_status_of_the_program(code, status):
    begin = "import time\nend = time.monotonic() + .3\nwhile time.monotonic() < end: pass\n"
    done = subprocess.run(
        [PYUSDT, "profile", "--", sys.executable, "-c", begin + code],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == status and "samples of" in done.stdout, done


def test_a_duration_below_a_second():
    done = subprocess.run(
        [PYUSDT, "profile", "-d", "0.5", "--", sys.executable, "-c", "while True: pass"],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0 and re.search(r"in 0\.\d s", done.stdout), done
    wrong = subprocess.run(
        [PYUSDT, "profile", "-d", "-1", "1"],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert wrong.returncode == 2 and "a number of seconds up to 604800 is wanted" in wrong.stderr
