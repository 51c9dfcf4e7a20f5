"""The wheel: built, repaired by auditwheel, stripped, installed without a compiler: notes, semaphores, firing survive.

`make test` does it for this Python, `make test-long` for each, and installs the source distribution, too."""

from __future__ import annotations

import email
import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import pytest

from tests.support import harness, pip_packages, wheels
from tests.support.docs_blocks import BLOCKS, check_step, steps

pytestmark = pytest.mark.xdist_group("integration/test_wheels")
URL = "https://example.invalid/pyusdt/blob/main"


def build(python: str, folder, url: str = "") -> str:
    """The path of a repaired wheel of this tree; url: where its links lead."""
    made = wheels.build(python, wheels.copy_tree(folder), make(folder / "made"), PYUSDT_URL=url)
    wheel = wheels.repair(made, make(folder / "repaired"))
    assert "manylinux" in wheel, wheel
    return wheel


def make(folder: Path) -> str:
    folder.mkdir()
    return str(folder)


def check_metadata(wheel: str) -> None:
    """What a package index shows: a long description that it can render and in which nothing leads nowhere, and all extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(archive.read(name))
    assert (
        told["Description-Content-Type"] == "text/markdown"
        and told["License-Expression"] == "Apache-2.0"
    )
    assert {"live", "parquet", "notebook", "perfetto", "prometheus"} <= set(
        told.get_all("Provides-Extra")
    )
    described = told.get_payload()
    assert (
        described.startswith("# pyusdt\n")
        and "## See events" in described
        and len(described) > 5000
    )
    assert re.findall(r"\]\((?!https?:)[^)]*\)", described) == [], (
        "links to files that are not there"
    )
    urls = dict(each.split(", ") for each in told.get_all("Project-URL"))
    assert urls == {
        "Source": URL,
        "Documentation": f"{URL}/docs/README.md",
        "Changelog": f"{URL}/CHANGELOG.md",
    }
    led = [*urls.values(), *re.findall(rf"\]\(({URL}[^)#]*)", described)]
    assert (
        len(led) > 10
        and [
            each
            for each in led
            if not Path(harness.ROOT, each.removeprefix(URL).lstrip("/")).exists()
        ]
        == []
    )
    named = {
        extra
        for line in Path(harness.ROOT, "docs").rglob("*.md")
        for extra in re.findall(r"pydtrace\[(\w+)\]", line.read_text())
    }
    assert named <= set(told.get_all("Provides-Extra")), "the documentation names others"
    check_rendering(wheel)


def check_rendering(path: str) -> None:
    """An index takes this wheel or source distribution, and can show its description."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (
        3,
        15,
    ):  # cmarkgfm has no wheel for those
        folder = pip_packages.folder_of(
            os.path.join(harness.INTEGRATION, "wheel_readers.txt"), depends=True
        )
        checked = harness.run(
            [sys.executable, "-m", "twine", "check", "--strict", path],
            env={**os.environ, "PYTHONPATH": folder},
            timeout=60,
        )
        assert checked.status == 0 and "PASSED" in checked.stdout, checked


@pytest.mark.skipif(sys.platform != "linux", reason="host: auditwheel is for Linux")
def test_wheel_of_this_python(tmp_path):
    wheel = build(sys.executable, tmp_path, URL)
    wheels.check_contents(wheel, tmp_path)
    check_metadata(wheel)
    wheels.check_use(sys.executable, wheel, tmp_path)
    for page in ("README.md", "docs/start/first-heat-map.md", "docs/start/cheat-sheet.md"):
        (empty := tmp_path / os.path.basename(page)).mkdir()
        follow(page, tmp_path / "environment", empty)


def follow(page: str, environment, folder) -> None:
    """Each command of the page that is marked `folder`, in this folder, by a user who has only the wheel."""
    surroundings = {**os.environ, "PATH": f"{environment}/bin:/usr/bin:/bin"}

    def shell(command: str) -> harness.Run:
        return harness.run(["sh", "-c", command], cwd=folder, timeout=120, env=surroundings)

    commands = [
        step
        for block in BLOCKS
        if block.page == page and block.kind == "console folder"
        for step in steps(block)
    ]
    assert commands, page
    for command, expected in commands:
        check_step(command, expected, shell)


