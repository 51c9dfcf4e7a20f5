"""The standard streams of a command: what it does where they are closed, or full.

Always: no file of ours gets the descriptor of a closed stream, so that what is printed can not end in it; what the standard
error does not take is nobody's.
"""

import os
import sys


def settle():
    """At the beginning, before anything is opened."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:  # /dev/null takes its place, open the wrong way: it fails as a closed one does
            os.open(os.devnull, (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)[fd] | os.O_CLOEXEC)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:  # print() would take the standard output instead
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
