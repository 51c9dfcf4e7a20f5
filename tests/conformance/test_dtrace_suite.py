"""DTrace's own tests: those of list.txt pass, but for those that failing.txt names with a reason; those of more.txt, too."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.support.conformance import kernel_settings
from tests.support.paths import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))


def named(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.startswith("test/")}


def test_what_fails_is_of_the_list():
    assert named("failing.txt") <= named("list.txt")


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_a_test_did_to_the_kernel_is_undone(end, tmp_path):
    """Also when the runner is killed in the middle."""
    for name in kernel_settings.CHANGED:
        (tmp_path / name).write_text("before\n")
    program = f"""import os, signal, sys
sys.path.insert(0, {ROOT!r})
from tests.support.conformance import kernel_settings
with kernel_settings.kept({str(tmp_path)!r}):
    open({str(tmp_path / "core_pattern")!r}, "w").write("changed")
    {end}
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=30)
    deadline = time.monotonic() + 20
    while (tmp_path / "core_pattern").read_text().strip() != "before":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_each_is_listed_once():
    assert not named("more.txt") & named("list.txt")


@pytest.mark.long
@pytest.mark.parametrize("name", ["list.txt", "more.txt"])
def test_what_is_not_known_to_fail_passes(name, tmp_path):
    results = tmp_path / "results.json"
    command = [sys.executable, os.path.join(HERE, "run.py"), "--list", name, "--json", str(results)]
    subprocess.run(command, check=False, timeout=5400)
    tests = json.loads(results.read_text())["tests"]
    assert len(tests) == len(named(name))
    failed = {test["test"] for test in tests if test["status"] == "FAIL"}
    assert failed <= named("failing.txt")
