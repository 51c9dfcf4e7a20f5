"""The spans of a request: what is kept, of whom, and that nothing stays in the program's context."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import gc
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import pyusdt
from pyusdt.instrument import asyncio as loop_probes
from pyusdt.instrument import core, db_queries, dbapi, grpc, http, pools, request_spans

pytestmark = pytest.mark.own_processes


class Fired(list):
    """In the place of a probe that is on."""

    def __call__(self, *arguments):
        self.append(arguments)

    def __bool__(self):
        return True


@pytest.fixture
def fired(monkeypatch):
    """(spans, ends) that were fired."""
    monkeypatch.setattr(core, "_failures", {})
    spans, ends = Fired(), Fired()
    for module in (request_spans, db_queries, http, loop_probes, pools):
        monkeypatch.setattr(module, "span_probe", spans)
        monkeypatch.setattr(module, "done_probe", ends)
    request_spans._stalls.clear()
    yield spans, ends
    assert not core.trouble()
    assert request_spans.current_request.get() is None and pyusdt.get_tag() is None


def answer(application, path="/a"):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path}
    return list(http.WSGI(application)(environ, lambda *_: lambda _: None))


def test_queries_of_a_request(fired):
    spans, ends = fired
    kind = dbapi.connection(sqlite3.Connection, dbapi.cursor(sqlite3.Cursor))
    database = sqlite3.connect(":memory:", factory=kind)

    def application(_environ, start_response):
        start_response("200 OK", [])
        database.execute("select 1")
        return [b"x"]

    answer(application)
    (span,), (end,) = spans, ends
    assert span[1:3] == ("sql", "select 1") and span[0] == end[0]
    line = application.__code__.co_firstlineno + 2
    assert span[3] == f"{__file__}:{line} application"
    assert 0 <= span[4] <= end[4] and span[5] > 0
    assert end[1:4] == ("http", "GET /a", "200") and end[6:] == (1, 0)
    database.execute("select 2")  # of no request
    assert len(spans) == 1


def test_the_tag_is_the_request_s_or_the_program_s(fired):
    tags = []

    def application(_environ, start_response):
        start_response("200 OK", [])
        tags.append(pyusdt.get_tag())
        return [b"x"]

    answer(application)
    with pyusdt.tag("mine"):
        answer(application)
        assert pyusdt.get_tag() == "mine"
    assert tags[1] == "mine" and tags[0] == fired[1][0][0] and fired[1][1][0] == "mine"


def test_an_exception_ends_the_request(fired):
    def application(_environ, _start_response):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        answer(application)
    assert fired[1][0][3] == "500"


def test_spans_above_the_limit_are_counted(fired, monkeypatch):
    monkeypatch.setattr(request_spans, "SPANS", 3)

    def application(_environ, start_response):
        start_response("200 OK", [])
        for _ in range(10):
            request_spans.add_span("sql", b"select", time.perf_counter_ns(), 1)
        return [b"x"]

    answer(application)
    assert len(fired[0]) == 3 and fired[1][0][6:] == (3, 7)


def test_a_wait_for_a_worker(fired, monkeypatch):
    pools.install_threads(__import__("concurrent.futures.thread", fromlist=["thread"]))

    def application(_environ, start_response):
        start_response("200 OK", [])
        with ThreadPoolExecutor(1) as pool:
            pool.submit(time.sleep, 0.03)
            pool.submit(time.sleep, 0)
        return [b"x"]

    answer(application)
    first, second = (span for span in fired[0] if span[1] == "queue")
    assert first[2] == "a worker for time.sleep" and second[5] > 25_000_000 > first[5]


def test_a_call_of_no_request_is_handed_over_as_it_is(fired):
    pools.install_threads(__import__("concurrent.futures.thread", fromlist=["thread"]))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(sys._getframe, 0).result().f_code.co_name == "run"
    assert fired[0] == []


async def serve(application, path):
    scope = {"type": "http", "method": "GET", "path": path, "headers": ()}
    sent = []

    async def receive():
        return {}

    async def send(message):
        sent.append(message)

    await http.ASGI(application)(scope, receive, send)
    return sent


async def send_answer(send):
    await send({"type": "http.response.start", "status": 200, "headers": ()})
    await send({"type": "http.response.body", "body": b"x"})


def test_a_blocked_loop_is_a_span_of_those_that_waited(fired):
    loop_probes.install_callbacks(asyncio.events)

    async def blocks(_scope, _receive, send):
        await asyncio.sleep(0.01)
        time.sleep(0.1)  # noqa: ASYNC251 - that is what it is about
        await send_answer(send)

    async def waits(_scope, _receive, send):
        await asyncio.sleep(0.02)
        await send_answer(send)

    async def both():
        await asyncio.gather(serve(blocks, "/blocks"), serve(waits, "/waits"))

    asyncio.run(both())
    ends = {end[2]: end for end in fired[1]}
    stalls = [span for span in fired[0] if span[1] == "loop" and span[5] > 50_000_000]
    assert [span[0] for span in stalls] == [ends["GET /waits"][0]]
    assert ends["GET /blocks"][5] < 80_000_000, "it slept: no processor time"


def test_a_call_of_grpc_aio_has_its_own_processor_time(fired, monkeypatch):
    """Not that of what its loop ran meanwhile."""
    monkeypatch.setattr(grpc, "span_probe", fired[0])
    monkeypatch.setattr(grpc, "done_probe", fired[1])
    loop_probes.install_callbacks(asyncio.events)

    async def waits(_request, _context):
        await asyncio.sleep(0.05)

    async def runs(_request, _context):
        began = time.thread_time()
        while time.thread_time() - began < 0.1:
            pass

    async def both():
        calls = {"waits": waits, "runs": runs}
        await asyncio.gather(
            *(
                grpc._wrap_async_behaviour(name, each, False, None)(b"", None)
                for name, each in calls.items()
            )
        )

    asyncio.run(both())
    used = {end[2]: end[5] for end in fired[1]}
    assert used["waits"] < used["runs"] / 2 and used["runs"] >= 100_000_000


def test_processor_time_of_a_worker_is_the_request_s(fired):
    loop_probes.install_callbacks(asyncio.events)
    pools.install_threads(__import__("concurrent.futures.thread", fromlist=["thread"]))

    def spin():
        began = time.thread_time()
        while time.thread_time() - began < 0.1:
            pass

    async def application(_scope, _receive, send):
        await asyncio.to_thread(spin)
        await send_answer(send)

    asyncio.run(serve(application, "/a"))
    assert fired[1][0][5] >= 100_000_000


def test_a_collection_is_a_span(fired, monkeypatch):
    monkeypatch.setattr(request_spans, "SHORTEST_STALL", 0)

    def application(_environ, start_response):
        start_response("200 OK", [])
        gc.collect()
        return [b"x"]

    answer(application)
    assert ("gc", "generation 2") in [span[1:3] for span in fired[0]]


def test_a_request_that_ends_in_another_context(fired):
    """As a stream of gRPC's does that another thread continues: the next request of its context has its own spans and id."""
    first = request_spans.begin_request("rpc")
    contextvars.Context().run(first.done, "/shop/List", "OK")
    second = request_spans.begin_request("rpc")
    second.done("/shop/Get", "OK")
    assert [end[2] for end in fired[1]] == ["/shop/List", "/shop/Get"]
    assert len({end[0] for end in fired[1]}) == 2


