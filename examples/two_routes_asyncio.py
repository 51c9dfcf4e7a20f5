"""Answers requests in asyncio tasks: "/list" is quick, "/report" is slow, and both call the same functions.

Which functions is the report slow in, and not the program as a whole?  pyusdt help stacks-in-scripts, "While this request runs"."""

import asyncio
import sys
import time

import pyusdt


def rows(n: int) -> list[int]:
    return [i * i % 1009 for i in range(n)]


def total(numbers: list[int]) -> int:
    return sum(number * 3 % 7 for number in numbers)


async def answer(path: str) -> int:
    pyusdt.p("begin", path)
    numbers = rows(20000 if path == "/report" else 2000)
    await asyncio.sleep(0)  # the other tasks have their turn
    result = total(numbers)
    pyusdt.p("end", path)
    return result


async def serve(path: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await answer(path)


async def main(seconds: float) -> None:
    await asyncio.gather(*(serve(path, seconds) for path in ("/list", "/report") * 5))


asyncio.run(main(float(sys.argv[1])))
