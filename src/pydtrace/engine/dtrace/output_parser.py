# mypy: ignore-errors
"""What dtrace(1) prints, line by line, as typed items: whatever script it ran, on whatever system.

In: bytes of its standard output and error, cut anywhere.  Out: items (dtrace/output_items.py), in their order; feed() gives what is
complete.  Always: the items' `text`, joined, is the input, byte for byte; what is not understood is a Text; at most one
table of bounded size is held back; no input raises.  docs/guide/dtrace-engine.md says what is taken for what.

Lines of -q output that look like dtrace's own tables are taken for them: their text is there too.
"""

import re

from . import columns
from .messages import parse
from .output_items import Bars, Distribution, Flow, Header, Packed, Row, Stack, Text, Total

_LINE_LIMIT = 1 << 16  # bytes; what is longer comes in parts, as Text
_ROWS = 4096  # of a table; more are text

_HEADER = re.compile(rb" *CPU +(?:ID +)?FUNCTION(?::NAME)? *\n?\Z")
# Numbers have an end: int() refuses those of thousands of digits.  What spaces stand beside can not be spaces: else the time
# grows with the square of a run of them.
_ROW = re.compile(rb"( *\d{1,20}) +(\d{1,20}) +(\S*):([^ :\n]+) (.*)\n?\Z", re.DOTALL)
_FLOW = re.compile(rb"( *\d{1,20}) ( *)(->|<-|=>|<=| \||\| ) (\S+) *(.*)\n?\Z", re.DOTALL)
_TABLE = re.compile(
    rb" *(value +|key +|)(-+ Distribution -+|min \.-*\. max) *(?:\| *)?count *\n?\Z"
)
_USUAL = b"           value  ------------- Distribution ------------- count    \n"
_DRAWING = b"@|\xe2\x96" + bytes(
    range(0x80, 0xA0)
)  # what bars are made of; -x encoding=utf8 has blocks
# a bar begins at the line "|"; where there are counts below zero, that is further right
_BUCKET = rb" {0,99}(?:(?:<=|<|>=) )?-?\d{1,20} {1,99}@{0,99}\|@{0,99}[\xe2\x96\x80-\x9f]{0,999} {1,99}-?\d{1,20} {0,99}(?:\n|\Z)"
_BUCKETS = re.compile(b"(?:%b){1,%d}" % (_BUCKET, _ROWS))
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

    def __init__(self):
        self._rest = b""
        self._held = None  # a line that may be the key of what follows: (text, keys)
        self._table = None  # the item that is being read
        self._shape = None  # of the last row of a table, which the next one probably has, too
        self._broken = False  # inside a line that was too long

    def feed(self, data):
        """Items; a line is taken when its end has come."""
        data = self._rest + data
        out, at, last = [], 0, data.rfind(b"\n") + 1
        while at < last:
            end = data.find(b"\n", at) + 1
            if self._broken or end - at > _LINE_LIMIT:
                self._finish(out)
                out.append(Text(data[at:end]))
                self._broken = False
            elif self._table.__class__ is Distribution:
                if taken := self._take_buckets(data, at, last):
                    end = taken
                    if end < last:  # the next line is none
                        self._finish(out)
                else:
                    self._line(data[at:end], out)
            else:
                self._line(data[at:end], out)
            at = end
        self._rest = data[last:]
        while len(self._rest) >= _LINE_LIMIT:
            self._finish(out)
            out.append(Text(self._rest[:_LINE_LIMIT]))
            self._rest, self._broken = self._rest[_LINE_LIMIT:], True
        return out

    def flush(self):
        """What was held back for the lines that might follow."""
        out = []
        self._finish(out)
        return out

    def close(self):
        """The last items, an unfinished line among them."""
        out = []
        rest, self._rest = self._rest, b""
        if rest and self._broken:
            out.append(Text(rest))
        elif rest and not (
            self._table.__class__ is Distribution and self._take_buckets(rest, 0, len(rest))
        ):
            self._line(rest, out)
        self._finish(out)
        return out

    # --- lines ----------------------------------------------------------------------------------

    def _finish(self, out):
        """Nothing more belongs to what is held back."""
        if self._table is not None:
            out.append(self._table)
            self._table = None
        if self._held is not None:
            (text, keys), self._held = self._held, None
            if keys and keys[-1].__class__ is int:
                out.append(Total(text, keys[:-1], keys[-1]))
            else:
                out.append(Text(text))

    def _line(self, line, out):
        if line == b"\n":
            if self._table is not None or self._held is not None:
                self._finish(out)
            self._held = line, ()
            return
        if line == _USUAL:
            self._begins(line, out)
            return
        if self._table is None:
            if self._shape is not None and (keys := self._shape.read(line)) is not None:
                if self._held is not None:
                    self._finish(out)
                self._held = line, keys
                return
        elif self._continues(line):
            return
        if line[:1] == b" ":
            if b":" in line and (match := _ROW.match(line)):
                self._finish(out)
                out.append(_row(line, match))
                return
            if self._indented(line, out):
                return
        self._finish(out)
        if _HEADER.match(line):
            out.append(Header(line))
        elif line[:8] == b"dtrace: ":
            out.append(parse(line))
        else:
            match = _ROW.match(line) if line[:1].isdigit() else None
            out.append(_row(line, match) if match else Text(line))

    def _indented(self, line, out):
        """A line of a table, a stack or a flow; whether it is one."""
        if b"---" in line and self._begins(line, out):
            return True
        if b"CPU" in line and _HEADER.match(line):
            self._finish(out)
            out.append(Header(line))
            return True
        if (b"`" in line or b"0x" in line) and self._stack(line, out):
            return True
        if match := _FLOW.match(line):
            self._finish(out)
            cpu, depth, arrow, probe, data = match.groups()
            out.append(
                Flow(
                    line, int(cpu), len(depth), arrow.decode().strip(), columns.string(probe), data
                )
            )
            return True
        keys, shape = columns.cells(line)
        if keys is None:
            return False
        self._keys(line, keys, out)
        self._shape = shape or self._shape
        return True

    def _keys(self, line, keys, out):
        """A line of cells: a total, or the keys of what follows.  After a stack, its total."""
        table = self._table
        if table.__class__ is Stack and len(keys) == 1 and keys[0].__class__ is int:
            self._table = None
            out.append(Total(table.text + line, (table.frames,), keys[0]))
            return
        if table is not None or self._held is not None:
            self._finish(out)
        self._held = line, keys

    def _begins(self, line, out):
        """The heading of a table; with the held line, which has its keys."""
        if line != _USUAL and not (match := _TABLE.match(line)):
            return False
        text, keys = b"", ()
        if self._held is not None:
            (text, keys), self._held = self._held, None
        self._finish(out)
        if line == _USUAL or match[1][:5] == b"value":
            self._table = Distribution(text + line, tuple(keys), [])
        else:
            if text and keys:
                self._held = text, keys
                self._finish(out)
                text = b""
            self._table = (Packed if b"min" in match[2] else Bars)(text + line, [])
        return True

    def _take_buckets(self, data, at, last):
        """The buckets that stand there: where they end, or 0 where there are none."""
        table = self._table
        match = _BUCKETS.match(data, at, last)
        if match is None or len(table.buckets) >= _ROWS:
            return 0
        text, room = match[0], _ROWS - len(table.buckets)
        if len(text) > room and text.count(b"\n") > room:
            text = b"".join(line + b"\n" for line in text.split(b"\n")[:room])
        words = text.translate(None, _DRAWING).split()
        if b"<" in text or b">" in text:
            table.buckets += _signed(words)
        else:
            numbers = map(int, words)
            table.buckets += zip(numbers, numbers)
        table.text += text
        return at + len(text)

    def _continues(self, line):
        """Take a line into the table that is being read, if it belongs there."""
        table = self._table
        kind = table.__class__
        if kind is Bars or kind is Packed:
            match = (_BAR if kind is Bars else _PACKED).match(line)
            if match and len(table.rows) < _ROWS:
                parts = match.groups()
                found = (
                    (columns.string(parts[0]), int(parts[1]))
                    if kind is Bars
                    else (
                        columns.string(parts[0] or b""),
                        columns.string(parts[1]),
                        columns.string(parts[3]),
                        parts[2],
                        int(parts[4]),
                    )
                )
                table.rows.append(found)
                table.text += line
                return True
        elif kind is Stack and (match := _NEXT_FRAME.match(line)) and len(table.frames) < _ROWS:
            table.frames += (columns.string(match[1]),)
            table.text += line
            return True
        return False

    def _stack(self, line, out):
        """Frames: the first begins a stack, others lengthen it."""
        match = _FRAME.match(line)
        if not match:
            return False
        table = self._table
        if table.__class__ is Stack and len(table.frames) < _ROWS:
            table.frames += (columns.string(match[1]),)
            table.text += line
            return True
        text = b""
        if self._held is not None and self._held[0] == b"\n":
            text, self._held = b"\n", None
        self._finish(out)
        self._table = Stack(text + line, (columns.string(match[1]),))
        return True


def _signed(words):
    """[(label, count)] where some labels have a sign before them."""
    found, words = [], iter(words)
    for word in words:
        label = (word.decode(), int(next(words))) if word in _SIGNS else int(word)
        found.append((label, int(next(words))))
    return found


def _row(line, match):
    cpu, ident, function, name, data = match.groups()
    return Row(line, int(cpu), int(ident), columns.string(function), columns.string(name), data)
