"""For the programs here: start firing when a tracer is there.

A program prints nothing of its own, and stays on one CPU, so that a tracer with a buffer for each CPU shows its
events in their order.
"""

import os
import sys
import time

import pyusdt

PROBES = ["user_trace-i4s4", "user_trace-s1", "user_trace-n1", "user_trace-n2", "user_trace-n950"]


def wait_for_tracer(seconds: float = 30) -> None:
    """Return once any of PROBES is enabled; exit with status 9 if none is in time.

    The file PYUSDT_TEST_READY is made when the probes are there to be found; PYUSDT_TEST_SETTLE is for how many
    seconds to wait after they are enabled.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if ready := os.environ.get("PYUSDT_TEST_READY"):
        open(ready, "w").close()
    probes = [pyusdt.probe(name) for name in PROBES]
    deadline = time.monotonic() + seconds
    while not any(probes):
        if time.monotonic() > deadline:
            sys.exit(9)
        time.sleep(0.005)
    # dtrace enables its probes one after the other, and only then starts to trace
    time.sleep(float(os.environ.get("PYUSDT_TEST_SETTLE", "0")))
