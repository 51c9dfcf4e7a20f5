"""Forks in C again and again, with the GIL and without: fork_storm_in_c.py COUNT.  Each child runs Python code and ends; says how many did."""

import ctypes
import os
import sys

import pyusdt

print("ready")
ended = 0


def work():
    pass


def ends_well(child):
    return os.waitpid(child, 0)[1] == 0


for number in range(int(sys.argv[1])):
    child = (ctypes.PyDLL, ctypes.CDLL)[number % 2](None).fork()
    if child == 0:
        for _ in range(2000):
            work()
        os._exit(0)
    work()
    ended += ends_well(child)
    pyusdt.p(1)
print("ended", ended)
