"""The events of events.py, and some of its own, fired when a line comes on standard input; says "ready" when its probes can be
found, "done" when all were fired, and stays until another line comes.

Unlike the others here it does not look whether a tracer is there: tracers of other processes may switch the semaphores
of this one on as well.
"""

import os
import sys

import pyusdt

placed = pyusdt.Provider("told").probe("placed", int, str)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print("ready", flush=True)
sys.stdin.readline()
COLOURS = ["red", "green", "blue"]
for i in range(12):
    with pyusdt.tag(COLOURS[i % 3]):
        pyusdt.p(
            i,
            5 - i,
            i * 2**33,
            -(2**31) - i,
            f"item {i}",
            "even" if i % 2 == 0 else "odd",
            "",
            "x" * i,
        )
pyusdt.p(1, "no tag")
pyusdt.user_trace_s1("a message")
pyusdt.pn(1, 11, "one")
pyusdt.pn(950, 99, "last")
for i in range(3):
    placed(i, f"thing {i % 2}")
print("done", flush=True)
sys.stdin.readline()
