"""Colour, where a person looks: in messages, and in what `pyusdt` lists.  What pydtrace writes on the standard output has none: it is
dtrace's, byte for byte.

In: --color's word, a stream, the environment.  Out: text.  Always: without colour a text is as it was; NO_COLOR (no-color.org), a TERM
that is "dumb" and a stream that is no terminal mean no colour, unless --color=always asks for it.
"""

import os
import re

WHEN = ("auto", "always", "never")
BOLD, RED, GREEN, YELLOW, CYAN = 1, 31, 32, 33, 36  # SGR's numbers, ECMA-48

_LOST = re.compile(r"\bdrops?\b|\bout of order\b|\blost\b")
_UNDERLINE = re.compile(r"\s*[~^]+\s*")


_on = False


def settle(when, stream):
    """Decides whether there is colour: when is a word of WHEN; a stream is what "auto" looks at."""
    global _on
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    _on = when == "always" or (when == "auto" and not plain)


def paint(number, text):
    return f"\x1b[{number}m{text}\x1b[0m" if _on else text


def _line(line, program):
    if line.startswith(f"{program}: "):
        name, rest = line[: len(program) + 1], line[len(program) + 1 :]
        return paint(BOLD, name) + (paint(RED, rest) if _LOST.search(rest) else rest)
    if line.lstrip().startswith("hint:"):
        return paint(CYAN, line)
    return paint(RED, line) if _UNDERLINE.fullmatch(line) else line


def message(text, program):
    """A message of pydtrace: its name is bold, what was lost and what is underlined red, a hint cyan."""
    return "\n".join(_line(line, program) for line in text.split("\n")) if _on else text
