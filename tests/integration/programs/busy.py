"""Fires one event, then keeps its CPU busy for some seconds: on some virtual machines an idle CPU has late ticks."""

import time

from traced import wait_for_tracer

import pyusdt

wait_for_tracer()
pyusdt.p(1)
deadline = time.monotonic() + 15  # a tracer that exits kills it before
while time.monotonic() < deadline:
    pass
