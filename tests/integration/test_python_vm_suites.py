"""The suites of real packages, with coverage at work, under the provider `python`: they pass or fail, and cover, the same as untraced.

Input: CPythons of this machine; the packages' sources, coverage and pytest from the registry.

- Every entry, return and exception of every function is traced, and counted.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess

import pytest

from tests.support import harness, python_builds

pytestmark = [pytest.mark.xdist_group("integration/test_python_vm_suites"), pytest.mark.long]
PACKAGES = {"markupsafe": [], "jinja2": ["trio"], "click": []}  # and what their suites need
SCRIPT = "python$target:::function-entry, python$target:::function-return, python$target:::exception-raise { @[probename] = count(); }"


def install(python: str, *arguments: str) -> None:
    done = harness.run(
        [python, "-m", "pip", "--disable-pip-version-check", *arguments], timeout=600
    )
    if done.status != 0:
        pytest.skip(f"host: the registry has not all of it: {done.stderr[-200:]}")


@pytest.fixture(scope="module", params=["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def environment(request, other, tmp_path_factory):
    """(the Python of a virtual environment, the folder of the packages' sources)"""
    folder = tmp_path_factory.mktemp("suites")
    subprocess.run([other(request.param), "-m", "venv", folder / "venv"], check=True)
    python, needed = (
        str(folder / "venv" / "bin" / "python"),
        [name for names in PACKAGES.values() for name in names],
    )
    install(python, "install", "-q", "--prefer-binary", "coverage", "pytest", *PACKAGES, *needed)
    install(
        python, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), *PACKAGES
    )
    for archive in glob.glob(f"{folder}/*.tar.gz"):
        subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
    return python, folder


def outcome(run: harness.Run) -> str:
    """2434 passed, 24 skipped, …"""
    return re.findall(r"^(\d+ (?:passed|failed).*) in [\d.]+s", run.stdout, re.MULTILINE)[-1]


def covered(python: str, folder: str) -> dict[str, dict]:
    harness.run([python, "-m", "coverage", "json", "-q", "-o", "covered.json"], cwd=folder)
    with open(os.path.join(folder, "covered.json")) as file:
        return {
            name: of_file["executed_lines"] for name, of_file in json.load(file)["files"].items()
        }


@pytest.mark.parametrize("name", PACKAGES)
def test_suite(environment, name):
    python, sources = environment
    folder = glob.glob(f"{sources}/{name}-*/")[0]
    command = f"{python} -m coverage run --source={name} -m pytest -q -p no:cacheprovider tests"
    options = {"cwd": folder, "timeout": 900, "env": {**os.environ, "PYTHONHASHSEED": "0"}}
    alone = harness.run(command.split(), **options)
    lines = covered(python, folder)
    traced = harness.run([*python_builds.pydtrace(), "-q", "-n", SCRIPT, "-c", command], **options)
    assert outcome(traced) == outcome(alone), (alone, traced)
    assert covered(python, folder) == lines and any(lines.values()), (alone, traced)
    counted = dict(re.findall(r"^  (\S+) +(\d+)$", traced.stdout, re.MULTILINE))
    assert int(counted["function-entry"]) > int(counted["exception-raise"]) > 0, traced
