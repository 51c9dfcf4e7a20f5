"""The kernel engine and children: what a provider's pattern stands for beside -c, and -x children from the first instruction on."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from kernel_harness import DATA, compile_c, pydtrace, wait_until

import pyusdt

pytestmark = pytest.mark.usefixtures("bpf")
EVERYBODY = {(1, 0): 1, (0, 1): 1, (0, 2): 1, (0, 77): 1}
COUNT = "{ @[pid == $target, arg0] = count(); }"


@pytest.fixture
def family(tmp_path):
    """(A program, another file of the same, which it becomes in a child)."""
    first = compile_c(os.path.join(DATA, "family.c"), tmp_path / "first")
    shutil.copy(first, tmp_path / "second")
    return first, str(tmp_path / "second")


def counted(*arguments):
    out, err, status = pydtrace("-q", *arguments)
    assert (err, status) == ("", 0)
    return {(int(a), int(b)): int(n) for a, b, n in re.findall(r"^ +(\d+) +(\d+) +(\d+)$", out, re.MULTILINE)}


def test_a_pattern_stands_for_all_processes_beside_a_command(family):
    first, second = family
    assert counted("-x", f"file={second}", "-n", f"tea*:::work {COUNT}", "-c", f"{first} {second}") == EVERYBODY


def test_target_is_the_command_alone(family):
    assert counted("-n", f"tea$target:::work {COUNT}", "-c", " ".join(family)) == {(1, 0): 1}


def test_children_are_followed_from_the_first_instruction(family):
    """The program that a child becomes is not known before."""
    assert counted("-x", "children", "-n", f"tea$target:::work {COUNT}", "-c", " ".join(family)) == EVERYBODY


def test_functions_of_children(family):
    found = counted("-x", "children", "-n", "pid$target:a.out:main:entry { @[pid == $target, 0] = count(); }", "-c", " ".join(family))
    assert found == {(1, 0): 1, (0, 0): 1}


def test_children_leaves_others_out(family):
    first, second = family
    script = f'while :; do "{first}" "{second}"; done'
    others = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL)
    try:
        assert counted("-x", "children", "-n", f"tea$target:::work {COUNT}", "-c", " ".join(family)) == EVERYBODY
    finally:
        others.kill()
        others.wait()


def test_the_api_follows_children(family):
    first, second = family
    with pyusdt.trace("tea*:::work { @[arg0] = count(); }", cmd=[first, second], engine="kernel", file=second) as t:
        t.wait(20)
    assert {key[0]: int(value) for key, value in t.aggregations[""].items()} == {0: 1, 1: 1, 2: 1, 77: 1}


HOLDS = """
import sys, time
from pyusdt.engine.kernel.family import Family
family = Family([int(sys.argv[1])], True)
family.begin()
print("ready", flush=True)
time.sleep(60)
"""


def test_a_tracer_that_is_killed_leaves_nobody_stopped():
    """A process becomes a program that was not looked at, and whoever is to look is killed."""
    process = subprocess.Popen(["sh", "-c", "read x; exec sleep 60"], stdin=subprocess.PIPE)
    tracer = subprocess.Popen([sys.executable, "-c", HOLDS, str(process.pid)], stdout=subprocess.PIPE, text=True)
    try:
        assert tracer.stdout.readline() == "ready\n"
        process.stdin.write(b"\n")
        process.stdin.flush()
        wait_until(lambda: _state(process.pid) == "T")
        tracer.send_signal(signal.SIGKILL)
        wait_until(lambda: _state(process.pid) == "S")
    finally:
        for each in (process, tracer):
            each.kill()
            each.communicate()


def _state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(") ")[2][0]
