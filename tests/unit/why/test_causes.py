"""Comparisons of slow and usual requests, from requests and samples that the test makes."""

import pytest

from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.sampled_process import HAS_GIL, RUNS, WAITS, WAITS_FOR_GIL, WAITS_FOR_LOCK
from pydtrace.why import causes, report
from pydtrace.why.request_log import PendingSpans, Request, RequestLog, Span, covered_time
from pydtrace.why.sampled_code import SampledCode, is_application_file

pytestmark = pytest.mark.own_processes

MS = 1_000_000
VIEW = "/srv/shop/views.py:12 checkout"
LIBRARY = "/usr/lib/python3.11/re/__init__.py"


def make_request(number, duration, spans=(), cpu=-1, route="GET /checkout"):
    return Request(
        7, f"http 7.{number}", "http", route, "200", duration, cpu, 0, number, list(spans)
    )


def make_log(usual, slow):
    """A route with 40 usual requests and 3 slow ones.  usual, slow: what makes a request of its number."""
    log = RequestLog()
    for number in range(43):
        log.add_request((slow if number >= 40 else usual)(number))
    return log


def compare(log, samples=None, **rule):
    (route,) = log.routes
    return causes.compare_route(
        route, log.routes[route], samples or SampledCode(), causes.SlowRule(**rule)
    )


def labels(state, tag, pid=7, thread=1, more=()):
    return (
        ("process", f"python {pid}"),
        ("thread", f"T {thread}"),
        ("state", state),
        ("tag", tag),
        *more,
    )


def usual_request(number):
    return make_request(number, 10 * MS, [Span("sql", "select 1", VIEW, 0, 9 * MS)])


def test_a_slow_statement_is_the_cause():
    def slow(number):
        text = f"select * from orders where id = {number} and name = 'a''b'"
        return make_request(number, 500 * MS, [Span("sql", text, VIEW, MS, 480 * MS)])

    found = compare(make_log(usual_request, slow))
    cause = found.main_cause
    assert cause.key == ("sql", "select * from orders where id = ? and name = ?", VIEW)
    assert (cause.in_slow, cause.in_usual, cause.slow, cause.usual) == (3, 0, 480 * MS, 0)
    assert (found.limit, found.mean_slow, found.mean_usual) == (30 * MS, 500 * MS, 10 * MS)
    assert report.describe_route(found, 43, report.Wording("/srv/shop"), SampledCode()) == (
        "GET /checkout: 3 of 43 requests took 30 ms or more, 500 ms in the mean; the others 10 ms\n"
        "  likely cause: SQL select * from orders where id = ? and name = ? at views.py:12 checkout\n"
        "  It takes 480 ms of a slow request and 0 µs of another: 98 % of the difference, in 3 of 3 slow"
        " requests and 0 of 40 others.\n"
    )


def test_many_statements_are_one_cause_with_their_number():
    def slow(number):
        spans = [Span("sql", f"select {i}", VIEW, i * 2 * MS, MS) for i in range(120)]
        return make_request(number, 250 * MS, spans)

    def usual(number):
        return make_request(number, 3 * MS, [Span("sql", "select 3", VIEW, 0, MS)])

    found = compare(make_log(usual, slow))
    assert (found.main_cause.times_slow, found.main_cause.times_usual) == (120, 1)
    assert "120 times instead of 1" in report.describe_route(
        found, 43, report.Wording(), SampledCode()
    )


def test_how_often_is_of_the_requests_that_have_the_cause():
    """Others may be slow for another reason."""

    def slow(number):
        spans = [Span("sql", f"select {i}", VIEW, i * 2 * MS, MS) for i in range(120)]
        return make_request(number, 250 * MS, spans if number > 40 else ())

    def usual(number):
        return make_request(number, 3 * MS, [Span("sql", "select 3", VIEW, 0, MS)] * (number % 2))

    found = compare(make_log(usual, slow))
    cause = found.main_cause
    assert (cause.times_slow, cause.times_usual, cause.in_slow, cause.in_usual) == (120, 1, 2, 20)


def test_time_without_a_span_is_by_the_samples():
    samples = SampledCode()
    stack = (
        FrameKey(("run", "/usr/lib/python3.11/threading.py", 1)),
        FrameKey(("checkout", "/srv/shop/views.py", 14)),
        FrameKey(("match", LIBRARY, 166)),
    )
    for _ in range(3):
        samples.add_sample(labels(RUNS, "http 7.40"), stack)
    samples.add_sample(labels(WAITS_FOR_LOCK, "http 7.40"), stack[:2])
    samples.end_round()
    request = make_request(40, 400 * MS)
    found, _ = causes.explain_request(request, samples)
    line = "/srv/shop/views.py:14 checkout"
    assert found == {("code", "match", line): 300 * MS, ("lock", "checkout", line): 100 * MS}


