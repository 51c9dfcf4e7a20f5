"""The options of the commands that read stacks: pyusdt dump, pyusdt profile.

In: an argparse parser, and what the user wrote.  Out: options; an error that says what is wanted.
"""

from __future__ import annotations

import argparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_FRAMES = 16384  # PYUSDT_WALK_FRAMES of c/stacks/walk.h
MOST_PID = (1 << 31) - 1


def number(most: int) -> Callable[[str], int]:
    """The type of an argument: from 1 to `most`."""

    def check(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= most):
            raise argparse.ArgumentTypeError(f"a number from 1 to {most} is wanted, not {text!r}")
        return int(text)

    return check


def dump(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", type=number(MOST_PID), metavar="PID", help="a process with CPython 3.9 to 3.15 in it")
    parser.add_argument("--frames", type=number(MOST_FRAMES), default=1000, metavar="N", help="of a stack, the innermost; default: 1000")
    parser.add_argument("--json", action="store_true", help="one object of JSON")
