"""Spends its time in three functions, in shares that it says at the end: argv[1] seconds of it.

It never sleeps there: it runs or waits for a processor, and a sample can not tell one from the other."""

import json
import sys
import threading
import time

SPENT = {}


def timed(function):
    began = time.perf_counter()
    function()
    SPENT[function.__name__] = SPENT.get(function.__name__, 0) + time.perf_counter() - began


def burn(n):
    total = 0
    for i in range(n):
        total += i * i


def most():
    total = 0
    for i in range(60000):
        total += i * i


def some():
    total = 0
    for i in range(30000):
        total += i * i


def through():
    burn(10000)


def sleeps():
    time.sleep(1000)


threading.Thread(target=sleeps, daemon=True).start()
print("ready")
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for function in (most, some, through):
        timed(function)
print(json.dumps(SPENT))
