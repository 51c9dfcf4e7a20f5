"""The file of `pyusdt why --save`, what is wrong with others, and the page."""

import json
import re

import pytest

from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.sampled_process import WAITS_FOR_LOCK
from pydtrace.why import report
from pydtrace.why.accept_queue import Queue
from pydtrace.why.causes import compare_route
from pydtrace.why.evidence import Evidence, EvidenceError, RunFacts, format_evidence, read_evidence
from pydtrace.why.report_page import render_page
from pydtrace.why.request_log import Request, RequestLog, Span
from pydtrace.why.sampled_code import SampledCode

MS = 1_000_000
ROUTE = "GET /<b>\x1b[2J"


@pytest.fixture
def evidence():
    log, samples = RequestLog(), SampledCode()
    for number in range(43):
        slow = number >= 40
        spans = [Span("sql", f"select '<i>' {number}", "/srv/shop/a.py:7 view", MS, 2 * MS)]
        log.add_request(
            Request(
                7,
                f"http 7.{number}",
                "http",
                ROUTE,
                "200",
                (500 if slow else 10) * MS,
                -1,
                0,
                10**12 + number * MS,
                spans,
            )
        )
    for number in (40, 41, 42):
        labels = (
            ("process", "python 7"),
            ("thread", "T 1"),
            ("state", WAITS_FOR_LOCK),
            ("tag", f"http 7.{number}"),
            ("holder", "9"),
        )
        samples.add_sample(labels, (FrameKey(("view", "/srv/shop/a.py", 9)),))
    samples.end_round()
    samples.throttling._files[7] = ["/cpu.stat"]
    samples.throttling.add_change("/cpu.stat", 10**12, 5 * MS)
    facts = RunFacts(
        "shop-1", "python a.py", 1.7e9, 60.0, "/srv/shop", 3, queues={"<b>:1": Queue(20, 10, 30, 7)}
    )
    return Evidence(log, samples, facts)


def write_report(evidence):
    (route,) = evidence.log.routes
    found = compare_route(route, evidence.log.routes[route], evidence.samples)
    wording = report.Wording(evidence.facts.folder)
    total = evidence.log.routes[route].count
    return (
        report.describe_route(found, total, wording, evidence.samples)
        + report.format_table(found, wording)
        + report.format_timeline(found.slow[0], evidence.samples, wording)
    )


def test_a_file_gives_the_same_report(evidence, tmp_path):
    path = tmp_path / "why.json"
    path.write_text(format_evidence(evidence))
    again = read_evidence(str(path))
    text = write_report(evidence)
    assert write_report(again) == text and "held by a thread that was not seen" in text
    assert "\x1b" not in text
    facts = [getattr(again.facts, name) for name in RunFacts.__slots__]
    assert facts == [getattr(evidence.facts, name) for name in RunFacts.__slots__]
    request = again.log.routes[ROUTE].slowest[0]
    assert again.samples.throttled_time(request) == 5 * MS
    assert format_evidence(again) == format_evidence(evidence)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("facts"),
        lambda document: document["facts"].update(began="x"),
        lambda document: document.update(routes=[]),
        lambda document: document["routes"][ROUTE]["requests"][0]["request"].append(1),
        lambda document: document["routes"][ROUTE]["requests"][0]["request"].__setitem__(5, "1"),
        lambda document: document["routes"][ROUTE]["requests"][0]["spans"][0].__setitem__(4, 1.5),
        lambda document: document["routes"][ROUTE]["requests"][0].update(samples=[["code", "f"]]),
        lambda document: document["routes"][ROUTE].update(count=-1),
        lambda document: document.update(holders=[["lock", "f", "line", {"x": True}]]),
        lambda document: document["facts"].update(lost=float("inf")),
        lambda document: document["facts"].update(queues={"a": [1, 2, 3, -4]}),
        lambda document: document["facts"].update(queues={"a": [1, 2, 3, 4, 5]}),
        lambda document: document["facts"].update(began=float("nan")),
        lambda document: document["facts"].update(duration=10**400),
        lambda document: document["routes"][ROUTE]["requests"][0].update(samples=[["a", "b", "c"]]),
        lambda document: document["routes"][ROUTE]["requests"][0]["request"].__setitem__(5, 10**30),
    ],
)
def test_wrong_values_are_an_error(evidence, tmp_path, change):
    document = json.loads(format_evidence(evidence))
    change(document)
    path = tmp_path / "why.json"
    path.write_text(json.dumps(document))
    with pytest.raises(EvidenceError, match="has wrong values"):
        read_evidence(str(path))


@pytest.mark.parametrize(
    "data", [b"", b"[" * 100_000, b"\xff\xfe", b"[]", b'{"form": "pyusdt why 2"}']
)
def test_a_file_of_another_form_is_an_error(tmp_path, data):
    path = tmp_path / "why.json"
    path.write_bytes(data)
    with pytest.raises(EvidenceError, match="is no file of `pyusdt why --save`"):
        read_evidence(str(path))


def test_a_page_runs_nothing_of_what_programs_say(evidence):
    (route,) = evidence.log.routes
    found = compare_route(route, evidence.log.routes[route], evidence.samples)
    page = render_page(evidence, [found], "", report.Wording("/srv/shop"))
    assert "<b>" not in page and "<i>" not in page and "\x1b" not in page and "<script" not in page
    assert "<dd>shop-1</dd>" in page and "<dd>python a.py</dd>" in page
    assert '<p class="cause">likely cause: a wait for a lock in view at a.py:9 view' in page
    assert "<dt>queue</dt><dd>&lt;b&gt;:1: connections waited to be accepted in 50 %" in page
    axis = re.findall(r'<span style="left:([\d.]+)%">([^<]+)</span>', page)
    assert axis[:3] == [("0.00", "0"), ("20.00", "100 ms"), ("40.00", "200 ms")]
    assert 'style="left:0.20%;width:0.40%' in page


def test_a_page_of_a_quiet_run(evidence):
    page = render_page(evidence, [], "no slow requests: <3", report.Wording())
    assert "<p>no slow requests: &lt;3</p>" in page
