"""Feeds a sink with the records of a made-up tracing."""

from __future__ import annotations

import os
import struct
from types import SimpleNamespace

import pytest

from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.driver.aggregation_state import AggregationState
from pydtrace.driver.sink import TraceInfo
from pydtrace.dtrace_text.address_text import AddressFormatter
from pydtrace.options import Options
from pydtrace.program import program as p
from pydtrace.sinks.output_file import Output
from tests.support.formatter.formatter_cases import header

SCRIPT = b'BEGIN { printf("who=%s n=%d", "", 0); } BEGIN { @a[1] = count(); clear(@a); trace(7); }'


FAULT = header(1 | p.RECORD_FAULT, p.FAULT_RECORD_SIZE) + struct.pack("=IIQ", p.FAULT_DIVZERO, 3, 0)


@pytest.fixture(scope="module")
def program():
    compiler = Compiler(Options(), default_macros(0))
    compiler.compile_text(SCRIPT, None)
    return compiler.generate_program()


class Acts:
    """What would do the actions: it says which came, as text."""

    symbols = AddressFormatter({})

    def __init__(self, sink):
        self.sink = sink

    def run_action(self, action, record):
        self.sink.text(b"<%s>" % action.row.name.encode())


def record(clause, *values):
    """A clause's record; values: those of its actions, one after the other."""
    made = bytearray(clause.record_size)
    made[: p.RECORD_DATA] = header(clause.index, clause.record_size)
    for data, value in zip([data for action in clause.actions for data in action.data], values):
        raw = value if isinstance(value, bytes) else value.to_bytes(data.size, "little")
        made[data.offset : data.offset + len(raw)] = raw
    return bytes(made)


def feed(program, sink):
    """A whole tracing: two records with a fault between them, a loss, the aggregation, exit(3)."""
    engine = SimpleNamespace(
        items=lambda index: [(struct.pack("=q", 1), struct.pack("=q", 4))],
        changes_only_when_polled=False,
    )
    aggregates = AggregationState(program, engine, {}, lambda: Acts.symbols)
    acts = Acts(sink)
    acts.aggregates = aggregates
    sink.begin(
        TraceInfo(
            program,
            Options(),
            acts,
            lambda ident: ("pro", "mod", "fun", "name"),
            "made-up",
            "of a test",
        )
    )
    sink.records(record(program.clauses[0], b"me\0", 5) + FAULT)
    sink.records(record(program.clauses[1], 7))
    sink.notice("beware")
    sink.notice("by the way", error=False)
    sink.drop("principal", 2, "2 drops")
    sink.pause()
    sink.snapshot(aggregates)
    sink.end(3)
    sink.close()


@pytest.fixture
def output():
    """(Output, notify, function that gives what was written, what was told)."""
    reader, writer = os.pipe()
    told = []
    yield (
        Output(writer, "<pipe>"),
        lambda text, error=True: told.append((text, error)),
        lambda: os.read(reader, 1 << 16),
        told,
    )
    os.close(reader)
    os.close(writer)


WRONG = "error in dt_clause_1 for probe ID 1 (pro:mod:fun:name): divide-by-zero at BPF pc 3"


TOLD = [(WRONG, True), ("beware", True), ("by the way", False), ("2 drops", True)]


def marked(record):
    """As one whose place among those of other hosts is not certain."""
    clause = (
        int.from_bytes(record[p.RECORD_CLAUSE : p.RECORD_CLAUSE + 4], "little") | p.RECORD_UNSURE
    )
    return record[: p.RECORD_CLAUSE] + clause.to_bytes(4, "little") + record[p.RECORD_CLAUSE + 4 :]


def begun(program, sink):
    sink.begin(
        TraceInfo(
            program,
            Options(),
            Acts(sink),
            lambda ident: ("pro", "mod", "fun", "name"),
            "made-up",
            "of a test",
        )
    )
    return sink
