"""D source text and positions in it.

- `text` has one character for each byte (latin-1), so offsets, string literals and output are
  exact for any input.
- The preprocessor's `# line "file"` markers change the names of lines and nothing else.
"""

from __future__ import annotations

from bisect import bisect_right

from pydtrace.dlang.compiler_limits import SizeLimits


class Source:
    """A text to compile.

    text: one character a byte; name: the file's name, None for a command-line clause;
    what: how messages call it ("script" or "probe specifier"); budget: limits.Budget of the program.
    """

    __slots__ = ("text", "name", "kind", "limits", "_starts", "_markers", "_marked", "_depth")

    def __init__(self, text: str | bytes, name: str | None = None) -> None:
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogateescape")
        self.text = text.decode("latin-1")
        self.name = name
        self.kind = "probe specifier" if name is None else "script"
        self.limits = SizeLimits()
        self._starts: list[int] | None = (
            None  # offset of the first character of each line, when first asked
        )
        self._markers: list[
            tuple[int, str | None, int]
        ] = []  # (the number of the line after the marker, file or None, how many files deep it is included)
        self._marked: list[int] = []  # of each of them the physical line index
        self._depth = 0

    def mark_line(self, offset: int, number: int, file: str | None, deeper: int = 0) -> None:
        """Note a line marker: the line after the one of `offset` is `number` of `file`.  deeper: 1 where that file is
        included there, -1 where the one before has ended."""
        self._depth = max(0, self._depth + deeper)
        self._marked.append(self.line_index(offset) + 1)
        self._markers.append((number, file, self._depth))

    def _find_marker(self, row: int) -> tuple[int, int, str | None, int]:
        """(physical line index, number, file, depth) of the last marker before a line."""
        last = bisect_right(self._marked, row) - 1
        return (self._marked[last], *self._markers[last]) if last >= 0 else (0, 1, None, 0)

    def is_included(self, offset: int) -> bool:
        """Whether what stands there is of a file that the preprocessor has put in."""
        return self._find_marker(self.line_index(offset))[3] > 0

    def _line_starts(self) -> list[int]:
        starts = self._starts
        if starts is None:
            starts = [0]
            find = self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._starts = starts
        return starts

    def line_index(self, offset: int) -> int:
        """Index of the physical line of an offset, from 0."""
        return bisect_right(self._line_starts(), offset) - 1

    def find_position(self, offset: int) -> tuple[str | None, int, int]:
        """(file or None, line, column) of an offset; file is None in the main text."""
        row = self.line_index(offset)
        column = offset - self._line_starts()[row] + 1
        first, number, file, _ = self._find_marker(row)
        return file, number + row - first, column

    def line_text(self, offset: int) -> str:
        """The whole physical line of an offset, without its line end."""
        start = self._line_starts()[self.line_index(offset)]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


class Location:
    """Where something stands: characters start … end of source.  mark: how far dtrace's own
    parser has read when it makes the node, which is the line that its messages name."""

    __slots__ = ("source", "start", "end", "mark")

    def __init__(self, source: Source, start: int, end: int, mark: int) -> None:
        self.source, self.start, self.end, self.mark = source, start, end, mark

    @property
    def file(self) -> str | None:
        return self.source.find_position(self.start)[0]

    @property
    def line(self) -> int:
        return self.source.find_position(self.start)[1]

    @property
    def column(self) -> int:
        return self.source.find_position(self.start)[2]

    @property
    def text(self) -> str:
        """It, as the script writes it."""
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        file, line, column = self.source.find_position(self.start)
        return f"{file or self.source.name or '-n'}:{line}:{column}"

    __repr__ = __str__
