"""DTrace's own tests: those of list.txt pass, but for those that failing.txt names with a reason."""

import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


def named(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.startswith("test/")}


def test_what_fails_is_of_the_list():
    assert named("failing.txt") <= named("list.txt")


@pytest.mark.long
def test_what_is_not_known_to_fail_passes(tmp_path):
    results = tmp_path / "results.json"
    subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--json", str(results)], check=False, timeout=5400)
    tests = json.loads(results.read_text())["tests"]
    assert len(tests) == len(named("list.txt"))
    failed = {test["test"] for test in tests if test["status"] == "FAIL"}
    assert failed <= named("failing.txt")
