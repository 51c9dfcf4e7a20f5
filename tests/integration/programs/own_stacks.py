"""Fires from many stacks, each with what the program itself says of the stack at that moment: a checksum of its frames.

Arguments: how many events; how deep at the most.

Output: nothing. In each event: i1 the checksum of "function (file:line)" of all frames, the
innermost first; i2 how many they are.
"""

import asyncio
import random
import sys
import threading
import zlib

import pyusdt

EVENTS, DEEPEST = int(sys.argv[1]), int(sys.argv[2])
rest = [EVENTS]
rng = random.Random(17)


def own_stack(frame):
    texts = []
    while frame:
        code = frame.f_code
        texts.append(
            f"{getattr(code, 'co_qualname', code.co_name)} ({code.co_filename}:{frame.f_lineno})"
        )
        frame = frame.f_back
    return texts


def told(frame):
    texts = own_stack(frame)
    return zlib.crc32("\n".join(texts).encode()), len(texts)


def fire():
    if rest[0] <= 0:
        raise StopIteration
    rest[0] -= 1
    pyusdt.p(*told(sys._getframe()))


def recursive(depth):
    if depth <= 1:
        return step(0)
    result = recursive(depth - 1)
    return result


def generator():
    fire()
    received = yield 1
    pyusdt.p(*told(sys._getframe()), str(received))
    rest[0] -= 1
    yield from (value for value in delegated())


def delegated():
    fire()
    yield 2


class Shape:
    def __lt__(self, other):  # called from C
        fire()
        return False

    @property
    def area(self):
        return (lambda: fire())()  # noqa: PLC3002


def freed():
    """Code that is gone right after, the next of which may lie at the same address."""
    name = f"passing_{rest[0] % 500}"
    space = {"fire": fire}
    exec(  # noqa: S102
        compile(f"def {name}():\n{chr(10) * (rest[0] % 7)}    fire()\n", f"<{name}>", "exec"), space
    )
    space[name]()


async def awaited(depth):
    if depth:
        return await awaited(depth - 1)
    await asyncio.sleep(0)
    fire()


def raising():
    try:
        raise ValueError
    except ValueError:
        fire()
    finally:
        fire()


def comprehending():
    return [fire() for _ in range(2)]


def generating():
    steps = generator()
    next(steps)
    steps.send("x")
    list(steps)


WAYS = [
    fire,
    lambda: sorted([Shape(), Shape()]),
    lambda: Shape().area,
    freed,
    raising,
    comprehending,
    generating,
    lambda: (
        asyncio.run(awaited(3))
        if rest[0] % 50 == 0 and threading.current_thread() is threading.main_thread()
        else fire()
    ),
]


def step(depth):
    if depth:
        return recursive(depth)
    return rng.choice(WAYS)()


def run():
    try:
        while True:
            step(rng.randrange(DEEPEST))
    except (StopIteration, RuntimeError):
        pass  # all are fired


other = threading.Thread(target=run)
other.start()
run()
other.join()
