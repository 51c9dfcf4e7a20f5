"""Fires each of user_trace-n0 … n950 once, its number as the first integer."""

import pyusdt

for number in range(951):
    pyusdt.pn(number, number)
