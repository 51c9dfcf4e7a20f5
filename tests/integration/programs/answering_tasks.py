"""Tasks of asyncio answer /list and /report, each route by a function of its own that keeps the processor; argv: seconds.

Two threads have a loop each; tasks wait for others (gather in gather), begin at once where this CPython has that, and are thousands in the
end.  Each request is a task's.
"""

import asyncio
import sys
import threading
import time

import pyusdt

WORK = 0.002  # s, at a time
PATHS = "/list", "/report"


def keeps_busy():
    end = time.perf_counter() + WORK
    while time.perf_counter() < end:
        pass


def of_list():
    keeps_busy()


def of_report():
    keeps_busy()


async def part(path):
    """A task of its own, which has fired nothing: its work is nobody's."""
    await asyncio.sleep(0)
    of_part()


def of_part():
    keeps_busy()


async def answer(path):
    pyusdt.p("begin", path)
    for _ in range(2):
        (of_list if path == "/list" else of_report)()
        await asyncio.sleep(0)
    await asyncio.gather(part(path), asyncio.gather(part(path)))
    (of_list if path == "/list" else of_report)()
    pyusdt.p("end", path)


async def serve(until):
    loop = asyncio.get_running_loop()
    if (
        hasattr(asyncio, "eager_task_factory")
        and threading.current_thread() is threading.main_thread()
    ):
        loop.set_task_factory(asyncio.eager_task_factory)
    while time.perf_counter() < until:
        await asyncio.gather(*(answer(path) for path in PATHS * 5))


def main():
    until = time.perf_counter() + float(sys.argv[1])
    other = threading.Thread(target=lambda: asyncio.run(serve(until)))
    other.start()
    asyncio.run(serve(until))
    other.join()


main()
