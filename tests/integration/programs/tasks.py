"""Three asyncio tasks on one thread: each fires user_trace-n1 with its name, and n2 when it goes on."""

import asyncio

import pyusdt


async def one(number):
    pyusdt.pn(1, f"task{number}")
    await asyncio.sleep(0.6 - 0.2 * number)
    pyusdt.pn(2)


async def main():
    await asyncio.gather(*[one(number) for number in range(3)])


asyncio.run(main())
