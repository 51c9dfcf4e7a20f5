"""A program with the problems that scripts/ are for: shop.py PART fires what one of them asks about."""

import contextlib
import gc
import os
import sys
import time

import pyusdt

MS = 0.001


def operation(number, route, status=200, size=100, seconds=0.0, tag=None):
    with pyusdt.tag(tag or f"order {number}"):
        pyusdt.p(0, number, route)
        if seconds:
            time.sleep(seconds)
        pyusdt.p(1, number, status, size, route)


def operations():
    """Nine quick ones, three slow ones, three that fail."""
    for number in range(1, 10):
        operation(number, "/index.html", size=100 * number)
    for number in range(10, 13):
        operation(number, "/slow", seconds=25 * MS)
    for number in range(13, 16):
        operation(number, "/broken", status=500, size=0)


def overlapping():
    for number in range(1, 5):
        pyusdt.p(0, number, "/a")
    pyusdt.p(0, 5, "/lost")
    for number in range(1, 5):
        pyusdt.p(1, number, 200, 0, "/a")


def queue():
    for depth in range(1, 31):
        pyusdt.pn(1, 1, depth, depth, "jobs")
    time.sleep(20 * MS)
    for depth in range(29, -1, -1):
        pyusdt.pn(1, -1, depth, 30 - depth, "jobs")


def cache():
    for i in range(10):
        pyusdt.pn(2, int(i % 5 != 0), "users", "user 9" if i % 5 == 0 else f"user {i}")


def retries():
    for attempt in range(1, 6):
        pyusdt.pn(3, attempt, 503, "payment")
    pyusdt.pn(3, 1, 500, "mail")


def tasks():
    """One blocks the loop, one fails alone, one does not end."""
    import asyncio

    async def blocks():
        await asyncio.sleep(0)
        time.sleep(30 * MS)  # noqa: ASYNC251 - that is the problem

    async def fails():
        raise LookupError("nobody asks")

    async def endless():
        await asyncio.sleep(1000)

    async def main():
        own = [asyncio.create_task(fails()), asyncio.create_task(endless())]
        await asyncio.create_task(blocks())
        os._exit(len(own) - 2)

    asyncio.run(main())


def messages():
    """A child receives what its parent sends."""
    reader, writer = os.pipe()
    for number in (1, 2):
        pyusdt.pn(4, 0, number, "orders")
    if os.fork() == 0:
        os.read(reader, 1)
        for number in (1, 2):
            pyusdt.pn(4, 1, number, "orders")
        os._exit(0)
    time.sleep(20 * MS)
    os.write(writer, b"x")
    os.wait()


def waits():
    """Two threads want what one of them has."""
    import threading

    free = threading.Semaphore(1)

    def take():
        with free:
            time.sleep(40 * MS)

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def awaits():
    """One task waits for another, which waits for two."""
    import asyncio

    async def fetch():
        await asyncio.sleep(30 * MS)

    async def page():
        await asyncio.gather(asyncio.create_task(fetch()), asyncio.create_task(fetch()))

    async def main():
        await asyncio.create_task(page(), name="the page")

    asyncio.run(main())


def code():
    """What Python does: functions, lines, exceptions, collections, imports; nothing of it is told by a probe of this program's."""

    def lookup(number):
        time.sleep(25 * MS if number == 3 else 0)
        for _ in range(50):
            number += 1
        return number

    def basket():
        for number in range(5):
            lookup(number)

    def failing():
        raise LookupError("no price")

    basket()
    for _ in range(4):
        with contextlib.suppress(LookupError):
            failing()
    gc.collect()
    sys.modules.pop("colorsys", None)
    import colorsys  # noqa: F401 - what it has is not needed


globals()[sys.argv[1]]()
