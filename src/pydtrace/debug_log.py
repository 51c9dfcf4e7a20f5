"""What pydtrace does, step by step, to find out why it does it: under `-x debug`, or with DTRACE_DEBUG in the environment.

In: messages.  Out: lines on the standard error as dtrace's libraries write them.  Always: nothing is written, and nothing is
computed for it, while `on` is false.
"""

import sys
import time

on = False


def log(message: str, *values: object) -> None:
    """Write a line; values: for the % of the message."""
    if on:
        print(f"pydtrace DEBUG {int(time.time())}: {message % values}", file=sys.stderr, flush=True)
