"""pyusdt.instrument without a framework: what WSGI and ASGI applications, queries and hooks that fail do around our probes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import sqlite3
import sys

import pytest

from pyusdt import get_tag, instrument
from pyusdt import import_callbacks as data_arrival
from pyusdt.instrument import core, db_queries, dbapi, http, import_hooks, probes
from pyusdt.instrument import logging as own_logging


class Fired:
    """In the place of a probe: keeps what it is called with.  error: raises it."""

    def __init__(self, error=None):
        self.calls, self.error = [], error

    def __call__(self, *arguments):
        self.calls.append(arguments)
        if self.error:
            raise self.error


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError("asked for its text")

    __repr__ = __str__


@pytest.fixture(autouse=True)
def no_faults(monkeypatch):
    monkeypatch.setattr(core, "_failures", {})


@pytest.fixture(params=["good", "starts fail", "ends fail", "all fail"])
def kind(request):
    return request.param


def probes_of(kind):
    return Fired(Hostile() if kind in ("starts fail", "all fail") else None), Fired(
        Hostile() if kind in ("ends fail", "all fail") else None
    )


def replaced(monkeypatch, module, kind):
    start, done = probes_of(kind)
    monkeypatch.setattr(module, "_start", start)
    monkeypatch.setattr(module, "_done", done)
    return start, done


def environ(**more):
    return {"REQUEST_METHOD": "GET", "PATH_INFO": "/a", "wsgi.input": io.BytesIO(), **more}


def as_list(_environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"one", b"two"]


def as_generator(_environ, start_response):
    start_response("404 Not Found", [])
    yield b"four"


def by_write(_environ, start_response):
    start_response("200 OK", [])(b"12345")
    return []


def raising(_environ, _start_response):
    raise ZeroDivisionError


def answer(application, **more):
    """What a server gets: (statuses, bytes) or the exception's type."""
    said, written = [], []

    def start_response(status, headers, error=None):
        said.append(status)
        return written.append

    try:
        body = application(environ(**more), start_response)
        pieces = list(body)
        if hasattr(body, "close"):
            body.close()
    except Exception as error:  # noqa: BLE001 - compared with another
        return type(error)
    return said, b"".join(written + pieces)


WSGI_CASES = {as_list: (200, 6), as_generator: (404, 4), by_write: (200, 5), raising: (500, 0)}


@pytest.mark.parametrize("application", WSGI_CASES)
def test_wsgi(monkeypatch, application, kind):
    start, done = replaced(monkeypatch, http, kind)
    assert answer(http.WSGI(http.WSGI(application))) == answer(application)
    assert start.calls and set(start.calls) == {("GET", "", "/a", "")}
    if kind == "good":
        route, status, size, took, method, path, _ = done.calls[0]
        assert (route, status, size, method, path) == (
            "",
            *WSGI_CASES[application],
            "GET",
            "/a",
        ) and took > 0
        assert len(start.calls) == len(done.calls) == 1 and instrument.trouble() == ""
    else:
        assert "last with Hostile" in instrument.trouble()


def test_a_list_stays_a_list(monkeypatch):
    replaced(monkeypatch, http, "good")
    assert http.WSGI(as_list)(environ(), lambda *_: None) == [b"one", b"two"]


def test_an_answer_keeps_what_it_has(monkeypatch, kind):
    """As Django's, which has a status and is bytes."""

    class Answer:
        status_code = 207
        __iter__ = lambda self: iter([b"1", b"2"])
        __bytes__ = lambda self: b"all of it"

    _, done = replaced(monkeypatch, http, kind)
    answered = http.WSGI(lambda *_: Answer())(environ(), lambda *_: None)
    assert (answered.status_code, bytes(answered), list(answered)) == (
        207,
        b"all of it",
        [b"1", b"2"],
    )
    with pytest.raises(AttributeError):
        answered.nothing  # noqa: B018 - what it has not
    assert not hasattr(answered, "streaming") and len(done.calls) == (
        kind not in ("starts fail", "all fail")
    )


def test_a_file_of_the_servers_stays_one(monkeypatch):
    class Wrapper:
        pass

    def application(_environ, start_response):
        start_response("200 OK", [("Content-Length", "77")])
        return wrapper

    wrapper = Wrapper()
    _, done = replaced(monkeypatch, http, "good")
    assert (
        http.WSGI(application)(environ(**{"wsgi.file_wrapper": Wrapper}), lambda *_: None)
        is wrapper
    )
    assert done.calls[0][1:3] == (200, 77)


