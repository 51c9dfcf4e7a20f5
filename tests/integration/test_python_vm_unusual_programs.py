"""The provider `python` in programs that do what is unusual: their output, and their end, are as untraced, and each call is counted.

Input: programs/vm_guests/, which print what they see and how often they called step(); CPythons
of this machine.

- All probes are on, so each of the interpreter's events goes through us; a warning is an error.
"""

from __future__ import annotations

import os
import re
import sys

import pytest

from tests.support import harness, python_builds

pytestmark = pytest.mark.xdist_group(
    "integration/test_python_vm_injection"
)  # who builds for other versions, too
FOLDER = os.path.join(harness.PROGRAMS, "vm_guests")
GUESTS = sorted(
    name[:-3] for name in os.listdir(FOLDER) if name.endswith(".py") and name != "counting.py"
)
OWN = f"3.{sys.version_info[1]}"
SHORT = {OWN, "3.14"}  # profile functions and sys.monitoring
VERSIONS = [
    pytest.param(version, marks=() if version in SHORT else pytest.mark.long)
    for version in harness.VERSIONS
]
EVERYTHING = "python*::: { this->all = 1; }"
STEPS = "python*:counting:step:function-entry { @ = count(); }"


def quiet(python: str, name: str) -> str:
    without = " -X gil=0" if python.endswith("t") else ""  # whatever it imports
    return f"{python} -W error{without} {os.path.join(FOLDER, name)}.py"


def unexpected(run: harness.Run) -> list[str]:
    """What pydtrace says but drops, and what it does not see."""
    return [
        line
        for line in run.stderr.splitlines()
        if not line.endswith("drops") and ": there are no events of " not in line
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", GUESTS)
def test_guest(other, name, version):
    command = quiet(other(version), name)
    alone = harness.run(command.split(), timeout=120)
    traced = harness.run(
        [*python_builds.pydtrace(), "-q", "-n", EVERYTHING + STEPS, "-c", command], timeout=120
    )
    assert alone.status == traced.status == 0, (alone, traced)
    assert traced.stdout.startswith(alone.stdout) and alone.stdout, (alone, traced)
    assert unexpected(traced) == alone.stderr.splitlines() == [], (alone, traced)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", GUESTS)
def test_each_call_of_a_guest(other, name, version):
    """Of its function alone: at full speed all of the interpreter's events are more than a tracer takes."""
    run = harness.run(
        [*python_builds.pydtrace(), "-q", "-n", STEPS, "-c", quiet(other(version), name)],
        timeout=120,
    )
    assert run.status == 0 and unexpected(run) == [] and "drops" not in run.stderr, run
    assert re.search(r"^steps (\d+)\n\n +\1\n", run.stdout, re.MULTILINE), run
