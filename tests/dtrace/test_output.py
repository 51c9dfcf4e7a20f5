"""The parser of dtrace's output: a corpus of the systems' formats, and what holds for any bytes.

corpus/linux-*.out come from DTrace for Linux, the others were written by hand after the documented formats, with the differences of
their systems.  Each file's lines that are rightly left as text are listed here.
"""

import glob
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyusdt.engine import dtrace_cells
from pyusdt.engine.dtrace_messages import Drop, Fault, Notice
from pyusdt.engine.dtrace_output import (
    Bars,
    Distribution,
    Flow,
    Header,
    Packed,
    Parser,
    Row,
    Stack,
    Text,
    Total,
)

CORPUS = os.path.join(os.path.dirname(__file__), "corpus")
FILES = sorted(glob.glob(os.path.join(CORPUS, "*.out")))
LEFT_AS_TEXT = {  # file: its lines that are text; empty lines always are
    "linux-mixed": [],
    "solaris-guide": [],
    "solaris-stacks": [],
    "freebsd-distributions": [],
    "illumos-hist": [],
    "macos-flow": [],
    "quiet": ["GET /index.html 200", "POST /x 500\ttab", "naked number: 5", "  indented by two", "dtrace is a word, too"],
}


def read(name):
    with open(os.path.join(CORPUS, name + ".out"), "rb") as file:
        return file.read()


def parse(data, cut=None):
    parser = Parser()
    pieces = [data] if cut is None else [data[i : i + cut] for i in range(0, len(data), cut)]
    items = [item for piece in pieces for item in parser.feed(piece)]
    return items + parser.close()


def summary(items):
    return [(type(item).__name__, *(getattr(item, field) for field in item.fields)) for item in items]


def of_kind(name, kind):
    return [item for item in parse(read(name)) if type(item) is kind]


@pytest.mark.parametrize("path", FILES, ids=os.path.basename)
def test_nothing_is_lost_and_cuts_do_not_matter(path):
    data = read(os.path.basename(path)[:-4])
    whole = parse(data)
    assert b"".join(item.text for item in whole) == data
    for cut in (1, 7, 100):
        assert summary(parse(data, cut)) == summary(whole)


@pytest.mark.parametrize("path", FILES, ids=os.path.basename)
def test_only_these_lines_are_left_as_text(path):
    name = os.path.basename(path)[:-4]
    lines = [item.text.decode().rstrip("\n") for item in parse(read(name)) if type(item) is Text]
    assert [line for line in lines if line] == LEFT_AS_TEXT[name]


def test_linux_values_come_back():
    """corpus/linux-mixed.d says which values there are."""
    items = parse(read("linux-mixed"))
    rows = [item for item in items if type(item) is Row]
    assert [(row.cpu, row.id, row.function, row.name) for row in rows] == [(1, 1, "", "BEGIN")] * 3
    assert rows[1].data == b"no newline  tail with  spaces                \n"
    totals = {item.keys: item.value for item in items if type(item) is Total}
    long = "a key longer than fifty characters, which overflows its column by some"
    assert totals[long, 1, -2, "k2"] == totals["key", 1, -2, "k2"] == 1
    assert (totals["q",], totals[3, 4]) == (-7, -9)
    assert [item.value for item in items if type(item) is Total and item.keys == ()] == [0, 9223372036854775807, 1]
    seven, minus, linear, log = (next(d for d in items if type(d) is Distribution and d.keys == keys)
                                 for keys in ((7,), (-7,), (), ("x",)))
    assert seven.buckets == [(1, 0), (2, 1), (4, 0)]
    assert minus.buckets == [(-512, 0), (-256, 1), (-128, 0)]
    assert [bucket for bucket in linear.buckets if bucket[1]] == [(("<", 0), 1), (4, 1), ((">=", 10), 1)]
    assert [bucket for bucket in log.buckets if bucket[1]] == [(-40, 1), (0, 1), (40, 1), ((">=", 10000), 1)]
    (fault,) = (item for item in items if type(item) is Fault)
    assert (fault.clause, fault.id, fault.probe, fault.what) == (3, 1, ("dtrace", "", "", "BEGIN"), "divide-by-zero")


