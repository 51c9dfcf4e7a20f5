"""A program with threads, signals and memory in use (attach_loads.py), which says whether all of it is as it was."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess

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


@contextlib.contextmanager
def loaded(python: str, letters: str = "", **options):
    with harness.running([python, LOADS, letters], stdin=subprocess.PIPE, **options) as process:
        assert process.stdout.readline() == "ready\n"
        yield Load(process)
