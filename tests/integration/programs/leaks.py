"""A leak of argv[1], beside garbage that is freed: each turn leaks about 10 kB, 500 turns a second.

It says "ready" when it begins and runs until it is killed. The blocks that leak are allocated in make() or below it.
"""

import array
import asyncio
import functools
import gc
import logging
import logging.handlers
import os
import sys
import threading
import time

SIZE = 10_000
kept = []
local = threading.local()


def make(n):
    return bytes(SIZE) + str(n).encode()


def cache(n):
    look_up(n)


@functools.cache
def look_up(n):
    return make(n)


def closure(n):
    block = make(n)
    kept.append(lambda: block)


class Node:
    def __init__(self, n):
        self.block, self.me = make(n), self

    def __del__(self):
        pass


def cycle(n):
    gc.disable()
    Node(n)


def traceback(n):
    try:
        block = make(n)
        raise ValueError(len(block))
    except ValueError as error:
        kept.append(error)


async def waits(n):
    block = make(n)
    await asyncio.Event().wait()
    return block


def task(n):
    kept.append(loop.create_task(waits(n)))
    loop.run_until_complete(asyncio.sleep(0))


def thread_local(n):
    local.__dict__.setdefault("blocks", []).append(make(n))


def c_extension(n):
    """Of a module that is written in C, which grows its own buffer."""
    make_array(n)


def make_array(n):
    numbers = array.array("q")
    for _ in range(SIZE // 80):
        numbers.extend(range(10))
    kept.append(numbers)


def view(n):
    kept.append(memoryview(make(n))[:1])


handler = logging.handlers.MemoryHandler(10**9, flushLevel=logging.CRITICAL + 1)
logger = logging.getLogger("leaks")


def log(n):
    if not logger.handlers:
        logger.addHandler(handler)
    logger.error("%s", make(n))


def after_fork(n):
    kept.append(make(n))


if sys.argv[1] == "after_fork":
    if pid := os.fork():
        print(pid, flush=True)
        os.waitpid(pid, 0)
        sys.exit()
else:
    print(os.getpid(), flush=True)
leak = globals()[sys.argv[1]]
loop = asyncio.new_event_loop()
turn = 0
while True:
    leak(turn)
    garbage = [bytes(SIZE) for _ in range(3)]
    turn += 1
    time.sleep(0.002)
