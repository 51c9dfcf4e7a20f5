"""A traced process for benchmarks/kernel.py.

Input: a file's name and n. Says that it is ready, waits until user_trace-i4s4 is enabled, fires
it n times, and writes to the file: nanoseconds of CPU time an event, seconds of wall time.
Without a tracer it gives up.
"""

import sys
import time

import pyusdt

ENABLED_WITHIN = 20  # s

out, n = sys.argv[1], int(sys.argv[2])
probe, p = pyusdt.probe("user_trace-i4s4"), pyusdt.p
print("ready", flush=True)
if n == 0:  # only to be attached to
    time.sleep(ENABLED_WITHIN * 6)
    sys.exit()
deadline = time.monotonic() + ENABLED_WITHIN
while not probe and time.monotonic() < deadline:
    time.sleep(0.001)
if not probe:  # nobody came: there is nothing to tell
    sys.exit(1)
wall, cpu = time.perf_counter(), time.thread_time_ns()
for i in range(n):
    p(i, 2, "a")
cpu, wall = time.thread_time_ns() - cpu, time.perf_counter() - wall
with open(out, "w") as file:
    file.write(f"{cpu / n} {wall}")
