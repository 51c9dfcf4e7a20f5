"""The queue of the API, which is a sink, of made-up records."""

from __future__ import annotations

import struct

import pytest

from pydtrace.consumer.record_queue import RecordQueue
from tests.support.made_up.sink_feeder import WRONG, begun, feed, marked, record


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
