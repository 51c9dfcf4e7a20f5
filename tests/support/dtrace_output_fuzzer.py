"""Makes output of dtrace up, whole and damaged, and checks what reads it.

- Of any input: nothing raises; the texts that are handed over, joined, are the input; where the
  input was cut makes no difference; what is held back is bounded; time is linear.
"""

import collections
import glob
import os
import random
import time

from pydtrace.driver.address_symbolizer import AddressSymbolizer
from pydtrace.engine.dtrace import output_parser
from pydtrace.engine.dtrace.framing import FrameReader
from pydtrace.engine.dtrace.output_parser import Parser
from pydtrace.results.aggregations import Aggregation
from pydtrace.results.records import Decoder
from tests.support.paths import TESTS

CORPUS = os.path.join(TESTS, "dtrace", "corpus")
SCRIPT = """BEGIN { trace(1); trace("text"); @n["key", 1] = count(); @q[7] = quantize(3); @l = lquantize(5, 0, 10, 2);
@w["x"] = llquantize(42, 10, 0, 3, 10); @s = stddev(1); @a = avg(2); } END { printf("%s %d", "end", 7); exit(3); }
BEGIN { ustack(3); usym(1); tracemem(alloca(20), 20, 17); @y[usym(1), "s", 2] = quantize(3); @u[ustack(2), "k"] = sum(1); @m[umod(1)] = avg(3); }"""
MARK = "M0"
_BETWEEN = b"\2" + MARK.encode()
FRAMES = [
    b"\1B\4",
    b"\1E\4",
    b"\1R0\0031\0030\003123\0034\0035\3dtrace\3\3\3BEGIN\0030\0057\0031\5te\\001xt\\0\4",
    b"\1R1\0032\0031\00399\0034\0035\3dtrace\3\3\3END\0030\5end\5-7\0031\0053\4",
    b"\1S0\4",
    b"\1A0\3key\0031\00617\4",
    b"\1S1\4",
    (
        b"\1A1\0037\6\n           value  ------------- Distribution ------------- count    \n"
        b"               1 |                                         0        \n               2 |@@@@ 3\n\4"
    ),
    b"\1A4\6-5\4",
    b"\1R2\0031\0030\003123\0034\0035\3dtrace\3\3\3BEGIN\0030\5"
    + _BETWEEN
    + b"\n    a`main+0x1\n    lib`\4f\n"
    + _BETWEEN
    + b"\0031\5"
    + _BETWEEN
    + b"lib`f"
    + _BETWEEN
    + b"\0032\5"
    + _BETWEEN
    + b"\n         0:"
    + b" 40" * 16
    + b"  @\n        10: 40  @\n"
    + _BETWEEN
    + b"\4",
    b"\1S6\4",
    b"\1K6\3text\\0\4",
    b"\1P6\3"
    + _BETWEEN
    + b"\n  text"
    + b" " * 46
    + b"  lib`f"
    + b" " * 46
    + b"         2\n"
    + b"           value  ------------- Distribution ------------- count    \n               1 |      0        \n"
    b"               2 |@@@@ 3\n\n" + _BETWEEN + b"\4",
    b"\1T6\4",
    b"\1S7\4",
    b"\1A7\3" + _BETWEEN + b"\na`f+0x1\n" + _BETWEEN + b"\3k\0067\4",
    b"\1T7\4",
    b"\1S8\4",
    b"\1T8\4",
    b"\1S3\4",
    b"\1A3\3x\0063\4",
    b"\1P8\3" + _BETWEEN + b"\n  lib" + b" " * 48 + b"               -3\n" + _BETWEEN + b"\4",
]
SLOWEST = 20_000  # ns of CPU time a byte: 400 times the usual
HELD = (1 << 16) + 4096 * 100  # bytes: a line, and a table's rows
_SPECIAL = [
    b"\n",
    b"\n\n",
    b" ",
    b"  ",
    b" " * 33,
    b" " * 50,
    b"\0",
    b"\xff",
    b"\t",
    b":",
    b"|",
    b"@",
    b"`",
    b"+0x1",
    b"0x",
    b"dtrace: ",
    b"CPU",
    b" -> ",
    b">= ",
    b"< ",
    b"---",
    b"9" * 25,
    b"-",
    b"\r\n",
    b"\1",
    b"\4",
    b"\3",
    b"\5",
    b"\6",
    b"\2",
    _BETWEEN,
]


