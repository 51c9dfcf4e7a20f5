"""Fires N events, numbered from 1, then is killed by SIGKILL."""

import os
import signal
import sys

from traced import wait_for_tracer

import pyusdt

wait_for_tracer()
for i in range(1, int(sys.argv[1]) + 1):
    pyusdt.p(i)
os.kill(os.getpid(), signal.SIGKILL)
