"""pyusdt_instrument: probes in what Erlang and Elixir programs tell anyway (docs/reference/frameworks.md); counts are exact.

telemetry is a stand-in with its documented functions (programs/telemetry.erl), and what Phoenix, Ecto and Broadway tell it is written
as their documentation has it: Hex can not be reached from here. Cowboy is cowboy itself, RabbitMQ's.
"""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.support import harness
from tests.support.erlang_output import EVENTS, rows

pytestmark = pytest.mark.own_processes
COWBOY = sorted(glob.glob("/usr/lib/rabbitmq/lib/*/plugins/*/ebin"))
HTTP = (
    "http*:::request-start { @s[copyinstr(arg0), copyinstr(arg1), copyinstr(arg3)] = count(); } "
    "http*:::request-done { @d[copyinstr(arg0), arg1, arg2, copyinstr(arg4), copyinstr(arg6)] = count(); @bad = sum(arg3 < 0); }"
)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def node(erlang, tmp_path, monkeypatch):
    """node(function, argument …) -> the command line of a node; its objects are in a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def command(function: str, *arguments: object) -> list[str]:
        return erlang.node(function, *arguments, module="instrumented")

    return command


@pytest.fixture
def cowboy(node):
    wanted = [path for path in COWBOY if re.search("/(cowboy|cowlib|ranch)-[^/]*/ebin$", path)]
    if len(wanted) != 3:
        pytest.skip("no rabbitmq-server, whose cowboy this is")

    def command(function: str, *arguments: object) -> list[str]:
        erl, *rest = node(function, *arguments)
        return [erl, *(word for path in wanted for word in ("-pa", path)), *rest]

    return command


def test_phoenix(node, trace):
    run = trace(
        HTTP + ' erlang*:::user_trace-i4s4 { @inside[arg1 ? copyinstr(arg1) : "none"] = count(); }',
        node("phoenix", 100),
    )
    each = [f"/item/:id 200 6 GET {TRACE} 91", f"200 6 GET {TRACE} 10"]
    assert rows(run) == sorted(["0", f"GET {TRACE} 102", f"{TRACE} 100", *each]), run


def test_phoenix_on_cowboy_is_one_request(node, trace):
    assert rows(trace(HTTP, node("both", 50))) == ["/:page 201 1000 GET 50", "0", "GET 50"]


def test_ecto(node, trace):
    run = trace(
        "db*:::query-done { @[copyinstr(arg0), arg1, arg2, copyinstr(arg3)] = count(); } db*:::query-start { @never = count(); }",
        node("ecto", 30),
    )
    assert rows(run) == [
        "select $1 -1 3000000 10",
        "select $1 -1 3000000 Postgrex.Error 10",
        "select $1 3 3000000 10",
    ], run


def test_broadway(node, trace):
    program = (
        "task*:::start { @s[copyinstr(arg0), copyinstr(arg1)] = count(); } "
        "task*:::done { @d[copyinstr(arg0), copyinstr(arg1), copyinstr(arg3)] = count(); }"
    )
    assert rows(trace(program, node("broadway", 50))) == [
        "Shop.Orders 50",
        "Shop.Orders FAILURE 20",
        "Shop.Orders SUCCESS 30",
        "Shop.Orders/s3 1",
        "Shop.Orders/s3 SUCCESS 1",
    ]


def test_logger(node, trace):
    run = trace(
        'log*:::record { @[arg0, copyinstr(arg1), strlen(copyinstr(arg2)) < 30 ? copyinstr(arg2) : "long"] = count(); }',
        node("logs", 1),
    )
    assert (
        run.stderr == "dtrace: 1 string was cut to 255 bytes: -x strsize=512 has room for more\n"
    ), run
    run.stderr = ""
    assert [row for row in rows(run) if "report" not in row] == [
        "20 plain 1 1",
        "30 Shop.Cart by Elixir 1",
        "40 shop long 1",
        "70 shop.cart of a domain 1",
    ], run
    assert "report: 1" in run.stdout, run


def test_elixirs_logger(erlang, trace, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if harness.tools("elixir"):
        pytest.skip("no elixir")
    program = os.path.join(os.path.dirname(__file__), "programs", "logs.exs")
    run = trace(
        "log*:::record { @[arg0, copyinstr(arg1), copyinstr(arg2)] = count(); }",
        ["elixir", "-pa", erlang.ebin, program],
    )
    assert rows(run) == ["30 Shop.Cart low on tea 0 10", "30 Shop.Cart low on tea 1 10"], run


def test_what_no_library_says(node, trace):
    run = trace("http*:::, db*:::, task*:::, telemetry*::: { @ = count(); }", node("wrong"))
    assert (
        "[broadway,ecto,phoenix] [broadway,cowboy,ecto,logger,phoenix,telemetry]\n" in run.stdout
        and run.stderr == ""
    ), run


def test_other_events(node, trace):
    """The lists, and names that the program gives. On OTP 27 and later all: test_erlang_newer_otp.py."""
    assert rows(trace(EVENTS, node("everything", 20))) == [
        "210",
        "<redacted> 20",
        "phoenix.endpoint.stop 20",
        "shop.order.placed 20",
        "tea 20",
    ]


def test_requests_that_began_before_and_that_never_end(node):
    with harness.running(node("on_and_off")) as process:
        assert process.stdout.readline() == "there\n"
        program = 'http$target:::request-done { printf("%s %s", arg.route, arg.path); exit(0); }'
        run = harness.run(
            [harness.PYDTRACE, "-q", "-x", "engine=embedded", "-n", program, "-p", str(process.pid)]
        )
        assert (run.stdout.strip(), run.stderr) == ("/item/:id /item/7", ""), run
        assert process.stdout.readline() == "over\n"


# ---- cowboy's stream handler ----


def test_cowboy(cowboy, trace):
    run = trace(HTTP, cowboy("cowboy", 30))
    assert rows(run) == sorted(
        [
            "0",
            "GET /item/:number 30",
            f"GET /item/:number {TRACE} 1",
            "GET /:page 3",
            "GET 2",
            "GET /files/[...] 1",
            "/item/:number 200 6 GET 9",
            "/item/:number 200 7 GET 21",
            f"/item/:number 200 6 GET {TRACE} 1",
            "/:page 200 8 GET 1",
            "/:page 200 7 GET 1",
            "/:page 500 0 GET 1",
            "404 0 GET 2",
            "/files/[...] 500 0 GET 1",
        ]
    ), run


# ---- one script ----


WSGI = """
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
from pyusdt.instrument.http import WSGI, set_route

