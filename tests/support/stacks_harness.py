"""The CPythons that are there, programs that they run, and what pyusdt says about their stacks.

Input: names of programs of programs/.
Output: Subject: the process, and lines that are said to it and that it says.

- What a test starts ends with the test.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from tests.support.paths import TESTS

STACKS = os.path.join(TESTS, "stacks")
PYUSDT, PYDTRACE = (
    os.path.join(os.path.dirname(sys.executable), name) for name in ("pyusdt", "pydtrace")
)


def interpreters() -> list[str]:
    """One path a version and build: this one, pyenv's, the system's, and what .ci/pythons has got."""
    kept = os.environ.get("PYUSDT_PYTHONS", os.path.expanduser("~/.cache/pyusdt-pythons"))
    paths = [
        *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.[0-9]*")),
        "/usr/bin/python3",
        "/usr/bin/python3.11",
        *glob.glob(f"{kept}/3.*/usr/bin/python3.1[0-9]"),
        *glob.glob(f"{kept}/3.*t/bin/python3.1[0-9]t"),
    ]
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
    return os.path.basename(path).removeprefix("python") + (
        "-system" if path.startswith("/usr/bin") else ""
    )


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

    def write_line(self, line: str = "") -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def running(python: str, program: str, *arguments: object, prefix: tuple[str, ...] = ()):
    command = [
        *prefix,
        python,
        "-u",
        os.path.join(STACKS, "programs", program),
        *map(str, arguments),
    ]
    with started(command) as subject:
        yield subject


@contextlib.contextmanager
def started(command: list[str], **options):
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    try:
        yield Subject(process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def pyusdt(*arguments: object, **options) -> subprocess.CompletedProcess:
    return _run(PYUSDT, *arguments, **options)


def pydtrace(*arguments: object, **options) -> subprocess.CompletedProcess:
    return _run(PYDTRACE, *arguments, **options)


def _run(*command: object, **options) -> subprocess.CompletedProcess:
    options = {"timeout": 60, **options}
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **options
    )


@contextlib.contextmanager
def postgresql():
    """A backend of Debian's PostgreSQL that waits for its user."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs or os.geteuid() != 0:
        pytest.skip("host: no postgresql, or not root")
    owner = pwd.getpwnam("postgres")
    folder = tempfile.mkdtemp(prefix="pyusdt-pg-")
    who = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": [], "cwd": folder}
    try:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        subprocess.run(
            [f"{programs[-1]}/initdb", "-D", "data", "-A", "trust", "--no-sync"],
            check=True,
            capture_output=True,
            **who,
        )
        with started(
            [f"{programs[-1]}/postgres", "--single", "-D", "data", "postgres"], **who
        ) as subject:
            yield subject
    finally:
        shutil.rmtree(folder)


def skip_without_gdb() -> None:
    if shutil.which("gdb") is None:
        pytest.skip("host: no gdb")


BY_GDB = r"""
import gdb, json, re
found = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, frames = gdb.newest_frame(), found.setdefault(thread.ptid[1], [])
    while frame:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):  # no inlined function, none that jumped to another
            symbol = re.search(r" \+ (\d+) in ", gdb.execute(f"info symbol {frame.pc()}", to_string=True))
            frames.append([frame.pc(), frame.name(), int(symbol[1]) if symbol else 0])
        frame = frame.older()
print("found", json.dumps(found))
"""


def by_gdb(pid: int, folder) -> dict[int, list[tuple[int, str, int]]]:
    """{thread: [(position, name, distance from the symbol)]}, innermost first."""
    script = folder / "frames.py"
    script.write_text(BY_GDB)
    options = [
        "-iex",
        "set debuginfod enabled off",
        "-ex",
        "set backtrace past-main on",
        "-ex",
        "set backtrace past-entry on",
        "-x",
        script,
    ]
    printed = subprocess.run(
        ["gdb", "-nx", "-batch", "-p", str(pid), *options],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {
        int(tid): frames
        for tid, frames in json.loads(re.search("^found (.*)$", printed, re.MULTILINE)[1]).items()
    }
