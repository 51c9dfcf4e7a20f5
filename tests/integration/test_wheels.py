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

from pydtrace.cli.commands import examples
from tests.support import elf_notes, harness, pip_packages
from tests.support.docs_blocks import BLOCKS, check_step, steps

pytestmark = pytest.mark.xdist_group("integration/test_wheels")
URL = "https://example.invalid/pyusdt/blob/main"
QUIET = ("--quiet", "--disable-pip-version-check")


def build(python: str, folder, url: str = "") -> str:
    """The path of a repaired wheel, built by a Python that has setuptools and cython; url: where its links lead."""
    tree = folder / "tree"
    shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
    made = harness.run(
        [
            python,
            "-m",
            "pip",
            "wheel",
            *QUIET,
            "--no-build-isolation",
            "--no-deps",
            "--wheel-dir",
            str(folder / "made"),
            str(tree),
        ],
        timeout=300,
        cwd=tree,
        env={**os.environ, "PYUSDT_URL": url},
    )
    assert made.status == 0, made
    (wheel,) = glob.glob(str(folder / "made" / "pydtrace-*.whl"))
    auditwheel = os.path.join(os.path.dirname(sys.executable), "auditwheel")
    environment = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    repaired = harness.run(
        [auditwheel, "repair", "--strip", "--wheel-dir", str(folder / "repaired"), wheel],
        timeout=120,
        env=environment,
    )
    assert repaired.status == 0, repaired
    (wheel,) = glob.glob(str(folder / "repaired" / "pydtrace-*.whl"))
    assert "manylinux" in wheel, wheel
    return wheel


def check_contents(wheel: str, folder) -> None:
    """No sources, no tests; what modules in C and Cython need; the notes, and a semaphore for each, in a stripped module."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]  # folders
        (core,) = (name for name in names if re.fullmatch(r"pyusdt/_core\.\S+\.so", name))
        archive.extract(core, folder)
    sources = {
        name
        for name in names
        if name.endswith((".c", ".h", ".pyx", ".pxd", ".in")) or "tests" in name
    }
    assert sources == {
        "pyusdt/__init__.pxd",
        "pyusdt/include/pyusdt_probe.h",
        "pydtrace/examples/inline_test.pyx",
    }, names
    pages = {name for name in names if name.startswith("pydtrace/docs/") and not name.endswith("/")}
    assert pages == {
        f"pydtrace/{path.relative_to(harness.ROOT)}"
        for section in ("start", "howto", "reference")
        for path in Path(harness.ROOT, "docs", section).rglob("*.md")
    }
    programs = {
        name for name in names if name.startswith("pydtrace/examples/") and not name.endswith("/")
    }
    assert programs == {f"pydtrace/examples/{name}" for name in examples.example_names()}
    assert {
        "pyusdt/py.typed",
        "pydtrace/py.typed",
        "pyusdt/_core.pyi",
        *(f"pydtrace/cli/completions/pyusdt.{shell}" for shell in ("bash", "zsh", "fish")),
    } <= set(names)
    for part in (
        "pyusdt/vm/start",
        "pydtrace/sinks/live/web_assets",
        "pydtrace/cli/completions",
    ):  # what is no package, file by file
        files = [name for name in os.listdir(f"{harness.ROOT}/src/{part}") if "." in name]
        assert files and {f"{part}/{name}" for name in files} <= set(names), names
    assert [name for name in names if name.endswith("/data/share/man/man1/pydtrace.1")]
    path = str(folder / core)
    notes = elf_notes.read_notes(path)
    assert len(notes) == len({note.semaphore for note in notes}) == 953
    with open(path, "rb") as file:
        sections = elf_notes.sections(file.read())
    assert ".symtab" not in sections and sections[".probes"][2] == 2 * 953


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


def check_use(python: str, wheel: str, folder) -> None:
    """In a clean virtual environment, without a compiler in reach or a registry to ask."""
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", environment], check=True)
    clean = {"PATH": "/proc/nonexistent", "HOME": str(folder), "CC": "/proc/nonexistent/cc"}
    installed = harness.run(
        [str(environment / "bin/python"), "-m", "pip", "install", *QUIET, "--no-index", wheel],
        timeout=120,
        env=clean,
    )
    assert installed.status == 0, installed
    used = harness.run(
        [str(environment / "bin/python"), os.path.join(harness.INTEGRATION, "use_wheel.py")],
        timeout=60,
        env=clean,
        cwd=folder,
    )
    assert used.status == 0 and "own /" in used.stdout, used
    empty = folder / "empty"
    empty.mkdir()
    program = str(empty / "hello.py")
    shown = harness.run(
        ["sh", "-c", f"{environment}/bin/pyusdt example hello.py > hello.py"],
        env={**clean, "PATH": os.environ["PATH"]},
        cwd=empty,
    )
    assert shown.status == 0 and "import pyusdt" in Path(program).read_text(), shown
    page = harness.run([str(environment / "bin/pyusdt"), "help", "profile"], env=clean, cwd=empty)
    assert page.status == 0 and page.stdout.startswith("# "), page
    script = "pyusdt$target:::user_trace-i4s4 { trace(arg2); }"
    traced = harness.run(
        [
            str(environment / "bin/pydtrace"),
            "-q",
            "-n",
            script,
            "-c",
            f"{environment}/bin/python {program}",
        ],
        env={**clean, "PATH": os.environ["PATH"]},
    )
    assert traced.status == 0 and "3" in traced.stdout, traced
    script = "python$target:__main__::function-entry { @[probefunc] = count(); }"
    traced = harness.run(
        [
            str(environment / "bin/pydtrace"),
            "-q",
            "-n",
            script,
            "-c",
            f"{environment}/bin/python {program}",
        ],
        env={**clean, "PATH": os.environ["PATH"]},
    )
    assert traced.status == 0 and traced.stdout.split()[-2:] == ["<module>", "1"], traced


@pytest.mark.skipif(sys.platform != "linux", reason="host: auditwheel is for Linux")
def test_wheel_of_this_python(tmp_path):
    wheel = build(sys.executable, tmp_path, URL)
    check_contents(wheel, tmp_path)
    check_metadata(wheel)
    check_use(sys.executable, wheel, tmp_path)
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
        subprocess.run([home / "bin/pip", "install", *QUIET, source], check=True)
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
    subprocess.run([folder / "bin/pip", "install", *QUIET, *packages, *tools], check=True)
    return str(folder / "bin/python")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="host: auditwheel is for Linux")
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_wheel_of_every_python(version, python_of, tmp_path):
    python = python_of(version)
    wheel = build(builder(python, tmp_path / "builder", "wheel"), tmp_path)
    check_contents(wheel, tmp_path)
    check_use(python, wheel, tmp_path)


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
@pytest.mark.parametrize("version", harness.VERSIONS)
def test_source_distribution_on_every_python(version, python_of, source_distribution, tmp_path):
    """As a user's pip does it: a compiler, and what pyproject.toml asks for from the registry."""
    subprocess.run([python_of(version), "-m", "venv", tmp_path / "environment"], check=True)
    inside = str(tmp_path / "environment/bin/python")
    installed = harness.run(
        [inside, "-m", "pip", "install", *QUIET, source_distribution],
        timeout=900,
        cwd=tmp_path,
        env={**os.environ, "PYUSDT_REQUIRE_PROBES": "1"},
    )
    assert installed.status == 0, installed
    used = harness.run(
        [inside, os.path.join(harness.INTEGRATION, "use_wheel.py")], timeout=60, cwd=tmp_path
    )
    assert used.status == 0 and "own /" in used.stdout, used