def test_nothing_while_nobody_traces(monkeypatch):
    monkeypatch.setattr(http, "Request", None)  # who makes one, raises
    surroundings = environ()
    assert (
        http.WSGI(lambda given, _start: given)(surroundings, None) is surroundings
        and http._KEY not in surroundings
    )
    assert instrument.trouble() == ""


async def plain(_scope, _receive, send):
    await send(
        {"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"3")]}
    )
    await send({"type": "http.response.body", "body": b"a", "more_body": True})
    await send({"type": "http.response.body", "body": b"bc"})


async def in_a_file(_scope, _receive, send):
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]}
    )
    await send({"type": "http.response.pathsend", "path": "/x"})


async def failing(_scope, _receive, _send):
    raise ZeroDivisionError


async def unusual(_scope, _receive, send):
    await send({"type": "http.response.start", "status": "what"})
    await send({})


ASGI_CASES = {plain: (201, 3), in_a_file: (200, 9), failing: (500, 0), unusual: (0, 0)}


def messages(application, kind="http", headers=()):
    sent = []

    async def send(message):
        sent.append(message)

    try:
        asyncio.run(
            application(
                {"type": kind, "method": "GET", "path": "/a", "headers": headers}, None, send
            )
        )
    except Exception as error:  # noqa: BLE001 - compared with another
        return sent, type(error)
    return sent, None


@pytest.mark.parametrize("application", ASGI_CASES)
def test_asgi(monkeypatch, application, kind):
    _, done = replaced(monkeypatch, http, kind)
    assert messages(http.ASGI(http.ASGI(application))) == messages(application)
    if kind == "good":
        assert [call[1:3] for call in done.calls] == [ASGI_CASES[application]]
    assert (instrument.trouble() == "") == (kind == "good" and application is not unusual)


TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    "header, known",
    [
        (TRACEPARENT, TRACEPARENT),
        (f"{TRACEPARENT}-of-a-later-version", TRACEPARENT),
        ("00-zero", None),
        ("x" * 100_000, None),
    ],
)
def test_traceparent(monkeypatch, header, known, kind):
    """It is the tag while the request is answered, whatever fails; before and afterwards it is not."""
    seen = []

    def in_wsgi(_environ, start_response):
        seen.append(get_tag())
        return as_list(_environ, start_response)

    async def in_asgi(scope, receive, send):
        seen.append(get_tag())
        await plain(scope, receive, send)
        seen.append(get_tag())

    start, done = replaced(monkeypatch, http, kind)
    answer(http.WSGI(in_wsgi), HTTP_TRACEPARENT=header)
    assert get_tag() is None
    messages(http.ASGI(in_asgi), headers=[(b"traceparent", header.encode())])
    assert seen == ([None] * 3 if "starts" in kind or "all" in kind else [known, known, None])
    assert {call[-1] for call in start.calls + done.calls} == {known or ""}


def test_a_connection_that_is_no_request(monkeypatch):
    start, done = replaced(monkeypatch, http, "good")
    messages(http.ASGI(plain), kind="websocket")
    assert start.calls == done.calls == []


class Cursor:
    rowcount = 4


def test_queries(monkeypatch, kind):
    start, done = replaced(monkeypatch, db_queries, kind)
    inner = lambda: db_queries.trace_query(Cursor, "inner", lambda: 7)
    assert db_queries.trace_query(Cursor, "outer", inner) == 7
    with pytest.raises(ZeroDivisionError):
        db_queries.trace_query(Cursor, "bad", lambda: 1 / 0)
    if kind == "good":
        assert [call[0] for call in start.calls] == ["outer", "bad"]
        assert [(call[0], call[1], call[3]) for call in done.calls] == [
            ("outer", 4, ""),
            ("bad", -1, "ZeroDivisionError"),
        ]
    assert not db_queries._inside.get()


