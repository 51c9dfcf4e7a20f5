#!/usr/bin/env python3
"""Sells tea and fires its own probes (shop.d): three orders. With an argument: ten orders a second, for as many
seconds as the argument says."""

import itertools
import os
import sys
import time

import pyusdt

shop = pyusdt.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shop.d"))
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0
for number in itertools.count(1):
    shop.order_placed(number, "green tea" if number % 2 else "black tea", 4.5)
    if number >= max(3, seconds * 10):
        break
    time.sleep(0.1 if seconds else 0)
shop.closed()
