"""Greenlets that switch in the middle of calls, raise into each other, are killed, and are collected while they wait."""

import gc

import greenlet
from counting import in_threads, step, total


def deep(n):
    step()
    return deep(n - 1) if n else greenlet.getcurrent().parent.switch("deep")


def generator():
    for _ in range(3):
        yield greenlet.getcurrent().parent.switch(step())


def raises():
    try:
        greenlet.getcurrent().parent.switch("waits")
    except KeyError:
        step()
        raise ValueError("raised") from None


def work():
    """Three that wait while the others run."""
    waiting = [greenlet.greenlet(deep) for _ in range(3)]
    heard = [each.switch(n) for n, each in enumerate(waiting)]
    heard += [each.switch(n) for n, each in enumerate(reversed(waiting))]
    lazy = greenlet.greenlet(lambda: list(generator()))
    while not lazy.dead:
        heard.append(lazy.switch())
    failing = greenlet.greenlet(raises)
    heard.append(failing.switch())
    try:
        failing.throw(KeyError("thrown"))
    except ValueError as error:
        heard.append(str(error))
    forgotten = greenlet.greenlet(deep)
    forgotten.switch(50)
    del forgotten
    killed = greenlet.greenlet(deep)
    killed.switch(5)
    heard.append(type(killed.throw()).__name__)
    return heard


print(work())
in_threads(4, work)
for _ in range(200):
    work()
gc.collect()
total()
