"""Fires user_trace-n1 until the file named by its first argument is there, then user_trace-i4s4 with 1, 2, … up to its
second argument, and ends. It pauses after every 500, or as many as a third argument says.
"""

import os
import sys
import time

import pyusdt

gate, count = sys.argv[1], int(sys.argv[2])
burst = int(sys.argv[3]) if len(sys.argv) > 3 else 500
deadline = time.monotonic() + 60
while not os.path.exists(gate) and time.monotonic() < deadline:
    pyusdt.pn(1)
    time.sleep(0.005)
for i in range(1, count + 1):
    pyusdt.p(i)
    if i % burst == 0:
        time.sleep(0.01)  # so that tracing is going on for a while
