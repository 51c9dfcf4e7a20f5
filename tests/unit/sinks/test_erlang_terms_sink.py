"""Terms for Erlang, of made-up records."""

from __future__ import annotations

from pydtrace.sinks.erlang_terms_sink import ErlangTermsSink
from tests.support.made_up.sink_feeder import WRONG, begun, feed, marked, record


def test_terms_of_what_can_not_be_ordered(program):
    """Erlang's items have no mark."""
    found = []
    sink = begun(program, ErlangTermsSink(found.append))
    sink.records(
        record(program.clauses[0], b"me\0", 5) + marked(record(program.clauses[0], b"me\0", 6))
    )
    assert [item[2] for item in found] == ["who=me n=5", "who=me n=6"]


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
