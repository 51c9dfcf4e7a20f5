"""--ready: who waits for pydtrace is told when the probes are on.

In: the number of a file descriptor, from who started us.  Out: a line on the standard error, or a newline on that descriptor.
Always: the command of -c does not inherit the descriptor, so that its end comes with ours where tracing never begins; a reader that
is gone is no failure.
"""

import contextlib
import os
import sys

from .arguments import STDERR
from .usage import PROGRAM


def hold(fd):
    """At the beginning, while no other file can have the number.  OSError where it is not open."""
    if fd is not None and fd != STDERR:
        os.set_inheritable(fd, False)


def tell(fd):
    if fd == STDERR:
        print(f"{PROGRAM}: ready", file=sys.stderr, flush=True)
    elif fd is not None:
        with contextlib.suppress(OSError):
            os.write(fd, b"\n")
        with contextlib.suppress(OSError):
            os.close(fd)
