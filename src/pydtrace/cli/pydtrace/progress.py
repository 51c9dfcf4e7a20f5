"""Show the progress of long work, such as attaching to thousands of probes, as one line on the
standard error.

- Nothing is shown where that is no terminal, nor in the first two seconds.
- The line is removed before other output is printed.
"""

from __future__ import annotations

import time

from .usage import PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_FIRST, _NEXT = 2.0, 0.2  # s


class Progress:
    """stream: the standard error; alone: nothing else is written on its terminal meanwhile."""

    def __init__(self, stream: TextIO, owns_terminal: bool) -> None:
        self._stream, self._is_shown = stream, stream.isatty()
        self._owns_terminal, self._line_is_visible = owns_terminal, False
        self._due = time.monotonic() + _FIRST

    def show_attaching(self, done: int, total: int) -> None:
        """Before anything is printed."""
        self._show_line(f"attaching, {done} of {total} probes")
        if done == total:
            self.clear()

    def show_replaying(self, at: int, span: tuple[int, int] | None) -> None:
        if self._owns_terminal and span and span[1] > span[0]:
            self._show_line(f"replaying, {min(100, 100 * (at - span[0]) // (span[1] - span[0]))} %")

    def _show_line(self, text: str) -> None:
        now = time.monotonic()
        if self._is_shown and now >= self._due:
            self._due, self._line_is_visible = now + _NEXT, True
            print(f"\r{PROGRAM}: {text}\x1b[K", end="", file=self._stream, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._line_is_visible:
            self._line_is_visible = False
            print("\r\x1b[K", end="", file=self._stream, flush=True)
