"""What dtrace(1) prints, line by line, as typed items: whatever script it ran, on whatever system.

In: bytes of its standard output and error, cut anywhere.  Out: items, in their order; feed() gives what is complete.
Always: the items' `text`, joined, is the input, byte for byte; what is not understood is a Text; at most one table of
bounded size is held back; no input raises.  docs/dtrace-engine.md says what is taken for what.

Lines of -q output that look like dtrace's own tables are taken for them: their text is there too.
"""

import re

from . import dtrace_cells as cells

_LINE_LIMIT = 1 << 16  # bytes; what is longer comes in parts, as Text
_ROWS = 4096  # of a distribution; more are the next one's

_HEADER = re.compile(rb"CPU +(?:ID +)?FUNCTION(?::NAME)? *\n?\Z")
_ROW = re.compile(rb"( *\d+) +(\d+) +(\S*):([^ :\n]+) (.*)\n?\Z", re.DOTALL)
_FLOW = re.compile(rb"( *\d+) ( *)(->|<-|=>|<=| \||\| ) (\S+) *(.*)\n?\Z", re.DOTALL)
_TABLE = re.compile(rb" *(value|key) +(-+ Distribution -+|min \.-*\. max) *(?:\|? *count) *\n?\Z")
_BUCKET = re.compile(rb" *(?:(<=|<|>=) )?(-?\d+) \|([@ |-]*?) (-?\d+) *\n?\Z")
_BAR = re.compile(rb" *(\S.*?) \|([@ |-]*?) (-?\d+) *\n?\Z")
_PACKED = re.compile(rb" *(.*?) +((?:< )?-?\d+) :(.*): ((?:>= )?-?\d+) *\| *(\d+) *\n?\Z")
_FRAME = re.compile(rb" {10,}(0x[0-9a-f]+|\S+`\S.*|[^ ()]\S*\+0x[0-9a-f]+) *\n?\Z")


class Item:
    """text: the bytes that it stands for."""

    __slots__ = ("text",)
    fields = ()

    def __init__(self, text, *values):
        self.text = text
        for name, value in zip(self.fields, values):
            setattr(self, name, value)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{f}={getattr(self, f)!r}' for f in self.fields)}, {self.text!r})"


class Text(Item):
    """What the script printed itself, and all that is not understood."""

    __slots__ = ()


class Header(Item):
    """The names of the default columns."""

    __slots__ = ()


class Row(Item):
    """A line in the default columns.  cpu, id: int; function, name: str; data: what follows, bytes."""

    __slots__ = fields = ("cpu", "id", "function", "name", "data")

    def __init__(self, text, cpu, id, function, name, data):  # as Item's, in half the time: most lines are rows
        self.text, self.cpu, self.id, self.function, self.name, self.data = text, cpu, id, function, name, data

    @property
    def values(self):
        """What trace() printed, as int and str; where the data are no such columns, one str."""
        return cells.columns(self.data)


class Flow(Item):
    """A line of -F.  cpu: int; depth: spaces before the arrow; arrow: "->", "<-" …; probe: str; data: bytes."""

    __slots__ = fields = ("cpu", "depth", "arrow", "probe", "data")


class Total(Item):
    """A row of an aggregation's table.  keys: tuple of int and str (of frames, where a stack is the key); value: int."""

    __slots__ = fields = ("keys", "value")

    def __init__(self, text, keys, value):
        self.text, self.keys, self.value = text, keys, value


class Distribution(Item):
    """A histogram.  keys: as in Total; buckets: [(label, count)], a label an int, or ("<", int), ("<=", int),
    (">=", int)."""

    __slots__ = fields = ("keys", "buckets")


class Bars(Item):
    """A table of -x agghist.  rows: [(key text, count)]."""

    __slots__ = fields = ("rows",)


class Packed(Item):
    """A table of -x aggpack: rows: [(key text, lowest, highest bucket's label, drawing, number of values)]."""

    __slots__ = fields = ("rows",)


class Stack(Item):
    """frames: tuple of str."""

    __slots__ = fields = ("frames",)


class Parser:
    """feed() bytes, close() at the end; flush() when nothing comes for a while: what is held back is given out."""

    def __init__(self):
        self._rest = b""
        self._held = None  # a line that may be the key of what follows: (text, keys)
        self._table = None  # the item that is being read
        self._broken = False  # inside a line that was too long

    def feed(self, data):
        """Items; a line is taken when its end has come."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        out = []
        for line in lines:
            if self._broken or len(line) >= _LINE_LIMIT:
                self._finish(out)
                out.append(Text(line + b"\n"))
                self._broken = False
            else:
                self._line(line + b"\n", out)
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
        elif rest:
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
        if self._table is not None and self._continues(line):
            return
        if line[:1] == b" " or line == b"\n":
            if b":" in line and (match := _ROW.match(line)):
                self._finish(out)
                out.append(_row(line, match))
                return
            if b"---" in line and self._begins(line, out):
                return
            if (b"`" in line or b"0x" in line) and self._stack(line, out):
                return
            if match := _FLOW.match(line):
                self._finish(out)
                cpu, depth, arrow, probe, data = match.groups()
                out.append(Flow(line, int(cpu), len(depth), arrow.decode().strip(), _str(probe), data))
                return
            keys = cells.cells(line)
            if keys is not None:
                self._keys(line, keys, out)
                return
        self._finish(out)
        if line[:3] == b"CPU" and _HEADER.match(line):
            out.append(Header(line))
        elif line[:8] == b"dtrace: ":
            from .dtrace_messages import parse

            out.append(parse(line))
        else:
            match = _ROW.match(line) if line[:1].isdigit() else None
            out.append(_row(line, match) if match else Text(line))

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
        match = _TABLE.match(line)
        if not match:
            return False
        text, keys = b"", ()
        if self._held is not None:
            (text, keys), self._held = self._held, None
        self._finish(out)
        if match[1] == b"value":
            self._table = Distribution(text + line, tuple(keys), [])
        else:
            if text and keys:
                self._held = text, keys
                self._finish(out)
                text = b""
            self._table = (Packed if b"min" in match[2] else Bars)(text + line, [])
        return True

    def _continues(self, line):
        """Take a line into the table that is being read, if it belongs there."""
        table = self._table
        kind = table.__class__
        if kind is Distribution:
            match = _BUCKET.match(line)
            if match and len(table.buckets) < _ROWS:
                sign, label, _, count = match.groups()
                table.buckets.append(((sign.decode(), int(label)) if sign else int(label), int(count)))
                table.text += line
                return True
        elif kind is Bars or kind is Packed:
            match = (_BAR if kind is Bars else _PACKED).match(line)
            if match and len(table.rows) < _ROWS:
                parts = match.groups()
                found = (_str(parts[0]), int(parts[2])) if kind is Bars else (
                    _str(parts[0]), _str(parts[1]), _str(parts[3]), parts[2], int(parts[4]))
                table.rows.append(found)
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
            table.frames += (_str(match[1]),)
            table.text += line
            return True
        text = b""
        if self._held is not None and self._held[0] == b"\n":
            text, self._held = b"\n", None
        self._finish(out)
        self._table = Stack(text + line, (_str(match[1]),))
        return True


def _row(line, match):
    cpu, ident, function, name, data = match.groups()
    return Row(line, int(cpu), int(ident), _str(function), _str(name), data)


def _str(text):
    return str(text, "utf-8", "surrogateescape")
