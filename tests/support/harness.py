"""Running tracers and traced programs, for the tests of this folder.

Input: command lines.
Output: Run (what it printed, its exit status).

- What a test starts ends with the test, and a command that hangs is killed and its output shown.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tests.support import paths

ROOT, ORACLE = paths.ROOT, paths.ORACLE
INTEGRATION = os.path.join(paths.TESTS, "integration")
PROGRAMS = os.path.join(INTEGRATION, "programs")
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
# the CPythons that `make test-long` goes through, by the fixture python_of
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "without the GIL"]
# what a fresh checkout would not have
NOT_SOURCE = shutil.ignore_patterns(
    ".venv",
    ".git",
    "build",
    "_build",
    "generated",
    "*.so",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)


class Run:
    """A command that has ended."""

    def __init__(self, command: list[str], status: int, stdout: str, stderr: str):
        self.command, self.status, self.stdout, self.stderr = command, status, stdout, stderr

    def __repr__(self) -> str:
        return f"$ {' '.join(self.command)}\n{self.stdout}-- stderr\n{self.stderr}-- exit status {self.status}\n"


def finish(process: subprocess.Popen, timeout: float) -> Run:
    """Wait for a process that was started with pipes; killed if it takes longer, and the test fails."""
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        raise AssertionError(
            f"still running after {timeout} s: {Run(process.args, -9, stdout, stderr)!r}"
        ) from None
    return Run(process.args, process.returncode, stdout, stderr)


def start(command: list[str], **options) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **options,
    )


def run(command: list[str], timeout: float = 30, **options) -> Run:
    return finish(start(command, **options), timeout)


def program(name: str, *arguments: object) -> str:
    """The command line of a program of programs/, as -c takes it."""
    return " ".join([sys.executable, os.path.join(PROGRAMS, name), *map(str, arguments)])


@contextlib.contextmanager
def running(command: str | list[str], **options):
    """A process while the block runs; killed at its end unless it ended by itself."""
    process = start(command.split() if isinstance(command, str) else command, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()


@contextlib.contextmanager
def running_program(name: str, *arguments: object, settle: float = 0):
    """A program of programs/ that has its probes and waits for a tracer, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="pyusdt-ready-") as folder:
        ready = os.path.join(folder, "ready")
        environment = {**os.environ, "PYUSDT_TEST_READY": ready, "PYUSDT_TEST_SETTLE": str(settle)}
        with running(program(name, *arguments), env=environment) as process:
            wait_until(lambda: os.path.exists(ready) or process.poll() is not None)
            assert process.poll() is None, finish(process, 1)
            yield process


def wait_until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.01)


def count_drops(stderr: str, kind: str = "") -> int:
    """Those that a tracer reported, without the sum at its end.  kind: "" for events, "aggregation" and so on."""
    kind = f"{kind} " if kind else ""
    return sum(map(int, re.findall(rf"(?<![\d,])(\d+) {kind}drops?\b(?! in all:)", stderr)))


def tools(*names: str) -> str | None:
    """The first of the commands that this machine lacks, or None."""
    return next((name for name in names if not shutil.which(name)), None)


DEFAULT_COLUMNS = re.compile(r"[ \d]{2}\d [ \d]{5}\d (?=.*:)")
COLUMN_WIDTHS = 10  # dtrace prints a line's CPU and probe id as "%3d %6d"


def masked(text: str, fields: dict[str, set[int]]) -> list[str]:
    """The lines of a tracer's output without what may differ from run to run.

    That is the CPU and ID columns of default output, and in a line whose first word is a key of `fields`, the words
    with the numbers given there (the first word is 1).
    """
    lines = []
    for line in text.split("\n"):
        if DEFAULT_COLUMNS.match(line):
            line = "#" * COLUMN_WIDTHS + line[COLUMN_WIDTHS:]
        words = line.split(" ")
        if words[0] in fields:
            line = " ".join(
                "#" if i in fields[words[0]] else word for i, word in enumerate(words, 1)
            )
        lines.append(line)
    return lines


class Script:
    """A data file of scripts/, with what its first comment says about how to run it.

    program: NAME       the traced program, of programs/
    options: …          further options for the tracer
    masked: WORD n …    in lines that start with WORD, words n … differ from run to run
    """

    def __init__(self, path: str):
        self.path = path
        self.name = os.path.basename(path).removesuffix(".d")
        with open(path) as file:
            comment = file.read().split("*/")[0]
        said = re.findall(r"^[/ ]\* (program|options|masked): (.*?) *$", comment, re.MULTILINE)
        self.program = next(value for key, value in said if key == "program")
        self.options = [word for key, value in said if key == "options" for word in value.split()]
        self.masked = {
            value.split()[0]: set(map(int, value.split()[1:]))
            for key, value in said
            if key == "masked"
        }