def application(environ, start_response):
    set_route(environ, "/item/:number")
    start_response("200 OK", [("Content-Length", "6")])
    return [b"item %d" % (int(environ["PATH_INFO"][-1]))]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, WSGI(application), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
"""
ONE = (
    'http*:::request-done { @asked[execname == "beam.smp" ? "Erlang" : "Python", arg.method, arg.route, arg.status] = count(); '
    '@bytes[execname == "beam.smp" ? "Erlang" : "Python"] = sum(arg.bytes); } '
    "http*:::request-start { @begun = count(); }"
)


def test_one_script_over_python_and_erlang(cowboy):
    """A WSGI application and cowboy, in one session: one clause, which names the arguments, counts what both were asked."""
    with (
        harness.running(cowboy("served"), stdin=subprocess.PIPE) as erlang,
        harness.running([sys.executable, "-c", WSGI]) as python,
    ):
        ports = [int(process.stdout.readline()) for process in (erlang, python)]
        ready, told = os.pipe()
        command = [harness.PYDTRACE, "-q", "-x", "engine=embedded", f"--ready={told}", "-n", ONE]
        with harness.running(command, pass_fds=[told]) as tracer, open(ready, "rb") as waiting:
            os.close(told)
            assert waiting.read(1), tracer.communicate()[1]
            for port, times in zip(ports, (70, 40), strict=True):
                for n in range(times):
                    with urllib.request.urlopen(
                        f"http://localhost:{port}/item/{n % 10}", timeout=30
                    ) as answer:
                        assert answer.read() == b"item %d" % (n % 10)
            erlang.stdin.close()  # it says that no request is left, and ends
            assert erlang.stdout.read() == "trouble []\n"
            tracer.send_signal(signal.SIGINT)
            run = harness.finish(tracer, 60)
    assert run.stderr == "", run
    assert sorted(" ".join(line.split()) for line in run.stdout.splitlines() if line) == [
        "110",
        "Erlang 420",
        "Erlang GET /item/:number 200 70",
        "Python 240",
        "Python GET /item/:number 200 40",
    ], run


# ---- names of arguments ----


def test_arguments_have_names(node):
    """As Python's have (tests/integration/test_named_arguments.py): an absent string is "", a float has its bits, -lv shows them."""
    with harness.running(node("known_by_name"), stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "there\n"
        listed = harness.run([harness.PYDTRACE, "-lvn", "named$target:::", "-p", str(process.pid)])
        types = re.findall(r"args\[\d\]: (.*)", listed.stdout)
        assert types == [
            "string (arg.route)",
            "int32_t (arg.status)",
            "int64_t (arg.duration)",
            "int64_t",
        ], listed
        program = 'named$target:::request-done { printf("[%s] %d %x %s\\n", arg.route, args[1], arg.duration, term(arg3, 1)); } '
        program += "named$target:::request-done /++fired == 3/ { exit(0); }"
        ready, told = os.pipe()
        command = [
            harness.PYDTRACE,
            "-q",
            "-x",
            "engine=embedded",
            f"--ready={told}",
            "-n",
            program,
            "-p",
            str(process.pid),
        ]
        with harness.running(command, pass_fds=[told]) as tracer, open(ready, "rb") as waiting:
            os.close(told)
            assert waiting.read(1), tracer.communicate()[1]
            process.stdin.write("\n")
            process.stdin.flush()
            run = harness.finish(tracer, 60)
    bits = "4004000000000000"
    assert (
        run.stdout.split("\n")[:3]
        == [f"[/a] 200 {bits} ok", f"[] 200 {bits} ok", f"[/b] 200 {bits} ok"]
        and run.stderr == ""
    ), run
