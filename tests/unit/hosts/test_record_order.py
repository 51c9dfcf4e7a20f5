"""The order of several hosts' records."""

import struct

import pytest

from pydtrace.hosts.record_order import RecordOrder
from pydtrace.program import program
from pydtrace.results import records

pytestmark = pytest.mark.own_processes
S = 1_000_000_000


def released(order, until, now=0):
    return order.release_records(until, now).decode()


def test_records_are_in_order_of_time():
    order = RecordOrder(timeout=2 * S)
    for time, host, text in ((30, 0, b"c"), (10, 1, b"a"), (20, 0, b"b"), (40, 1, b"d")):
        order.add_record(time, 1, host, text, 0)
    assert released(order, 30) == "abc" and released(order, 39) == "" and released(order, 40) == "d"
    assert (order.late, order.unsure, order.held_bytes) == (0, 0, 0)


def test_who_has_waited_enough_does_not_wait_for_a_silent_host():
    order = RecordOrder(timeout=2 * S)
    order.add_record(10, 1, 0, b"a", S)
    order.add_record(20, 1, 0, b"b", 2 * S)
    assert (
        released(order, 0, 2 * S) == ""
        and released(order, 0, 3 * S) == "a"
        and released(order, 0, 4 * S) == "b"
    )


def test_what_comes_too_late_is_shown_and_counted():
    order = RecordOrder(timeout=S)
    order.add_record(20, 0, 0, b"b", 0)
    assert released(order, 20) == "b"
    order.add_record(10, 0, 1, b"a", 0)
    assert (
        order.release_records(20, 0).startswith(b"a") and order.late == 1
    )  # the rest of it is the mark


def test_an_order_that_is_not_certain_is_marked_and_counted():
    """Of records of one host it is; of two hosts where the intervals do not overlap: with any that stands before, not the last alone."""
    order = RecordOrder(timeout=S)
    times = (
        (100, 5, 0),
        (101, 5, 0),
        (111, 4, 1),
        (200, 5, 0),
        (210, 5, 1),
        (300, 90, 0),
        (301, 1, 2),
        (380, 1, 2),
        (395, 1, 2),
        (396, 1, 1),
        (398, 1, 1),
        (399, 1, 3),
    )
    for time, error, host in times:
        order.add_record(time, error, host, struct.pack("=IIQ", 16, 3, time), 0)
    marked = {
        time: clause
        for _, clause, time in struct.iter_unpack("=IIQ", order.release_records(1000, 0))
    }
    assert list(marked) == [time for time, _, _ in times]
    assert {time for time, clause in marked.items() if clause == 3 | program.RECORD_UNSURE} == {
        210,
        300,
        301,
        380,
        396,
        399,
    }
    assert {*marked.values()} == {3, 3 | program.RECORD_UNSURE} and order.unsure == 6


def test_a_record_that_is_marked_is_of_its_clause():
    """Alerts and exemplars know records by that: they passed over those whose order was not certain."""
    order = RecordOrder(timeout=S)
    for time, host in ((100, 0), (101, 1)):
        order.add_record(
            time, 5, host, struct.pack("=IIIIQII", 32, 3, 7, 0, time, 40 + host, 50), 0
        )
    split = list(records.iter_records(marked := order.release_records(1000, 0)))
    assert order.unsure == 1 and marked[36:40] == struct.pack("=I", 3 | program.RECORD_UNSURE)
    assert [found for _, *found in split] == [[3, 7, 40, 50], [3, 7, 41, 50]]


def test_the_latest_of_each_other_host_counts():
    """One's own long interval hides no other's."""
    order = RecordOrder(timeout=S)
    for time, error, host in ((100, 50, 0), (101, 20, 1), (110, 1, 0), (119, 1, 0), (125, 1, 0)):
        order.add_record(time, error, host, struct.pack("=IIQ", 16, 3, time), 0)
    assert [
        time
        for _, clause, time in struct.iter_unpack("=IIQ", order.release_records(1000, 0))
        if clause != 3
    ] == [101, 110, 119]