def test_code_that_did_not_get_a_processor_waited_for_it():
    samples = SampledCode()
    for _ in range(4):
        samples.add_sample(labels(RUNS, "http 7.1"), (FrameKey(("f", "/srv/a.py", 1)),))
    found, _ = causes.explain_request(make_request(1, 400 * MS, cpu=100 * MS), samples)
    assert found == {
        ("code", "f", "/srv/a.py:1 f"): 100 * MS,
        (causes.PROCESSOR, "", ""): 300 * MS,
    }


@pytest.mark.parametrize(("code", "kind"), [(150, "code"), (60, "code"), (20, causes.PROCESSOR)])
def test_code_that_runs_longer_is_named_instead_of_its_wait_for_a_processor(code, kind):
    samples = SampledCode()
    for number in (40, 41, 42):
        for _ in range(10):
            samples.add_sample(labels(RUNS, f"http 7.{number}"), (FrameKey(("f", "/srv/a.py", 1)),))
    slow = make_log(usual_request, lambda number: make_request(number, 500 * MS, cpu=code * MS))
    assert compare(slow, samples).main_cause.key[0] == kind


@pytest.mark.parametrize(("waited", "kind"), [(200, causes.QUOTA), (20, causes.PROCESSOR)])
def test_a_wait_for_a_processor_may_be_that_of_a_quota(waited, kind):
    samples = SampledCode()
    samples.add_sample(labels(RUNS, "http 7.1"), (FrameKey(("f", "/srv/a.py", 1)),))
    request = make_request(1, 400 * MS, cpu=100 * MS)
    request.ended = 10**9
    samples.throttling._files[7] = ["/cpu.stat"]
    samples.throttling.add_change("/cpu.stat", 10**9 - 500 * MS, 900 * MS)  # before it
    samples.throttling.add_change("/cpu.stat", 10**9 + 100 * MS, (waited + 100) * MS)  # ends later
    found, _ = causes.explain_request(request, samples)
    assert found[kind, "", ""] == 300 * MS


def test_samples_at_the_line_of_a_span_are_not_counted_twice():
    samples = SampledCode()
    samples.add_sample(
        labels(WAITS, "http 7.1"), (FrameKey(("checkout", "/srv/shop/views.py", 12)),)
    )
    request = make_request(1, 100 * MS, [Span("sql", "select 1", VIEW, 0, 60 * MS)])
    found, _ = causes.explain_request(request, samples)
    assert found == {("sql", "select ?", VIEW): 60 * MS, (causes.UNKNOWN, "", ""): 40 * MS}


def test_who_holds_a_lock_is_named():
    """The holder's stack may be seen after that of the thread that waits."""
    samples = SampledCode()
    for number in (40, 41, 42):
        waiter = labels(WAITS_FOR_LOCK, f"http 7.{number}", more=(("holder", "9"),))
        samples.add_sample(waiter, (FrameKey(("g", "/srv/shop/a.py", 5)),))
        samples.add_sample(
            labels("waits in read", "", thread=9), (FrameKey(("keep", "/srv/shop/b.py", 9)),)
        )
        samples.end_round()
    found = compare(make_log(usual_request, lambda number: make_request(number, 500 * MS)), samples)
    text = report.describe_route(found, 43, report.Wording("/srv/shop"), samples)
    assert (
        "  likely cause: a wait for a lock in g at a.py:5 g; held by keep at b.py:9 keep (3 of 3 samples)\n"
        in text
    )


@pytest.mark.parametrize(
    ("state", "function", "named"),
    [
        ("waits in fsync", "save", ("wait", "fsync")),
        ("waits in clock_nanosleep", "save", ("wait", "sleep")),
        ("waits in poll", "getaddrinfo", ("wait", "getaddrinfo")),
        ("waits for a page of memory", "save", ("page", "save")),
        ("waits", "save", ("wait", "save")),
    ],
)
def test_a_system_call_is_named_if_the_application_makes_it(state, function, named):
    samples = SampledCode()
    stack = (FrameKey(("save", "/srv/a.py", 5)),)
    if function != "save":
        stack += (FrameKey((function, "/usr/lib/python3.11/socket.py", 9)),)
    samples.add_sample(labels(state, "http 7.1"), stack)
    assert samples.activities((7, "http 7.1")) == {(*named, "/srv/a.py:5 save"): 1}