def test_cursors_of_any_driver(monkeypatch, kind):
    """sqlite3's connection executes by its own cursors; executescript() is one query."""
    start, done = replaced(monkeypatch, db_queries, kind)
    classes = dbapi.connection(sqlite3.Connection, dbapi.cursor(sqlite3.Cursor))
    with contextlib.closing(sqlite3.connect(":memory:", factory=classes)) as connection:
        connection.executescript("create table item (number); create table other (number)")
        connection.cursor().executemany("insert into item values (?)", [(1,), (2,)])
        assert connection.execute("select number from item where number > ?", (1,)).fetchall() == [
            (2,)
        ]
        assert type(connection.cursor(sqlite3.Cursor)) is sqlite3.Cursor
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("select nothing")
    if kind == "good":
        assert [call[0] for call in start.calls] == [call[0] for call in done.calls]
        assert [(call[0][:6], call[1], call[3]) for call in done.calls] == [
            ("create", -1, ""),
            ("insert", 2, ""),
            ("select", -1, ""),
            ("select", -1, "OperationalError"),
        ]
    assert (instrument.trouble() == "") == (kind == "good")


def test_records(monkeypatch, kind):
    probe = Fired(Hostile() if kind == "all fail" else None)
    monkeypatch.setattr(own_logging, "_record", probe)
    before = logging.getLogRecordFactory()
    try:
        own_logging.install_records(logging)
        logging.getLogger("shop").error("%s of %d", "one", 2)
        logging.getLogger("shop").debug("not wanted")
    finally:
        logging.setLogRecordFactory(before)
    assert probe.calls == [(logging.ERROR, "shop", "one of 2")]


def test_a_module_that_comes(tmp_path, monkeypatch):
    """It keeps its loader; a hook that a newer framework has no place for is noted, and no more."""
    (tmp_path / "hooks_framework.py").write_text("class Application: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(data_arrival, "_waiting", {})
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    finders = sys.meta_path[:]
    import_hooks.install_when_imported(
        "hooks_framework", "pyusdt.instrument.flask", "install_requests"
    )
    import hooks_framework

    assert type(hooks_framework.__spec__.loader).__name__ == "SourceFileLoader"
    assert sys.meta_path == [each for each in finders if each is not data_arrival._finder]
    assert (
        instrument.trouble() == "import_hooks._run_hook: failed 1 times, last with AttributeError"
    )
    del sys.modules["hooks_framework"]


def test_parts_that_are_none():
    with pytest.raises(
        ValueError,
        match=r"no part of pyusdt.instrument: djnago \(there are django, flask, starlette, ",
    ):
        instrument.enable("djnago")


@pytest.mark.parametrize("provider", probes.FRAMEWORK_PROBES)
def test_the_table(provider):
    made = probes.provider_probes(provider)
    assert [each.name for each in made] == list(probes.FRAMEWORK_PROBES[provider]) and not any(made)


def test_arguments_of_tasks():
    """As their sender has written them; no repr() runs, and what is no text is none."""
    from types import SimpleNamespace

    from pyusdt.instrument import celery as own_celery

    sent = SimpleNamespace(argsrepr="(1,)", kwargsrepr="{'number': 2}", args=(Hostile(),))
    assert own_celery._format_arguments(sent) == "(1,) {'number': 2}"
    assert own_celery._format_arguments(SimpleNamespace(argsrepr=Hostile())) == ""


def test_tasks(monkeypatch, kind):
    import celery

    from pyusdt.instrument import celery as own_celery

    start, done = replaced(monkeypatch, own_celery, kind)

    def order(number):
        return 1 // number

    task = celery.Celery("shop").task(order, name="shop.order")
    own_celery.install_tasks(celery.signals)
    try:
        states = [task.apply((number,)).state for number in (1, 0)]
    finally:
        celery.signals.task_prerun.disconnect(own_celery._note_start)
        celery.signals.task_postrun.disconnect(own_celery._note_done)
    assert states == ["SUCCESS", "FAILURE"]
    assert [call[0] for call in start.calls] == ["shop.order"] * 2
    if kind == "good":
        assert [call[:2] for call in done.calls] == [("shop.order", state) for state in states]
    assert own_celery._running == {}


def test_a_grpc_whose_objects_take_no_attributes():
    """What the application gets is what grpc made."""
    from pyusdt.instrument import grpc

    class Closed:
        __slots__ = ()

    made = Closed()
    assert grpc._wrap_callable_factory(lambda self, method: made)(Closed(), "/shop/Buy") is made
    grpc._wrap_init(lambda self, target: None)(Closed(), "localhost:1")
    assert grpc._wrap_call(lambda self, request: request)(made, "asked") == "asked"
    assert core._failures["grpc._set_target"][0] == 2
