"""The columns of dtrace's tables and of trace(): bytes in, int and str out.

- Cells that dtrace aligned to the right are numbers; padded cells aligned to the left are strings.
- A line is understood as a whole or not at all.
- Widths: in tables, and in trace() except on DTrace for Linux, integers of 1, 2, 4 and 8 bytes take
  3, 5, 8 and 16 columns after a space. In trace() of DTrace for Linux they take 3, 5, 10 and 19
  (unsigned 20). A string key takes 50 after two spaces, a string of trace() 33 after two. A longer
  value takes as many columns as it needs.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    Cell = int | str

_SPACE, _ZERO = b" 0"
_NUMBER = re.compile(rb" ( {0,20}-?\d+)(?= |\n|\Z)")  # of 20 columns at most, see _is_number()
_LOOSE = re.compile(rb"  (\S|\S.*\S) {2,}(-?\d{1,20})\n?\Z")
_GAP = re.compile(rb" {2,}")
_INTEGER = re.compile(r"-?[0-9]{1,20}\Z")
_KEY_WIDTHS = frozenset((3, 5, 8, 16))
_TRACE_WIDTHS = _KEY_WIDTHS | {10, 19, 20}
_KEY_STRING, _TRACE_STRING = 50, 33
_SHAPES_LIMIT = 100


class RowShape:
    """The columns of a table's row, for the next rows: what read_cells() takes, parse_row() would take for the same.

    It begins with a string; its ints are in columns of the usual widths, its strings fit in theirs.
    """

    __slots__ = ("_match", "_widths")

    def __init__(self, widths: tuple[int, ...]) -> None:
        """widths: of each column, the int's width or 0 for a string."""
        parts = [
            rb" ( *-?(?:0|[1-9]\d{0,18}))"
            if width
            else b"  ([^-0-9 <=|\n][^\n:`]{%d})" % (_KEY_STRING - 1)
            for width in widths
        ]
        if not widths[-1]:
            parts[-1] = b"  ([^-0-9 <=|\n][^\n:`]{%d} )" % (
                _KEY_STRING - 2
            )  # a digit there may be a number's
        self._match = re.compile(rb"(?= |\n)".join(parts) + rb"\n\Z").match
        self._widths = widths

    def read_cells(self, line: bytes) -> tuple[Cell, ...] | None:
        """The cells, or None."""
        match = self._match(line)
        if match is None or b"---" in line:
            return None
        found: list[Cell] = []
        for text, width in zip(match.groups(), self._widths):
            if not width:
                found.append(decode_text(text.rstrip(b" ")))
            elif len(text) == width:
                found.append(int(text))
            else:
                return None
        return tuple(found)


_SHAPES: dict[
    tuple[int, ...], RowShape | None
] = {}  # widths: Shape, or None where such rows have to be read one by one


def _find_shape(widths: tuple[int, ...]) -> RowShape | None:
    shape = _SHAPES.get(widths)
    if shape is None and len(_SHAPES) < _SHAPES_LIMIT:
        shape = _SHAPES[widths] = RowShape(widths)
    return shape


def parse_row(line: bytes) -> tuple[tuple[Cell, ...] | None, RowShape | None]:
    """(cells of a row of an aggregation's table, values and keys alike, or None where the line is none; their Shape,
    or None)."""
    widths: list[int] = []
    found = _parse_cells(line, _KEY_STRING, _KEY_WIDTHS, widths)
    if (found is None or (found and found[-1].__class__ is str)) and (loose := _parse_loose(line)):
        found, widths = loose, []
    if found is None:
        return None, None
    usable = widths and len(widths) == len(found) and widths[0] == 0
    return tuple(found), _find_shape(tuple(widths)) if usable else None


def _parse_loose(line: bytes) -> list[Cell] | None:
    """A row whose columns have other widths, as in printed guides: at least two spaces between columns, a number last."""
    match = _LOOSE.match(line) if line.rstrip(b"\n")[-1:].isdigit() else None
    if not match:
        return None
    keys = [decode_text(part) for part in _GAP.split(match[1])]
    return [*(int(key) if _INTEGER.match(key) else key for key in keys), int(match[2])]


def parse_columns(data: bytes) -> list[Cell]:
    """The values of trace() in a row's data: a list; one str where they are no columns."""
    found = _parse_cells(data, _TRACE_STRING, _TRACE_WIDTHS)
    if found is not None:
        return found
    text = data.rstrip(b"\n")
    return [decode_text(text)] if text else []


def _parse_cells(
    line: bytes, width: int, widths: frozenset[int], shape: list[int] | None = None
) -> list[Cell] | None:
    """Cells from the left; a string that is longer than its column ends where the rest is cells again.  shape: a list for
    the widths of those that are as wide as their columns."""
    line = line[:-1] if line[-1:] == b"\n" else line
    found: list[Cell] = []
    at, end, match = 0, len(line), _NUMBER.match
    while at < end:
        number = match(line, at)
        if number and _is_number(number[1], widths):
            found.append(int(number[1]))
            if shape is not None and len(number[1]) in widths:
                shape.append(len(number[1]))
            at = number.end()
            continue
        if line[at : at + 2] != b"  " or line[at + 2 : at + 3] in (b"", b"\n"):
            return None if line[at:].strip(b" ") else found
        stop = at + 2 + width
        if stop < end and line[stop] != _SPACE:
            stop = _string_end(line, stop, widths)
        elif (
            line[stop + 1 : stop + 2].strip() and (longer := _string_end(line, stop, widths)) < end
        ):
            stop = longer  # the space there is one of its own
        elif shape is not None:
            shape.append(0)
        found.append(decode_text(line[at + 2 : stop].rstrip(b" ")))
        at = stop
    return found


def _string_end(line: bytes, stop: int, widths: frozenset[int]) -> int:
    """Where a string ends that is too long for its column: at the first space after which numbers or padding follow."""
    while True:
        stop = line.find(b" ", stop)
        if stop < 0:
            return len(line)
        number = _NUMBER.match(line, stop)
        if line[stop : stop + 2] == b"  " or (number and _is_number(number[1], widths)):
            return stop
        stop += 1


def _is_number(text: bytes, widths: frozenset[int]) -> bool:
    """Whether the digits stand as dtrace would have put them: to the right of a column, or wider than theirs."""
    digits = text.lstrip(b" ")
    size = len(text)
    if (size not in widths and digits != text) or size < 3 or len(digits) > 20:
        return False
    return digits[0] != _ZERO or len(digits) == 1


def decode_text(text: bytes) -> str:
    """Bytes as str; what is not UTF-8 as surrogates."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "surrogateescape")
