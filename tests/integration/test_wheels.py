"""The wheel: built, repaired by auditwheel, stripped, installed without a compiler: notes, semaphores and firing survive.

`make test` does it for this Python, `make test-long` for each that pyenv has."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import zipfile

import elfnotes
import harness
import pytest

pytestmark = pytest.mark.xdist_group("integration/test_wheels")

PYTHONS = sorted(path for version in ("3.10", "3.11", "3.12", "3.13", "3.14")
                 for path in glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")))

def build(python: str, folder) -> str:
    """The path of a repaired wheel, built by a Python that has setuptools and cython."""
    tree = folder / "tree"
    shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
    made = harness.run([python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
                        "--wheel-dir", str(folder / "made"), str(tree)], timeout=300, cwd=tree)
    assert made.status == 0, made
    (wheel,) = glob.glob(str(folder / "made" / "pyusdt-*.whl"))
    auditwheel = os.path.join(os.path.dirname(sys.executable), "auditwheel")
    environment = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    repaired = harness.run([auditwheel, "repair", "--strip", "--wheel-dir", str(folder / "repaired"), wheel], timeout=120,
                           env=environment)
    assert repaired.status == 0, repaired
    (wheel,) = glob.glob(str(folder / "repaired" / "pyusdt-*.whl"))
    assert "manylinux" in wheel, wheel
    return wheel


def check_contents(wheel: str, folder) -> None:
    """No sources, no tests; the notes, and a semaphore for each, in a stripped module."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (core,) = (name for name in names if re.fullmatch(r"pyusdt/_core\.\S+\.so", name))
        archive.extract(core, folder)
    assert not [name for name in names if name.endswith((".c", ".h", ".pyx", ".pxd", ".in")) or "tests" in name], names
    assert {"pyusdt/py.typed", "pyusdt/_core.pyi"} <= set(names)
    path = str(folder / core)
    notes = elfnotes.read_notes(path)
    assert len(notes) == len({note.semaphore for note in notes}) == 953
    with open(path, "rb") as file:
        sections = elfnotes.sections(file.read())
    assert ".symtab" not in sections and sections[".probes"][2] == 2 * 953


def check_use(python: str, wheel: str, folder) -> None:
    """In a clean virtual environment, without a compiler in reach or a registry to ask."""
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", environment], check=True)
    clean = {"PATH": "/nonexistent", "HOME": str(folder), "CC": "/nonexistent/cc"}
    installed = harness.run([str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                             "--no-index", wheel], timeout=120, env=clean)
    assert installed.status == 0, installed
    used = harness.run([str(environment / "bin/python"), os.path.join(harness.HERE, "use_wheel.py")], timeout=60, env=clean,
                       cwd=folder)
    assert used.status == 0 and "own /" in used.stdout, used
    traced = harness.run([str(environment / "bin/pydtrace"), "-q", "-n", 'pyusdt$target:::user_trace-i4s4 { trace(arg2); }', "-c",
                          f"{environment}/bin/python {harness.ROOT}/examples/hello.py"], env={**clean, "PATH": os.environ["PATH"]})
    assert traced.status == 0 and "3" in traced.stdout, traced


@pytest.mark.skipif(sys.platform != "linux", reason="host: auditwheel is for Linux")
def test_wheel_of_this_python(tmp_path):
    wheel = build(sys.executable, tmp_path)
    check_contents(wheel, tmp_path)
    check_use(sys.executable, wheel, tmp_path)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="host: auditwheel is for Linux")
@pytest.mark.parametrize("python", PYTHONS)
def test_wheel_of_every_python(python, tmp_path):
    """Each built with its own tools, which come from the registry."""
    builder = tmp_path / "builder"
    subprocess.run([python, "-m", "venv", builder], check=True)
    with open(os.path.join(harness.ROOT, "requirements-dev.txt")) as file:
        tools = [line.strip() for line in file if line.startswith(("cython", "setuptools"))]
    subprocess.run([builder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "wheel", *tools], check=True)
    wheel = build(str(builder / "bin/python"), tmp_path)
    check_contents(wheel, tmp_path)
    check_use(python, wheel, tmp_path)
