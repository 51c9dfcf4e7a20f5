"""`pyusdt run`: probes in frameworks, in programs that know nothing of pyusdt (docs/reference/frameworks.md); counts are exact."""

from __future__ import annotations

import os
import sys

import pytest

from tests.support import harness
from tests.support.instrument_scripts import CLIENTS, HTTP, PYUSDT, fails_and_goes_on
from tests.support.servers import postgres

pytestmark = pytest.mark.own_processes
REQUESTS = 5
# route, status -> requests of each kind; the routes as the framework writes them
ANSWERS = {
    "django": {("/", 200), ("item/<int:number>", 200), ("stream", 200), ("bad", 500), ("", 404)},
    "flask": {("/item/<int:number>", 200), ("/bad", 503), ("", 404)},
    "starlette": {
        ("/item/{number}", 200),
        ("/bad", 503),
        ("", 404),
        ("/mounted/inner/{number}", 200),
    },
}


def trace(script: str, command: str, **surroundings: str) -> harness.Run:
    run = harness.run(
        [harness.PYDTRACE, "-Zq", "-n", script, "-c", f"{PYUSDT} run {command}"],
        timeout=120,
        env={**os.environ, **surroundings},
    )
    assert run.status == 0, run
    return run


# by the routers, mounts and applications that lead there
ANSWERS["fastapi"] = {
    (route, 200)
    for route in (
        "/api/v1/item/{number}",
        "/api/v2/in/item/{number}",
        "/top",
        "/sub/{tenant}/item/{number}",
        "/star/inner/{number}",
        "/files",
    )
}


@pytest.mark.parametrize("name", ANSWERS)
def test_requests(name):
    run = trace(HTTP, harness.program(f"instrument_{name}.py", REQUESTS))
    lines = run.stdout.split("\n")
    assert lines[0] == f"started {len(ANSWERS[name]) * REQUESTS}", run
    assert int(lines[1].removeprefix("bytes ")) > 0, run
    assert {line for line in lines[2:] if line} == {
        f"GET [{route}] {status} {REQUESTS}" for route, status in ANSWERS[name]
    }, run


def test_queries_of_django():
    script = """db*:::query-start { @started = count(); }
                db*:::query-done /arg2 > 0/ { @[copyinstr(arg0), copyinstr(arg3)] = count(); }
                END { printa("started %@d\\n", @started); printa("%s [%s] %@d\\n", @); }"""
    run = trace(
        script, harness.program("instrument_django.py", REQUESTS), PYUSDT_INSTRUMENT="django"
    )
    assert sorted(filter(None, run.stdout.split("\n"))) == sorted(
        [
            f"started {2 * REQUESTS}",
            f"select %s [] {REQUESTS}",
            f"select nothing [OperationalError] {REQUESTS}",
        ]
    ), run


QUERIES = """db*:::query-start { @started = count(); }
db*:::query-done { @[copyinstr(arg0), copyinstr(arg3), (int)arg1] = count(); }
END { printa("started %@d\\n", @started); printa("%s [%s] %d %@d\\n", @); }"""


def test_queries_of_psycopg():
    """Of a server's cursor too; what is built has its text; executemany() is one query."""
    with postgres.server(5434) as (_, environment):
        run = trace(
            QUERIES,
            harness.program("instrument_psycopg.py", REQUESTS),
            PYUSDT_INSTRUMENT="psycopg",
            **environment,
        )
    many = {
        "select number from item []": REQUESTS,
        "select 3 + %s []": 1,
        "select 2 []": 1,
        "select nothing [UndefinedColumn]": -1,
    }
    once = {
        "create temporary table item (number integer) []": -1,
        "insert into item values (%s) []": REQUESTS,
        "select 1 as of_the_server []": -1,
    }
    assert sorted(filter(None, run.stdout.split("\n"))) == sorted(
        [
            f"started {3 + 4 * REQUESTS}",
            *(f"{query} {rows} {REQUESTS}" for query, rows in many.items()),
            *(f"{query} {rows} 1" for query, rows in once.items()),
        ]
    ), run


