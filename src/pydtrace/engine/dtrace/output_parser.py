"""Parses the output of dtrace(1) into typed items, whatever script it ran, on whatever system.

- Input may be split anywhere. The joined `text` of the items is the input, byte for byte.
- A line that is not understood is a Text; no input raises.
- At most one table of bounded size is held back.
- Lines of -q output that look like dtrace's tables are parsed as such; their text is kept.

docs/internals/dtrace-engine.md has the forms that are recognized.
"""

from __future__ import annotations

import re

from . import columns
from .messages import parse_message
from .output_items import Bars, Distribution, Flow, Header, Packed, Row, Stack, Text, Total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .columns import Cell
    from .output_items import Bucket, Item

_LINE_LIMIT = 1 << 16  # bytes; what is longer comes in parts, as Text
_MAX_ROWS = 4096  # of a table; more are text

_HEADER = re.compile(rb" *CPU +(?:ID +)?FUNCTION(?::NAME)? *\n?\Z")
# Numbers have an end: int() refuses those of thousands of digits.  What spaces stand beside can not be spaces: else the time
# grows with the square of a run of them.
_ROW = re.compile(rb"( *\d{1,20}) +(\d{1,20}) +(\S*):([^ :\n]+) (.*)\n?\Z", re.DOTALL)
_FLOW = re.compile(rb"( *\d{1,20}) ( *)(->|<-|=>|<=| \||\| ) (\S+) *(.*)\n?\Z", re.DOTALL)
_TABLE = re.compile(
    rb" *(value +|key +|)(-+ Distribution -+|min \.-*\. max) *(?:\| *)?count *\n?\Z"
)
_USUAL_HEADING = b"           value  ------------- Distribution ------------- count    \n"
_DRAWING = b"@|\xe2\x96" + bytes(
    range(0x80, 0xA0)
)  # what bars are made of; -x encoding=utf8 has blocks
# a bar begins at the line "|"; where there are counts below zero, that is further right
_BUCKET = rb" {0,99}(?:(?:<=|<|>=) )?-?\d{1,20} {1,99}@{0,99}\|@{0,99}[\xe2\x96\x80-\x9f]{0,999} {1,99}-?\d{1,20} {0,99}(?:\n|\Z)"
_BUCKETS = re.compile(b"(?:%b){1,%d}" % (_BUCKET, _MAX_ROWS))
_SIGNS = (b"<", b"<=", b">=")
_BAR = re.compile(rb" *(\S(?:.*?\S)??) +@*\|[ @\xe2\x96\x80-\x9f]* (-?\d{1,20}) *\n?\Z")
_PACKED = re.compile(
    rb" *(?:(?!< )(\S(?:.*?\S)??) +)?((?:< )?-?\d{1,20}) :([^:\n]*): ((?:>= )?-?\d{1,20}) *\| *(-?\d{1,20}) *\n?\Z"
)
_FRAME = re.compile(rb" {10,}(0x[0-9a-f]+|\S+`\S.*|[^ ()]\S*\+0x[0-9a-f]+) *\n?\Z")
_NEXT_FRAME = re.compile(
    rb" {10,}((?![0-9]+ *\n?\Z)[\w$<][^ |\n]*(?: \(\d+\))?|\[ .* \]) *\n?\Z"
)  # a virtual machine's, an address


