"""What pydtrace does step by step, on the standard error, with `-x debug` or DTRACE_DEBUG in the
environment.

- Nothing is written or computed while `on` is false.
"""

import sys
import time

on = False


def log(message: str, *values: object) -> None:
    """Write a line; values: for the % of the message."""
    if on:
        print(f"pydtrace DEBUG {int(time.time())}: {message % values}", file=sys.stderr, flush=True)
