"""Sinks, fed with records that are made up: no engine, nothing traced."""

from __future__ import annotations

import json
import os
import struct
from types import SimpleNamespace

import pytest

from pydtrace.consumer.record_queue import RecordQueue
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.driver.aggregation_state import AggregationState
from pydtrace.driver.sink import Sink, TraceInfo
from pydtrace.dtrace_text.address_text import AddressFormatter
from pydtrace.options import Options
from pydtrace.program import program as p
from pydtrace.sinks.atomic_file import AtomicFile
from pydtrace.sinks.dtrace_text_sink import DtraceTextSink
from pydtrace.sinks.erlang_terms_sink import ErlangTermsSink
from pydtrace.sinks.host_protocol_sink import HostProtocolSink
from pydtrace.sinks.json_sink import JsonSink
from pydtrace.sinks.output_file import Output, OutputError
from pydtrace.sinks.parquet_sink import ParquetSink
from pydtrace.sinks.tee import Tee
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
    aggregates = AggregationState(program, engine, {}, Acts.symbols)
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


def test_text(program, output):
    output_, notify, written, told = output
    feed(program, DtraceTextSink(output_, notify))
    assert written() == (
        b"CPU     ID                    FUNCTION:NAME\n  0      1                         fun:name who=me n=5\n"
        b"  0      1                         fun:name <clear>          7\n\n        1                4\n"
    )
    assert told == TOLD


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


def test_text_marks_what_can_not_be_ordered(program, output):
    output_, notify, written, _ = output
    sink = begun(program, DtraceTextSink(output_, notify))
    sink.records(
        record(program.clauses[0], b"me\0", 5)
        + marked(record(program.clauses[0], b"me\0", 6))
        + marked(record(program.clauses[1], 7))
    )
    assert written().split(b"\n")[1:] == [
        b"  0      1                         fun:name who=me n=5",
        b"~ 0      1                         fun:name who=me n=6",
        b"~ 0      1                         fun:name <clear>          7",
        b"",
    ]


def test_json_marks_what_can_not_be_ordered(program, output):
    output_, notify, written, _ = output
    sink = begun(program, JsonSink(output_, notify))
    sink.records(
        record(program.clauses[0], b"me\0", 5)
        + marked(record(program.clauses[0], b"me\0", 6))
        + marked(FAULT)
    )
    said = [json.loads(line) for line in written().splitlines()]
    assert [line.get("uncertain") for line in said if line["type"] == "record"] == [None, True]
    assert [line["message"] for line in said if line["type"] == "error"] == [WRONG]


def test_records_of_the_api_say_that_they_can_not_be_ordered(program):
    import pickle

    queue = begun(program, RecordQueue(100, print))
    queue.records(
        record(program.clauses[0], b"me\0", 5) + marked(record(program.clauses[0], b"me\0", 6))
    )
    first, second = queue.take_records()
    assert (first.uncertain, second.uncertain, second["n"]) == (False, True, 6)
    again = pickle.loads(pickle.dumps((first, second)))
    assert again == (first, second) and [each.uncertain for each in again] == [False, True]


def test_terms_of_what_can_not_be_ordered(program):
    """Erlang's items have no mark."""
    found = []
    sink = begun(program, ErlangTermsSink(found.append))
    sink.records(
        record(program.clauses[0], b"me\0", 5) + marked(record(program.clauses[0], b"me\0", 6))
    )
    assert [item[2] for item in found] == ["who=me n=5", "who=me n=6"]


class Looks(DtraceTextSink):
    """It prints, and looks at the records, too."""


def test_only_text_by_itself_is_printed_by_the_engine(program, output):
    output_, notify, _, _ = output
    alone, looks, shown = (
        DtraceTextSink(output_, notify),
        Looks(output_, notify),
        DtraceTextSink(output_, notify),
    )
    tee = Tee(shown, DtraceTextSink(output_, notify))
    for sink in (alone, looks, tee):
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
    assert alone.formatter and not looks.formatter and not tee.formatter


