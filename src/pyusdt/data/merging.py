"""Values of aggregations merged: those of sessions, processes and hosts, and what came of a value between two looks.

In: aggregating functions (dlang/builtins/aggregation.py), words as an engine keeps them, or as lines of JSON have them
(docs/guide/json.md, schema 2).  Out: words.  Always: what several counted, merged, is what one would have counted that saw it all;
who merges values does it here.
"""

from __future__ import annotations

import struct

from .buckets import MergeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Words = tuple[int, ...]


def together(row: Any, several: Sequence[Sequence[int]]) -> Words:
    """The words of all that went into several values; those that clear() has left, or that nothing went into, are zeros.
    Raises MergeError."""
    filled = [words for words in several if any(words)]
    if len(filled) < 2:
        return tuple((filled or several)[0])
    if any(map(row.is_told, filled)):
        raise MergeError(f"of {row.called}() dtrace tells the value, not what it was made of: it can not be merged exactly")
    return tuple(row.merged(*filled))


def said(row: Any, words: Sequence[int]) -> list[int]:
    """Words for JSON: of a distribution, behind its first ones, the number of each bucket that is not empty, and its count."""
    if not row.is_distribution:
        return list(words)
    found = list(words[: row.head])
    for bucket, count in enumerate(words[row.head :]):
        if count:
            found += (bucket, count)
    return found


def reader(row: Any, params: Any) -> Callable[[Any], Words]:
    """A function from what said() gave, maybe of a stranger, to the words.  It raises ValueError where they can not be words of this
    function: too many, no integers, more than 64 bits, less than no data points."""
    return _distribution(row, row.words(params)) if row.is_distribution else _number(row.words(params))


def _number(size: int) -> Callable[[Any], Words]:
    packed = struct.Struct(f"={size}q").pack

    def read(words: Any) -> Words:
        try:
            packed(*words)
            if words[0] >= 0:
                return tuple(words)
        except (struct.error, TypeError):
            pass
        raise ValueError(f"{size} words of 64 bits are wanted")

    return read


def _distribution(row: Any, size: int) -> Callable[[Any], Words]:
    head = row.head
    empty = [0] * (size - head)
    first = _number(head)

    def read(words: Any) -> Words:
        try:
            counts = empty.copy()
            for bucket, count in zip(words[head::2], words[head + 1 :: 2], strict=True):
                if bucket < 0:
                    raise ValueError
                counts[bucket] = count
            struct.pack(f"={size - head}q", *counts)
            return *first(words[:head]), *counts
        except (struct.error, TypeError, IndexError, ValueError):
            raise ValueError(f"{head} words are wanted, and pairs of the number of a bucket and its count") from None

    return read
