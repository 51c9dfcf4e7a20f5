"""The tables of -x agghist, a bar for each count, and -x aggpack, a line for each distribution.

- They are those of dtrace on illumos, FreeBSD and macOS; the one on Linux has neither.
- What has no such table (other functions, a count without a key) is printed elsewhere.
"""

from __future__ import annotations

import os

from pydtrace.aggregation.int64 import divide_like_dtrace

from . import histogram_text as d

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pydtrace.program.program import AggDef, Data

    from .aggregation_text import FindDivisor, PrintKey, Row

    Table = Callable[[AggDef, list[Row], list[PrintKey], FindDivisor, "TableStyle"], bytes]

_STRING = 16  # columns of a key that is no integer
_RAMP, _BELOW = (
    b"__xxxxXX",
    b"vvvvVV",
)  # what stands for a count, from small to large; for one below zero
_BLOCK, _BLOCKS = 0x2581, 8  # the same of Unicode, from low to high
_FULL, _PARTS = 0x2588, 8  # a whole column of a bar, and what it is divided into from there on
_PRIMITIVE = ("sun", "sun-color", "dumb")  # terminals


class TableStyle:
    """The options agghist, aggpack and aggzoom, and encoding: "ascii", "utf8" or None."""

    __slots__ = ("encoding", "hist", "pack", "zoom")

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.hist, self.pack, self.zoom = (
            bool(options.get(name)) for name in ("agghist", "aggpack", "aggzoom")
        )
        self.encoding = options.get("encoding")

    def find_table(self, aggdef: AggDef) -> Table | None:
        """The function that makes the table of an aggregation, or None."""
        if self.hist and aggdef.keys and aggdef.row.has_agghist:
            return render_agghist
        return render_aggpack if self.pack and aggdef.row.make_packing else None

    @property
    def uses_blocks(self) -> bool:
        """Whether a packed distribution is drawn with Unicode's blocks: not on terminals that are known to have none."""
        return (
            self.encoding == "utf8"
            or self.encoding is None
            and os.environ.get("TERM") not in _PRIMITIVE
        )


def make_narrow_printer(data: Data, show: PrintKey) -> PrintKey:
    """The function that shows a key in such a table; show: as it is shown elsewhere."""
    if not data.type.is_string:
        return show
    return lambda key: b" %16b" % key[data.offset : data.offset + data.size].split(b"\0", 1)[0]


def _key_width(aggdef: AggDef) -> int:
    """Columns of the keys."""
    widths = {1: 3, 2: 5, 4: 8, 8: 16}
    return sum(1 + (widths[data.size] if data.type.is_integer else _STRING) for data in aggdef.keys)


def render_agghist(
    aggdef: AggDef,
    rows: list[Row],
    printers: list[PrintKey],
    normal: FindDivisor,
    style: TableStyle,
) -> bytes:
    """agghist."""
    counts = [row.values[0] for row in rows]
    scale = d.Scale(counts, style.zoom)
    drawn = _draw_fine_bar if style.encoding == "utf8" and not scale.below else d.format_bar
    lines = [b"\n%*b %41b %-9b\n" % (_key_width(aggdef), b"key", d.TITLE, b"count")]
    for row, count in zip(rows, counts):
        lines += [show(row.key) for show in printers]
        lines += [b" ", drawn(scale, count, divide_like_dtrace(count, normal(aggdef, row.key)))]
    return b"".join(lines)


def _draw_fine_bar(scale: d.Scale, count: int, number: int) -> bytes:
    """A bar in eighths of a column."""
    eighths = scale.scale_count(count, d.BARS * _PARTS, whole=True)
    full, part = divmod(eighths, _PARTS)
    bar = chr(_FULL) * full + (chr(_FULL + _PARTS - part) if part else "")
    return f"|{bar:40} ".encode() + b"%-9d\n" % number


def render_aggpack(
    aggdef: AggDef,
    rows: list[Row],
    printers: list[PrintKey],
    normal: FindDivisor,
    style: TableStyle,
) -> bytes:
    """aggpack; what normalize() said is not heeded, since only the form and the number of values are shown."""
    packing = aggdef.row.make_packing(aggdef.params, [row.values[0] for row in rows])
    first, last, right = packing.first, packing.last, packing.right
    lines = [
        b"\n%*b %*b .%b. %-*b | count\n"
        % (
            _key_width(aggdef),
            b"key" if aggdef.keys else b"",
            packing.left,
            b"min",
            b"-" * (last - first + 1),
            right,
            b"max",
        )
    ]
    for row in rows:
        shown = row.values[0][first : last + 1]
        scale = d.Scale(shown, style.zoom)
        drawing = "".join(_pick_block(scale, count, style.uses_blocks) for count in shown).encode()
        lines += [show(row.key) for show in printers]
        lines.append(
            b"%b :%b: %-*b | %d\n" % (packing.low, drawing, right, packing.high, sum(shown))
        )
    return b"".join(lines)


def _pick_block(scale: d.Scale, count: int, unicode: bool) -> str:
    """The character that stands for a count."""
    if count == 0:
        return " "
    if count < 0:
        return chr(_BELOW[scale.scale_count(count, len(_BELOW) - 1)])
    return (
        chr(_BLOCK + scale.scale_count(count, _BLOCKS - 1))
        if unicode
        else chr(_RAMP[scale.scale_count(count, len(_RAMP) - 1)])
    )
