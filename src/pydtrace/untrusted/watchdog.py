# mypy: ignore-errors
"""An end to what a process can make last as long as it likes.

A process can arrange that who reads its memory waits for it, and so deeply in the kernel that no signal but the last one helps.
In: how long nothing may come about, and what to say.  Always: after that time this process says it and ends, whatever it is doing.
"""

import contextlib
import os
import signal
import threading
import time

SECONDS = 10
_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


@contextlib.contextmanager
def watched(message, seconds=SECONDS):
    """For commands alone: it ends the process.  Gives what is to be called whenever something has come about."""
    done, last = threading.Event(), [time.monotonic()]

    def watch():
        while not done.wait(seconds / 10):
            if time.monotonic() - last[0] > seconds:
                os.write(2, f"{message}\n".encode("utf-8", "replace"))
                os._exit(1)

    def beat():
        last[0] = time.monotonic()

    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, _STOPS
    )  # else the new thread takes them, while the other one holds a thread of the process
    threading.Thread(target=watch, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield beat
    finally:
        done.set()
