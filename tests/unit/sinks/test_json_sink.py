"""--json, of made-up records."""

from __future__ import annotations

import json
import os

from pydtrace.sinks.json_sink import JsonSink
from pydtrace.sinks.output_file import Output
from tests.support.made_up.sink_feeder import FAULT, TOLD, WRONG, begun, feed, marked, record


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


def test_ftruncate_empties_the_file_of_json(program, tmp_path):
    """It was an error of ours."""
    fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    sink = JsonSink(Output(fd, "out"), print)
    sink.text(b"x")
    sink.truncate()
    os.close(fd)
    assert (tmp_path / "out").read_bytes() == b""