def test_solaris():
    items = parse(read("solaris-guide"))
    assert [type(item) for item in items] == [Notice, Header, Row, Row, Row, Drop, Drop, Drop, Fault, Fault] + [Total] * 4
    assert items[2].values == [52, 2004]
    assert items[3].values == ["/dev/pts/3", 102]
    assert (items[4].cpu, items[4].id, items[4].function, items[4].values) == (11, 4711, "fbt_ioctl", ["hello"])
    assert [(item.kind, item.count, item.cpu) for item in items[5:8]] == [
        ("principal", 24, 0), ("aggregation", 3, 1), ("dynamic variable", 1, None)]
    assert (items[8].clause, items[8].id, items[8].address, items[8].what) == (1, 36, 4, "invalid address (0x4)")
    assert (items[9].clause, items[9].what) == (0, "divide-by-zero")
    assert [(item.keys, item.value) for item in items[10:]] == [
        (("sshd", "read"), 17), (("init",), 1), (("iscsid", "pollsys"), 3), (("snmpd",), -12)]


def test_stacks_belong_to_their_totals():
    stacks = of_kind("solaris-stacks", Stack)
    assert stacks[0].frames == ("genunix`putnext+0x1", "ttcompat`ttcompatwput+0x200", "0xfffffffffbc3a8b2")
    (total,) = of_kind("solaris-stacks", Total)
    assert (total.keys, total.value) == ((("libc.so.1`malloc+0x1", "cat`main+0x40"),), 42)


def test_distributions_have_their_keys():
    one, two = of_kind("freebsd-distributions", Distribution)
    assert (one.keys, one.buckets) == (("sshd",), [(8, 0), (16, 12), (32, 0)])
    assert (two.keys, two.buckets) == ((), [(("<", 0), 5), (0, 10), ((">=", 100), 5)])


def test_illumos_histograms_of_tables():
    (bars,), (packed,) = of_kind("illumos-hist", Bars), of_kind("illumos-hist", Packed)
    assert bars.rows == [("sshd", 14), ("dtrace", 26)]
    assert [(row[0], row[1], row[2], row[4]) for row in packed.rows] == [
        ("sched", "2048", "65536", 321), ("init", "1", ">= 1000", 4)]
    (zoomed,) = of_kind("illumos-hist", Distribution)
    assert zoomed.buckets == [(1024, 0), (2048, 1), (4096, 0)]


def test_flow():
    assert [(item.cpu, item.arrow, item.probe) for item in of_kind("macos-flow", Flow)] == [
        (2, "->", "main"), (2, "->", "read"), (2, "<-", "read"), (2, "<-", "main"), (3, "=>", "read"), (3, "|", "poll:entry")]
    assert len(of_kind("macos-flow", Notice)) == 3


def test_what_is_held_back_comes_when_nothing_follows():
    parser = Parser()
    assert parser.feed(b"  key                                                              17\n") == []
    (item,) = parser.flush()
    assert (item.keys, item.value) == (("key",), 17)
    assert parser.close() == []


def test_memory_is_bounded():
    parser = Parser()
    for _ in range(50):
        parser.feed(b"x" * 100_000)
    assert len(parser._rest) < 1 << 16
    table = b"           value  ------------- Distribution ------------- count    \n"
    items = parser.feed(b"\n" + table + b"               8 |                                         0        \n" * 10_000)
    assert sum(len(item.text) for item in items) > 100_000


# --- any bytes ------------------------------------------------------------------------------

LINES = [line + b"\n" for path in FILES for line in read(os.path.basename(path)[:-4]).split(b"\n")]
TEXTS = st.lists(st.sampled_from(LINES) | st.binary(max_size=60) | st.text("dtrace: 01|@`+x\n ", max_size=40).map(str.encode))


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.integers(1, 50))
def test_any_text_is_kept(parts, cut):
    data = b"".join(parts)
    items = parse(data, cut)
    assert b"".join(item.text for item in items) == data
    for item in items:
        repr(item)
        if type(item) is Row:
            assert isinstance(item.values, list)
    assert summary(items) == summary(parse(data))


KEYS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.text("abcXYZ/.-_", min_size=1, max_size=80), max_size=4)


@settings(max_examples=300, deadline=None)
@given(KEYS, st.integers(-(2**63), 2**63 - 1))
def test_rows_of_tables_come_back(keys, value):
    """Keys without spaces; a string that is too long for its column can not be told from what follows otherwise."""
    line = b"".join(b" %16d" % key if isinstance(key, int) else b"  %-50b" % key.encode() for key in keys) + b" %16d\n" % value
    assert dtrace_cells.cells(line) == (*keys, value)
    (item,) = parse(line)
    assert (item.keys, item.value) == (tuple(keys), value)
