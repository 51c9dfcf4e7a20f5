#!/usr/bin/env python3
"""One thread at full speed, `@[copyinstr(arg6)] = quantize(arg2)`, default buffers: how many events are lost.

    benchmarks/full_speed.py [EVENTS [RUNS]]

Input: nothing.
Output: for each run the share of lost events, and the processor time for an event of the program
and of pydtrace, whose ratio tells what a machine would lose on which nothing else runs.

- What is delivered and what is dropped is all that was fired, else it fails.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile

from subjects import PYDTRACE

EVENTS = 10_000_000
PYTHON = sys.executable
SCRIPT = "pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = quantize(arg2); }"
FIRES = """import pyusdt, sys, time
while not pyusdt.probe("user_trace-i4s4"):
    time.sleep(0.01)
p = pyusdt.p
start = time.process_time_ns()
for i in range(int(sys.argv[1])):
    p(i, 2, "a")
print((time.process_time_ns() - start) / int(sys.argv[1]), file=sys.stderr)
"""


def delivered(text):
    """Events in the distributions that were printed."""
    return sum(map(int, re.findall(r"\|@* *(\d+)", text)))


def run(folder, events):
    """(share that was lost, ns of the program, of pydtrace)"""
    script = os.path.join(folder, "fires.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(FIRES)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [PYDTRACE, "-q", "-n", SCRIPT, "-c", f"{PYTHON} {script} {events}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    all_of_it = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9 / events
    program = float(re.search(r"(?m)^[\d.]+$", done.stderr)[0])
    dropped = sum(map(int, re.findall(r"(\d+) drops", done.stderr)))
    seen = delivered(done.stdout)
    if seen + dropped != events:
        raise RuntimeError(f"{seen} delivered and {dropped} dropped of {events}: {done.stderr}")
    return dropped / events, program, all_of_it - program


def rows(rounds):
    """Rows as the other parts have them: the worst of the rounds, and both processors' work."""
    with tempfile.TemporaryDirectory() as folder:
        _, _, start = run(folder, 1)
        found = [run(folder, EVENTS) for _ in range(rounds)]
    lost, program, tracer = zip(*found)
    return [
        (
            "10 million at full speed, keyed quantize: lost in the worst run / all",
            0.0,
            [max(lost)],
            [1.0],
        ),
        (
            "the same, pydtrace's CPU time / the program's",
            None,
            [ns - start / EVENTS for ns in tracer],
            list(program),
        ),
    ]


def main():
    events, runs = (
        int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, EVENTS), (2, 20))
    )
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            lost, program, tracer = run(folder, events)
            print(
                f"{100 * lost:5.1f} % lost; ns of an event: program {program:6.1f}, pydtrace {tracer:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