def test_queries_of_psycopg2():
    """By a class of cursors; what is built has its text, and execute_values() writes the values into it."""
    pytest.importorskip("psycopg2", reason="host: no psycopg2 for this CPython")
    with postgres.server(5435) as (_, environment):
        run = trace(
            QUERIES,
            harness.program("instrument_psycopg2.py", 3),
            PYUSDT_INSTRUMENT="logging",
            **environment,
        )
    many = {
        "select number from item []": 3,
        "select 3 + %s []": 1,
        "select nothing [UndefinedColumn]": -1,
        "abs []": 1,
        "select 2 as two []": 1,
    }
    once = {
        "create temporary table item (number integer) []": -1,
        "insert into item values (0),(1),(2) []": 3,
        "select 1 as of_the_server []": -1,
    }
    assert sorted(filter(None, run.stdout.split("\n"))) == sorted(
        [
            "started 18",
            *(f"{query} {rows} 3" for query, rows in many.items()),
            *(f"{query} {rows} 1" for query, rows in once.items()),
        ]
    ), run


def test_queries_of_psycopg2_of_a_program_that_knows_nothing():
    """Connections and cursors of the program's own classes, too."""
    pytest.importorskip("psycopg2", reason="host: no psycopg2 for this CPython")
    with postgres.server(5436) as (_, environment):
        run = trace(
            QUERIES,
            harness.program("instrument_psycopg2_alone.py", 3),
            PYUSDT_INSTRUMENT="psycopg2",
            **environment,
        )
    assert sorted(filter(None, run.stdout.split("\n"))) == sorted(
        [
            "started 20",
            "select 2 [] 1 6",
            "select nothing [UndefinedColumn] -1 6",
            "select 3 as three [] 1 6",
            "select 1 as of_the_server [] -1 2",
        ]
    ), run


def test_queries_of_asyncpg():
    """Rows where a list or the server's words have them; a prepared statement has its text; a pool has queries of its own beside."""
    pytest.importorskip("asyncpg", reason="host: no asyncpg for this CPython")
    with postgres.server(5437) as (_, environment):
        run = trace(
            QUERIES,
            harness.program("instrument_asyncpg.py", 3),
            PYUSDT_INSTRUMENT="asyncpg",
            **environment,
        )
    assert set(run.stdout.split("\n")) >= {
        "create temporary table item (number integer) [] -1 1",
        "insert into item values ($1) [] -1 1",
        "select number from item [] 3 3",
        "select 3 + $1::integer [] -1 3",
        "update item set number = 0 [] 3 3",
        "select 4 [] 1 3",
        "select nothing [UndefinedColumnError] -1 3",
    }, run


RECORDS = """log*:::record { @[(int)arg0, copyinstr(arg1), copyinstr(arg2)] = count(); } END { printa("%d [%s] %s %@d\\n", @); }"""


def test_records_of_loguru_and_structlog():
    """Once for each record, whatever the number of handlers; what nobody is given is no record."""
    run = trace(
        RECORDS,
        harness.program("instrument_logs.py", REQUESTS),
        PYUSDT_INSTRUMENT="logging,loguru,structlog",
    )
    assert sorted(filter(None, run.stdout.split("\n"))) == sorted(
        [
            f"20 [__main__] loguru 0 {REQUESTS}",
            f"30 [shop] structlog {REQUESTS}",
            f"40 [standard] event='by logging' {REQUESTS}",
        ]
    ), run


def test_only_what_is_asked_for():
    run = trace(
        'http*:::request-start { @ = count(); } db*:::query-start { @q = count(); } END { printa("%@d\\n", @); printa(@q); }',
        harness.program("instrument_django.py", REQUESTS),
        PYUSDT_INSTRUMENT="flask,sqlalchemy",
    )
    assert run.stdout.strip() == "", run


def test_a_part_that_is_none():
    run = trace(
        HTTP, harness.program("instrument_flask.py", REQUESTS), PYUSDT_INSTRUMENT="djnago,flask"
    )
    assert run.stdout.startswith(f"started {len(ANSWERS['flask']) * REQUESTS}\n"), run
    assert run.stderr.startswith(
        "pyusdt: PYUSDT_INSTRUMENT: no part of pyusdt.instrument: djnago (there are django, flask,"
    ), run


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "pyusdt: which command? As in `pyusdt run gunicorn shop.wsgi`\n"),
        (["/nowhere/x"], "pyusdt: failed to run /nowhere/x: No such file or directory\n"),
        (
            [sys.executable, "-I", "-c", "1"],
            "pyusdt: with -I Python takes nothing from its environment: no probes can be brought into it\n",
        ),
    ],
)
def test_what_can_not_be_run(words, message):
    run = harness.run([PYUSDT, "run", *words], timeout=120)
    assert (run.status, run.stdout, run.stderr) == (1, "", message)


