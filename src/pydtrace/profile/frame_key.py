"""A function in a stack, as profiles, dumps and `jstack()` name it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .short_paths import ShortPaths

_WITH_LINE = re.compile(r"(.*?) \((.*):(\d+)\)", re.DOTALL)


class FrameKey(tuple[str, str, "int | None"]):
    """(function, file, line): a function in a stack; line None: the function as a whole."""

    __slots__ = ()

    @classmethod
    def parse_text(cls, text: str) -> FrameKey:
        """Of a text with a line."""
        found = _WITH_LINE.fullmatch(text)
        return cls((found[1], found[2], int(found[3])) if found else (text, "", None))

    @property
    def function(self) -> str:
        return self[0]

    @property
    def file(self) -> str:
        return self[1]

    @property
    def line(self) -> int | None:
        return self[2]

    @property
    def text(self) -> str:
        """As all outputs show it; what is no function of a file has a name in brackets."""
        function, file, line = self
        where = f"{file}:{line}" if line is not None else file
        return f"{function} ({where})" if file else function

    def shorten(self, paths: ShortPaths) -> FrameKey:
        """It with a short path."""
        return FrameKey((self[0], paths.shorten(self[1]), self[2]))


def pseudo_frame(what: str) -> FrameKey:
    """What stands in a stack in the place of what could not be seen."""
    return FrameKey((f"[{what}]", "", None))
