"""A program whose requests are blocks of pyusdt.tag; one of fifteen waits for a lock that another thread holds.

Input: the number of blocks.
"""

import asyncio
import sys
import threading
import time

import pyusdt

stock = threading.Lock()


def keep_stock(taken):
    with stock:
        taken.set()
        time.sleep(0.2)


def handle(number):
    if number % 15 == 0:
        taken = threading.Event()
        threading.Thread(target=keep_stock, args=(taken,)).start()
        taken.wait()
    with stock:
        pass


async def blocks(number):
    with pyusdt.tag(f"job {number}-00f067aa0ba902b7"):
        await asyncio.sleep(0)
        if number % 15 == 0:
            deadline = time.monotonic() + 0.2
            while time.monotonic() < deadline:
                pass


def main(count):
    again = pyusdt.tag("again")
    for number in range(1, count + 1):
        with pyusdt.tag(f"order {number}"):
            handle(number)
    with again, pyusdt.tag("inner"), again:
        pass
    try:
        with again:
            raise KeyError
    except KeyError:
        pass
    for number in range(1, count + 1):
        asyncio.run(blocks(number))


if __name__ == "__main__":
    main(int(sys.argv[1]))
