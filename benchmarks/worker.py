"""One measured Python process.

Input: a socket's path; from the socket, lines `operation n`. For each, does the operation n times
and answers with the nanoseconds that took (PYUSDT_BENCH_CPU: of CPU time). Runs under pydtrace or
alone.

The statements are unrolled, so that the loop around them hardly counts, and see only local variables.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import socket
import sys
import time

sys.path.insert(0, os.environ["PYUSDT_BENCH_BUILD"])
import empty

import pyusdt

UNROLL = 20
OPERATIONS = {
    "empty": 'empty(1, 2, "a")',
    "p": 'p(1, 2, "a")',
    "p wide": 'p(1, 2, 3, 4, "GET", "/item/7", "checkout", "eu-west-1")',
    "if probe": "if probe: pass",
    "if False": "if false: pass",
    "lazy": "probe.lazy(lambda: (1, 2))",
    "empty lambda": "empty(lambda: (1, 2))",
    "own": 'own(1, 2, "a")',
    "wrapped": "wrapped()",
    "function": "function()",
    "put_tag": 'put_tag("request 17"); put_tag("request 18")',
    "set": 'variable.set(b"request 17"); variable.set(b"request 18")',
    "stapsdt": 'stapsdt(1, 2, "a")',
    "usdt": 'usdt((1, 2, "a"))',
    "p 256": f'p(n % 1000, 2, "{"x" * 256}")',
}


def unrolled(statement: str):
    """A function of n that executes the statement n times, n a multiple of UNROLL, and returns nanoseconds."""
    body = f"\n        {statement}" * UNROLL
    source = f"""def run(n, clock, empty, p, probe, own, wrapped, function, put_tag, variable, stapsdt, usdt, false=False):
    start = clock()
    for _ in range(n // {UNROLL}):{body}
    return clock() - start
"""
    names: dict = {}
    exec(source, names)  # noqa: S102 (the statements of OPERATIONS, unrolled)
    return names["run"]


def peers() -> list:
    """The functions that fire a probe of python-stapsdt's and of usdt's; None for what is not installed (subjects.peers())."""
    fire = [None, None]
    with contextlib.suppress(ImportError, OSError):  # it needs libstapsdt.so
        import stapsdt

        provider = stapsdt.Provider("stapsdtpeer")
        probe = provider.add_probe(
            "fired", stapsdt.ArgTypes.int64, stapsdt.ArgTypes.int64, stapsdt.ArgTypes.uint64
        )
        provider.load()
        fire[0] = probe.fire
    with contextlib.suppress(
        ImportError
    ):  # without its library (there is none for Linux) a function that does nothing
        import usdt

        fire[1] = usdt.Probe("fired", "fire", ["int", "int", "char *"]).fire
    return fire


def main() -> None:
    orders = socket.socket(socket.AF_UNIX)
    orders.connect(sys.argv[1])
    probe = pyusdt.probe("user_trace-i4s4")
    own = pyusdt.Provider("bench").probe("fired", int, int, str)

    def function():
        pass

    subjects = (
        empty.empty,
        pyusdt.p,
        probe,
        own,
        probe.wrap(function),
        function,
        pyusdt.put_tag,
        contextvars.ContextVar("bench"),
        *peers(),
    )
    clock = time.thread_time_ns if "PYUSDT_BENCH_CPU" in os.environ else time.perf_counter_ns
    operations = {name: unrolled(statement) for name, statement in OPERATIONS.items()}
    pyusdt.put_tag("bench")
    with orders.makefile("rw") as stream:
        for line in stream:
            name, n = line.rsplit(None, 1)
            nanoseconds = operations[name](int(n), clock, *subjects)
            print(nanoseconds, file=stream, flush=True)


if __name__ == "__main__":
    main()
