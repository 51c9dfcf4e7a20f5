"""Frames of a language's stack: words in the place of addresses, and their names.

In: words as c/consumer/consumer.c makes them of an event's stack (program/program.py, FRAME_), and the feed that the event came from.
Out: texts, as `pyusdt dump` has them.  Always: a function whose place is not known is "?"; other words are left to others.
"""

from __future__ import annotations

from pydtrace.process.maps import Mapping
from pydtrace.profile.stack_profile import Place
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TARGETS, _PLACES, _LINES = (
    1 << bits
    for bits in (
        p.FRAME_MARK_SHIFT - p.FRAME_TARGET_SHIFT,
        p.FRAME_TARGET_SHIFT - p.FRAME_PLACE_SHIFT,
        p.FRAME_PLACE_SHIFT,
    )
)
UNKNOWN = "?"
_KEPT = 1 << 16  # texts
_SEEN = (
    p.FRAME_MARK << p.FRAME_MARK_SHIFT | _PLACES - 1 << p.FRAME_PLACE_SHIFT
)  # no place has this number


class Names:
    """What was named stays so when the feed is closed, since keys of aggregations are printed after that.  words: of how many texts
    there may be words."""

    def __init__(self, words: int = _KEPT) -> None:
        self._room = words
        self._known: dict[int, str] = {}
        self._words: dict[str, int] = {}
        self._texts: dict[int, str] = {}  # of these
        self._codes: dict[int, tuple[Mapping | None, int]] = {}

    def word(self, text: str) -> int:
        """The word of a frame that came as a text; that of an unknown one where there are too many."""
        number = len(self._words)
        if text not in self._words and number < self._room:
            self._words[text] = _SEEN | number // _LINES << p.FRAME_TARGET_SHIFT | number % _LINES
            self._texts[self._words[text]] = text
        return self._words.get(text, p.FRAME_MARK << p.FRAME_MARK_SHIFT)

    def code(self, feed: Any, word: int) -> tuple[Mapping | None, int] | None:
        """Of a native frame: its file and the offset there; None and an address where it is no file's; None: it is none."""
        if word >> p.FRAME_MARK_SHIFT != p.FRAME_MARK_CODE:
            return None
        if word not in self._codes:
            found = _code(feed, word)
            if found is None or len(self._codes) >= 2 * _KEPT:
                return found or (None, 0)
            self._codes[word] = found
        return self._codes[word]

    def name(self, feed: Any, word: int) -> str | None:
        """The text of a frame; None: it is an address.  feed: a _tracer.Feed, or None where that is closed."""
        if word >> p.FRAME_MARK_SHIFT not in (p.FRAME_MARK, p.FRAME_MARK_FIRST):
            return None
        if word in self._texts:
            return self._texts[word]
        if word not in self._known:
            found = _text(feed, word)
            if found == UNKNOWN or len(self._known) >= 2 * _KEPT:
                return found
            self._known[word] = found
        return self._known[word]


def _code(feed: Any, word: int) -> tuple[Mapping | None, int] | None:
    target, place = (
        word >> p.FRAME_TARGET_SHIFT & _TARGETS - 1,
        word >> p.FRAME_PLACE_SHIFT & _PLACES - 1,
    )
    try:
        _, identity, path, part = feed.place(target, place)
    except (AttributeError, LookupError):
        return None
    offset = part << p.FRAME_PLACE_SHIFT | word & _LINES - 1
    device, _, inode = identity.partition(" ")
    if not identity:
        return None, offset
    try:
        return Mapping("", "", "0", device, inode, path), offset
    except ValueError:  # a process may say anything of itself
        return None, 0


def _text(feed: Any, word: int) -> str:
    target, place = (
        word >> p.FRAME_TARGET_SHIFT & _TARGETS - 1,
        word >> p.FRAME_PLACE_SHIFT & _PLACES - 1,
    )
    try:
        _, function, file, _ = feed.place(target, place)
    except (AttributeError, LookupError):
        return UNKNOWN
    return Place((function, file, word & _LINES - 1 or None)).text
