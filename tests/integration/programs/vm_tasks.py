"""Runs tasks of asyncio, counts their and their pauses itself, and prints its counts as JSON.  It knows nothing of pyusdt.

Arguments: how many tasks.

Output: {"what": count}, on one line.
"""

import asyncio
import json
import sys

TASKS = int((sys.argv[1:] or [5])[0])
count = dict.fromkeys(("created", "suspended", "returned", "raised", "cancelled"), 0)


async def pauses(n):
    """Suspends its task n times, through two coroutines more; it runs once more often."""
    for _ in range(n):
        count["suspended"] += 1
        await deeper()


async def deeper():
    await asyncio.sleep(0.001)


async def fails():
    await asyncio.sleep(0)
    raise LookupError("no such thing")


async def waits_for(task):
    await task


def created(coroutine, name):
    count["created"] += 1
    return asyncio.create_task(coroutine, name=name)


async def main():
    tasks = [created(pauses(3), "pausing") for _ in range(TASKS)]
    tasks += [created(waits_for(tasks[0]), "waiting")]
    for task in tasks:
        await task
        count["returned"] += 1
    failing = created(fails(), "failing")
    try:
        await failing
    except LookupError:
        count["raised"] += 1
    sleeping = created(asyncio.sleep(100), "sleeping")
    await asyncio.sleep(0)
    sleeping.cancel()
    try:
        await sleeping
    except asyncio.CancelledError:
        count["cancelled"] += 1
    forgotten = created(asyncio.sleep(0), "forgotten")
    while not forgotten.done():
        await asyncio.sleep(0.001)
    count["returned"] += 1


asyncio.run(main())
print(json.dumps(count), flush=True)
