#!/usr/bin/env python3
"""Fires ten events a second, numbered from 1, for a minute or for as many seconds as the argument says."""

import sys
import time

import pyusdt

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
with pyusdt.tag("ticking"):
    for number in range(1, int(seconds * 10) + 1):
        pyusdt.p(number, "tick")
        time.sleep(0.1)
