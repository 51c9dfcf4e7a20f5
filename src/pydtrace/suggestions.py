"""The name that a misspelt one most likely means, and the text of such a hint.

- dtrace's message comes first, unchanged.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


def closest_match(name: str, known: Collection[str]) -> str | None:
    """The one of the known names that is most like it, or None.  Capitals, and _ for -, make the least difference."""
    from difflib import get_close_matches  # which nobody needs who makes no mistake

    plain = {_normalize_name(each): each for each in known}
    found = get_close_matches(_normalize_name(name), list(plain), 1, 0.7)
    return plain[found[0]] if found else None


def _normalize_name(name: str) -> str:
    return name.lower().replace("_", "-")


def did_you_mean(name: str, known: Collection[str]) -> str | None:
    """The same, asked as a question; None for a name that is right."""
    found = None if name in known else closest_match(name, known)
    return f"did you mean {found}?" if found else None


def append_hint(message: str, hint: str | None) -> str:
    """A message of dtrace's and our hint, if there is one, in a line behind it."""
    return f"{message}\nhint: {hint}" if hint else message
