#!/usr/bin/env python3
"""What hooks cost, that around a WSGI application beside the middlewares of OpenTelemetry and Datadog: `benchmarks/hooks.py [ROUNDS]`.

Input: a small WSGI application; opentelemetry-instrumentation-wsgi, with the SDK, and a sampler
that takes nothing or all; ddtrace's middleware, where it is installed (`pip install ddtrace`; it
is none of our requirements).
Output: the median of nanoseconds that each adds to a bare request, statement, callback, call or
record, on the standard output.

- The ways take turns in one process, so that a slower machine is slower for all; spans are made
  and not exported.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from pyusdt import instrument
from pyusdt.instrument.dbapi import cursor
from pyusdt.instrument.http import WSGI

REQUESTS = 2000
PROVIDERS = ("http", "db", "loop", "pool", "log")
SCRIPT = (
    'BEGIN { printf("on\\n"); } '
    + ", ".join(f"{name}$target:::" for name in PROVIDERS)
    + " { @[probename] = count(); }"
)


def application(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"hello"]


def once(called: Callable[..., Any]) -> float:
    """Nanoseconds a request."""
    started = time.perf_counter_ns()
    for _ in range(REQUESTS):
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/",
            "SERVER_NAME": "here",
            "SERVER_PORT": "80",
            "SCRIPT_NAME": "",
            "wsgi.url_scheme": "http",
            "SERVER_PROTOCOL": "HTTP/1.1",
        }
        for _piece in called(environ, lambda *_: None):
            pass
    return (time.perf_counter_ns() - started) / REQUESTS


def added(ways: dict[str, Callable[..., Any]], rounds: int) -> dict[str, float]:
    """The median, over the rounds, of what each way adds to the bare application."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        bare = once(application)
        for name, called in ways.items():
            taken[name].append(once(called) - bare)
    return {name: statistics.median(each) for name, each in taken.items()}


# --- other hooks: the work, and how it is done with the hook and without ------------------------


def statements(cursors: type) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        made = connection.cursor(cursors)
        for _ in range(REQUESTS):
            made.execute("select 1")


def callbacks(run: Any) -> None:
    asyncio.events.Handle._run = run  # type: ignore[attr-defined]
    loop = asyncio.new_event_loop()
    for _ in range(REQUESTS):
        loop.call_soon(int)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()


def calls(submit: Any) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for asked in [submit(pool, int) for _ in range(REQUESTS)]:
            asked.result()


def records(factory: Any) -> None:
    logging.setLogRecordFactory(factory)
    logger = logging.getLogger("bench")
    logger.propagate, logger.handlers = False, [logging.NullHandler()]
    for _ in range(REQUESTS):
        logger.error("one %s", "thing")


def other_hooks() -> dict[str, tuple[Callable[[Any], None], Any, Any]]:
    """{what: (the work, what it takes without the hook, and with it)}."""
    run, submit, factory = (
        asyncio.events.Handle._run,
        concurrent.futures.ThreadPoolExecutor.submit,
        logging.getLogRecordFactory(),
    )
    instrument.enable("asyncio", "pools", "logging")
    return {
        "a statement of sqlite3": (statements, sqlite3.Cursor, cursor(sqlite3.Cursor)),
        "a callback of a loop": (callbacks, run, asyncio.events.Handle._run),
        "a call by a pool": (calls, submit, concurrent.futures.ThreadPoolExecutor.submit),
        "a record of logging": (records, factory, logging.getLogRecordFactory()),
    }


def added_by(
    hooks: dict[str, tuple[Callable[[Any], None], Any, Any]], rounds: int
) -> dict[str, float]:
    def took(work: Callable[[Any], None], way: Any) -> float:
        started = time.perf_counter_ns()
        work(way)
        return (time.perf_counter_ns() - started) / REQUESTS

    return {
        what: statistics.median(took(work, hooked) - took(work, bare) for _ in range(rounds))
        for what, (work, bare, hooked) in hooks.items()
    }


@contextlib.contextmanager
def traced() -> Iterator[None]:
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    with subprocess.Popen(
        [pydtrace, "-q", "-n", SCRIPT, "-p", str(os.getpid())], stdout=subprocess.PIPE, text=True
    ) as tracer:
        assert tracer.stdout is not None and tracer.stdout.readline() == "on\n"
        yield
        tracer.terminate()
        tracer.stdout.read()


def of_ddtrace() -> dict[str, Callable[..., Any]]:
    """Its middleware, whose spans are made and dropped before they are sent, or {}."""
    try:
        from ddtrace.contrib.wsgi import DDWSGIMiddleware
        from ddtrace.trace import TraceFilter, tracer
    except ImportError:
        return {}

    class Drop(TraceFilter):  # type: ignore[misc]
        def process_trace(self, _trace: Any) -> None:
            return None

    tracer.configure(trace_processors=[Drop()])
    return {"ddtrace: a request": DDWSGIMiddleware(application)}


def main() -> None:
    rounds, hooks = int(sys.argv[1]) if sys.argv[1:] else 15, other_hooks()
    found = added({"pyusdt, nobody traces: a request": WSGI(application)}, rounds)
    found |= {
        f"pyusdt, nobody traces: {what}": each for what, each in added_by(hooks, rounds).items()
    }
    with traced():
        found |= added({"pyusdt, traced: a request": WSGI(application)}, rounds)
        found |= {f"pyusdt, traced: {what}": each for what, each in added_by(hooks, rounds).items()}
    found |= added(
        {
            f"OpenTelemetry, {what}: a request": OpenTelemetryMiddleware(
                application, tracer_provider=TracerProvider(sampler=sampler)
            )
            for what, sampler in (("nothing sampled", ALWAYS_OFF), ("all sampled", ALWAYS_ON))
        },
        rounds,
    )
    if peers := of_ddtrace():
        found |= added(peers, rounds)
    else:
        print("ddtrace is not installed: pip install ddtrace", file=sys.stderr)
    for name, nanoseconds in found.items():
        print(f"{name:50} {nanoseconds:10.0f} ns")


if __name__ == "__main__":
    main()
