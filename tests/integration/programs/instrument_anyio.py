"""A program whose coroutines call functions in anyio's worker threads, and that knows nothing of
pyusdt.

Input: how often.
"""

import sys

import anyio
import anyio.to_thread


def order(number):
    return 10 // number


async def main():
    for _ in range(int(sys.argv[1])):
        assert await anyio.to_thread.run_sync(order, 5) == 2
        try:
            await anyio.to_thread.run_sync(order, 0, abandon_on_cancel=True)
        except ZeroDivisionError:
            pass


anyio.run(main)
