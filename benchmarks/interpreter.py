#!/usr/bin/env python3
"""What a clause of docs/internals/DESIGN.md's budgets costs the interpreter for each event, in machine instructions.

    benchmarks/interpreter.py

Input: nothing.
Output: a row for each clause: instructions of the interpreter (pyusdt_run, with its helpers and
maps) beside those of all of pydtrace that the same event takes, live; and what a look at rings
takes in which nothing is.

- Counted by callgrind, so that a busy machine changes little; pydtrace runs twice, and the
  difference is divided by the events, or the looks, that one run has more.
"""

import os
import re
import subprocess
import sys
import tempfile

from subjects import PYDTRACE

PYTHON = sys.executable
PROBE = "pyusdt$target:::user_trace-i4s4"
CLAUSES = {
    "@ = count()": "{ @ = count(); }",
    "a false predicate": "/arg2 == -1/ { @ = count(); }",
    "keyed quantize": "{ @[copyinstr(arg6)] = quantize(arg2); }",
    "printf of three fields": '{ printf("%d %d %s\\n", arg2, arg3, copyinstr(arg6)); }',
}
EVENTS = (1000, 11000)  # of two runs; the rings hold them all
SECONDS = (1, 4)  # without an event
FIRES = """import pyusdt, sys, time
while not pyusdt.probe("user_trace-i4s4"):
    time.sleep(0.01)
for i in range(int(sys.argv[1])):
    pyusdt.p(i, 2, "text")
time.sleep(float(sys.argv[2]))
"""


class Run:
    """pydtrace under callgrind with a clause, on a program that fires so many events and then lives on for so many seconds."""

    def __init__(self, folder, clause, events, seconds):
        script, counts = os.path.join(folder, "fires.py"), os.path.join(folder, "callgrind.out")
        with open(script, "w", encoding="utf-8") as file:
            file.write(FIRES)
        subprocess.run(
            [
                "valgrind",
                "-q",
                "--tool=callgrind",
                f"--callgrind-out-file={counts}",
                PYTHON,
                PYDTRACE,
                "-q",
                "-n",
                PROBE + clause,
                "-c",
                f"{PYTHON} {script} {events} {seconds}",
            ],
            check=True,
            timeout=300,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYUSDT_RUNDIR": folder},
        )
        self._text = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--tree=caller", counts],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        ).stdout
        self.interpreter = self._found(r"(?m)^ *([\d,]+) .*\* .*:pyusdt_run\b")
        self.all = self._found(r"([\d,]+) .*PROGRAM TOTALS")
        self.watching = self._found(r"(?m)^ *([\d,]+) .*\* .*Consumer_\d+watch\b")
        self.looks = self._found(
            r"\(([\d,]+)x\)[^\n]*\n[^\n]*\* [^\n]*:pyusdt_consumer_poll_paced\b"
        )

    def _found(self, pattern):
        found = re.search(pattern, self._text)
        return int(found[1].replace(",", "")) if found else 0


def idle():
    """Instructions of a look that finds nothing, with what calls it until Python has something to do."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = (Run(folder, CLAUSES["@ = count()"], 1, seconds) for seconds in SECONDS)
        return (long.watching - short.watching) / (long.looks - short.looks)


def rows():
    """[(what, the interpreter's instructions for an event, all of pydtrace's)]"""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for what, clause in CLAUSES.items():
            few, many = (Run(folder, clause, events, 0) for events in EVENTS)
            found.append(
                (
                    what,
                    *(
                        (b - a) / (EVENTS[1] - EVENTS[0])
                        for a, b in ((few.interpreter, many.interpreter), (few.all, many.all))
                    ),
                )
            )
        return found


if __name__ == "__main__":
    for what, interpreter, all_of_it in rows():
        print(f"{what:30} {interpreter:8.1f} of {all_of_it:8.1f} instructions for an event")
    print(f"{'a look that finds nothing':30} {idle():20.1f} instructions")