class Parser:
    """feed() bytes, close() at the end; flush() when nothing comes for a while: what is held back is given out."""

    def __init__(self) -> None:
        self._rest = b""
        self._held: tuple[bytes, tuple[Cell, ...]] | None = (
            None  # a line that may be the key of what follows: (text, keys)
        )
        self._table: Distribution | Bars | Packed | Stack | None = (
            None  # the item that is being read
        )
        self._shape: columns.RowShape | None = (
            None  # of the last row of a table, which the next one probably has, too
        )
        self._in_long_line = False  # inside a line that was too long

    def feed(self, data: bytes) -> list[Item]:
        """Items; a line is taken when its end has come."""
        data = self._rest + data
        out: list[Item] = []
        at, last = 0, data.rfind(b"\n") + 1
        while at < last:
            end = data.find(b"\n", at) + 1
            if self._in_long_line or end - at > _LINE_LIMIT:
                self._finish_held(out)
                out.append(Text(data[at:end]))
                self._in_long_line = False
            elif isinstance(self._table, Distribution):
                if taken := self._take_buckets(data, at, last):
                    end = taken
                    if end < last:  # the next line is none
                        self._finish_held(out)
                else:
                    self._parse_line(data[at:end], out)
            else:
                self._parse_line(data[at:end], out)
            at = end
        self._rest = data[last:]
        while len(self._rest) >= _LINE_LIMIT:
            self._finish_held(out)
            out.append(Text(self._rest[:_LINE_LIMIT]))
            self._rest, self._in_long_line = self._rest[_LINE_LIMIT:], True
        return out

    def flush(self) -> list[Item]:
        """What was held back for the lines that might follow."""
        out: list[Item] = []
        self._finish_held(out)
        return out

    def close(self) -> list[Item]:
        """The last items, an unfinished line among them."""
        out: list[Item] = []
        rest, self._rest = self._rest, b""
        if rest and self._in_long_line:
            out.append(Text(rest))
        elif rest and not (
            isinstance(self._table, Distribution) and self._take_buckets(rest, 0, len(rest))
        ):
            self._parse_line(rest, out)
        self._finish_held(out)
        return out

    # --- lines ----------------------------------------------------------------------------------

    def _finish_held(self, out: list[Item]) -> None:
        """Nothing more belongs to what is held back."""
        if self._table is not None:
            out.append(self._table)
            self._table = None
        if self._held is not None:
            (text, keys), self._held = self._held, None
            if keys and isinstance(keys[-1], int):
                out.append(Total(text, keys[:-1], keys[-1]))
            else:
                out.append(Text(text))

    def _parse_line(self, line: bytes, out: list[Item]) -> None:
        if line == b"\n":
            if self._table is not None or self._held is not None:
                self._finish_held(out)
            self._held = line, ()
            return
        if line == _USUAL_HEADING:
            self._begin_table(line, out)
            return
        if self._table is None:
            if self._shape is not None and (keys := self._shape.read_cells(line)) is not None:
                if self._held is not None:
                    self._finish_held(out)
                self._held = line, keys
                return
        elif self._continue_table(line):
            return
        if line[:1] == b" ":
            if b":" in line and (match := _ROW.match(line)):
                self._finish_held(out)
                out.append(_make_row(line, match))
                return
            if self._parse_indented(line, out):
                return
        self._finish_held(out)
        if _HEADER.match(line):
            out.append(Header(line))
        elif line[:8] == b"dtrace: ":
            out.append(parse_message(line))
        else:
            match = _ROW.match(line) if line[:1].isdigit() else None
            out.append(_make_row(line, match) if match else Text(line))

    def _parse_indented(self, line: bytes, out: list[Item]) -> bool:
        """A line of a table, a stack or a flow; whether it is one."""
        if b"---" in line and self._begin_table(line, out):
            return True
        if b"CPU" in line and _HEADER.match(line):
            self._finish_held(out)
            out.append(Header(line))
            return True
        if (b"`" in line or b"0x" in line) and self._take_frame(line, out):
            return True
        if match := _FLOW.match(line):
            self._finish_held(out)
            cpu, depth, arrow, probe, data = match.groups()
            out.append(
                Flow(
                    line,
                    int(cpu),
                    len(depth),
                    arrow.decode().strip(),
                    columns.decode_text(probe),
                    data,
                )
            )
            return True
        keys, shape = columns.parse_row(line)
        if keys is None:
            return False
        self._take_keys(line, keys, out)
        self._shape = shape or self._shape
        return True

    def _take_keys(self, line: bytes, keys: tuple[Cell, ...], out: list[Item]) -> None:
        """A line of cells: a total, or the keys of what follows.  After a stack, its total."""
        table = self._table
        if isinstance(table, Stack) and len(keys) == 1 and isinstance(keys[0], int):
            self._table = None
            out.append(Total(table.text + line, (table.frames,), keys[0]))
            return
        if table is not None or self._held is not None:
            self._finish_held(out)
        self._held = line, keys

    def _begin_table(self, line: bytes, out: list[Item]) -> bool:
        """The heading of a table; with the held line, which has its keys."""
        match = None if line == _USUAL_HEADING else _TABLE.match(line)
        if line != _USUAL_HEADING and match is None:
            return False
        text: bytes = b""
        keys: tuple[Cell, ...] = ()
        if self._held is not None:
            (text, keys), self._held = self._held, None
        self._finish_held(out)
        if match is None or match[1][:5] == b"value":
            self._table = Distribution(text + line, tuple(keys), [])
        else:
            if text and keys:
                self._held = text, keys
                self._finish_held(out)
                text = b""
            self._table = (Packed if b"min" in match[2] else Bars)(text + line, [])
        return True

    def _take_buckets(self, data: bytes, at: int, last: int) -> int:
        """The buckets that stand there: where they end, or 0 where there are none."""
        table = self._table
        assert isinstance(table, Distribution)
        match = _BUCKETS.match(data, at, last)
        if match is None or len(table.buckets) >= _MAX_ROWS:
            return 0
        text, room = match[0], _MAX_ROWS - len(table.buckets)
        if len(text) > room and text.count(b"\n") > room:
            text = b"".join(line + b"\n" for line in text.split(b"\n")[:room])
        words = text.translate(None, _DRAWING).split()
        if b"<" in text or b">" in text:
            table.buckets += _parse_signed(words)
        else:
            numbers = map(int, words)
            table.buckets += zip(numbers, numbers)
        table.text += text
        return at + len(text)

    def _continue_table(self, line: bytes) -> bool:
        """Take a line into the table that is being read, if it belongs there."""
        table = self._table
        if isinstance(table, Bars):
            if (match := _BAR.match(line)) and len(table.rows) < _MAX_ROWS:
                table.rows.append((columns.decode_text(match[1]), int(match[2])))
                table.text += line
                return True
        elif isinstance(table, Packed):
            if (match := _PACKED.match(line)) and len(table.rows) < _MAX_ROWS:
                key, low, drawing, high, count = match.groups()
                table.rows.append(
                    (
                        columns.decode_text(key or b""),
                        columns.decode_text(low),
                        columns.decode_text(high),
                        drawing,
                        int(count),
                    )
                )
                table.text += line
                return True
        elif (
            isinstance(table, Stack)
            and (match := _NEXT_FRAME.match(line))
            and len(table.frames) < _MAX_ROWS
        ):
            table.frames += (columns.decode_text(match[1]),)
            table.text += line
            return True
        return False

    def _take_frame(self, line: bytes, out: list[Item]) -> bool:
        """Frames: the first begins a stack, others lengthen it."""
        match = _FRAME.match(line)
        if not match:
            return False
        table = self._table
        if isinstance(table, Stack) and len(table.frames) < _MAX_ROWS:
            table.frames += (columns.decode_text(match[1]),)
            table.text += line
            return True
        text = b""
        if self._held is not None and self._held[0] == b"\n":
            text, self._held = b"\n", None
        self._finish_held(out)
        self._table = Stack(text + line, (columns.decode_text(match[1]),))
        return True


def _parse_signed(words: list[bytes]) -> list[Bucket]:
    """[(label, count)] where some labels have a sign before them."""
    found: list[Bucket] = []
    rest = iter(words)
    for word in rest:
        label = (word.decode(), int(next(rest))) if word in _SIGNS else int(word)
        found.append((label, int(next(rest))))
    return found


def _make_row(line: bytes, match: re.Match[bytes]) -> Row:
    cpu, ident, function, name, data = match.groups()
    return Row(
        line, int(cpu), int(ident), columns.decode_text(function), columns.decode_text(name), data
    )