def test_json(program, output):
    output_, notify, written, told = output
    feed(program, JsonSink(output_, notify))
    begin, first, error, second, text, drop, aggregation, end = map(
        json.loads, written().splitlines()
    )
    assert (begin["type"], begin["engine"], begin["reason"]) == ("begin", "made-up", "of a test")
    assert (first["names"], first["values"]) == (["who", "n"], ["me", 5])
    assert (error["type"], error["message"]) == ("error", WRONG)
    assert (text["type"], text["text"]) == ("text", "<clear>")
    assert second["values"] == [7]
    assert (drop["kind"], drop["count"]) == ("principal", 2)
    assert (aggregation["name"], aggregation["keys"], aggregation["value"]) == ("a", [1], 4)
    assert end == {"type": "end", "status": 3}
    assert told == TOLD


def test_lines_that_merge(program, output):
    """The epoch's deltas stand before its heartbeat; clear() is left to who merges."""
    output_, notify, written, told = output
    feed(program, HostProtocolSink(output_, notify))
    hello, probe, first, fault, second, drops, delta, heartbeat, exit_ = map(
        json.loads, written().splitlines()
    )
    assert (hello["type"], hello["schema"], hello["engine"]) == ("hello", 2, "made-up")
    assert hello["aggregations"] == [{"name": "a", "function": "count", "params": [], "keys": 1}]
    assert (probe["type"], probe["names"]) == ("probe", ["pro", "mod", "fun", "name"])
    assert (first["type"], first["clause"], first["values"]) == (
        "record",
        0,
        ["me", 5],
    ) and "does" not in first
    assert (fault["type"], fault["kind"], fault["pc"]) == ("fault", p.FAULT_DIVZERO, 3)
    assert (second["clause"], second["values"], second["does"]) == (1, [7], ["clear"])
    assert drops == {"type": "drops", "kind": "principal", "count": 2}
    assert delta == {
        "type": "delta",
        "epoch": 0,
        "name": "a",
        "function": "count",
        "params": [],
        "rows": [[[1], [4]]],
    }
    assert (heartbeat["type"], heartbeat["epoch"]) == ("heartbeat", 0)
    assert exit_ == {"type": "exit", "epochs": 1, "status": 3}
    assert told == TOLD


def test_epochs_pass_while_nothing_comes(program, output):
    """records() is called with nothing in it; each delta comes once."""
    output_, notify, written, _ = output
    held = [(struct.pack("=q", 1), struct.pack("=q", 4))]
    engine = SimpleNamespace(
        items=lambda index: held,
        remove=lambda index, keys: held.clear(),
        changes_only_when_polled=True,
    )
    sink = HostProtocolSink(output_, notify, interval=1e-9)
    acts = Acts(sink)
    acts.aggregates = AggregationState(program, engine, {}, Acts.symbols)
    sink.begin(TraceInfo(program, Options(), acts, lambda ident: ("", "", "", "x")))
    sink.records(b"")
    sink.records(b"")
    lines = [json.loads(line) for line in written().splitlines()]
    assert [(line["type"], line.get("epoch")) for line in lines] == [
        ("hello", None),
        ("delta", 0),
        ("heartbeat", 0),
        ("heartbeat", 1),
    ]


def test_what_dtrace_tells_has_no_words(program, output):
    with pytest.raises(OutputError, match="--json=2 is not possible with the dtrace engine"):
        HostProtocolSink(*output[:2]).begin(
            TraceInfo(program, Options(), Acts(None), lambda ident: ("", "", "", "x"), "dtrace")
        )


def test_ftruncate_empties_the_file_of_json(program, tmp_path):
    """It was an error of ours."""
    fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    sink = JsonSink(Output(fd, "out"), print)
    sink.text(b"x")
    sink.truncate()
    os.close(fd)
    assert (tmp_path / "out").read_bytes() == b""


