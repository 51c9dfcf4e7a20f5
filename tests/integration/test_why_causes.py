"""Planted causes in servers, each in 1 % of the requests of its route: the first line of `pyusdt why PID` names it.

The servers know nothing of pyusdt: `pyusdt why` attaches to them.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
import redis

from pydtrace.engine.embedded.young_processes import has_provider
from pydtrace.process.proc_threads import list_descendants
from tests.support import harness
from tests.support.servers import postgres, redis_server

pytestmark = pytest.mark.own_processes

PYUSDT = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
PROGRAMS = os.path.join(harness.ROOT, "tests", "integration", "programs")
SERVICE = os.path.join(harness.ROOT, "tests", "support", "servers", "slow_service.py")
REQUESTS, EVERY, CLIENTS = 400, 100, 3
PG_PORT = 54397
# In the place of the C library's function: a name server that answers late.
SLOW_NAMES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && !strcmp(node, "slow.test")) {
        usleep(300000);
        node = "127.0.0.1";
    }
    return next(node, service, hints, found);
}
"""
# What the first line of a route says.
EXPECTED = {
    "slow_sql": r"SQL select pg_sleep\(\$?%?.*\) at \S*why_shop.py:\d+ query",
    "many_queries": r"SQL select price from item .*, (199|200) times instead of [12]",
    "missing_index": r"SQL select count\(\*\) from item a, item b .*",
    "row_lock": r"SQL update item set price = .*",
    "pool_exhausted": r"a wait for a connection of SQLAlchemy's pool at \S*why_shop.py:\d+ pool_exhausted",
    "held_lock": r"a wait for a lock in held_lock at \S*why_shop.py:\d+ held_lock.*keep_stock.*",
    "held_gil": r"a wait for the GIL: hold_gil holds the GIL at \S*why_shop.py:\d+ hold_gil",
    "regex": r"(code: match|a wait for the GIL: match holds the GIL) at \S*why_shop.py:\d+ regex",
    "collection": r"garbage collection: generation 2",
    "name_lookup": r"a wait in getaddrinfo at \S*why_shop.py:\d+ name_lookup",
    "slow_service": r"a call of another service GET http://\S+/slow at \S*why_shop.py:\d+ slow_service",
    "retries": r"a call of another service GET http://\S+/busy at .*, [34] times instead of 0",
    "cold_cache": r"SQL select price, pg_sleep.*",
    "busy_workers": r"a wait for a worker for builtins.int",
    "file_sync": r"a wait in fsync at \S*why_shop.py:\d+ file_sync",
}
SERVERS = {
    "django": ["gunicorn", "--threads", "4", "-w", "1", "why_django:application"],
    "fastapi": [
        "uvicorn",
        "--loop",
        "asyncio",
        "--log-level",
        "warning",
        "why_uvicorn:application",
    ],
}


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory):
    """The environment of a server: a database, a cache, another service, a slow name server."""
    names = tmp_path_factory.mktemp("names")
    (names / "names.c").write_text(SLOW_NAMES)
    command = ["cc", "-shared", "-fPIC", "-o", str(names / "names.so"), str(names / "names.c")]
    assert harness.run([*command, "-ldl"]).status == 0
    with (
        postgres.server(PG_PORT) as (run, environment),
        redis_server.started() as folder,
        subprocess.Popen([sys.executable, SERVICE], stdout=subprocess.PIPE, text=True) as service,
    ):
        try:
            run("psql", "-qc", "create table item (id int primary key, price int, note text)")
            run(
                "psql",
                "-qc",
                "insert into item select n, n, 'note' || n from generate_series(1, 1500) n",
            )
            yield {
                **os.environ,
                **environment,
                "LD_PRELOAD": str(names / "names.so"),
                "WHY_REDIS": os.path.join(folder, "socket"),
                "WHY_SERVICE": service.stdout.readline().strip(),
            }
        finally:
            service.kill()