class Found(Exception):
    """Something that does not hold; data: the input."""

    def __init__(self, what, data):
        super().__init__(what)
        self.data = data


def lines():
    """What inputs are made of."""
    found = set()
    for path in glob.glob(os.path.join(CORPUS, "*.out")):
        with open(path, "rb") as file:
            found.update(line + b"\n" for line in file.read().split(b"\n"))
    return sorted(found)


class Maker:
    """Inputs, the same ones for the same seed."""

    def __init__(self, seed):
        self.random, self.lines = random.Random(seed), lines()

    def text(self):
        """A text like dtrace's, more or less damaged."""
        rng = self.random
        parts = [self._part() for _ in range(rng.choice((1, 2, 3, 5, 10, 30)))]
        data = b"".join(parts)
        for _ in range(rng.choice((0, 0, 1, 2, 5, 20))):
            data = self._damaged(data)
        if rng.random() < 0.002:  # lines longer than any limit, and tables
            data = data * rng.randrange(1, 60) + rng.choice(self.lines)[:-1] * rng.randrange(
                1, 3000
            )
        return self._stretched(data) if rng.random() < 0.005 else data

    def _stretched(self, data):
        """A line with a run of the same in it, as long as lines may be: numbers of thousands of digits, and what makes a regular
        expression try every way to divide it."""
        rng = self.random
        at = rng.randrange(len(data) + 1)
        unit = (
            rng.choice([*_SPECIAL, b"0123456789", data[at : at + rng.choice((1, 2, 4))]]).replace(
                b"\n", b""
            )
            or b" "
        )
        return data[:at] + unit * (60_000 // len(unit)) + data[at:]

    def frames(self):
        """Frames, whole ones and damaged ones, with texts between them."""
        rng = self.random
        data = b"".join(
            rng.choice(FRAMES) if rng.random() < 0.8 else self._part()
            for _ in range(rng.randrange(1, 12))
        )
        for _ in range(rng.choice((0, 1, 3, 10))):
            data = self._damaged(data)
        return data

    def _part(self):
        rng = self.random
        kind = rng.random()
        if kind < 0.6:
            return rng.choice(self.lines)
        if kind < 0.8:
            a, b = rng.choice(self.lines), rng.choice(self.lines)
            return a[: rng.randrange(len(a) + 1)] + b[rng.randrange(len(b)) :]
        if kind < 0.9:
            number = rng.choice(
                (0, 1, -1, 7, 2**31, -(2**63), 2**64, rng.getrandbits(rng.randrange(1, 70)))
            )
            width = rng.choice((0, 3, 5, 8, 10, 16, 19, 20))
            return (
                b" " * rng.randrange(3)
                + f"{number:{width}d}".encode()
                + rng.choice((b"\n", b"", b" "))
            )
        return rng.randbytes(rng.randrange(40))

    def _damaged(self, data):
        rng = self.random
        if not data:
            return rng.choice(_SPECIAL)
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        if kind == 1:
            return data[:at] + rng.choice(_SPECIAL) + data[at:]
        end = min(len(data), at + rng.choice((1, 2, 10, 60)))
        if kind == 2:
            return data[:at] + data[end:]
        if kind == 3:
            return data[:end] + data[at:end] * rng.choice((1, 2, 9)) + data[end:]
        to = rng.randrange(len(data))
        return data[:to] + data[at:end] + data[to:]

    def pieces(self, data):
        """The data cut somewhere."""
        rng = self.random
        if rng.random() < 0.3 and len(data) < 2000:
            return [data[i : i + 1] for i in range(len(data))]
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 8)))
        return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]


