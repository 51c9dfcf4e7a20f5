"""The provider `python` is free while nobody traces: nothing is set in the interpreter, whatever its version, and it runs nothing more.

Input: programs/vm_switched.py, which looks at its own interpreter; CPythons of this machine, and
pyusdt built for them (python_builds.py).
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys

import pytest

from tests.support import harness, python_builds

pytestmark = pytest.mark.xdist_group(
    "integration/test_python_vm_injection"
)  # where others are built, too
EVERYTHING = "python$target::: { @ = count(); }"
FUNCTIONS = "python$target:::function-entry { @ = count(); }"
UNTOUCHED = {
    "monitoring": [],
    "frames": False,
    "profile": False,
    "trace": False,
    "gc": 0,
    "import": "function",
    "thread": "function",
}
OWN = f"3.{sys.version_info[1]}"
VERSIONS = sorted({OWN, "3.11", "3.14", "3.15"}), ["3.10", "3.12", "3.13"]
CALLS = """
import sys
if sys.argv[1] == "enabled":
    import pyusdt.vm
    pyusdt.vm.enable()
else:
    import pyusdt
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(int(sys.argv[2]))
"""


def environment(version: str) -> dict[str, str]:
    return dict(os.environ) if version == OWN else {**os.environ, "PYTHONPATH": python_builds.ROOM}


def python_of(version: str) -> str:
    path = python_builds.find(version)
    if path is None:
        pytest.skip(f"host: no CPython {version}")
    python_builds.build(path)
    return path


def states(python: str, version: str, script: str, end: signal.Signals) -> list[dict]:
    """Before, while and after somebody traces, whichever way the tracer ends."""
    command = [python, os.path.join(harness.PROGRAMS, "vm_switched.py")]
    with harness.running(command, env=environment(version)) as process:
        found = [json.loads(process.stdout.readline())]
        tracing = harness.start(
            [*python_builds.pydtrace(), "-q", "-n", script, "-p", str(process.pid)]
        )
        found.append(json.loads(process.stdout.readline()))
        tracing.send_signal(end)
        harness.finish(tracing, 30)
        return [*found, json.loads(process.stdout.readline())]


@pytest.mark.parametrize(
    "version",
    [*VERSIONS[0], *(pytest.param(version, marks=pytest.mark.long) for version in VERSIONS[1])],
)
def test_what_nobody_wants_is_not_set(version):
    python, by_monitoring = python_of(version), int(version[2:]) >= 12
    before, during, after = states(python, version, EVERYTHING, signal.SIGTERM)
    assert before == after == UNTOUCHED
    assert (bool(during["monitoring"]), during["frames"]) == (by_monitoring, False), (
        during
    )  # calls of C need a profile function
    assert (during["gc"], during["import"], during["thread"]) == (
        1,
        "builtin_function_or_method",
        "instancemethod",
    )
    before, during, after = states(python, version, FUNCTIONS, signal.SIGKILL)
    assert before == after == UNTOUCHED
    assert (bool(during["monitoring"]), during["frames"], during["gc"]) == (
        by_monitoring,
        not by_monitoring,
        0,
    ), during


def instructions(python: str, version: str, tmp_path, *arguments: str) -> int:
    (tmp_path / "calls.py").write_text(CALLS)
    run = harness.run(
        [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={os.devnull}",
            python,
            tmp_path / "calls.py",
            *arguments,
        ],
        env={**environment(version), "PYTHONHASHSEED": "0"},
        timeout=600,
    )
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS[0] + VERSIONS[1])
def test_an_enabled_provider_runs_nothing_more(version, tmp_path):
    """The instructions of 10,000 calls, with and without it."""
    if lacking := harness.tools("valgrind"):
        pytest.skip(f"no {lacking}")
    python, calls = python_of(version), {}
    for how in ("enabled", "not"):
        calls[how] = instructions(python, version, tmp_path, how, "19") - instructions(
            python, version, tmp_path, how, "5"
        )
    assert calls["enabled"] <= 1.01 * calls["not"], calls
