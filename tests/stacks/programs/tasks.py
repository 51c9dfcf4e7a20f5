"""Tasks of asyncio that await each other, a future, a queue and a sleep, through coroutines, generators and a class of their own."""

import asyncio
import sys


class Own:
    def __await__(self):
        return (yield from self.through().__await__())

    async def through(self):
        await innermost()


async def innermost():
    await asyncio.get_running_loop().create_future()


async def outer():
    await middle()


async def middle():
    await Own()


async def numbers():
    await innermost()
    yield 1


async def iterates():
    async for _ in numbers():
        pass


async def gathers(task):
    await asyncio.gather(task)


async def main():
    loop = asyncio.get_running_loop()
    first = loop.create_task(outer(), name="first")
    tasks = [
        first,
        loop.create_task(iterates(), name="second"),
        loop.create_task(gathers(first), name="third é"),
    ]
    await asyncio.sleep(0.1)
    print("ready")
    await loop.run_in_executor(None, sys.stdin.readline)
    del tasks


asyncio.run(main())
