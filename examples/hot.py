"""A program with a function that is hot: what it computes, it computes again and again.

Run it for so many seconds and ask where they go:  pyusdt profile -- python examples/hot.py 1  (pyusdt help profile)."""

import sys
import time


def price(items: list[int]) -> int:
    return sum(discount(item) for item in items)


def discount(item: int) -> int:
    rest = item
    for _ in range(200):
        rest = rest * 31 % 1009
    return rest


def report(total: int) -> str:
    return f"{total:>12}"


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    report(price(list(range(100))))
