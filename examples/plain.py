#!/usr/bin/env python3
"""A program that knows nothing of pyusdt: what `pyusdt help first-heat-map` looks at.

python examples/plain.py [REQUESTS]     answers 300 requests, of which every twentieth is slow, and ends
"""

import sys
import time


def price(item: int) -> int:
    time.sleep(0.050 if item % 20 == 7 else 0.001)
    return item % 100


def answer(number: int) -> int:
    return price(number) + price(number + 1) + price(number + 2)


if __name__ == "__main__":
    for request in range(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        answer(3 * request)
