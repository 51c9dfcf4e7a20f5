"""A watchdog for commands: it ends this process if a target makes it wait too long.

A process can make a reader of its memory wait so deeply in the kernel that no signal but SIGKILL
helps.

- After the timeout this process prints a message and ends, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMEOUT = 10
_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


@contextlib.contextmanager
def watchdog(message: str, seconds: float = TIMEOUT) -> Iterator[Callable[[], None]]:
    """For commands alone: it ends the process.  Gives what is to be called whenever something has come about."""
    done, last = threading.Event(), [time.monotonic()]

    def watch() -> None:
        while not done.wait(seconds / 10):
            if time.monotonic() - last[0] > seconds:
                os.write(2, f"{message}\n".encode("utf-8", "replace"))
                os._exit(1)

    def beat() -> None:
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
