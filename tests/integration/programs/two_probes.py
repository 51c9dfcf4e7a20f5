"""Fires user_trace-i4s4 N times, and user_trace-s1 behind every third of them; now and then it rests."""

import sys
import time

from traced import wait_for_tracer

import pyusdt

wait_for_tracer()
for i in range(int(sys.argv[1])):
    pyusdt.p(i)
    if i % 3 == 2:
        pyusdt.user_trace_s1("turn")
    if i % 500 == 0:
        time.sleep(0.005)
