"""What hosts send, epoch by epoch, merged, is what one session counts that sees the events of all: of every aggregating function.

The interpreter runs the clauses; the lines go through JSON.  Both ways of a host are tried: elements that are taken out of the maps, and
maps that nobody may empty, of which differences are sent.
"""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydtrace.aggregation import merge_values
from pydtrace.aggregation.int64 import unpack_words
from pydtrace.dlang.builtins import float_aggregations
from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.dlang.compile import compile_program
from pydtrace.driver.aggregation_deltas import AggregationDeltas
from pydtrace.driver.aggregation_state import AggregationState
from pydtrace.dtrace_text.address_text import AddressFormatter
from pydtrace.hosts import host_protocol
from pydtrace.hosts.merged_aggregations import value_merger
from pydtrace.options import Options
from tests.support.compiler.bpf_machine import Machine

FUNCTIONS = [
    "count()",
    "sum(arg2)",
    "min(arg2)",
    "max(arg2)",
    "avg(arg2)",
    "stddev(arg2)",
    "quantize(arg2)",
    "quantize(arg2, arg3)",
    "lquantize(arg2, -1000, 1000, 100)",
    "llquantize(arg2, 10, 0, 6, 20)",
    "percentiles(arg2)",
    "min((double)(int)arg2 / 8)",
    "max((double)(int)arg2 / 8)",
]
ADDED = ["sum((double)(int)arg2 / 8)", "avg((double)(int)arg2 / 8)"]  # the kernel has no such
NUMBERS = (
    st.integers(-100, 100)
    | st.integers(-(2**62), 2**62)
    | st.sampled_from((-(2**63), 2**63 - 1, 0))
)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 3),
        NUMBERS,
        st.integers(0, 3),
        st.sampled_from(("", "get", "größe", "\udcff")),
    ),
    max_size=40,
)  # of (host, epoch, value, a key, another)


def compiled(text):
    return compile_program(
        f"pyusdt*:::user_trace-n1 {{ {text} }}",
        "x.d",
        Options({"pyusdt": True}),
        macros={"target": 1},
        arguments=["x.d"],
    )


@pytest.fixture(scope="module")
def programs():
    """By whether the engine stands still."""
    return {
        still: compiled(
            " ".join(
                f"@keyed{i}[copyinstr(arg6), (char)arg3] = {function}; @whole{i} = {function};"
                for i, function in enumerate(FUNCTIONS + ADDED * still)
            )
        )
        for still in (False, True)
    }


class Host:
    """A made-up engine: an interpreter."""

    def __init__(self, program, stands_still):
        self.program, self.changes_only_when_polled = program, stands_still
        self.machine = Machine(program)
        self.deltas = AggregationDeltas(
            AggregationState(program, self, {}, lambda: AddressFormatter({}))
        )

    def fire(self, value, number, text):
        self.machine.fire(
            args=[0, 0, value % 2**64, number, 0, 0, text.encode("utf-8", "surrogateescape")]
        )

    def items(self, index):
        return self.machine.items(
            next(each for each in self.program.aggregations if each.map == index)
        )

    def remove(self, index, keys):
        """A new interpreter when all are taken out: what comes is counted from zero."""
        self.gone = {*getattr(self, "gone", ()), index}
        if self.gone == {each.map for each in self.program.aggregations}:
            self.machine, self.gone = Machine(self.program), set()


def sent(host):
    """What a host sends of an epoch: [(name, JSON of rows)]."""
    return [
        (
            each,
            json.dumps(
                [
                    [host_protocol.encode_value(key), merge_values.encode_words(each.row, words)]
                    for key, words in host.deltas.collect_delta(each).items()
                ]
            ),
        )
        for each in host.program.aggregations
    ]


def merged(lines):
    """{(name, key): words} of what all hosts sent."""
    several = {}
    for each, text in lines:
        key_of, of_lines = host_protocol.reader(each.keys), value_merger(each.row, each.params)
        for key, words in json.loads(text):
            several.setdefault((each, key_of(key)), []).append(
                unpack_words(of_lines.encode_words(of_lines.check_words(words)))
            )
    return {
        (each.name, key): merge_values.merge_words(each.row, words)
        for (each, key), words in several.items()
    }


