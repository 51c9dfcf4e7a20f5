"""Two threads that wait for each other's lock, one that waits for one of these; the main thread waits for a line.  argv: Lock or RLock."""

import sys
import threading

A, B, GIVEN_BACK = (getattr(threading, sys.argv[1])() for _ in range(3))
BOTH = threading.Barrier(2)


def first():
    with GIVEN_BACK:
        pass
    for _ in range(2):
        with GIVEN_BACK:
            pass
        with A:
            BOTH.wait()
            with B:
                pass


def second():
    with B:
        inner()


def inner():
    try:
        BOTH.wait()
        THIRD.start()
        A.acquire()
    finally:
        pass


def third():
    with A:
        pass


THIRD = threading.Thread(target=third, daemon=True)
for target in (first, second):
    threading.Thread(target=target, daemon=True).start()
print("ready")
input()
