"""Fires the same mix again and again, from one line of its standard input to the next, and says how often at which time.

Input: seconds between two rounds, how many routes.
Output: a line "time rounds" for each tenth of a second, and "time rounds over" when it fires no
more. A round is one firing of each of VALUES for each route, and what the routes are called.
"""

import select
import sys
import time

import pyusdt

VALUES = [0, 1, 2, 3, 4, 1000, 1023, 1024, 1025, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, -5]


def routes(n):
    """That many, of which the second one is what a label must quote."""
    return ["/", '/"quoted"\\\n', *(f"/{i}" for i in range(2, n))][:n]


if __name__ == "__main__":
    rounds, told, names = 0, 0.0, routes(int(sys.argv[2]))
    print(f"{time.time()} 0", flush=True)
    sys.stdin.readline()
    while not select.select([sys.stdin], [], [], float(sys.argv[1]))[0]:
        for route in names:
            for value in VALUES:
                pyusdt.p(1, value, route)
        rounds += 1
        if time.time() - told >= 0.1:
            told = time.time()
            print(f"{told} {rounds}", flush=True)
    print(f"{time.time()} {rounds} over", flush=True)
    sys.stdin.read()
