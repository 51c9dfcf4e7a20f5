"""`pyusdt run`: probes in frameworks, in programs that know nothing of pyusdt (docs/guide/frameworks.md); counts are exact."""

from __future__ import annotations

import os
import sys

import harness
import pytest

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
REQUESTS = 5
HTTP = """
http*:::request-start { @started = count(); }
http*:::request-done /arg3 > 0/ { @[copyinstr(arg4), copyinstr(arg0), arg1] = count(); @bytes = sum(arg2); }
END { printa("started %@d\\n", @started); printa("bytes %@d\\n", @bytes); printa("%s [%s] %d %@d\\n", @); }
"""
# route, status -> requests of each kind; the routes as the framework writes them
ANSWERS = {
    "django": {("item/<int:number>", 200), ("stream", 200), ("bad", 500), ("", 404)},
    "flask": {("/item/<int:number>", 200), ("/bad", 503), ("", 404)},
    "starlette": {("/item/{number}", 200), ("/bad", 503), ("", 404), ("/inner/{number}", 200)},
}


def trace(script: str, command: str, **surroundings: str) -> harness.Run:
    run = harness.run([harness.PYDTRACE, "-Zq", "-n", script, "-c", f"{PYUSDT} run {command}"], timeout=120,
                      env={**os.environ, **surroundings})
    assert run.status == 0, run
    return run


@pytest.mark.parametrize("name", ANSWERS)
def test_requests(name):
    run = trace(HTTP, harness.program(f"hooks_{name}.py", REQUESTS))
    lines = run.stdout.split("\n")
    assert lines[0] == f"started {len(ANSWERS[name]) * REQUESTS}", run
    assert int(lines[1].removeprefix("bytes ")) > 0, run
    assert {line for line in lines[2:] if line} == {f"GET [{route}] {status} {REQUESTS}" for route, status in ANSWERS[name]}, run


def test_queries_of_django():
    script = """db*:::query-start { @started = count(); }
                db*:::query-done /arg2 > 0/ { @[copyinstr(arg0), copyinstr(arg3)] = count(); }
                END { printa("started %@d\\n", @started); printa("%s [%s] %@d\\n", @); }"""
    run = trace(script, harness.program("hooks_django.py", REQUESTS), PYUSDT_INSTRUMENT="django")
    assert sorted(filter(None, run.stdout.split("\n"))) == sorted(
        [f"started {2 * REQUESTS}", f"select %s [] {REQUESTS}", f"select nothing [OperationalError] {REQUESTS}"]), run


def test_only_what_is_asked_for():
    run = trace('http*:::request-start { @ = count(); } db*:::query-start { @q = count(); } END { printa("%@d\\n", @); printa(@q); }',
                harness.program("hooks_django.py", REQUESTS), PYUSDT_INSTRUMENT="flask,sqlalchemy")
    assert run.stdout.strip() == "", run


def test_a_part_that_is_none():
    run = harness.run([PYUSDT, "run", sys.executable, "-c", "print(7)"], env={**os.environ, "PYUSDT_INSTRUMENT": "djnago"})
    assert (run.status, run.stdout) == (0, "7\n")
    assert run.stderr.startswith("pyusdt: PYUSDT_INSTRUMENT: no part of pyusdt.instrument: djnago (there are django, flask,"), run


@pytest.mark.parametrize("words, message", [
    ([], "pyusdt: which command? As in `pyusdt run gunicorn shop.wsgi`\n"),
    (["/nowhere/x"], "pyusdt: failed to run /nowhere/x: No such file or directory\n"),
    ([sys.executable, "-I", "-c", "1"], "pyusdt: with -I Python takes nothing from its environment: no probes can be brought into it\n"),
])
def test_what_can_not_be_run(words, message):
    run = harness.run([PYUSDT, "run", *words])
    assert (run.status, run.stdout, run.stderr) == (1, "", message)


def test_nothing_is_imported_because_of_us():
    code = "import sys; print(*sorted({'django', 'flask', 'starlette', 'sqlalchemy', 'celery', 'logging', 'asyncio'} & set(sys.modules)))"
    run = harness.run([PYUSDT, "run", sys.executable, "-c", code])
    assert (run.status, run.stdout, run.stderr) == (0, "\n", ""), run
