"""The whole test suite on every CPython: those of pyenv, and those that .ci/pythons gets, without the GIL among them.

Input: PYUSDT_PYTHONS_TESTS: what to run of the suite, as pytest takes it (default: tests).
Output: build/pythons/VERSION.log: what pytest printed, as it runs; at the end the names of the
tests that failed.

- Each version has a copy of this tree, built by `make build`, and a virtual environment of its
  own with the tools that requirements-dev.txt pins; it knows nothing of the pytest that runs it,
  and leaves nothing running.

Ten minutes each on a quiet machine; tests/results/2026-11-22-platforms.md says when it was run last, and with what result.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest

from tests.support import harness

LONGEST = 3600  # seconds; what hangs is killed, and the log says where it was
LOGS = os.path.join(harness.ROOT, "build", "pythons")
# The pinned version has no wheel for the newest CPython, and would be compiled for an hour: any that has one, then, or
# its test is skipped.
NOT_FOR_ALL = "pyarrow"
# What an outer pytest and CI say in the environment, and is not meant for the one inside
NOT_INHERITED = re.compile(r"PYTEST|CI$|PYUSDT_(RUNDIR|CI)")


def install(python: str, tree: str) -> str:
    """The Python of tree's .venv, with the tools and pyusdt in it."""
    subprocess.run([python, "-m", "venv", os.path.join(tree, ".venv")], check=True)
    inside = os.path.join(tree, ".venv", "bin", "python")
    pip = [
        inside,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
    ]
    wanted = os.path.join(tree, "requirements-dev.txt")
    with open(wanted) as file:
        for tool in (line.strip() for line in file if not line.startswith("#")):
            done = subprocess.run([*pip, tool], check=not tool.startswith(NOT_FOR_ALL))
            if done.returncode != 0:
                subprocess.run([*pip, NOT_FOR_ALL], check=False)
    shutil.copy(wanted, os.path.join(tree, ".venv", "requirements.installed"))
    built = harness.run(["make", "build", f"PYTHON={python}"], timeout=1200, cwd=tree)
    assert built.status == 0, built
    return inside


def run_suite(inside: str, tree: str, log: str, *tests: str) -> tuple[int, str]:
    """pytest's exit status and its output, which is in the file `log` from the first line on."""
    environment = {
        name: value for name, value in os.environ.items() if not NOT_INHERITED.match(name)
    }
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        inside,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "-o",
        "faulthandler_timeout=300",
        "-m",
        "not long",
    ]
    with open(log, "w") as file:
        process = subprocess.Popen(
            [*command, *tests],
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=tree,
            env=environment,
            start_new_session=True,
        )
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LONGEST)
        finally:  # a worker that hangs, too
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
    with open(log, errors="replace") as file:
        return status, file.read()


@pytest.mark.long
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_suite(version, python_of, tmp_path):
    python = python_of(version)
    tree = str(tmp_path / "tree")
    shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
    os.makedirs(LOGS, exist_ok=True)
    log = os.path.join(LOGS, f"{version.replace(' ', '-')}.log")
    inside = install(python, tree)
    status, output = run_suite(
        inside, tree, log, *os.environ.get("PYUSDT_PYTHONS_TESTS", "tests").split()
    )
    failed = re.findall(r"^(?:FAILED|ERROR) .*$", output, re.MULTILINE)
    said = "\n".join([f"CPython {version}, {log}:", *failed, *output.splitlines()[-1:]])
    print(said)
    assert status == 0, said
    shutil.rmtree(tree)  # hundreds of megabytes
