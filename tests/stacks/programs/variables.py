"""Frames with every kind of variable, at rest: arguments, cells, generators, a class's body, exec(), tasks; and one that runs.

It says "ready" and waits."""

import asyncio
import sys
import threading


class Cart:
    def __init__(self):
        self.items = [1, 2]
        self.total = 99.5
        self.owner = self
        self.api_key = "abc-secret"


def arguments(cart, n, /, text, *rest, flag=True, db_password="hunter2", **more):
    later = None
    del later
    inner = lambda: (n, total)
    total = inner
    total = n * 2
    return next(generates(cart))


def generates(cart):
    step = 7
    yield outer(step)


def outer(captured):
    def reads():
        return closes(captured)

    return reads()


def closes(value):
    class Body:
        name = "body"
        made = executes(value)

    return Body


def executes(value):
    exec("inside = 3\nwaits_here()", {"waits_here": waits, "__name__": "x"}, {"given": value})  # noqa: S102


def waits():
    asyncio.run(has_tasks())


async def has_tasks():
    task = asyncio.ensure_future(sleeps("in a task"))
    await asyncio.sleep(0.05)
    print("ready", flush=True)
    sys.stdin.readline()
    task.cancel()


async def sleeps(words):
    await asyncio.sleep(1000)


def runs(limit):
    steady, n = ["steady"], 0  # noqa: F841
    while n < limit:
        n += 1


module_data = {"answer": 42}
threading.Thread(target=runs, args=(1 << 62,), daemon=True).start()
arguments(Cart(), 5, "x" * 1000, 1, 2, more_things="größe\x1b[31m")