def test_who_holds_the_gil_is_named():
    samples = SampledCode()
    samples.add_sample(labels(WAITS_FOR_GIL, "http 7.1"), (FrameKey(("g", "/srv/a.py", 5)),))
    samples.add_sample(labels(HAS_GIL, ""), (FrameKey(("crunch", "/srv/b.py", 9)),))
    samples.end_round()
    samples.add_sample(labels(WAITS_FOR_GIL, "http 7.1"), (FrameKey(("g", "/srv/a.py", 5)),))
    samples.end_round()
    assert samples.activities((7, "http 7.1")) == {
        ("gil", "crunch holds the GIL", "/srv/b.py:9 crunch"): 1,
        ("gil", "another thread holds the GIL", ""): 1,
    }


def test_a_tag_of_two_processes_is_two_requests():
    """A traceparent goes through several services; the GIL is each one's own."""
    samples = SampledCode()
    frame = FrameKey(("g", "/srv/a.py", 5))
    samples.add_sample(labels(WAITS_FOR_GIL, "00-trace", 7), (frame,))
    samples.add_sample(labels(HAS_GIL, "00-trace", 8), (frame,))
    samples.end_round()
    assert samples.activities((7, "00-trace")) == {("gil", "another thread holds the GIL", ""): 1}
    assert samples.activities((8, "00-trace")) == {("code", "g", "/srv/a.py:5 g"): 1}


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("/srv/shop/views.py", True),
        ("shop.py", True),
        ("/srv/pyusdt/views.py", True),  # the application's folder
        ("/usr/lib64/python3.12/threading.py", False),
        ("/usr/lib/python3.11/threading.py", False),
        ("/usr/lib/python3/dist-packages/flask/app.py", False),
        ("/opt/v/lib/python3.13t/site-packages/pyusdt/tags.py", False),
        ("/home/a/src/pyusdt/tags.py", False),
        ("<frozen runpy>", False),
        ("<string>", False),
        ("?", False),
        ("", False),
    ],
)
def test_which_files_are_the_application_s(path, is_own):
    assert is_application_file(path) == is_own


def test_what_nothing_explains_is_unknown():
    found = compare(make_log(usual_request, lambda number: make_request(number, 500 * MS)))
    assert found.main_cause is None
    text = report.describe_route(found, 43, report.Wording(), SampledCode())
    assert "The cause is unknown" in text and "likely" not in text
    assert "unknown: no span and no sample shows it" in report.format_table(found, report.Wording())


def test_a_cause_of_one_of_three_slow_requests_is_not_named():
    def slow(number):
        spans = [Span("sql", "select slow", VIEW, 0, 400 * MS)] if number == 40 else []
        return make_request(number, 450 * MS, spans)

    assert compare(make_log(usual_request, slow)).main_cause is None


def test_a_cause_of_some_slow_requests_is_named_if_usual_ones_do_not_have_it():
    """Others are slow for other reasons."""

    def slow(number):
        spans = [Span("sql", "select slow", VIEW, 0, 900 * MS)] if number < 43 else []
        return make_request(number, 950 * MS if spans else 200 * MS, spans)

    log = make_log(usual_request, slow)
    for number in range(43, 48):
        log.add_request(slow(number))
    found = compare(log)
    assert (found.main_cause.key[1], found.main_cause.in_slow, len(found.slow)) == (
        "select slow",
        3,
        8,
    )
    for number in range(50, 60):  # it is as frequent in usual ones
        log.add_request(make_request(number, 10 * MS, [Span("sql", "select slow", VIEW, 0, MS)]))
    assert compare(log).main_cause is None


def test_no_comparison_without_slow_requests():
    assert compare(make_log(usual_request, usual_request)) is None
    few = RequestLog()
    for number in range(causes.LEAST_REQUESTS - 1):
        few.add_request(make_request(number, (500 if number == 1 else 10) * MS))
    assert compare(few) is None
    assert compare(few, limit=100 * MS).slow[0].duration == 500 * MS


def test_the_worst_share_is_slow():
    log = RequestLog()
    for number in range(300):
        log.add_request(make_request(number, (100 + number) * MS))
    assert [each.duration for each in compare(log, worst=0.01).slow] == [
        399 * MS,
        398 * MS,
        397 * MS,
    ]
    assert len(compare(log, worst=0.0001).slow) == 1
    assert len(compare(log, worst=0.5).slow) == 150


