"""Fires about a thousand events a second for a minute. With an argument: appends "on" or "off" to that file whenever
the probe's state changes.
"""

import sys
import time

from traced import wait_for_tracer

import pyusdt

wait_for_tracer()
probe = pyusdt.probe("user_trace-i4s4")
before = None
for i in range(60_000):
    state = bool(probe)
    if state != before and len(sys.argv) > 1:
        with open(sys.argv[1], "a") as log:
            log.write("on\n" if state else "off\n")
    before = state
    pyusdt.p(i)
    time.sleep(0.001)
