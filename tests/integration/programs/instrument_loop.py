"""A program whose event loop waits for a slow step of a coroutine, and knows nothing of pyusdt."""

import asyncio
import time


async def hasty():
    await asyncio.sleep(0)


async def lazy():
    await hasty()
    time.sleep(0.2)  # noqa: ASYNC251 - what the hook is to see


async def main():
    await lazy()
    asyncio.get_running_loop().call_soon(time.sleep, 0.2)
    await hasty()
    await hasty()


asyncio.run(main())
