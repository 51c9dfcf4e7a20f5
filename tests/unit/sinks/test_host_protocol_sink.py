"""The lines of --json=2, which a coordinator merges, of made-up records."""

from __future__ import annotations

import json
import struct
from types import SimpleNamespace

import pytest

from pydtrace.driver.aggregation_state import AggregationState
from pydtrace.driver.sink import TraceInfo
from pydtrace.options import Options
from pydtrace.program import program as p
from pydtrace.sinks.host_protocol_sink import HostProtocolSink
from pydtrace.sinks.output_file import OutputError
from tests.support.made_up.sink_feeder import TOLD, Acts, feed


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
    acts.aggregates = AggregationState(program, engine, {}, lambda: Acts.symbols)
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
