#!/usr/bin/env python3
"""What a clause of docs/DESIGN.md's budgets costs the interpreter for each event, in machine instructions.

    benchmarks/interpreter.py

In: nothing.  Out: a row for each clause: instructions of the interpreter (pyusdt_run, with its helpers and maps) beside those
of all of pydtrace that the same event takes.  Always: counted by callgrind, so that a busy machine changes nothing; two
recordings of different length are replayed, and the difference is divided by the events that one has more.
"""

import os
import re
import subprocess
import sys
import tempfile

PYTHON = sys.executable
PYDTRACE = os.path.join(os.path.dirname(PYTHON), "pydtrace")
PROBE = "pyusdt$target:::user_trace-i4s4"
CLAUSES = {
    "@ = count()": "{ @ = count(); }",
    "a false predicate": "/arg2 == -1/ { @ = count(); }",
    "keyed quantize": "{ @[copyinstr(arg6)] = quantize(arg2); }",
    "printf of three fields": '{ printf("%d %d %s\\n", arg2, arg3, copyinstr(arg6)); }',
}
EVENTS = (1000, 3000)
RECORDED = PROBE + " { trace(arg2 + arg3); trace(copyinstr(arg6)); }"  # all that the clauses look at
FIRES = """import pyusdt, sys, time
while not pyusdt.probe("user_trace-i4s4"):
    time.sleep(0.01)
for i in range(int(sys.argv[1])):
    pyusdt.p(i, 2, "text")
"""


def record(folder, events):
    """The path of a recording of that many events."""
    path = os.path.join(folder, f"{events}.rec")
    script = os.path.join(folder, "fires.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(FIRES)
    subprocess.run([PYDTRACE, "-q", "--record", path, "-n", RECORDED, "-c", f"{PYTHON} {script} {events}"], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    return path


def counted(folder, recording, clause):
    """(instructions of the interpreter, of all) for a replay."""
    counts = os.path.join(folder, "callgrind.out")
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}", PYTHON, PYDTRACE, "-q", "--replay",
                    recording, "-n", PROBE + clause], check=True, timeout=300,
                   capture_output=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", counts], check=True, capture_output=True,
                          text=True, timeout=300).stdout
    found = [re.search(rf"(?m)^ *([\d,]+) .*{name}", text) for name in (r":pyusdt_run\b", "PROGRAM TOTALS")]
    return [int(match[1].replace(",", "")) if match else 0 for match in found]


def rows():
    """[(what, the interpreter's instructions for an event, all of pydtrace's)]"""
    with tempfile.TemporaryDirectory() as folder:
        recordings = [record(folder, events) for events in EVENTS]
        found = []
        for what, clause in CLAUSES.items():
            few, many = (counted(folder, recording, clause) for recording in recordings)
            found.append((what, *((b - a) / (EVENTS[1] - EVENTS[0]) for a, b in zip(few, many))))
        return found


if __name__ == "__main__":
    for what, interpreter, all_of_it in rows():
        print(f"{what:30} {interpreter:8.1f} of {all_of_it:8.1f} instructions for an event")
