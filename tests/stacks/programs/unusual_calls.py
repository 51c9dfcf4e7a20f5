"""Calls that leave Python's own frames and come back, code and threads that end: argv[1] of the functions below, again and again.

innermost() runs in each of them.  It says "ready" when it is about to begin, and runs until it is killed."""

import ctypes
import functools
import itertools
import os
import sys
import threading


def innermost(n=3000):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def compare(a, b):
    innermost()
    return a[0] - b[0]


def generator():
    for _ in range(20):
        yield innermost()


def generator_in_c():
    """A generator that C functions run: map, chain, filter, sum."""
    return sum(filter(None, map(abs, itertools.chain(generator(), generator()))))


def called_back():
    """sort() of the C library calls Python by a pointer to a function, and list.sort() by a key."""
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int)
    )
    numbers = (ctypes.c_int * 8)(*range(8, 0, -1))
    ctypes.CDLL(None).qsort(numbers, 8, 4, kind(compare))
    sorted(range(5), key=functools.partial(lambda n: innermost()))


NUMBERS = itertools.count()


def freed_code():
    """Each function is gone after its only call; the next has its memory, mostly, and never the same name."""
    for n in itertools.islice(NUMBERS, 50):
        names = {"innermost": innermost}
        exec(  # noqa: S102 - that is what it is about
            compile(
                f"def made_{n}():\n    return innermost(5000)\nmade_{n}()", f"<made_{n}>", "exec"
            ),
            names,
        )


def switches():
    """Two greenlets take turns: each has frames of its own on the one thread."""
    import greenlet

    def ping():
        for _ in range(10):
            innermost()
            other.switch()

    def pong():
        while True:
            innermost()
            one.switch()

    one, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
    one.switch()


def gevents():
    """gevent's greenlets take turns, one of them as a thread that its patch of threading has made."""
    from gevent import monkey

    monkey.patch_all()
    import gevent

    def green():
        for _ in range(5):
            innermost()
            gevent.sleep(0)

    thread = threading.Thread(target=innermost)
    thread.start()
    gevent.joinall([gevent.spawn(green) for _ in range(3)])
    thread.join()


def cython():
    """A class that Cython has compiled (its own scanner of texts) calls an action of ours for each token."""
    from io import StringIO

    from Cython.Plex import Any, Lexicon, Scanner

    def action(scanner, text):
        innermost()
        return text

    scanner = Scanner(Lexicon([(Any("abc"), action)]), StringIO("abc" * 10))
    for _ in range(30):
        scanner.read()


def cython_generator():
    """A generator of Cython's, which has no frame of Python's, calls ours each time it goes on; in_cython is made by the test."""
    import in_cython

    return sum(in_cython.each(innermost, 20))


def deep(n=10000):
    """More frames than a profile looks at."""
    return deep(n - 1) if n else innermost()


def threads_that_end():
    threads = [threading.Thread(target=innermost, args=(30000,)) for _ in range(5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def forks():
    child = os.fork()
    if not child:
        innermost(30000)
        os._exit(0)
    innermost(30000)
    os.waitpid(child, 0)


sys.setrecursionlimit(20000)
print("ready")
while True:
    globals()[sys.argv[1]]()
