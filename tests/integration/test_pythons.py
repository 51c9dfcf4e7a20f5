"""The whole test suite on every CPython: those of pyenv, and those that .ci/pythons gets, without the GIL among them.

Each has a copy of this tree, built by `make build`, and a virtual environment of its own with the tools that requirements-dev.txt
pins.  Ten minutes each on a quiet machine; docs/platforms.md says when it was run last, and with what result."""

from __future__ import annotations

import os
import shutil
import subprocess

import harness
import pytest

# Has no wheel for the newest CPython for a while, and would be compiled for an hour: its test is skipped then.
NOT_FOR_ALL = "pyarrow"


def install(python: str, tree: str) -> str:
    """The Python of tree's .venv, with the tools and pyusdt in it."""
    subprocess.run([python, "-m", "venv", os.path.join(tree, ".venv")], check=True)
    inside = os.path.join(tree, ".venv", "bin", "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    wanted = os.path.join(tree, "requirements-dev.txt")
    with open(wanted) as file:
        for tool in (line.strip() for line in file if not line.startswith("#")):
            subprocess.run([*pip, tool], check=not tool.startswith(NOT_FOR_ALL))
    shutil.copy(wanted, os.path.join(tree, ".venv", "requirements.installed"))
    built = harness.run(["make", "build", f"PYTHON={python}"], timeout=1200, cwd=tree)
    assert built.status == 0, built
    return inside


@pytest.mark.long
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_suite(version, python_of, tmp_path):
    python = python_of(version)
    tree = str(tmp_path / "tree")
    shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
    inside = install(python, tree)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST") and name != "CI"}
    done = harness.run([inside, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-m", "not long", "tests"], timeout=7200,
                       cwd=tree, env=environment)
    print(f"CPython {version}: {done.stdout.splitlines()[-1]}")
    assert done.status == 0, done