@pytest.mark.parametrize("reads", [False, True])
def test_an_answer_that_is_never_closed(fired, reads):
    """It ends when the server forgets it, so that the next request is one of its own."""
    _, ends = fired

    def application(_environ, start_response):
        start_response("200 OK", [])
        return iter([b"x", b"y"])

    for path in ("/a", "/b"):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path}
        body = http.WSGI(application)(environ, lambda *_: lambda _: None)
        if reads:
            assert next(body) == b"x"
        assert [end[2] for end in ends] == ["GET /a"] * (path == "/b")
        del body, environ
    assert [end[2] for end in ends] == ["GET /a", "GET /b"]
    assert copy.copy(http._Body.__new__(http._Body)) is not None


def test_nothing_is_kept_of_a_request_that_has_ended(fired):
    """Tasks that it has started have it in their context."""
    request = request_spans.begin_request("http")
    task = contextvars.copy_context()
    request_spans.add_span("sql", "select 1", time.perf_counter_ns(), 1)
    request.done("/a", 200)
    task.run(request_spans.add_span, "sql", "select 2", time.perf_counter_ns(), 1)
    request.add("queue", "a worker", "", time.perf_counter_ns(), 1)
    assert request._spans == []
    assert [span[2] for span in fired[0]] == ["select 1"] and fired[1][0][6:] == (1, 0)
    later = task.run(request_spans.begin_request, "http")
    task.run(later.done, "/b", 200)
    assert len({end[0] for end in fired[1]}) == 2


def test_a_collection_whose_beginning_was_traced_only(fired, monkeypatch):
    """Its end is that of no later one."""
    request_spans._note_collection("start", {"generation": 2})
    with monkeypatch.context() as untraced:
        untraced.setattr(request_spans, "is_traced", lambda: False)
        request_spans._note_collection("stop", {"generation": 2})
        request_spans._note_collection("start", {"generation": 0})
    time.sleep(request_spans.SHORTEST_STALL * 2 / 1e9)
    before = len(request_spans._stalls)
    request_spans._note_collection("stop", {"generation": 0})
    assert len(request_spans._stalls) == before


def test_collections_are_watched_only_while_requests_are_traced(fired, monkeypatch):
    note = request_spans._note_collection
    monkeypatch.setattr(request_spans, "_watches_collections", False)
    monkeypatch.setattr(gc, "callbacks", [])  # the interpreter's own list stays as it is
    request_spans.begin_request("http").done("/a", 200)
    request_spans.begin_request("http").done("/a", 200)
    assert gc.callbacks == [note]
    monkeypatch.setattr(request_spans, "is_traced", lambda: False)
    gc.callbacks.append(print)
    note("start", {"generation": 0})
    assert gc.callbacks == [note, print], "the next callback is not skipped"
    gc.callbacks.pop()
    note("stop", {"generation": 0})
    assert gc.callbacks == [] and not request_spans._watches_collections


def test_nothing_is_registered_by_an_import():
    assert _run_python(
        "import gc; from pyusdt.instrument import request_spans; print(gc.callbacks)"
    ) == ("[]\n")


def _run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_nothing_is_kept_while_nobody_traces(monkeypatch):
    kept = []
    monkeypatch.setattr(request_spans, "RequestSpans", lambda *_: kept.append(1))

    def application(_environ, start_response):
        start_response("200 OK", [])
        kept.extend([pyusdt.get_tag()] if pyusdt.get_tag() else [])
        return [b"x"]

    answer(application)
    request_spans.note_stall("gc", "generation 2", 0)
    assert not kept
