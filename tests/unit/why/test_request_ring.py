"""The ring of the last minutes: its objective, what it counts, what it keeps."""

import pytest

from pydtrace.why.request_log import Request, Span
from pydtrace.why.request_ring import Objective, RequestRing, parse_objective

MS = 1_000_000


def make_request(number, duration=MS, route="GET /", spans=()):
    return Request(7, f"http 7.{number}", "http", route, "200", duration, -1, 0, number, [*spans])


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("p99 < 300ms over 5m", Objective(300 * MS, 0.01, 300)),
        (" p99.9<2s over 1h", Objective(2000 * MS, 0.001, 3600)),
        ("p50 < 100us over 10s", Objective(MS // 10, 0.5, 10)),
    ],
)
def test_objectives(text, objective):
    assert parse_objective(text) == objective


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p99 < 300ms",
        "p99 > 300ms over 5m",
        "p0 < 300ms over 5m",
        "p100 < 300ms over 5m",
        "p99 < 300 over 5m",
        "p99 < 0ms over 5m",
        "p99 < 300ms over 9s",
        "p99 < 300ms over 2h",
        "p99 < 300ms over 5m x",
    ],
)
def test_what_is_no_objective(text):
    with pytest.raises(ValueError, match="^" + text.replace(".", r"\.")):
        parse_objective(text)


def test_a_limit_is_missed_by_one_request():
    ring = RequestRing(Objective(100 * MS))
    assert not ring.add_request(make_request(1, 100 * MS - 1), 0.0)
    assert ring.add_request(make_request(2, 100 * MS), 0.0)


def test_a_percentile_is_missed_by_its_share_of_a_route_in_the_window():
    ring = RequestRing(Objective(100 * MS, 0.01, 100))
    missed = []
    for number in range(1000):
        slow = number % 50 == 49  # 2 %
        request = make_request(number, (200 if slow else 1) * MS)
        ring.add_request(make_request(number, MS, "GET /other"), number * 0.01)
        if ring.add_request(request, number * 0.01):
            missed.append(number)
    assert missed == list(range(49, 1000, 50))
    assert ring.count("GET /") == (20, 1000) and ring.count("GET /other") == (0, 1000)
    assert not ring.add_request(make_request(1, 200 * MS), 200.0), "one of one is no percentile"
    assert ring.count("GET /") == (1, 1), "the others are older than the window"


def test_what_a_route_keeps_is_a_fair_choice_of_the_window():
    """Slices with many and with few requests: of each about the same share is kept, and all that are slowest."""
    ring = RequestRing(Objective(100 * MS, 0.0, 100))
    number = 0
    for second in range(0, 100, 10):
        for _ in range(3000 if second == 50 else 300):
            number += 1
            slow = number % 500 == 0
            ring.add_request(make_request(number, (200 if slow else 1) * MS), float(second))
    log = ring.make_log("GET /").routes["GET /"]
    assert (log.count, log.longest) == (5700, 200 * MS)
    assert sum(request.duration == 200 * MS for request in log.slowest) == 11
    crowded = sum(1500 < request.ended <= 4500 for request in log.chosen)
    share = crowded / len(log.chosen)
    assert len(log.chosen) >= 40 and abs(share - 3000 / 5700) < 0.2, (crowded, len(log.chosen))
    assert [each.ended for each in log.chosen] == sorted(each.ended for each in log.chosen)


def test_a_slice_keeps_a_bounded_number_of_spans_and_routes():
    ring = RequestRing(Objective(100 * MS))
    spans = [Span("sql", "select 1", "", number, number) for number in range(200)]
    for number in range(9000):
        ring.add_request(make_request(number, MS, f"GET /{number % 300}", spans), 0.0)
    ring.move_on(40.0)
    kept = list(ring.list_requests())
    assert len({request.route for request in kept}) == 100
    assert 0 < sum(len({id(each): each for each in request.spans}) for request in kept) <= 20_000
    assert ring.lost >= 6000 + sum(request.left_out for request in kept)
    longest = min(len(request.spans) for request in kept)
    assert all(span.duration >= 200 - longest for each in kept for span in each.spans[:longest])
