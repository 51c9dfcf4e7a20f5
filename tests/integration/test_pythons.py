"""The test suite on every CPython: those of pyenv, and those that .ci/pythons gets, without the GIL among them.

Each has a copy of this tree and a virtual environment of its own, with the tools that requirements-dev.txt pins. What runs
there is what depends on the Python: the probes, the C core, the API and the commands, not the tracers of others."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess

import harness
import pytest

VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "without the GIL"]
SUITE = ["tests/unit", "tests/api", "tests/c/test_rings.py", "tests/integration/test_sites.py",
         "tests/integration/test_processes.py", "tests/integration/test_end_to_end.py"]
TOOLS = ("cython", "setuptools", "pytest", "hypothesis", "pyarrow")


@pytest.fixture(scope="module")
def pythons() -> dict[str, str]:
    """The path of each."""
    got = harness.run([os.path.join(harness.ROOT, ".ci", "pythons")], timeout=3600)
    assert got.status == 0, got
    paths = got.stdout.split() + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.1[0-9]"))
    return {"without the GIL" if path.endswith("t") else os.path.basename(path).removeprefix("python"): path for path in paths}


def install(python: str, tree: str) -> str:
    """The Python of tree's .venv, with the tools and pyusdt in it."""
    subprocess.run([python, "-m", "venv", os.path.join(tree, ".venv")], check=True)
    inside = os.path.join(tree, ".venv", "bin", "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with open(os.path.join(tree, "requirements-dev.txt")) as file:
        for tool in (line.strip() for line in file if line.startswith(TOOLS)):
            # nothing is compiled for an hour: what has no wheel for this Python, its tests can do without
            subprocess.run([*pip, "--only-binary", ":all:", tool], check=not tool.startswith("pyarrow"))
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", "-e", tree], check=True)
    return inside


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_suite(version, pythons, tmp_path):
    if version not in pythons:
        pytest.skip(f"host: no CPython {version}")
    tree = str(tmp_path / "tree")
    shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
    inside = install(pythons[version], tree)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTEST_ADDOPTS", "CI")}
    done = harness.run([inside, "-m", "pytest", "-q", "-m", "not long", *SUITE], timeout=3600, cwd=tree, env=environment)
    print(version, done.stdout.splitlines()[-1])
    assert done.status == 0, done
