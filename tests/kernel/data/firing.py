"""Fires user_trace-i4s4 every millisecond until it is killed."""

import time

import pyusdt

print("ready", flush=True)
while True:
    pyusdt.p(1, 2, "a")
    time.sleep(0.001)