def test_parquet(program, output, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    output_, notify, written, told = output
    feed(program, ParquetSink(output_, notify, str(tmp_path / "x.parquet")))
    assert [
        (row["who"], row["n"], row["7"])
        for row in parquet.read_table(tmp_path / "x.parquet").to_pylist()
    ] == [("me", 5, None), (None, None, 7)]
    (row,) = parquet.read_table(tmp_path / "x.aggregations.parquet").to_pylist()
    assert (row["aggregation"], row["keys"], row["value"]) == ("a", ["1"], 4)
    assert written() == b"<clear>"
    assert told == TOLD


def test_parquet_is_whole_where_tracing_breaks_off(program, output, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = ParquetSink(*output[:2], str(tmp_path / "x.parquet"))
    sink.begin(TraceInfo(program, Options(), Acts(sink), lambda ident: ("", "", "", "x")))
    sink.records(record(program.clauses[0], b"me\0", 5))
    sink.close()
    assert parquet.read_table(tmp_path / "x.parquet")["n"].to_pylist() == [5]


def test_the_api_s_queue(program):
    noted, news = [], []
    queue = RecordQueue(2, noted.append)
    queue.listener = lambda: news.append(1)
    assert queue.wait_for_room(0)
    feed(program, queue)
    assert not queue.wait_for_room(0)
    assert [(rec.probe.name, rec.values) for rec in queue.take_records()] == [
        ("name", ("me", 5)),
        ("name", (7,)),
    ]
    assert len(news) == 2 and queue.wait_for_room(0) and queue.take_records() == []
    assert list(queue.printed) == ["<clear>"]
    assert noted == [WRONG, "beware"]
    assert queue.final == {
        program.aggregations[0].map: [(struct.pack("=q", 1), struct.pack("=q", 4))]
    }
    queue.finish(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        queue.take_records()


def test_terms_of_erlang(program):
    said = []
    sink = ErlangTermsSink(said.append)
    feed(program, sink)
    where = ["pro", "mod", "fun", "name"]
    assert said == [
        ("printf", where, "who=me n=5"),
        ("error", WRONG),
        ("printa", where, "<clear>"),
        ("probe", where, 7),
        ("error", "beware"),
        ("drop", "principal", 2),
    ]
    assert [(definition.name, len(entries)) for definition, entries in sink.final] == [("a", 1)]


def test_a_sink_without_a_file_says_that_there_is_none():
    with pytest.raises(OSError, match="there is no output file"):
        Sink().reopen(b"x")
    assert Sink().truncate() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="host: only root makes links of other users'")
@pytest.mark.parametrize(
    ("owner", "mode", "is_followed"),
    [(54001, 0o1777, False), (0, 0o1777, True), (54001, 0o755, True)],
)
def test_another_users_link_is_not_followed(owner, mode, is_followed, tmp_path):
    """In a folder as /tmp is; the file that it leads to stays what it was."""
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    folder.chmod(mode)
    victim.write_text("victim")
    link = folder / "profile.svg"
    link.symlink_to("../victim")
    os.lchown(link, owner, owner)
    aside = AtomicFile(str(link))
    if is_followed:
        with open(aside.create_file(), "w", encoding="utf-8") as file:
            file.write("new")
        aside.commit_file()
    else:
        with (
            pytest.raises(OutputError, match=f"failed to write to {link}: Permission denied"),
            aside.report_errors(),
        ):
            aside.create_file()
    assert victim.read_text() == ("new" if is_followed else "victim")
    assert (
        link.is_symlink()
        and sorted(os.listdir(tmp_path)) == ["shared", "victim"]
        and os.listdir(folder) == ["profile.svg"]
    )


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with (
        pytest.raises(OutputError, match="Too many levels of symbolic links"),
        AtomicFile(str(tmp_path / "a")).report_errors() as _,
    ):
        AtomicFile(str(tmp_path / "a")).create_file()
