"""The CPythons that are there, programs that they run, and what pyusdt says about their stacks.

In: names of programs of programs/.  Out: Subject: the process, and lines that are said to it and that it says.
Always: what a test starts ends with the test.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")


def interpreters() -> list[str]:
    """One path a version and build: this one, pyenv's, the system's, and what .ci/pythons has got."""
    kept = os.environ.get("PYUSDT_PYTHONS", os.path.expanduser("~/.cache/pyusdt-pythons"))
    paths = [*glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.[0-9]*")), "/usr/bin/python3", "/usr/bin/python3.11",
             *glob.glob(f"{kept}/3.*/usr/bin/python3.1[0-9]"), *glob.glob(f"{kept}/3.*t/bin/python3.1[0-9]t")]
    found = {os.path.realpath(sys.executable): sys.executable}
    for path in paths:
        version = re.search(r"python3\.(\d+)t?$", os.path.realpath(path))
        if os.path.exists(path) and version and int(version[1]) >= 9:
            found.setdefault(os.path.realpath(path), path)
    return sorted(found.values(), key=lambda path: os.path.basename(os.path.realpath(path)))


INTERPRETERS = interpreters()


def name_of(python: str) -> str:
    """For a test's name: "3.11", "3.13t", "3.11-system"."""
    path = os.path.realpath(python)
    return os.path.basename(path).removeprefix("python") + ("-system" if path.startswith("/usr/bin") else "")


def minor_of(python: str) -> int:
    return int(re.search(r"3\.(\d+)", os.path.basename(os.path.realpath(python)))[1])


class Subject:
    """A program that runs; it says a line when it is ready."""

    def __init__(self, process: subprocess.Popen):
        self.process, self.pid = process, process.pid
        self.said = self.hear()

    def hear(self) -> str:
        line = self.process.stdout.readline()
        assert line, f"it has ended: {self.process.wait()}"
        return line.rstrip("\n")

    def say(self, line: str = "") -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def running(python: str, program: str, *arguments: object, prefix: tuple[str, ...] = ()):
    command = [*prefix, python, "-u", os.path.join(HERE, "programs", program), *map(str, arguments)]
    with started(command) as subject:
        yield subject


@contextlib.contextmanager
def started(command: list[str], **options):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    try:
        yield Subject(process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def pyusdt(*arguments: object, **options) -> subprocess.CompletedProcess:
    options = {"timeout": 60, **options}
    return subprocess.run([PYUSDT, *map(str, arguments)], capture_output=True, text=True, check=False, **options)
