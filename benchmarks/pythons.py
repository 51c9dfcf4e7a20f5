#!/usr/bin/env python3
"""`make bench-pythons`: what probes cost while nobody traces, and what the import costs, on every CPython here.

Input: paths of interpreters; without any, this machine's own, pyenv's, and what .ci/pythons has
got before.
Output: for each the rows of run.py's parts "off" and "start".

- Each has a copy of this tree, with a virtual environment and a build of its own, in
  build/benchmarks/pythons; the second run builds only what has changed.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys

import subjects

PLACES = (
    "/usr/bin/python3.1[0-9]",
    "~/.pyenv/versions/3.*/bin/python3.1[0-9]",
    "~/.cache/pyusdt-pythons/*/usr/bin/python3.1[0-9]",
    "~/.cache/pyusdt-pythons/*/bin/python3.1[0-9]t",
)
COPIED = (
    "benchmarks",
    "c",
    "include",
    "src",
    "setup.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "docs",
)
TOOLS = ("cython", "setuptools")


def found() -> list[str]:
    return sorted(
        (path for place in PLACES for path in glob.glob(os.path.expanduser(place))),
        key=lambda path: (os.path.basename(path), path),
    )


def prepare(python: str) -> str:
    """A copy of the tree with pyusdt built for this interpreter; returns the path of the interpreter inside."""
    tree = os.path.join(subjects.BUILD, "pythons", python.strip("/").replace("/", "-"))
    inside = os.path.join(tree, ".venv", "bin", "python")
    os.makedirs(tree, exist_ok=True)
    if not os.path.exists(os.path.join(tree, ".installed")):
        with open(os.path.join(subjects.ROOT, "requirements-dev.txt")) as file:
            tools = [line.strip() for line in file if line.startswith(TOOLS)]
        subprocess.run([python, "-m", "venv", "--clear", os.path.join(tree, ".venv")], check=True)
        subprocess.run(
            [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *tools],
            check=True,
        )
        open(os.path.join(tree, ".installed"), "w").close()
    for name in COPIED:
        source, target = os.path.join(subjects.ROOT, name), os.path.join(tree, name)
        if os.path.isdir(source):
            shutil.copytree(
                source,
                target,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("*.so", "__pycache__", "results", "generated"),
            )
        else:
            shutil.copy2(source, target)
    subprocess.run(
        [inside, "setup.py", "--quiet", "build_ext", "--inplace"],
        cwd=tree,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return inside


def main() -> int:
    over = False
    for python in sys.argv[1:] or found():
        inside = prepare(python)
        version = subprocess.run(
            [inside, "-c", "import sys; print(sys.version)"],
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"\n{python}: {version.stdout.strip()}", flush=True)
        tree = os.path.dirname(os.path.dirname(os.path.dirname(inside)))
        done = subprocess.run(
            [inside, os.path.join(tree, "benchmarks", "run.py"), "--only", "off", "start"],
            check=False,
            env={**os.environ, "PYTHONPATH": os.path.join(tree, "src")},
        )
        over |= done.returncode != 0
    return over


if __name__ == "__main__":
    sys.exit(main())
