"""Threads in all sorts of stacks, and what the program itself says about them.

argv: threads, seed.  For each line that it is told: lets its threads go to new stacks, and when they stand still says them as JSON:
{thread's ident: [[function, line], …] innermost first}.
"""

import functools
import json
import random
import sys
import threading
import time

THREADS = int(sys.argv[1])
RANDOM = random.Random(int(sys.argv[2]))


class Round:
    """Threads stand still in it until it is over."""

    def __init__(self):
        self.standing = threading.Semaphore(0)
        self.over = threading.Lock()
        self.over.acquire()
        self.go_on = threading.Semaphore(0)


ROUND = Round()


def stand(steps):
    if steps:
        return further(steps)
    here = ROUND
    here.standing.release()
    here.over.acquire()
    here.over.release()
    return 0


WAITS = stand.__code__.co_firstlineno + 5


def plain(steps):
    return stand(steps)


def recursive(steps, n=3):
    if n:
        return recursive(steps, n - 1)
    return stand(steps)


def generator(steps):
    def inner():
        yield stand(steps)

    yield from inner()


def through_c(steps):
    return max([1], key=lambda _: stand(steps))


def comprehension(steps):
    return [stand(steps) for _ in (1, 1)[:1]]


def caught(steps):
    try:
        raise ValueError("é")
    except ValueError:
        return stand(steps)
    finally:
        pass


async def task(steps):
    return await nested(steps)


async def nested(steps):
    return stand(steps)


def coroutine(steps):
    made = task(steps)
    try:
        made.send(None)
    except StopIteration:
        pass


class Klasse:
    @property
    def eigenschaft(self):
        return stand(self.steps)

    def __call__(self, steps, *, größe=1):
        self.steps = steps
        return self.eigenschaft


KINDS = [
    plain,
    recursive,
    lambda steps: list(generator(steps)),
    through_c,
    comprehension,
    caught,
    coroutine,
    Klasse(),
    functools.partial(Klasse(), größe=2),
    lambda steps: eval("stand(steps)", {"stand": stand, "steps": steps}),
]


def further(steps):
    return KINDS[steps[0]](steps[1:])


def live():
    while True:
        here = ROUND
        stand([RANDOM.randrange(len(KINDS)) for _ in range(RANDOM.randrange(12))])
        here.go_on.acquire()


def frames(frame):
    while frame:
        code = frame.f_code
        yield [getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno]
        frame = frame.f_back


def stands(frame):
    """Whether a thread, of which this is the innermost frame, has come to where it waits: nothing of its stack changes any more, even if it
    has not got a processor yet to fall asleep."""
    return frame.f_code is stand.__code__ and frame.f_lineno == WAITS


def found():
    """The stacks of all threads, when they stand still: who has just said that it does has a few steps to go."""
    while True:
        seen = {ident: frame for ident, frame in sys._current_frames().items() if ident != MAIN}
        if all(stands(frame) for frame in seen.values()):
            return {ident: list(frames(frame)) for ident, frame in seen.items()}
        time.sleep(0.001)


MAIN = threading.get_ident()
for _ in range(THREADS):
    threading.Thread(target=live, daemon=True).start()
print("ready")
for line in sys.stdin:
    for _ in range(THREADS):
        ROUND.standing.acquire()
    print(json.dumps(found()))
    sys.stdin.readline()
    before, ROUND = ROUND, Round()
    before.over.release()
    for _ in range(THREADS):
        before.go_on.release()