def test_nothing_is_imported_because_of_us():
    code = "import sys; print(*sorted({'django', 'flask', 'starlette', 'sqlalchemy', 'celery', 'logging', 'asyncio'} & set(sys.modules)))"
    run = harness.run([PYUSDT, "run", sys.executable, "-c", code], timeout=120)
    assert (run.status, run.stdout, run.stderr) == (0, "\n", ""), run


SPANS = """otel*:::span-start { @started[copyinstr(arg0), copyinstr(arg1), copyinstr(arg2)] = count(); }
otel*:::span-end /arg2 > 0/ { @[copyinstr(arg0), copyinstr(arg3), copyinstr(arg6) != ""] = count(); }
END { printa("start %s %s %s %@d\\n", @started); printa("end %s %s %d %@d\\n", @); }"""
SPANS_SEEN = [
    "end inner ERROR 1 5",
    "end outer UNSET 1 5",
    "exported 0",
    "start inner shop CLIENT 5",
    "start outer shop INTERNAL 5",
]


def test_spans_that_are_dropped():
    run = trace(SPANS, harness.program("instrument_spans.py", REQUESTS))
    assert sorted(filter(None, run.stdout.split("\n"))) == SPANS_SEEN, run


def test_spans_by_the_entry_point():
    command = os.path.join(os.path.dirname(sys.executable), "opentelemetry-instrument")
    run = harness.run(
        [
            harness.PYDTRACE,
            "-Zq",
            "-n",
            SPANS,
            "-c",
            f"{command} {harness.program('instrument_spans.py', REQUESTS)}",
        ],
        timeout=120,
        env={
            **os.environ,
            "OTEL_TRACES_EXPORTER": "none",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
        },
    )
    assert sorted(filter(None, run.stdout.split("\n"))) == SPANS_SEEN, run


@pytest.mark.parametrize(
    "name, wrong", [("requests", "ConnectionError"), ("httpx", "ConnectError")]
)
def test_clients(name, wrong):
    run = trace(CLIENTS, harness.program("instrument_clients.py", name, REQUESTS))
    ports, *lines = filter(None, run.stdout.split("\n"))
    asked, refused = (f"http://127.0.0.1:{port}/" for port in ports.split())
    assert sorted(lines) == sorted(
        [
            f"{asked}nowhere 501 GET [] {REQUESTS}",
            f"{refused} -1 GET [{wrong}] 1",
            f"start {asked}nowhere {REQUESTS}",
            f"start {refused} 1",
        ]
    ), run


def test_statements_of_sqlalchemy():
    script = """db*:::query-start { @started = count(); }
                db*:::query-done { @[copyinstr(arg0), arg1, copyinstr(arg3)] = count(); }
                END { printa("started %@d\\n", @started); printa("%s %d [%s] %@d\\n", @); }"""
    run = trace(
        script,
        harness.program("instrument_sqlalchemy.py", REQUESTS),
        PYUSDT_INSTRUMENT="sqlalchemy,requests",
    )
    assert sorted(filter(None, run.stdout.split("\n"))) == [
        "create table item (number integer) -1 [] 1",
        f"insert into item values (?) 1 [] {REQUESTS}",
        f"select nothing -1 [OperationalError] {REQUESTS}",
        f"started {2 * REQUESTS + 1}",
    ], run


def test_records_of_logging():
    code = "import logging; logging.warning('one %s', 'thing'); logging.getLogger('shop').error('two'); logging.info('none')"
    run = harness.run(
        [
            harness.PYDTRACE,
            "-Zqn",
            'log*:::record { printf("%d %s %s\\n", arg0, copyinstr(arg1), copyinstr(arg2)); }',
            "-c",
            f'{PYUSDT} run {sys.executable} -c "{code}"',
        ],
        env={**os.environ, "PYUSDT_INSTRUMENT": "logging"},
        timeout=120,
    )
    assert run.stdout == "30 root one thing\n40 shop two\n\n", run


@pytest.mark.parametrize(
    "line",
    [
        "django.py 2",
        "flask.py 2",
        "starlette.py 2",
        "spans.py 2",
        "sqlalchemy.py 2",
        "clients.py httpx 2",
        "clients.py requests 2",
    ],
)
def test_hooks_that_fail(line):
    name, *arguments = f"instrument_{line}".split()
    fails_and_goes_on(name, *arguments)
