"""The page of live views: what its server gives to whom, what it sends, the page as a file.  No engine, no browser."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from math import inf, isfinite, nan
from types import SimpleNamespace

import pytest

from pydtrace.engine import EngineError
from pydtrace.sinks.http import connection_limit
from pydtrace.sinks.live import run_facts, view_json, web_sink
from pydtrace.sinks.output_file import Output
from tests.support.made_up.made_live_views import (
    FULL,
    Aggregates,
    count,
    quantize,
    real_sum,
    trace_info,
    watched,
)

pytestmark = pytest.mark.own_processes
HOSTILE = "</script><script>document.title='x'</script>\x1b[2J\udcff"


def states(*intervals):
    made = watched(*intervals)
    return view_json.full_state(made, 1000.25, 1.0), view_json.state_delta(made, 1000.25, 1.0, 1)


def test_whole_and_step():
    whole, step = states(
        {"a": {("x",): count(5)}}, {"a": {("x",): count(7), ("y", 3): count(2**62)}}
    )
    assert whole["panels"][0] == {
        "name": "a",
        "title": "@a",
        "expression": "count()",
        "heading": "",
        "unit": "",
        "function": "count",
        "keys": 2,
        "total": "4.61E",
        "past": view_json.MAX_INTERVALS,
        "lines": [
            {
                "key": ["x"],
                "number": 7.0,
                "rate": 2.0,
                "per_second": "2.0",
                "value": "7",
                "past": [5, 2],
            },
            {
                "key": ["y", "3"],
                "number": 2.0**62,
                "rate": 2.0**62,
                "per_second": "4.61E",
                "value": "4.61E",
                "past": [2**62],
            },
        ],
    }
    assert [line["past"] for line in step["panels"][0]["lines"]] == [[2], [2**62]]
    assert (whole["intervals"], whole["now"], whole["drops"]) == (2, 1000.25, {})


def finished(made, began=1000.0, now=1010.0):
    facts = run_facts.RunFacts(trace_info(), ["/usr/bin/pydtrace", "-n", "BEGIN { x; }"])
    facts.began = began
    return view_json.finished_state(made, now, facts)


def test_a_finished_run_is_whole():
    """Whatever its length, from its first interval on; a rate is that of the whole run."""
    made = watched(*({"a": {("x",): count(i)}, "q": {(): quantize(_8=i)}} for i in range(1, 2001)),
                   columns=view_json.MAX_INTERVALS)  # fmt: skip
    state = finished(made, 0.0, 2000.0)
    (line,), (drawn,) = (panel["lines"] for panel in state["panels"])
    assert (state["finished"], state["intervals"], state["interval"]) == (True, 500, 4.0)
    assert line["past"] == drawn["past"] == [4] * 500 and line["per_second"] == "1.0"
    assert drawn["columns"] == [[67, 4]] * 500 and state["seconds"] == [4.0] * 500
    assert state["panels"][0]["total"] == "2000" and state["panels"][1]["total"] == "2000 values"


def test_a_key_that_comes_late():
    made = watched(*[{"a": {("x",): count(1)}}] * 3, {"a": {("x",): count(1), ("y",): count(4)}},
                   columns=10)  # fmt: skip
    assert [line["past"] for line in finished(made)["panels"][0]["lines"]] == [[1, 0, 0, 0], [4]]


def test_what_a_finished_run_says_of_itself():
    made = watched({"a": {("x",): count(1)}}, columns=10)
    made.add_drops("principal", 3)
    facts = finished(made, 1000.0, 1075.0)["facts"]
    rows = dict(facts["rows"])
    assert rows["time"].endswith(", 1 min 15 s") and rows["lost"] == "3 drops"
    assert rows["command"] == "pydtrace -n 'BEGIN { x; }'"
    assert view_json.full_state(made, 0.0, 1.0)["facts"] is None


def test_a_distribution():
    whole, step = states({"a": {("x",): quantize(_8=3)}}, {"a": {("x",): quantize(_8=3, _32=2)}})
    assert whole["panels"][0]["buckets"] == {67: "8", 68: "16", 69: "32"}
    assert whole["panels"][0]["lines"][0]["columns"] == [[67, 3], [69, 2]]
    assert step["panels"][0]["lines"][0]["columns"] == [[69, 2]]


@pytest.mark.parametrize("total", [inf, -inf, nan, 1.7e308])
def test_what_is_not_finite(total):
    """JSON, and so a browser, has no infinities: what is drawn is finite, and the text beside it says what it is."""
    for each in states(
        *[{"a": {("x",): real_sum(i, total)}} for i in (1, 2)],
        {"a": {("x",): real_sum(3, 4.0)}},
        {"a": {("x",): real_sum(3, total)}},
    ):
        line = json.loads(view_json.encode_event("x", each), parse_constant=pytest.fail)["panels"][
            0
        ]["lines"][0]
        assert all(map(isfinite, [line["number"], line["rate"], *line["past"]])), line
        assert line["value"] == (f"{total:g}" if total != 1.7e308 else "1.7e+290E")


def test_names_are_data():
    """A page has them as text; nothing ends the element that they stand in, and all of it is UTF-8."""
    made = watched({HOSTILE: {(HOSTILE, b"\xff"): count(1)}})
    made.add_text(HOSTILE.encode("utf-8", "surrogateescape") + b"\n")
    text = web_sink.render_page(
        view_json.encode_event("whole", view_json.full_state(made, 0.0, 1.0))
    )
    text.encode("utf-8")
    state = text.split('id="state">', 1)[1].split("</script>", 1)[0]
    assert "document.title='x'" in state
    found = json.loads(state)
    assert found["panels"][0]["name"] == found["log"][0] == HOSTILE.replace("\udcff", "?")
    assert "view.css" not in text and 'src="' not in text


# ---- the server ----


@pytest.fixture
def page():
    """(the sink, its address's port, its token, what was told); an interval of its made-up aggregations is taken by interval()."""
    heard = []
    reader, writer = os.pipe()
    sink = web_sink.WebSink(
        Output(writer, "<pipe>"), lambda text, error=True: heard.append(text), 0
    )
    aggregates = Aggregates()
    sink._formatter = SimpleNamespace()
    sink.begin(trace_info(aggregates))
    port, token = heard[0].removeprefix("the page is http://127.0.0.1:").rstrip("/").split("/")

    def interval(**now):
        aggregates.set(**now)
        sink._last -= 1.0
        sink.check_interval()

    yield SimpleNamespace(sink=sink, port=int(port), token=token, interval=interval)
    sink.close()
    os.close(reader)
    os.close(writer)


def get(page, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=30)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{page.port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize(
    ("path", "host", "method", "status"),
    [
        ("", None, "GET", 200),
        ("view.js", None, "GET", 200),
        ("view.css", "localhost:{port}", "GET", 200),
        ("nothing", None, "GET", 404),
        ("../told.py", None, "GET", 404),
        ("%2e%2e/told.py", None, "GET", 404),
        ("", "evil.example:{port}", "GET", 421),
        ("", "127.0.0.1", "GET", 421),
        ("", None, "POST", 501),
        ("events", "evil.example", "GET", 421),
    ],
)
def test_who_gets_what(path, host, method, status, page):
    answer, _ = get(
        page, f"/{page.token}/{path}", host.format(port=page.port) if host else None, method
    )
    assert answer.status == status
    if status == 200:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert (answer.headers["Referrer-Policy"], answer.headers["X-Content-Type-Options"]) == (
            "no-referrer",
            "nosniff",
        )
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("token", ["", "x", "%C3%A9", "{token}x", "{cut}"])
def test_without_the_token(token, page):
    path = "/" + token.format(token=page.token, cut=page.token[:-1]) + "/"
    answer, body = get(page, path)
    assert answer.status in (403, 404) and page.token.encode() not in body


def events(page):
    """A generator of what a viewer is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=30)
    connection.request("GET", f"/{page.token}/events")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "text/event-stream"
    for line in answer:
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])
        elif line.startswith(b"event: end"):
            yield None
            return


def test_events(page):
    """The first is all that there is, then one for each interval, then the end."""
    viewer = events(page)
    assert next(viewer)["what"] == "whole"
    page.interval(a={("x",): count(5)})
    first = next(viewer)
    page.interval(a={("x",): count(7)})
    second = next(viewer)
    assert [each["what"] for each in (first, second)] == ["step", "step"]
    assert second["panels"][0]["lines"][0]["past"] == [2]
    late = events(page)
    assert next(late)["panels"][0]["lines"][0]["past"] == [5, 2]
    page.sink.close()
    assert (next(viewer), next(late)) == (None, None)


def test_a_viewer_that_does_not_read(page):
    """It holds up nobody, and has the latest state when it reads again."""
    slow = socket.create_connection(("127.0.0.1", page.port))
    slow.sendall(
        f"GET /{page.token}/events HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode()
    )
    many = {(f"key {i}" * 20,): count(i) for i in range(200)}
    began = time.monotonic()
    for _ in range(200):
        page.interval(a=many)
    assert time.monotonic() - began < 30
    viewer = events(page)
    assert next(viewer)["intervals"] == 200
    got = b""
    while b'"intervals":200,' not in got:
        got = got[-100:] + slow.recv(1 << 20)
    slow.close()


def test_viewers_are_bounded(page):
    viewers = [events(page) for _ in range(web_sink._MAX_VIEWERS)]
    for viewer in viewers:
        next(viewer)
    answer, _ = get(page, f"/{page.token}/events")
    assert answer.status == 503
    viewers.pop().close()


def test_connections_are_bounded(page):
    """Of anybody on the machine, who needs no token to make them: no more threads and descriptors than that."""
    idle = [
        socket.create_connection(("127.0.0.1", page.port))
        for _ in range(web_sink._MAX_CONNECTIONS + 30)
    ]
    closed = 0
    for each in idle[web_sink._MAX_CONNECTIONS :]:
        each.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            assert each.recv(1) == b""
        closed += 1
    assert closed == 30
    for each in idle:
        each.close()
    deadline = time.monotonic() + 30
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if get(page, f"/{page.token}/")[0].status == 200:
                break
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.skipif(os.geteuid() != 0, reason="host: another user's connections need root")
def test_another_user_keeps_nobody_out(page):
    """Whoever holds all the connections that he can get: the owner's page and a third user are answered."""
    holds = (
        "import os, socket, sys, time\n"
        "'x'.encode('idna')  # what is loaded later is not that user's to read\n"
        "os.setuid(int(sys.argv[2]))\n"
        "held = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(int(sys.argv[3]))]\n"
        "gone = 0\n"
        "for each in held:\n"
        "    each.settimeout(0.05)\n"
        "    try:\n"
        "        gone += each.recv(1) == b''\n"
        "    except TimeoutError:\n"
        "        pass\n"
        "    except ConnectionResetError:\n"
        "        gone += 1\n"
        "print(gone, flush=True)\n"
        "sys.stdin.read()\n"
    )

    def hold(uid, count):
        return subprocess.Popen(
            [sys.executable, "-S", "-c", holds, str(page.port), str(uid), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with hold(54003, 100) as greedy, hold(54004, 3) as third:
        assert int(greedy.stdout.readline()) == 100 - web_sink._MAX_CONNECTIONS // 4
        assert int(third.stdout.readline()) == 0
        assert get(page, f"/{page.token}/")[0].status == 200
        for each in (greedy, third):
            each.stdin.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_who_is_at_the_other_end(host):
    try:
        server = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError:
        pytest.skip("host: no IPv6")
    with server, socket.create_connection(server.getsockname()[:2]) as client:
        connection, theirs = server.accept()
        with connection:
            assert connection_limit.identify_peer(theirs, connection.getsockname()) == (
                "uid",
                os.geteuid(),
            )
        assert connection_limit.identify_peer(("192.0.2.1", 5), ("192.0.2.2", 6)) == (
            "address",
            "192.0.2.1",
        )
        assert client


def test_places():
    places, own, other, third = (
        connection_limit.ConnectionLimit(8),
        ("uid", os.geteuid()),
        ("uid", 54003),
        ("address", "192.0.2.1"),
    )
    assert [places.acquire_slot(other) for _ in range(3)] == [True, True, False]
    assert (
        [places.acquire_slot(third) for _ in range(2)] == [True, True]
        and all(places.acquire_slot(own) for _ in range(8))
        and not places.acquire_slot(own)
    )
    more = [places.acquire_slot(("uid", 60000 + n)) for n in range(6)]
    assert more == [True] * 4 + [False] * 2, "all others together have as many as the owner"
    places.release_slot(other)
    assert places.acquire_slot(other) and not places.acquire_slot(other)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sink = web_sink.WebSink(Output(1, "<stdout>"), print, port)
        sink._formatter = SimpleNamespace()
        with pytest.raises(
            EngineError, match=f"--web: port {port} of 127.0.0.1: Address already in use"
        ):
            sink.begin(trace_info())
        sink.close()
    assert not [
        thread
        for thread in threading.enumerate()
        if thread.name == "pydtrace-server" and thread.is_alive()
    ]


def test_it_is_full(tmp_path):
    """A view at its bounds is of a size that a browser takes once a second."""
    whole, step = (len(view_json.encode_event("x", each)) for each in states(*FULL * 10))
    assert step < whole < 1 << 20
