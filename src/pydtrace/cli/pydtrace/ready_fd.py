"""--ready: inform the program that started pydtrace that the probes are enabled.

It gets a newline on the file descriptor that it has named, or a line on the standard error.

- The command of -c does not inherit the descriptor. So its reader sees the end of the file if
  tracing never begins.
- A reader that has gone is no failure.
"""

from __future__ import annotations

import contextlib
import os
import sys

from pydtrace.cli.parsing.arguments import STDERR

from .usage import PROGRAM


def reserve_descriptor(fd: int | None) -> None:
    """Called at the beginning, while no other file can have the number.  OSError if the descriptor is not open."""
    if fd is not None and fd != STDERR:
        os.set_inheritable(fd, False)


def notify_ready(fd: int | None) -> None:
    if fd == STDERR:
        print(f"{PROGRAM}: ready", file=sys.stderr, flush=True)
    elif fd is not None:
        with contextlib.suppress(OSError):
            os.write(fd, b"\n")
        with contextlib.suppress(OSError):
            os.close(fd)
