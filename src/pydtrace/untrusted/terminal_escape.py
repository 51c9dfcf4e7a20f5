"""Escape untrusted text for a terminal: names from files and processes that may be anybody's.

Each character that is not printable gets an escape, as Python writes it: control characters (a
terminal obeys them, a newline forges a line) and those that turn the direction of writing. Bytes
that were not UTF-8 (surrogates) stay.
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
