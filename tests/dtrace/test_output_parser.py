"""The parser of dtrace's output: a corpus of the systems' formats, and what holds for any bytes.

corpus/README.md says where the formats come from.  Each file's lines that are rightly left as text are listed here.
"""

import glob
import os
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydtrace.engine.dtrace import columns
from pydtrace.engine.dtrace.output_items import (
    Bars,
    Distribution,
    Drop,
    Fault,
    Flow,
    Header,
    Notice,
    Packed,
    Row,
    Stack,
    Text,
    Total,
)
from pydtrace.engine.dtrace.output_parser import Parser
from tests.support import dtrace_output_fuzzer

CORPUS = os.path.join(os.path.dirname(__file__), "corpus")
FILES = sorted(glob.glob(os.path.join(CORPUS, "*.out")))
LEFT_AS_TEXT = {  # file: its lines that are text; empty lines always are
    "linux-mixed": [],
    "solaris-guide": [],
    "solaris-stacks": [],
    "freebsd-distributions": [],
    "solaris-guide-stacks": [],
    "freebsd-handbook": [],
    "illumos-agghist": ["zoomed:"],
    "illumos-aggpack": [],
    "illumos-negative": [],
    "illumos-pgsql": [
        "All queries: latency (in microseconds), per second:",
        "All queries: latency (in microseconds), over all 10 seconds:",
        "Slowest queries: latency (us):",
        "     30393  UPDATE tellers SET balance = 7 WHERE tid = 8;",
    ],
    "macos-syscalls": [],
    "macos-flow": [],
    "quiet": [
        "GET /index.html 200",
        "POST /x 500\ttab",
        "naked number: 5",
        "  indented by two",
        "dtrace is a word, too",
    ],
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
    return [
        (type(item).__name__, *(getattr(item, field) for field in item.fields)) for item in items
    ]


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
    assert [item.value for item in items if type(item) is Total and item.keys == ()] == [
        0,
        9223372036854775807,
        1,
    ]
    seven, minus, linear, log = (
        next(d for d in items if type(d) is Distribution and d.keys == keys)
        for keys in ((7,), (-7,), (), ("x",))
    )
    assert seven.buckets == [(1, 0), (2, 1), (4, 0)]
    assert minus.buckets == [(-512, 0), (-256, 1), (-128, 0)]
    assert [bucket for bucket in linear.buckets if bucket[1]] == [
        (("<", 0), 1),
        (4, 1),
        ((">=", 10), 1),
    ]
    assert [bucket for bucket in log.buckets if bucket[1]] == [
        (-40, 1),
        (0, 1),
        (40, 1),
        ((">=", 10000), 1),
    ]
    (fault,) = (item for item in items if type(item) is Fault)
    assert (fault.clause, fault.id, fault.probe, fault.what) == (
        3,
        1,
        ("dtrace", "", "", "BEGIN"),
        "divide-by-zero",
    )


def test_solaris():
    items = parse(read("solaris-guide"))
    assert [type(item) for item in items] == [
        Notice,
        Header,
        Row,
        Row,
        Row,
        Drop,
        Drop,
        Drop,
        Fault,
        Fault,
    ] + [Total] * 4
    assert items[2].values == [52, 2004]
    assert items[3].values == ["/dev/pts/3", 102]
    assert (items[4].cpu, items[4].id, items[4].function, items[4].values) == (
        11,
        4711,
        "fbt_ioctl",
        ["hello"],
    )
    assert [(item.kind, item.count, item.cpu) for item in items[5:8]] == [
        ("principal", 24, 0),
        ("aggregation", 3, 1),
        ("dynamic variable", 1, None),
    ]
    assert (items[8].clause, items[8].id, items[8].address, items[8].what) == (
        1,
        36,
        4,
        "invalid address (0x4)",
    )
    assert (items[9].clause, items[9].what) == (0, "divide-by-zero")
    assert [(item.keys, item.value) for item in items[10:]] == [
        (("sshd", "read"), 17),
        (("init",), 1),
        (("iscsid", "pollsys"), 3),
        (("snmpd",), -12),
    ]


def test_stacks_belong_to_their_totals():
    stacks = of_kind("solaris-stacks", Stack)
    assert stacks[0].frames == (
        "genunix`putnext+0x1",
        "ttcompat`ttcompatwput+0x200",
        "0xfffffffffbc3a8b2",
    )
    (total,) = of_kind("solaris-stacks", Total)
    assert (total.keys, total.value) == ((("libc.so.1`malloc+0x1", "cat`main+0x40"),), 42)


def test_distributions_have_their_keys():
    one, two = of_kind("freebsd-distributions", Distribution)
    assert (one.keys, one.buckets) == (("sshd",), [(8, 0), (16, 12), (32, 0)])
    assert (two.keys, two.buckets) == ((), [(("<", 0), 5), (0, 10), ((">=", 100), 5)])


def test_illumos_bars():
    assert [item.rows for item in of_kind("illumos-agghist", Bars)] == [
        [("returned", -12), ("web orders", 14), ("phone", 24)],
        [("HTTP/1.1", 2), ("cache store", 9), ("token", 9)],
        [("nickel", -80), ("half a dime", -20)],
        [("HTTP/1.1", 2), ("token", 9)],
        [("sshd", 3), ("zpool-rpool", 22)],
    ]


def test_illumos_packed_tables():
    rows = [row for item in of_kind("illumos-aggpack", Packed) for row in item.rows]
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        ("", "< -10", ">= 20", 3),
        ("", "4294967296", "17179869184", 1),
        ("1", "0", "2", 1),
        ("99", "0", "2", 100),
        ("grumble", "0", "2", 40),
        ("bar   7     8                9", "0", "2", 5),
        ("2", "< 0", ">= 40", 13),
        ("7", "< 0", ">= 40", 1),
    ]
    assert rows[3][3] == b"X_ "
    (packed,) = of_kind("illumos-pgsql", Packed)
    assert [(row[0], row[4]) for row in packed.rows] == [("1700000001", 2459), ("1700000002", 731)]
    (latency,) = of_kind("illumos-pgsql", Distribution)
    assert latency.buckets == [(9, 0), (10, 266), (20, 610), (100, 2543), (200, 75), (300, 0)]
    assert [(item.keys, item.value) for item in of_kind("illumos-pgsql", Total)] == [
        (("elapsed time (us)",), 10000321),
        (("queries failed",), 0),
        (("queries ok",), 7330),
    ]


