"""Frames of Python and Erlang stacks: words that stand for addresses, and their names.

- The consumer in C makes the words of an event's stack (FRAME_ in program/program.py).
- Names have the form of `pyusdt dump`; a function whose code location is unknown is "?".
"""

from __future__ import annotations

from pydtrace.process.maps import Mapping
from pydtrace.profile.frame_key import FrameKey
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
UNKNOWN_FRAME = "?"
_CACHE_LIMIT = 1 << 16  # texts
_SAMPLED_FRAME = (
    p.FRAME_MARK << p.FRAME_MARK_SHIFT | _PLACES - 1 << p.FRAME_PLACE_SHIFT
)  # no place has this number


class FrameNames:
    """What was named stays so when the feed is closed, since keys of aggregations are printed after that.  words: of how many texts
    there may be words."""

    def __init__(self, max_words: int = _CACHE_LIMIT) -> None:
        self._max_words = max_words
        self._names_by_word: dict[int, str] = {}
        self._words_by_text: dict[str, int] = {}
        self._texts_by_word: dict[int, str] = {}  # of these
        self._code_by_word: dict[int, tuple[Mapping | None, int]] = {}

    def intern_text(self, text: str) -> int:
        """The word of a frame that came as a text; that of an unknown one where there are too many."""
        number = len(self._words_by_text)
        if text not in self._words_by_text and number < self._max_words:
            self._words_by_text[text] = (
                _SAMPLED_FRAME | number // _LINES << p.FRAME_TARGET_SHIFT | number % _LINES
            )
            self._texts_by_word[self._words_by_text[text]] = text
        return self._words_by_text.get(text, p.FRAME_MARK << p.FRAME_MARK_SHIFT)

    def find_code(self, feed: Any, word: int) -> tuple[Mapping | None, int] | None:
        """Of a native frame: its file and the offset there; None and an address where it is no file's; None: it is none."""
        if word >> p.FRAME_MARK_SHIFT != p.FRAME_MARK_CODE:
            return None
        if word not in self._code_by_word:
            found = _decode_code(feed, word)
            if found is None or len(self._code_by_word) >= 2 * _CACHE_LIMIT:
                return found or (None, 0)
            self._code_by_word[word] = found
        return self._code_by_word[word]

    def find_name(self, feed: Any, word: int) -> str | None:
        """The text of a frame; None: it is an address.  feed: a _tracer.Feed, or None where that is closed."""
        if word >> p.FRAME_MARK_SHIFT not in (p.FRAME_MARK, p.FRAME_MARK_FIRST):
            return None
        if word in self._texts_by_word:
            return self._texts_by_word[word]
        if word not in self._names_by_word:
            found = _decode_text(feed, word)
            if found == UNKNOWN_FRAME or len(self._names_by_word) >= 2 * _CACHE_LIMIT:
                return found
            self._names_by_word[word] = found
        return self._names_by_word[word]


def _decode_code(feed: Any, word: int) -> tuple[Mapping | None, int] | None:
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


def _decode_text(feed: Any, word: int) -> str:
    target, place = (
        word >> p.FRAME_TARGET_SHIFT & _TARGETS - 1,
        word >> p.FRAME_PLACE_SHIFT & _PLACES - 1,
    )
    try:
        _, function, file, _ = feed.place(target, place)
    except (AttributeError, LookupError):
        return UNKNOWN_FRAME
    return FrameKey((function, file, word & _LINES - 1 or None)).text
