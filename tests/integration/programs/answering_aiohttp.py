"""A server of aiohttp, whose connections are kept, and twenty clients in a thread of their own; argv: seconds, a port.

/list and /report have a function of their own each, which keeps the processor; a middleware tells when a request begins and ends.
"""

import asyncio
import sys
import threading
import time

from aiohttp import ClientSession, web

import pyusdt

SECONDS, PORT = float(sys.argv[1]), int(sys.argv[2])
PATHS = "/list", "/report"


def keeps_busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def of_list():
    keeps_busy(0.001)


def of_report():
    keeps_busy(0.003)


@web.middleware
async def told(request, handler):
    pyusdt.p("begin", request.path)
    try:
        return await handler(request)
    finally:
        pyusdt.p("end", request.path)


async def answer(request):
    work = of_list if request.path == "/list" else of_report
    work()
    await asyncio.sleep(0.002)
    work()
    return web.Response(text=request.path)


async def asks(session, number, until):
    while time.monotonic() < until:
        number += 1
        async with session.get(f"http://127.0.0.1:{PORT}{PATHS[number % 2]}") as answered:
            assert await answered.text() == PATHS[number % 2]


async def clients(until):
    async with ClientSession() as session:
        await asyncio.gather(*(asks(session, number, until) for number in range(20)))


async def main():
    app = web.Application(middlewares=[told])
    app.add_routes([web.get(path, answer) for path in PATHS])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    other = threading.Thread(target=asyncio.run, args=[clients(time.monotonic() + SECONDS)])
    other.start()
    while other.is_alive():
        await asyncio.sleep(0.05)
    await runner.cleanup()


asyncio.run(main())
