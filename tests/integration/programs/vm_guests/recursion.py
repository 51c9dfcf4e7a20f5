"""As deep as it goes: by calls, through functions of C, through generators."""

import sys

from counting import step, total

DEEP = 30_000 if sys.version_info >= (3, 11) else 5_000


def down(n):
    return down(n + 1) if n < DEEP else n


def reach(n):
    global deepest
    deepest = n
    reach(n + 1)


def through_c(n):
    global deepest
    deepest = n
    list(map(through_c, [n + 1]))


def generators(n):
    if n:
        yield from generators(n - 1)
    yield n


sys.setrecursionlimit(10**6)
print(down(0))
sys.setrecursionlimit(500)
for each in (reach, through_c):
    try:
        each(0)
    except RecursionError as error:
        print(type(error).__name__, deepest)
print(len(list(generators(100))))
step()
total()
