"""Colour in messages and in the lists of `pyusdt`. pydtrace's standard output has none: it is
dtrace's, byte for byte.

- Without colour a text does not change.
- NO_COLOR (no-color.org), TERM=dumb and a stream that is no terminal mean no colour, unless
  --color=always asks for it.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

WHEN = ("auto", "always", "never")
BOLD, RED, GREEN, YELLOW, CYAN = 1, 31, 32, 33, 36  # SGR's numbers, ECMA-48

# Texts, which are compiled when a line is painted: most commands paint none, and start sooner.
_LOST = r"\bdrops?\b|\bout of order\b|\blost\b"
_UNDERLINE = r"\s*[~^]+\s*"


_on = False


def settle(when: str, stream: TextIO) -> None:
    """Decides whether there is colour.  when: a word of WHEN; stream: the one that "auto" asks whether it is a terminal."""
    global _on
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    _on = when == "always" or (when == "auto" and not plain)


def paint(number: int, text: str) -> str:
    return f"\x1b[{number}m{text}\x1b[0m" if _on else text


def _line(line: str, program: str) -> str:
    if line.startswith(f"{program}: "):
        name, rest = line[: len(program) + 1], line[len(program) + 1 :]
        return paint(BOLD, name) + (paint(RED, rest) if re.search(_LOST, rest) else rest)
    if line.lstrip().startswith("hint:"):
        return paint(CYAN, line)
    return paint(RED, line) if re.fullmatch(_UNDERLINE, line) else line


def message(text: str, program: str) -> str:
    """A message of pydtrace: the command's name is bold, losses and the underlines of errors are red, a hint is cyan."""
    return "\n".join(_line(line, program) for line in text.split("\n")) if _on else text
