#!/usr/bin/env python3
"""The smallest traced program: three events with a tag, two integers and a string each."""

import pyusdt

for number, fruit in enumerate(["apple", "pear", "quince"], start=1):
    with pyusdt.tag("fruit"):
        pyusdt.p(number, len(fruit), fruit)
