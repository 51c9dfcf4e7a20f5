"""A program with threads, signals and memory in use (attach_loads.py), which says whether all of it is as it was."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import subprocess
import tempfile

from tests.support import harness

LOADS = os.path.join(harness.PROGRAMS, "attach_loads.py")


class Load:
    """A program that runs; ask() is what it says of itself."""

    def __init__(self, process: subprocess.Popen):
        self.process, self.pid = process, process.pid

    def ask(self) -> dict:
        print(file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line.startswith("{"), line + self.process.stdout.read()
        return json.loads(line)

    def end(self) -> None:
        """It has computed all that it would have."""
        print("end", file=self.process.stdin, flush=True)
        assert self.process.stdout.read() == "END []\n"
        assert self.process.wait(20) == 0


@functools.cache
def counted_signals() -> str:
    """The library that counts the signals of such a program."""
    folder = tempfile.TemporaryDirectory(prefix="counted-signals-")
    atexit.register(folder.cleanup)
    library = os.path.join(folder.name, "counted_signals.so")
    subprocess.run(
        [
            *("gcc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-pthread", "-o", library),
            os.path.join(harness.PROGRAMS, "counted_signals.c"),
        ],
        check=True,
    )
    return library


@contextlib.contextmanager
def loaded(python: str, letters: str = "", *libraries: str, **options):
    """libraries: counted_signals(), or none."""
    command = [python, LOADS, letters, *libraries]
    with harness.running(command, stdin=subprocess.PIPE, **options) as process:
        assert process.stdout.readline() == "ready\n"
        yield Load(process)
