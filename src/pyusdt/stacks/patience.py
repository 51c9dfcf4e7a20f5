"""An end to what a process can make last as long as it likes.

A process can arrange that who reads its memory waits for it, and so deeply in the kernel that no signal but the last one helps.
In: how long a block may take, and what to say.  Always: after that time this process says it and ends, whatever it is doing.
"""

import contextlib
import os
import threading

SECONDS = 10


@contextlib.contextmanager
def at_most(message, seconds=SECONDS):
    """For commands alone: it ends the process."""

    def end():
        os.write(2, f"{message}\n".encode("utf-8", "replace"))
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
