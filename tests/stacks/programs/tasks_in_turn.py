"""Works for tasks of asyncio and under tags in turn: for each line it begins the next, and says its name.  argv: none, or tags."""

import asyncio
import select
import sys


def spins():
    while not select.select([sys.stdin], [], [], 0)[0]:
        pass
    sys.stdin.readline()


async def works(name):
    print(name)
    spins()


async def serves():
    """Tasks with a name and without, one after the other, each of which has the same function at work."""
    while True:
        await asyncio.create_task(works("task first"), name="first")
        await asyncio.create_task(works("task works"))
        asyncio.get_running_loop().call_soon(lambda: (print("no task"), spins()))
        await asyncio.sleep(0)


def tagged():
    import pyusdt

    print("no tag")
    spins()
    while True:
        for tag in ("checkout", "käse"):
            with pyusdt.tag(tag):
                print("tag " + tag)
                spins()


if sys.argv[1:] == ["tags"]:
    tagged()
else:
    asyncio.run(serves())