def test_every_function_is_in_the_script(programs):
    assert {each.row.name for each in programs[True].aggregations} == {
        *AGGREGATIONS,
        *(row.name for row in float_aggregations.ROWS.values() if row.function_name != "stddev"),
    }


@settings(max_examples=15, deadline=None)
@given(events=EVENTS, stands_still=st.booleans())
def test_hosts_merged_are_one_session(programs, events, stands_still):
    program = programs[stands_still]
    hosts, one = [Host(program, stands_still) for _ in range(5)], Host(program, stands_still)
    lines = []
    for epoch in range(4):
        for number, host in enumerate(hosts):
            for _, _, *event in (each for each in events if each[:2] == (number, epoch)):
                host.fire(*event)
                one.fire(*event)
            lines += sent(host)
    assert merged(lines) == merged(sent(one))


def test_deviations_of_floats_merge_as_far_as_sums_do():
    """Welford's method has no sums that are exact, so the hosts' are compared by their values."""
    program = compiled("@ = stddev((double)(int)arg2 / 8);")
    hosts, one = [Host(program, True) for _ in range(3)], Host(program, True)
    for i in range(60):
        for host in (hosts[i % 3], one):
            host.fire(i * i, 0, "")
    (several,), (whole,) = (
        merged([line for host in hosts for line in sent(host)]).values(),
        merged(sent(one)).values(),
    )
    row = program.aggregations[0].row
    assert several[0] == whole[0] == 60
    assert row.compute_number(several) == pytest.approx(row.compute_number(whole), rel=1e-12)


@pytest.mark.parametrize(
    "wrong", [None, 3, {}, [], [1], [1, 2, 3], [-1, 5], [1, 2**63], [1, "2"], [1, 2.0], [[1], 2]]
)
def test_a_strangers_words_of_a_number(wrong):
    with pytest.raises(ValueError, match="2 words of 64 bits are wanted"):
        value_merger(AGGREGATIONS["sum"], ()).check_words(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        {},
        [],
        [1, 5],
        [1, 127, 1],
        [1, -1, 1],
        [-1, 5, 1],
        [1, 5, 2**63],
        [1, 5, "1"],
        [1, 5.0, 1],
        ["1"],
    ],
)
def test_a_strangers_words_of_a_distribution(wrong):
    with pytest.raises(
        ValueError, match="1 words are wanted, and pairs of the number of a bucket and its count"
    ):
        value_merger(AGGREGATIONS["quantize"], ()).check_words(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        [],
        ["a"],
        ["a", 1, 2],
        [1, 1],
        ["a", "1"],
        ["a", 128],
        ["a", -129],
        ["a", 1.0],
        ["a", True],
        ["a" * 256, 1],
        [{"hex": "0"}, 1],
        [{"hex": 1}, 1],
        [{"hex": "61", "x": 1}, 1],
        [["a"], 1],
    ],
)
def test_a_strangers_keys(programs, wrong):
    with pytest.raises(ValueError):
        host_protocol.reader(programs[True].aggregations[0].keys)(wrong)


def test_keys_of_arrays_stay_apart():
    """Text where that is all, else all the bytes; and back again."""
    from pydtrace.results import aggregations

    fields = compile_program("char a[5]; BEGIN { @[a, 3] = count(); }").aggregations[0].keys
    read = aggregations.make_key_reader(fields, None)
    for begin, value in (
        (b"ab\0\0\0", "ab"),
        (b"ab\0\0c", b"ab\0\0c"),
        (b"abcde", "abcde"),
        (b"\xff\0\0\0\0", b"\xff"),
        (b"\0" * 5, ""),
    ):
        packed = begin.ljust(fields[1].offset, b"\0") + (3).to_bytes(4, sys.byteorder)
        packed = packed.ljust(-(-len(packed) // 8) * 8, b"\0")
        assert (
            read(packed) == (value, 3) and aggregations.pack_key(fields, (value, 3), None) == packed
        )
