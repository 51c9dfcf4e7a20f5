"""Calls mark() until its standard input says how often to call step(); then that is what it does.

Output: the path of the object with the USDT sites.
"""

import select
import sys
import time

import pyusdt.vm


def mark():
    time.sleep(0.01)


def step(n):
    return n


pyusdt.vm.enable()
print(pyusdt.vm.sites(), flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    mark()
for i in range(int(sys.stdin.readline())):
    step(i)
print("stepped", flush=True)
sys.stdin.readline()
