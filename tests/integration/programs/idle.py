"""Fires one event, then does nothing for some seconds: for scripts that end by themselves."""

import time

from traced import wait_for_tracer

import pyusdt

wait_for_tracer()
pyusdt.p(1)
time.sleep(5)
