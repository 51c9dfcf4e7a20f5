"""The standard streams of a command that was started with some of them closed.

- No file gets the descriptor of a closed stream, so that no output can end in that file.
"""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Called at the beginning, before anything is opened."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:  # /dev/null takes its place, opened in the wrong direction: using it fails, as with a closed stream
            os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)[fd] | os.O_CLOEXEC)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:  # print() would take the standard output instead
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
