"""Fires 1 in the parent, 2 in a forked child, 3 in the parent after the child has ended."""

import os

import pyusdt

pyusdt.p(1)
if child := os.fork():
    os.waitpid(child, 0)
    pyusdt.p(3)
else:
    pyusdt.p(2)
    os._exit(0)
