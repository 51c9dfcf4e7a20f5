"""`pyusdt why` on programs with planted causes: its first lines name them, and none where none was planted."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from tests.support import harness

pytestmark = pytest.mark.own_processes

PYUSDT = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
FLASK = os.path.join(harness.ROOT, "tests", "integration", "programs", "why_flask.py")
TAGS = os.path.join(harness.ROOT, "tests", "integration", "programs", "why_tags.py")
FASTAPI = os.path.join(harness.ROOT, "tests", "integration", "programs", "why_fastapi.py")


def ask_why(*arguments, options=("--slower", "100ms")):
    run = harness.run([PYUSDT, "why", *options, "--", sys.executable, *arguments], timeout=120)
    assert run.status == 0, run
    return run.stdout


def causes_by_route(report):
    """{route: the line that names its cause}."""
    parts = re.findall(r"^GET /(\w+)/\S+ .*\n(  .*)$", report, re.MULTILINE)
    return dict(parts)


def test_planted_causes_in_flask():
    routes = {
        "statement": r"likely cause: SQL select pause\(\?\), \? at \S*why_flask.py:\d+ statement",
        "statements": r"likely cause: SQL select pause.* at \S*why_flask.py:\d+ statements, 100 times instead of 1",
        "regex": r"likely cause: (code: .* at \S*why_flask.py:\d+ regex|a wait for a processor, .*)",
        "lock": r"likely cause: a wait for a lock in reserve at \S*why_flask.py:\d+ reserve; held by keep_stock at \S+:\d+ keep_stock \(.*\)",
        "worker": "likely cause: a wait for a worker for builtins.int",
    }
    report = ask_why(FLASK, "45", *routes)
    assert re.search(r"code: .* at \S*why_flask.py:\d+ regex", report), "also on busy processors"
    found = causes_by_route(report)
    assert found.keys() == routes.keys()
    for route, pattern in routes.items():
        assert re.fullmatch(f"  {pattern}", found[route]), (route, found[route])


def test_a_blocked_loop_in_fastapi():
    found = causes_by_route(ask_why(FASTAPI, "60"))
    assert "blocked by __main__.blocks /blocks/{number}" in found["waits"]
    assert re.search(r"why_fastapi.py:\d+ blocks", found["blocks"])


def test_blocks_of_tags_are_requests():
    """A block within a block belongs to it; what holds the lock and what runs are named."""
    report = ask_why(TAGS, "45")
    found = dict(re.findall(r"^tag (.*): .*\n  (.*)$", report, re.MULTILINE))
    assert re.match("likely cause: a wait for a lock in handle .*keep_stock", found["order ?"]), (
        found
    )
    assert re.match("likely cause: (code: blocks|a wait for a processor)", found["job ?"]), found
    assert found.keys() == {"order ?", "job ?"}
    script = 'request*:::done { printf("%s %s %s\\n", copyinstr(arg0), copyinstr(arg2), copyinstr(arg3)); }'
    command = [PYUSDT, "run", sys.executable, TAGS, "2"]
    run = harness.run([harness.PYDTRACE, "-qZn", script, "-c", " ".join(command)])
    assert run.stdout.split("\n")[:-2] == [
        "order 1 tag order ? ",
        "order 2 tag order ? ",
        "again tag again ",
        "again tag again KeyError",
        "job 1-00f067aa0ba902b7 tag job ? ",
        "job 2-00f067aa0ba902b7 tag job ? ",
    ]


def test_no_cause_where_none_was_planted():
    report = ask_why(FLASK, "200", "usual", options=("--slower", "60s"))
    assert report.startswith("no slow requests: 200 requests of 1 routes"), report


def test_files_of_a_report(tmp_path):
    """--replay gives the same report, and others with other limits."""
    paths = {name: tmp_path / f"why.{name}" for name in ("save", "html", "perfetto")}
    files = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    text = ask_why(FLASK, "30", "statement", options=("--slower", "100ms", *files))

    def replay(*options):
        return harness.run([PYUSDT, "why", "--replay", str(paths["save"]), *options])

    assert replay("--slower", "100ms").stdout == text
    assert replay("--slower", "60s").stdout.startswith("no slow requests: 30 requests")
    assert replay("--worst", "10%").stdout.startswith("GET /statement/<int:number>: 3 of 30")
    page = paths["html"].read_text()
    assert "likely cause: SQL select pause" in page and "GET /statement/&lt;int:number&gt;" in page
    trace = Trace.FromString(paths["perfetto"].read_bytes())
    names = [packet.track_event.name for packet in trace.packet]
    assert sum(name.startswith("SQL select pause(0.2)") for name in names) == 2


def test_a_route_may_be_chosen():
    found = causes_by_route(
        ask_why(
            FLASK, "30", "statement", "worker", options=("--slower", "100ms", "--route", "worker")
        )
    )
    assert list(found) == ["worker"]


def test_the_script_of_lines():
    """The installed script has the same spans, by the line of the application, without pyusdt's and libraries' frames."""
    command = f"{PYUSDT} run {sys.executable} {FLASK} 15 statement statements"
    run = harness.run([PYUSDT, "trace", "request-lines", "-Z", "-c", command], timeout=60)
    rows = re.findall(
        r"^ +(\d+) +(\d+)  sql +\S*why_flask.py:\d+ (\w+)  (.*)$", run.stdout, re.MULTILINE
    )
    assert len(rows) > 100, run
    times = [int(time) for time, *_ in rows]
    assert times == sorted(times) and rows[-1][2:] == ("statement", "select pause(0.2), 15")
    assert ("15", "statement", "select 1") in [row[1:] for row in rows]


def test_ctrl_c_prints_the_report():
    with harness.running([PYUSDT, "run", sys.executable, FLASK, "1000000", "statement"]) as program:
        why = harness.start([PYUSDT, "why", "--slower", "100ms", str(program.pid)])
        harness.wait_until(lambda: any(Path(os.environ["PYUSDT_RUNDIR"]).glob("*.session")))
        forty = "request$target:::done /++n == 40/ { exit(0); }"
        assert harness.run([harness.PYDTRACE, "-qZn", forty, "-p", str(program.pid)]).status == 0
        why.send_signal(signal.SIGINT)
        run = harness.finish(why, 30)
    assert run.status == 0 and "likely cause: SQL" in run.stdout, run


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "give process ids, or -- and a command"),
        (["1", "--", "true"], 2, "give process ids, or -- and a command"),
        (["--slower", "100", "--", "true"], 2, "'100' is not a duration: 50ms, 2s"),
        (["--worst", "1", "1"], 2, "'1' is no share from 0% to 50%: 1%, 0.1%"),
        (["--worst", "1%", "--slower", "1s", "1"], 2, "not allowed with argument"),
        (["--replay", "x", "1"], 2, "give process ids, or -- and a command, or --replay FILE"),
        (["--replay", "/nothing"], 1, "/nothing: No such file or directory"),
        (["--replay", "/dev/null"], 1, "/dev/null: is no file of `pyusdt why --save`"),
        (["--", "sleep", "0"], 1, "no request ended: the program must answer HTTP requests"),
        (["--", sys.executable, "-I", "-c", "pass"], 1, "no probes can be brought into it"),
    ],
)
def test_mistakes(arguments, status, message):
    run = harness.run([PYUSDT, "why", *arguments])
    assert run.status == status and message in run.stderr and "Traceback" not in run.stderr, run
