"""Fires the probes user_trace-n<n> whose numbers are its arguments, once each, in their order.

Says `ready`, waits for a line, then until all of them are enabled.
"""

import sys
import time

import pyusdt

numbers = [int(word) for word in sys.argv[1:]]
print("ready", flush=True)
sys.stdin.readline()
while not all(pyusdt.probe(f"user_trace-n{n}") for n in numbers):
    time.sleep(0.01)
for n in numbers:
    pyusdt.pn(n, n, -n, 1 << 40, 0x7FFFFFFFFFFFFFFF, f"s{n}", "/usr/local/lib", "key=value,x", "")
