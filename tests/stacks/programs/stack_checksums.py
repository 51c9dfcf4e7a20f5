"""Is seen by a tracer in many stacks, and tells it each time what the program itself says of the stack: a checksum of its frames.

Arguments: how often; "syscall" or "usdt".  Says "ready"; tells when it hears a line, says "told", ends when it hears another.
By a system call: getpriority(1000 + number of frames, the checksum); by a probe of pyusdt's: p(the same two).  The checksum is of
"function (file:line)" of all frames, the innermost first.
"""

import asyncio
import os
import random
import sys
import threading
import zlib

TIMES, HOW = int(sys.argv[1]), sys.argv[2]
rest = [TIMES]
rng = random.Random(17)

if HOW == "usdt":
    from pyusdt import p as tell
else:

    def tell(depth, checksum):
        try:
            os.getpriority(depth, checksum)
        except OSError:
            pass


def told(frame, further=()):
    texts = list(further)
    while frame:
        code = frame.f_code
        texts.append(
            f"{getattr(code, 'co_qualname', code.co_name)} ({code.co_filename}:{frame.f_lineno})"
        )
        frame = frame.f_back
    return 1000 + len(texts), zlib.crc32("\n".join(texts).encode()) & 0x7FFFFFFF


# What tell() itself adds where it is a function of Python.
INNER = []
if HOW != "usdt":
    code = tell.__code__
    INNER = [
        f"{getattr(code, 'co_qualname', code.co_name)} ({code.co_filename}:{code.co_firstlineno + 2})"
    ]


def fire():
    if rest[0] <= 0:
        raise StopIteration
    rest[0] -= 1
    tell(*told(sys._getframe(), INNER))


def recursive(depth):
    if depth <= 1:
        return step(0)
    result = recursive(depth - 1)
    return result


def generator():
    fire()
    yield 1
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


def a_waits():
    if threading.current_thread() is not threading.main_thread() or rest[0] % 20:
        return fire()
    return asyncio.run(awaited(3))


WAYS = [
    fire,
    lambda: sorted([Shape(), Shape()]),
    lambda: Shape().area,
    raising,
    comprehending,
    lambda: list(generator()),
    a_waits,
]


def step(depth):
    if depth:
        return recursive(depth)
    return rng.choice(WAYS)()


def run():
    try:
        while True:
            step(rng.randrange(30))
    except (StopIteration, RuntimeError):
        pass  # all are told


print("ready", flush=True)
sys.stdin.readline()
other = threading.Thread(target=run)
other.start()
run()
other.join()
print("told", flush=True)
sys.stdin.readline()