def test_counts_below_zero():
    assert [(item.keys, item.buckets) for item in of_kind("illumos-negative", Distribution)] == [
        (("web",), [(0, 0), (1, -77), (2, 0)]),
        (("mail",), [(("<", 0), -40), (0, 0), (1, 80), ((">=", 8), 0)]),
        (("edge",), [(1, -(2**63)), (2, 2**63 - 1)]),
    ]


def test_frames_of_virtual_machines_and_guides():
    stacks = of_kind("solaris-guide-stacks", Stack)
    assert [len(stack.frames) for stack in stacks] == [2, 2, 8]
    assert stacks[2].frames[2:7] == (
        "d0c5c946",
        "libjava.so`Java_java_io_FileOutputStream_writeBytes+0x2c",
        "java/io/PrintStream.write",
        "shop/Main.main([Ljava/lang/String;)V",
        "StubRoutines (1)",
    )
    assert [(len(item.keys[0]), item.value) for item in of_kind("solaris-guide-stacks", Total)] == [
        (2, 1),
        (2, 17),
    ]
    kernel, user = of_kind("freebsd-handbook", Total)[3:]
    assert (kernel.value, user.value, user.keys[0][1]) == (
        12,
        3,
        "[ /usr/local/lib/python3.11/socket.py:506 (send) ]",
    )


