"""Scripts as they are written for CPython's own probes (classic/: by arg0 file, arg1 function, arg2 line), unchanged.

Input: programs/vm_counted.py of the integration tests, which counts its own calls.
"""

import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, os.pardir, "integration", "programs", "vm_counted.py")
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
ROUNDS = 6
AREA = "Shape.area" if sys.version_info >= (3, 11) else "area"  # before, code has no qualified name


@pytest.fixture
def run(tmp_path):
    """run(NAME) -> what a script has printed, and what the program has counted.  (By two ways: what two processes write into one
    pipe can stand in each other's lines.)"""

    def run(name):
        command = [
            PYDTRACE,
            "-Z",
            "-s",
            os.path.join(HERE, "classic", name),
            "-o",
            tmp_path / "said",
            "-c",
            f"{sys.executable} {PROGRAM} {ROUNDS}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return (tmp_path / "said").read_text(), json.loads(done.stdout)

    return run


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_calls(run):
    said, own = run("calls.d")
    for name, counted in (("plain", "plain"), (AREA, "Shape.area"), ("failing", "failing")):
        assert ["vm_counted.py", name, str(own[counted])] in rows(said), said


def test_times(run):
    said, own = run("calltime.d")
    parts = re.split(r"\n(?:count|alone \(us\)|with what it calls \(us\))\n", said)
    assert len(parts) == 4 and ["vm_counted.py", "func", "plain", str(own["plain"])] in rows(
        parts[1]
    ), said
    alone, whole = (
        {tuple(row[:-1]): int(row[-1]) for row in rows(part) if row[1:2] == ["func"]}
        for part in parts[2:]
    )
    assert alone.keys() == whole.keys() and all(whole[key] >= alone[key] for key in whole), said


def test_flow(run):
    said, own = run("flow.d")
    entered = re.findall(r"^vm_counted\.py:\d+ +-> plain$", said, re.MULTILINE)
    left = re.findall(r"^vm_counted\.py:\d+ +<- plain$", said, re.MULTILINE)
    assert len(entered) == len(left) == own["plain"], said


def test_lines(run):
    said, own = run("lines.d")
    lined = [int(row[3]) for row in rows(said) if row[:2] == ["vm_counted.py", "lined"]]
    assert sum(lined) == own["lines"] and set(lined) == {own["rounds"]}, said
    assert re.search(r"^ +plain +\n +value  -+ Distribution", said, re.MULTILINE), said