@contextlib.contextmanager
def serving(kind, environment):
    """(the process, its URL)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program, *options = SERVERS[kind]
    place = ["-b", f"127.0.0.1:{port}"] if program == "gunicorn" else ["--port", str(port)]
    command = [os.path.join(os.path.dirname(sys.executable), program), *place, *options]
    with harness.running(command, cwd=PROGRAMS, env=environment) as process:
        url = f"http://127.0.0.1:{port}"
        harness.wait_until(lambda: is_answering(url))
        yield process, url


def is_answering(url):
    try:
        return get(f"{url}/quiet/0/0") == b"ok"
    except OSError:
        return False


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().strip(b'"')


def send_requests(url, causes, every):
    """Cause after cause; each client takes a share of the numbers, and one asks for something else meanwhile: noise."""

    def send(cause, first):
        for number in range(first, REQUESTS, CLIENTS):
            get(f"{url}/{cause}/{number}/{every}")

    for cause in causes:
        work = [(cause, first) for first in range(CLIENTS)] + [("quiet", 0)]
        threads = [threading.Thread(target=send, args=each) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def ask_why(process, url, causes, every=EVERY):
    """{route's first word: what the report says is its cause} while clients send requests."""
    why = harness.start([PYUSDT, "why", "--slower", "150ms", str(process.pid)])
    try:
        harness.wait_until(lambda: is_traced(process.pid), 30)
        send_requests(url, causes, every)
    finally:
        why.send_signal(2)
        run = harness.finish(why, 60)
    assert run.status == 0, run
    found = re.findall(r"^GET /?(\w+)/\S+ .*\n  (?:likely cause: )?(.*)$", run.stdout, re.MULTILINE)
    return dict(found), run


def is_traced(pid):
    return any(
        re.search(
            r"^request +done +[1-9]",
            harness.run([PYUSDT, "list", "-p", str(each)]).stdout,
            re.MULTILINE,
        )
        for each in [pid, *list_descendants(pid)]
    )


@pytest.mark.parametrize(
    "kind",
    [
        "django",
        # its requests share a thread with each other: which causes are hidden depends on the machine's speed
        pytest.param("fastapi", marks=pytest.mark.long),
    ],
)
def test_planted_causes_are_named(kind, surroundings):
    """Attached to while it runs. On an overloaded machine a cause may be hidden by another one, which is then a true one."""
    with serving(kind, surroundings) as (process, url):
        found, run = ask_why(process, url, EXPECTED)
        assert is_answering(url)
        harness.wait_until(lambda: not has_probes(process.pid), 30)
    missed = {
        cause: found.get(cause)
        for cause, pattern in EXPECTED.items()
        if not re.match(pattern, found.get(cause, ""))
    }
    assert len(missed) <= 2, (missed, run.stdout)


def has_probes(pid):
    """Whether anything is left in a server."""
    return any(has_provider(each, "request") for each in [pid, *list_descendants(pid)])


def test_nothing_is_named_where_nothing_was_planted(surroundings):
    with serving("django", surroundings) as (process, url):
        found, run = ask_why(process, url, ["quiet", "slow_sql"], every=0)
    machine = (
        r"The cause is unknown|a wait for (a processor|the GIL)"  # what an overloaded machine shows
    )
    assert all(re.match(machine, each) for each in found.values()), run.stdout


QUOTA = "/sys/fs/cgroup/cpu/pyusdt-why"


@contextlib.contextmanager
def control_group(pids):
    """The folder of a group of the processor's controller with these processes."""
    if os.geteuid() != 0 or not os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"):
        pytest.skip("host: no control groups of the processor, version 1, that root may write")
    os.makedirs(QUOTA, exist_ok=True)  # of a test that was killed
    try:
        for pid in pids:
            Path(QUOTA, "cgroup.procs").write_text(str(pid))
        yield Path(QUOTA)
    finally:
        for pid in Path(QUOTA, "cgroup.procs").read_text().split():
            Path("/sys/fs/cgroup/cpu/cgroup.procs").write_text(pid)
        os.rmdir(QUOTA)


def test_a_quota_that_is_used_up_is_named(surroundings):
    """The server's group may run for 50 ms of each second, now and then."""
    over = threading.Event()

    def throttle(group):
        (group / "cpu.cfs_period_us").write_text("1000000")
        while not over.wait(1.5):
            (group / "cpu.cfs_quota_us").write_text("50000")
            over.wait(0.9)
            (group / "cpu.cfs_quota_us").write_text("-1")

    with (
        serving("django", surroundings) as (process, url),
        control_group([process.pid, *list_descendants(process.pid)]) as group,
    ):
        throttling = threading.Thread(target=throttle, args=(group,))
        throttling.start()
        try:
            found, run = ask_why(process, url, ["quiet"] * 3, every=0)
        finally:
            over.set()
            throttling.join()
    named = "a wait for a processor: its control group had used up its CPU quota"
    assert found["quiet"] == named, run.stdout


@pytest.mark.long  # which causes are hidden depends on the machine's speed: CI missed three of six once
def test_planted_causes_in_tasks_are_named(surroundings):
    """A Celery worker that runs is attached to, with its children."""
    causes = ["slow_sql", "many_queries", "held_lock", "collection", "slow_service", "cold_cache"]
    environment = {**surroundings, "WHY_CAUSES": " ".join(causes)}
    program = os.path.join(PROGRAMS, "why_celery.py")
    worker = [sys.executable, "-m", "celery", "-A", "why_celery", "worker", "-c", "2"]
    with harness.running(worker, cwd=PROGRAMS, env=environment) as process:
        harness.wait_until(lambda: len(list_descendants(process.pid)) >= 2, 60)
        why = harness.start([PYUSDT, "why", "--slower", "150ms", str(process.pid)])
        try:
            # A child of the pool runs Python code, and is attached to, only when a task comes.
            send = [sys.executable, program, "300", "100"]
            assert harness.run(send, timeout=60, env=environment).status == 0
            harness.wait_until(lambda: is_queue_empty(environment), 120)
        finally:
            why.send_signal(2)
            run = harness.finish(why, 60)
    found = dict(re.findall(r"^(\w+): .*\n  (?:likely cause: )?(.*)$", run.stdout, re.MULTILINE))
    missed = [each for each in causes if not re.match(EXPECTED[each], found.get(each, ""))]
    assert len(missed) <= 1, (missed, run)


def is_queue_empty(environment):
    return redis.Redis(unix_socket_path=environment["WHY_REDIS"]).llen("celery") == 0
