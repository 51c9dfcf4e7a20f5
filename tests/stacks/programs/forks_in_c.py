"""A process that was forked in C, so that CPython does not know it: the child says its id, computes, and ends with its parent.

The parent has a thread that waits, which the child does not have.
"""

import ctypes
import os
import threading

try:
    import pyusdt
except ImportError:  # of another version
    pyusdt = None

PR_SET_PDEATHSIG = 1
libc = ctypes.PyDLL(None)  # fork() with the GIL, as a server's


def waits():
    threading.Event().wait()


def works():
    if pyusdt:
        pyusdt.p(1, 2)


def computes():
    while True:
        for _ in range(1000):
            pass
        works()


threading.Thread(target=waits, daemon=True).start()
parent = os.getpid()
if libc.fork() == 0:
    libc.prctl(PR_SET_PDEATHSIG, 9)
    print(os.getpid())
    if os.getppid() == parent:
        computes()
input()