@pytest.mark.long
def test_minutes_to_the_first_heat_map(tmp_path):
    """The steps of docs/start/first-heat-map.md in an environment that has nothing, with a wheel and from the sources."""
    wheel = build(sys.executable, tmp_path)
    tree = tmp_path / "tree"
    for source in (wheel, str(tree)):
        began = time.monotonic()
        home = tmp_path / os.path.basename(source) / "environment"
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin/pip", "install", *wheels.QUIET, source], check=True)
        installed_in = time.monotonic() - began
        (empty := tmp_path / f"{os.path.basename(source)}-folder").mkdir()
        follow("docs/start/first-heat-map.md", home, empty)
        took = time.monotonic() - began
        print(
            f"{os.path.basename(source)}: installed after {installed_in:.0f} s, the heat map after {took:.0f} s"
        )
        assert took < 300


def builder(python: str, folder, *packages: str) -> str:
    """A Python with the tools that requirements-dev.txt pins for building, from the registry."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    with open(os.path.join(harness.ROOT, "requirements-dev.txt")) as file:
        tools = [line.strip() for line in file if line.startswith(("cython", "setuptools"))]
    subprocess.run([folder / "bin/pip", "install", *wheels.QUIET, *packages, *tools], check=True)
    return str(folder / "bin/python")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="host: auditwheel is for Linux")
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_wheel_of_every_python(version, python_of, tmp_path):
    python = python_of(version)
    wheel = build(builder(python, tmp_path / "builder", "wheel"), tmp_path)
    wheels.check_contents(wheel, tmp_path)
    wheels.check_use(python, wheel, tmp_path)


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("sdist")
    shutil.copytree(harness.ROOT, folder / "tree", symlinks=True, ignore=harness.NOT_SOURCE)
    inside = builder(sys.executable, folder / "builder", "build")
    made = harness.run(
        [inside, "-m", "build", "--sdist", "--outdir", str(folder), str(folder / "tree")],
        timeout=600,
    )
    assert made.status == 0, made
    (path,) = glob.glob(str(folder / "pydtrace-*.tar.gz"))
    check_rendering(path)
    return path


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root, which `unshare --net` needs")
def test_source_distribution_without_a_network(source_distribution, tmp_path):
    """pip finds the build requirements in a folder, and nothing else anywhere."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    inside = str(tmp_path / "environment/bin/python")
    with open(os.path.join(harness.ROOT, "requirements-dev.txt")) as file:
        tools = [line.strip() for line in file if line.startswith(("cython", "setuptools"))]
    found = tmp_path / "found"
    download = ("download", *wheels.QUIET, "--no-deps", "--dest", str(found))
    subprocess.run([inside, "-m", "pip", *download, *tools], check=True)
    installed = harness.run(
        [
            *("unshare", "--net", inside, "-m", "pip", "install", *wheels.QUIET),
            *("--no-index", "--find-links", str(found), source_distribution),
        ],
        timeout=900,
        cwd=tmp_path,
        env={**os.environ, "PYUSDT_REQUIRE_PROBES": "1", "PIP_CONFIG_FILE": os.devnull},
    )
    assert installed.status == 0, installed
    used = harness.run([inside, wheels.USE], timeout=120, cwd=tmp_path)
    assert used.status == 0 and "own /" in used.stdout, used


@pytest.mark.long
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_source_distribution_on_every_python(version, python_of, source_distribution, tmp_path):
    """As a user's pip does it: a compiler, and what pyproject.toml asks for from the registry."""
    subprocess.run([python_of(version), "-m", "venv", tmp_path / "environment"], check=True)
    inside = str(tmp_path / "environment/bin/python")
    installed = harness.run(
        [inside, "-m", "pip", "install", *wheels.QUIET, source_distribution],
        timeout=900,
        cwd=tmp_path,
        env={**os.environ, "PYUSDT_REQUIRE_PROBES": "1"},
    )
    assert installed.status == 0, installed
    used = harness.run([inside, wheels.USE], timeout=120, cwd=tmp_path)
    assert used.status == 0 and "own /" in used.stdout, used
