"""`pyusdt run` with servers of several processes: what the tracer counts is what the load generator has counted, exactly.

- Servers listen on 127.0.0.1 alone; no request may fail, so what was asked is what was answered.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.support import harness

pytestmark = pytest.mark.long
BIN = os.path.dirname(sys.executable)
REQUESTS = 400
COUNTS = """BEGIN { printf("on\\n"); }
http*:::request-start { @started = count(); }
http*:::request-done { @[copyinstr(arg0), arg1] = count(); @bytes = sum(arg2); @pids[pid] = count(); @all = count(); }
tick-100ms { printa("all %@d\\n", @all); }
END { printa("started %@d\\n", @started); printa("bytes %@d\\n", @bytes); printa("%s %d %@d\\n", @); printa("pid %d %@d\\n", @pids); }"""
TASKS = """BEGIN { printf("on\\n"); }
task*:::start { @started = count(); }
task*:::done { @[copyinstr(arg0), copyinstr(arg1)] = count(); @all = count(); }
tick-100ms { printa("all %@d\\n", @all); }
END { printa("started %@d\\n", @started); printa("%s %s %@d\\n", @); }"""


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextlib.contextmanager
def server(command: str, **surroundings: str):
    """A server with all of its processes, while the block runs."""
    program, *arguments = command.split()
    with subprocess.Popen(
        [f"{BIN}/pyusdt", "run", f"{BIN}/{program}", *arguments],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **surroundings},
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def tracer(script: str):
    with harness.running([harness.PYDTRACE, "-Zq", "-n", script]) as process:
        assert process.stdout.readline() == "on\n"
        yield process


def end(process: subprocess.Popen, events: int) -> list[str]:
    """What the tracer has counted, once all events have come: an answer may be there before its event is."""
    for _ in range(600):
        if process.stdout.readline() == f"all {events}\n":
            break
    process.send_signal(signal.SIGINT)
    run = harness.finish(process, 60)
    assert (run.status, run.stderr) == (0, ""), run
    return [line for line in run.stdout.split("\n") if line and not line.startswith("all ")]


def is_up(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def ask(port: int, number: int) -> tuple[str, int, int]:
    """One request; (route, status, bytes)."""
    where, route = [("/item/7", "item"), ("/bad", "bad"), ("/nowhere", "")][number % 3]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{where}", timeout=60) as got:
            return route, got.status, len(got.read())
    except urllib.error.HTTPError as error:
        return route, error.code, len(error.read())


def load(port: int, halfway=lambda: None) -> list[tuple[str, int, int]]:
    """What REQUESTS requests were answered, eight at a time."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        first = list(pool.map(lambda number: ask(port, number), range(REQUESTS // 2)))
        halfway()
        return first + list(
            pool.map(lambda number: ask(port, number), range(REQUESTS // 2, REQUESTS))
        )


def expected(answers: list[tuple[str, int, int]], routes: dict[str, str]) -> set[str]:
    kinds = {each[:2] for each in answers}
    return {
        f"started {len(answers)}",
        f"bytes {sum(size for *_, size in answers)}",
        *(
            f"{routes[route]} {status} {sum(each[:2] == (route, status) for each in answers)}"
            for route, status in kinds
        ),
    }


SERVERS = {
    "gunicorn": (
        "gunicorn --chdir {programs} -b 127.0.0.1:{port} -w 4 instrument_django:application",
        "item/<int:number>",
        "bad",
    ),
    "gunicorn, few requests each": (
        "gunicorn --chdir {programs} -b 127.0.0.1:{port} -w 4 --max-requests 20 instrument_flask:application",
        "/item/<int:number>",
        "/bad",
    ),
    "uvicorn": (
        "uvicorn --app-dir {programs} --host 127.0.0.1 --port {port} --workers 2 instrument_starlette:application",
        "/item/{number}",
        "/bad",
    ),
}


@pytest.mark.parametrize("name", SERVERS)
def test_requests(name):
    command, item, bad = SERVERS[name]
    port = free_port()
    with (
        server(command.replace("{port}", str(port)).replace("{programs}", harness.PROGRAMS)),
        tracer(COUNTS) as tracing,
    ):
        harness.wait_until(lambda: is_up(port), 60)
        answers = load(port)
        found = end(tracing, REQUESTS)
    pids = [line for line in found if line.startswith("pid ")]
    assert set(found) - set(pids) == expected(answers, {"item": item, "bad": bad, "": ""}), found
    assert len(pids) >= (REQUESTS // 20 // 2 if "few" in name else 1), "the workers were to end"


def test_gunicorn_reloads():
    port = free_port()
    command = (
        SERVERS["gunicorn"][0].replace("{port}", str(port)).replace("{programs}", harness.PROGRAMS)
    )
    with server(command) as process, tracer(COUNTS) as tracing:
        harness.wait_until(lambda: is_up(port), 60)
        answers = load(port, lambda: process.send_signal(signal.SIGHUP))
        found = end(tracing, REQUESTS)
    assert {line for line in found if not line.startswith("pid ")} == expected(
        answers, {"item": "item/<int:number>", "bad": "bad", "": ""}
    ), found


def test_celery_prefork(tmp_path):
    tasks = 60
    surroundings = {"HOOKS_BROKER": str(tmp_path), "PYTHONPATH": harness.PROGRAMS}
    with (
        server(
            "celery -A instrument_celery worker -c 2 -P prefork --without-gossip --without-mingle",
            **surroundings,
        ),
        tracer(TASKS) as tracing,
    ):
        sent = harness.run(
            [sys.executable, os.path.join(harness.PROGRAMS, "instrument_celery.py"), str(tasks)],
            timeout=60,
            env={**os.environ, **surroundings},
        )
        assert sent.status == 0, sent
        found = end(tracing, tasks)
    assert found == [f"started {tasks}", "shop.order FAILURE 20", "shop.order SUCCESS 40"]