def test_freebsd():
    rows = of_kind("freebsd-handbook", Row)
    assert [(row.cpu, row.id, row.function, row.name, row.values) for row in rows] == [
        (3, 63241, "openat", "entry", ["cron /etc/crontab"]),
        (3, 63241, "openat", "entry", ["cron /var/cron/tabs"]),
        (0, 14, "open", "entry", ["ls ."]),
    ]
    assert [(item.kind, item.count, item.cpu) for item in of_kind("freebsd-handbook", Drop)] == [
        ("principal", 2, 1),
        ("dynamic variable", 1201, None),
        ("dynamic variable", 5, None),
    ]
    (fault,) = of_kind("freebsd-handbook", Fault)
    assert (fault.clause, fault.id, fault.probe, fault.what) == (
        3,
        29,
        ("syscall", "", "open", "entry"),
        "invalid user access",
    )
    assert [(item.keys, item.value) for item in of_kind("freebsd-handbook", Total)[:3]] == [
        (("Xorg",), 4),
        (("getty",), 23),
        (("sshd",), 987),
    ]


def test_macos():
    rows = of_kind("macos-syscalls", Row)
    assert [row.values for row in rows] == [["Terminal"], ["launchd", 4096, -3], [512]]
    assert [(row.cpu, row.id, row.function, row.name) for row in rows][1] == (
        0,
        955,
        "read_nocancel",
        "entry",
    )
    totals = of_kind("macos-syscalls", Total)
    assert [(item.keys, item.value) for item in totals[:3]] == [
        (("mds",), 1),
        (("Google Chrome He",), 12),
        (("com.apple.WebKit",), 90),
    ]
    assert totals[3].keys[0][0] == "libsystem_kernel.dylib`__read_nocancel+0xa"
    (fault,) = of_kind("macos-syscalls", Fault)
    assert (fault.clause, fault.address) == (1, 0x7FF7BFEFF5D0)
    assert len(of_kind("macos-syscalls", Notice)) == 4


def test_flow():
    assert [(item.cpu, item.arrow, item.probe) for item in of_kind("macos-flow", Flow)] == [
        (2, "->", "main"),
        (2, "->", "read"),
        (2, "<-", "read"),
        (2, "<-", "main"),
        (3, "=>", "read"),
        (3, "|", "poll:entry"),
    ]
    assert len(of_kind("macos-flow", Notice)) == 3


def test_what_is_held_back_comes_when_nothing_follows():
    parser = Parser()
    assert (
        parser.feed(b"  key                                                              17\n")
        == []
    )
    (item,) = parser.flush()
    assert (item.keys, item.value) == (("key",), 17)
    assert parser.close() == []


def test_memory_is_bounded():
    parser = Parser()
    for _ in range(50):
        parser.feed(b"x" * 100_000)
    assert len(parser._rest) < 1 << 16
    table = b"           value  ------------- Distribution ------------- count    \n"
    items = parser.feed(
        b"\n"
        + table
        + b"               8 |                                         0        \n" * 10_000
    )
    assert sum(len(item.text) for item in items) > 100_000


# --- any bytes ------------------------------------------------------------------------------

LINES = [line + b"\n" for path in FILES for line in read(os.path.basename(path)[:-4]).split(b"\n")]
TEXTS = st.lists(
    st.sampled_from(LINES)
    | st.binary(max_size=60)
    | st.text("dtrace: 01|@`+x\n ", max_size=40).map(str.encode)
)


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


KEYS = st.lists(
    st.integers(-(2**63), 2**63 - 1) | st.text("abcXYZ/.-_", min_size=1, max_size=80), max_size=4
)


@settings(max_examples=300, deadline=None)
@given(KEYS, st.integers(-(2**63), 2**63 - 1))
def test_rows_of_tables_come_back(keys, value):
    """Keys without spaces; a string that is too long for its column can not be told from what follows otherwise."""
    line = (
        b"".join(
            b" %16d" % key if isinstance(key, int) else b"  %-50b" % key.encode() for key in keys
        )
        + b" %16d\n" % value
    )
    assert columns.parse_row(line)[0] == (*keys, value)
    (item,) = parse(line)
    assert (item.keys, item.value) == (tuple(keys), value)


