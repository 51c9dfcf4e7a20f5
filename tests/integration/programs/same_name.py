"""2,000 tasks of one name at once, as a web server makes one for each request: user_trace-n1 at the begin, -n2 at the end."""

import asyncio

import pyusdt


async def serve(n):
    pyusdt.pn(1, n)
    for _ in range(n % 5):
        await asyncio.sleep(0)
    await asyncio.sleep(0.005)
    pyusdt.pn(2, n)


async def main():
    await asyncio.gather(*(asyncio.create_task(serve(n), name="serve") for n in range(1, 2001)))


asyncio.run(main())
