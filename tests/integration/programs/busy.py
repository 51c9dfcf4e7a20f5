"""Fires one event, then keeps every CPU busy for some seconds: on some virtual machines an idle CPU has late ticks,
and dtrace takes them from a CPU of its own choice."""

import os
import time

from traced import wait_for_tracer

import pyusdt

SECONDS = 20  # at most: a tracer that exits, or the test, kills it before


def spin(deadline: float, parent: int) -> None:
    while time.monotonic() < deadline and os.getppid() == parent:
        pass


wait_for_tracer()
deadline, me = time.monotonic() + SECONDS, os.getpid()
for cpu in os.sched_getaffinity(1) - os.sched_getaffinity(0):
    if os.fork() == 0:
        os.sched_setaffinity(0, {cpu})
        spin(deadline, me)
        os._exit(0)
pyusdt.p(1)
spin(deadline, os.getppid())
