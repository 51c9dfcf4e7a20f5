"""Two asyncio tasks, each with a name and a tag of its own."""

import asyncio

import pyusdt


async def serve(customer):
    pyusdt.put_tag(f"customer {customer}")
    for item in range(2):
        await asyncio.sleep(0)  # the other one's turn
        pyusdt.p(item)


async def main():
    await asyncio.gather(*(asyncio.create_task(serve(n), name=f"serve-{n}") for n in (1, 2)))


asyncio.run(main())