def summary(items):
    """What of items does not depend on how the text was cut: texts that follow each other are one."""
    found = []
    for item in items:
        values = [getattr(item, field) for field in item.fields]
        if isinstance(item, output_parser.Row):
            values.append(item.values)
        if isinstance(item, output_parser.Text) and found and found[-1][0] is type(item):
            found[-1] = (type(item), found[-1][1] + item.text, values)
        else:
            found.append((type(item), item.text, values))
    return found


def held(parser):
    """Bytes that the parser keeps."""
    return (
        len(parser._rest)
        + sum(len(part.text) for part in (parser._table,) if part)
        + (len(parser._held[0]) if parser._held else 0)
    )


class Slow(Parser):
    """A parser that reads every line anew, whatever shape the last one had."""

    _shape = property(lambda self: None, lambda self, shape: None)


def check_text(data, pieces, kinds, flush):
    """What holds of a text.  Gives the nanoseconds of CPU time a byte."""
    start = time.process_time_ns()
    parser = Parser()
    items = parser.feed(data) + parser.close()
    took = (time.process_time_ns() - start) / (len(data) + 100)
    whole = summary(items)
    kinds.update(type(item).__name__ for item in items)
    if b"".join(item.text for item in items) != data:
        raise Found("text was lost", data)
    parser = Slow()
    if summary(parser.feed(data) + parser.close()) != whole:
        raise Found("shapes make a difference", data)
    parser, found = Parser(), []
    for piece in pieces:
        found += parser.feed(piece)
        if held(parser) > HELD:
            raise Found("too much is held back", data)
        if flush:
            found += parser.flush()
    found += parser.close()
    if b"".join(item.text for item in found) != data:
        raise Found("text was lost in pieces", data)
    if not flush and summary(found) != whole:
        raise Found("cuts make a difference", data)
    return took


def read_frames(program, pieces):
    """(Records, rows of aggregations, texts)"""
    frames = FrameReader(program, MARK)
    records, text = b"", b""
    for piece in pieces:
        records += frames.feed(piece)
        text += frames.text
        frames.text = b""
    symbols = AddressSymbolizer(name_of=lambda pid, word: frames.display_names.name(word))
    decoder = Decoder(program, frames.names.__getitem__, str, lambda action, record: None, symbols)
    for definition, items in zip(program.aggregations, frames.items):
        Aggregation.from_items(definition, items.items(), program.strsize, symbols)
    return decoder.decode(records), frames.items, text


def fuzz(seconds, seed):
    """The summary's lines, after so many seconds; raises Found."""
    from pydtrace.dlang.compile import compile_program

    program, make, kinds = compile_program(SCRIPT), Maker(seed), collections.Counter()
    begun = time.monotonic()
    count = size = frames = 0
    slowest = 0.0
    while time.monotonic() - begun < seconds:
        data = make.text()
        pieces, flush = make.pieces(data), make.random.random() < 0.2
        try:
            took = check_text(data, pieces, kinds, flush)
            if took > SLOWEST:  # the machine may have been at fault
                took = min(check_text(data, pieces, kinds, flush) for _ in range(5))
            if took > SLOWEST:
                raise Found(f"it takes {took:.0f} ns a byte", data)
            slowest = max(slowest, took)
            count, size = count + 1, size + len(data)
            if count % 4 == 0:
                data = make.frames()
                if read_frames(program, [data]) != read_frames(program, make.pieces(data)):
                    raise Found("cuts make a difference to frames", data)
                frames += 1
        except Found:
            raise
        except Exception as error:
            raise Found(f"it raises {error!r}", data) from error
    return [
        f"seed {seed}, {time.monotonic() - begun:.0f} s",
        f"texts: {count:,}, {size:,} bytes",
        f"streams of frames: {frames:,}",
        f"slowest text: {slowest:.0f} ns of CPU time a byte (limit {SLOWEST:,})",
        "items: " + ", ".join(f"{name} {n:,}" for name, n in kinds.most_common()),
    ]
