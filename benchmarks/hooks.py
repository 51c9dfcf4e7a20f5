#!/usr/bin/env python3
"""What the hook around a WSGI application costs, beside OpenTelemetry's middleware: `benchmarks/hooks.py [ROUNDS]`.

In:      a small WSGI application; opentelemetry-instrumentation-wsgi, with the SDK, and a sampler that takes nothing or all; ddtrace's
         middleware, where it is installed (`pip install ddtrace`; it is none of our requirements).
Out:     the median of nanoseconds a request that each adds to the bare application, on the standard output.
Always:  the ways take turns in one process, so that a slower machine is slower for all; spans are made and not exported.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

from pyusdt.instrument.http import WSGI

REQUESTS = 2000
SCRIPT = 'BEGIN { printf("on\\n"); } http$target:::request-start, http$target:::request-done { @[probename] = count(); }'


def application(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"hello"]


def once(called: Callable[..., Any]) -> float:
    """Nanoseconds a request."""
    started = time.perf_counter_ns()
    for _ in range(REQUESTS):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SERVER_NAME": "here", "SERVER_PORT": "80", "SCRIPT_NAME": "",
                   "wsgi.url_scheme": "http", "SERVER_PROTOCOL": "HTTP/1.1"}
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


@contextlib.contextmanager
def traced() -> Iterator[None]:
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    with subprocess.Popen([pydtrace, "-q", "-n", SCRIPT, "-p", str(os.getpid())], stdout=subprocess.PIPE, text=True) as tracer:
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
    return {"ddtrace": DDWSGIMiddleware(application)}


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 15
    found = added({"pyusdt, nobody traces": WSGI(application)}, rounds)
    with traced():
        found |= added({"pyusdt, traced": WSGI(application)}, rounds)
    found |= added({f"OpenTelemetry, {what}": OpenTelemetryMiddleware(application, tracer_provider=TracerProvider(sampler=sampler))
                    for what, sampler in (("nothing sampled", ALWAYS_OFF), ("all sampled", ALWAYS_ON))}, rounds)
    if peers := of_ddtrace():
        found |= added(peers, rounds)
    else:
        print("ddtrace is not installed: pip install ddtrace", file=sys.stderr)
    for name, nanoseconds in found.items():
        print(f"{name:35} {nanoseconds:10.0f} ns a request")


if __name__ == "__main__":
    main()
