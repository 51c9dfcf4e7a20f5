"""Merge the native frames and the interpreter's frames of one thread into one stack, innermost
first.

- No frame of the interpreter is left out. Those without a native frame for their call, where the
  native stack could not be followed so far, come after it.
- Native frames end where they lead to no file's code: frame pointers can be anything in a program
  built without.
"""

from __future__ import annotations

import itertools

from . import python_frame_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class _Native:
    """As unwind.native_unwinder.interleave_frames() has them."""

    __slots__ = ("begin", "end", "name", "text")

    def __init__(self, text: str) -> None:
        self.text, self.name = text, text.partition("`")[2]
        self.begin = self.end = None


def interleave_texts(
    native: Sequence[str], texts: Sequence[str], words: Sequence[int]
) -> list[str]:
    from .native_unwinder import interleave_frames  # few scripts need it

    calls: list[tuple[list[str], int]] = [([], 0)]
    for text, word in zip(texts, words, strict=True):
        calls[-1][0].append(text)
        if python_frame_words.is_first(word):
            calls.append(([], 0))
    real = itertools.takewhile(lambda text: not text.startswith("0x"), native)
    found = interleave_frames([_Native(text) for text in real], [call for call in calls if call[0]])
    return [each if isinstance(each, str) else each.text for each in found]
