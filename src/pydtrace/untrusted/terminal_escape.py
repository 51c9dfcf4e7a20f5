"""Words of strangers on a terminal: names out of files and processes that may be anybody's.

In: text.  Out: the same, with an escape, as Python writes it, for each character that is none to be seen: control characters
(a terminal obeys them, a newline forges a line) and what turns the direction of writing.  Bytes that were not UTF-8 (surrogates)
stay: how they are written is the business of who writes them.
"""

from __future__ import annotations


def decode_source_text(text: str) -> str:
    """Latin-1 text of a script's source as the user wrote it: UTF-8 where it is that."""
    return text.encode("latin-1").decode("utf-8", "replace")


def escape_for_terminal(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        [
            c
            if c.isprintable() or "\udc80" <= c <= "\udcff"
            else c.encode("unicode_escape").decode()
            for c in text
        ]
    )
