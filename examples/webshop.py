#!/usr/bin/env python3
"""A web shop without a web: what `pyusdt help tutorial` looks at.

Four threads answer 200 requests for three routes; every tenth request for /checkout is slow, every twentieth fails. The
probes are those that the scripts of scripts/ expect:

    p(0, number, route)                   a request begins
    p(1, number, status, size, route)     it ends

    python examples/webshop.py              answers 200 requests and ends
    python examples/webshop.py --forever    goes on until Ctrl-C
    python examples/webshop.py --new        a newer version, in which more requests for /checkout fail
"""

import itertools
import sys
import threading
import time

import pyusdt

ROUTES = ["/", "/basket", "/checkout"]
SECONDS = {"/": 0.001, "/basket": 0.0025, "/checkout": 0.004}
SLOW, REQUESTS, THREADS = 0.120, 200, 4
FAILING = 15 if "--new" in sys.argv else 60


def answer(number: int) -> None:
    route = ROUTES[number % 3]
    with pyusdt.tag(f"customer {number % 7}"):
        pyusdt.p(0, number, route)
        time.sleep(SLOW if number % 30 == 2 else SECONDS[route])
        status = 500 if number % FAILING == 17 % FAILING else 200
        pyusdt.p(1, number, status, 1000 + number, route)


def serve(numbers) -> None:
    for number in numbers:
        answer(number)


class Numbers:
    """One number for one request, whichever thread asks."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)
        self.lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self) -> int:
        with self.lock:
            return next(self.numbers)


def main() -> None:
    numbers = Numbers(itertools.count() if "--forever" in sys.argv else range(REQUESTS))
    threads = [threading.Thread(target=serve, args=(numbers,), daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