def test_the_longest_cause_first_and_the_others_in_the_table():
    def slow(number):
        spans = [
            Span("call", "GET http://10.0.0.5/price/17", VIEW, 0, 300 * MS),
            Span("gc", "generation 2", "", 300 * MS, 50 * MS),
            Span("sql", "select 1", VIEW, 350 * MS, 9 * MS),
        ]
        return make_request(number, 360 * MS, spans)

    lines = report.format_table(
        compare(make_log(usual_request, slow)), report.Wording()
    ).splitlines()
    assert [line.split("  ")[-1] for line in lines] == [
        "where the time went (causes may overlap)",
        f"a call of another service GET http://10.0.0.5/price/? at {VIEW}",
        "garbage collection: generation 2",
        f"SQL select ? at {VIEW}",
    ]


def test_a_timeline_shows_when_a_span_was():
    spans = [
        Span("sql", "select 1\x1b[2J", VIEW, 0, 30 * MS),
        Span("sql", "select 2", VIEW, 270 * MS, 30 * MS),
    ]
    text = report.format_timeline(make_request(1, 300 * MS, spans), SampledCode(), report.Wording())
    rows = text.splitlines()
    assert rows[1].startswith(f"    |{'###':30}|   30 ms  SQL select 1") and "\x1b" not in text
    assert rows[2].startswith(f"    |{'###':>30}|   30 ms  SQL select 2")
    assert rows[3].split() == [
        *["240", "ms", "unknown:", "no", "span", "and", "no", "sample", "shows", "it"]
    ]


@pytest.mark.parametrize(
    ("spans", "covered"),
    [
        ([], 0),
        ([(0, 5), (10, 5)], 10),
        ([(0, 10), (5, 10)], 15),
        ([(0, 100), (10, 5)], 100),
        ([(90, 50), (-10, 20)], 20),
    ],
)
def test_covered_time(spans, covered):
    assert covered_time([Span("", "", "", *each) for each in spans], 100) == covered


def test_limits_of_the_log():
    log = RequestLog()
    log.add_request(make_request(0, 1, route="GET /0"))
    for number in range(1, 1000):
        log.add_request(make_request(number, number, route=f"GET /{number}"))
        log.add_request(make_request(number, number, route="GET /0"))
    route = log.routes["GET /0"]
    assert (len(log.routes), log.other_routes) == (200, 800)
    assert (route.count, route.longest, len(route.chosen)) == (1000, 999, 400)
    assert [request.duration for request in route.slowest] == list(range(999, 799, -1))


def test_spans_of_requests_whose_end_was_lost_go_first():
    pending = PendingSpans()
    for number in range(20_001):
        pending.add(1, f"http {number // 100}", Span("sql", "", "", 0, 1))
    assert pending.lost == 100
    assert not pending.take(1, "http 0") and len(pending.take(1, "http 1")) == 100
    assert len(pending.take(1, "http 200")) == 1


@pytest.mark.parametrize(("waits", "kind"), [(4, "wait"), (1, causes.PROCESSOR)])
def test_a_wait_that_wakes_up_often_waits_for_a_processor_at_its_line(waits, kind):
    """fsync 100 times: on a busy machine the thread waits longer for a processor than for the disk."""
    samples = SampledCode()
    stack = (FrameKey(("save", "/srv/a.py", 5)),)
    for number in (40, 41, 42):
        for _ in range(16):
            samples.add_sample(labels(RUNS, f"http 7.{number}"), stack)
        for _ in range(waits):
            samples.add_sample(labels("waits in fsync", f"http 7.{number}"), stack)
    slow = make_log(usual_request, lambda number: make_request(number, 500 * MS, cpu=20 * MS))
    found = compare(slow, samples)
    assert found.main_cause.key[0] == kind
    if kind == "wait":
        text = report.describe_route(found, 43, report.Wording("/srv"), samples)
        assert "a wait in fsync at a.py:5 save" in text
        assert "It takes 100 ms of a slow request, waits 380 ms for a processor," in text


def test_a_wait_elsewhere_does_not_stand_for_the_wait_for_a_processor():
    samples = SampledCode()
    for number in (40, 41, 42):
        for _ in range(16):
            samples.add_sample(labels(RUNS, f"http 7.{number}"), (FrameKey(("f", "/srv/a.py", 9)),))
        for _ in range(4):
            samples.add_sample(
                labels("waits in fsync", f"http 7.{number}"), (FrameKey(("save", "/srv/a.py", 5)),)
            )
    slow = make_log(usual_request, lambda number: make_request(number, 500 * MS, cpu=20 * MS))
    assert compare(slow, samples).main_cause.key[0] == causes.PROCESSOR
