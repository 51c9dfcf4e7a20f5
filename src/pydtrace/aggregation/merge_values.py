"""Merge the values of aggregations: of sessions, processes and hosts, and of two looks at one value.

Values are words, as an engine keeps them and as lines of JSON have them (docs/reference/json.md,
schema 2).

- Values merged are the value that one session would have that had seen all events.
- No other file merges values.
"""

from __future__ import annotations

from .buckets import MergeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Words = tuple[int, ...]


def merge_words(row: Any, several: Sequence[Sequence[int]]) -> Words:
    """The words of all that went into several values; those that clear() has left, or that nothing went into, are zeros.
    Raises MergeError."""
    filled = [words for words in several if any(words)]
    if len(filled) < 2:
        return tuple((filled or several)[0])
    if any(map(row.is_from_dtrace, filled)):
        raise MergeError(
            f"{row.function_name}() cannot be merged exactly: dtrace prints its value, not the sums behind it"
        )
    return tuple(row.merge_words(*filled))


def encode_words(row: Any, words: Sequence[int]) -> list[int]:
    """Words for JSON: of a distribution, behind its first ones, the number of each bucket that is not empty, and its count."""
    if not row.is_distribution:
        return list(words)
    found = list(words[: row.header_words])
    for bucket, count in enumerate(words[row.header_words :]):
        if count:
            found += (bucket, count)
    return found