def test_a_long_string_may_have_a_space_where_its_column_ends():
    """What follows it tells that it goes on."""
    text = b"a" * 33 + b" goes on"
    assert columns.parse_columns(b"  %-33s  %-33s %10d\n" % (text, b"c", -2002942616)) == [
        text.decode(),
        "c",
        -2002942616,
    ]
    assert columns.parse_columns(b"  %-33s %10d\n" % (b"a" * 33, -2002942616)) == [
        "a" * 33,
        -2002942616,
    ]
    assert columns.parse_row(b"  %-50s %16d\n" % (b"b" * 50 + b" c", 7))[0] == ("b" * 50 + " c", 7)


DIGITS, RUN = b"9" * 5000, b" " * 100_000
BARS = b"             key  ------------- Distribution ------------- | count\n"
PACKED = b"             key   min .---. max | count\n"
CLAUSE, ENABLED = (
    b"dtrace: error in dt_clause_1 for probe ID ",
    b"dtrace: error on enabled probe ID ",
)


@pytest.mark.parametrize(
    "data",
    [
        b" %b 1 f:n x\n",
        b" 1 %b f:n x\n",
        b" %b -> f x\n",
        BARS + b"  a @| %b\n",
        PACKED + b"  a  1 :x: 2 | %b\n",
        PACKED + b"  a  %b :x: 2 | 1\n",
        b"dtrace: %b drops on CPU 1\n",
        b"dtrace: 1 drop on CPU %b\n",
        b"dtrace: %b failed speculations x\n",
        CLAUSE + b"%b (a:b:c:d): x\n",
        CLAUSE + b"1 (a:b:c:d): x at BPF pc %b\n",
        ENABLED + b"%b (ID 1: a:b:c:d): x\n",
        b"dtrace: error in dt_clause_%b for probe ID 1 (a:b:c:d): x\n",
    ],
)
def test_a_number_of_thousands_of_digits_is_none(data):
    """int() refuses such."""
    data = data.replace(b"%b", DIGITS)
    assert b"".join(item.text for item in parse(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"  ---- Distribution ---- %bx\n",
        CLAUSE + b"1 (a:b:c:d): %bx\n",
        ENABLED + b"1 (ID 2: a:b:c:d): %bx\n",
        BARS + b"  a%bx\n",
        PACKED + b"  a%b\n",
        PACKED + b"  a  1 :" + b": 1 " * 5000 + b"\n",
        b"%bx\n",
        b"  a%b1x\n",
        b"          a`b\n          [ %b\n",
    ],
)
def test_no_line_takes_long(data):
    """The time does not grow with the square of a run of spaces, or of what else can be divided in many ways."""
    data = data.replace(b"%b", RUN)
    start = time.process_time()
    assert b"".join(item.text for item in parse(data)) == data
    assert time.process_time() - start < 4  # the square of RUN takes 8 s and more


def test_a_function_may_have_colons_in_its_name():
    (fault,) = parse(CLAUSE + b"7 (pid1:a.out:ns::f:entry): divide-by-zero at BPF pc 3\n")
    assert (fault.clause, fault.probe, fault.what, fault.pc) == (
        1,
        ("pid1", "a.out", "ns::f", "entry"),
        "divide-by-zero",
        3,
    )


# --- fuzzing: fuzz_parser.py -----------------------------------------------------------------


def test_seconds_of_fuzzing():
    assert dtrace_output_fuzzer.fuzz(3, seed=8)


@pytest.mark.long
def test_an_hour_of_fuzzing():
    print("\n".join(dtrace_output_fuzzer.fuzz(3600, seed=random.randrange(2**32))))


def test_the_fuzzer_finds_a_parser_that_loses_text(monkeypatch):
    class Forgets(Parser):
        def _take_frame(self, line, out):
            return (
                super()._take_frame(line, [])
                if self._table is None
                else super()._take_frame(line, out)
            )

        def _finish_held(self, out):
            super()._finish_held([] if self._held and self._held[1] == ("init",) else out)

    monkeypatch.setattr(dtrace_output_fuzzer, "Parser", Forgets)
    with pytest.raises(dtrace_output_fuzzer.Found, match="text was lost"):
        dtrace_output_fuzzer.fuzz(20, seed=8)
