#!/usr/bin/env python3
"""The demo: trace a web server through real requests, and check what the tracer says against what was asked.

Runs examples/httpd.py under `pydtrace -s examples/latency.d -c …`, sends it requests for this repository's own
files from several client threads, prints the histograms, and compares their counts with the clients' own: by
path, by status and in all. Exit status 0 only if every count is exact.
"""

from __future__ import annotations

import argparse
import collections
import http.client
import os
import re
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PATHS = [
    "/README.md",
    "/LICENSE",
    "/docs/internals/DESIGN.md",
    "/examples/httpd.py",
    "/include/user_trace.d",
    "/no/such/page",
]
TIMEOUT = 120  # seconds for everything


class Tally:
    """How many answers there were, by path and by status."""

    def __init__(self):
        self.paths = collections.Counter()
        self.statuses = collections.Counter()

    def __eq__(self, other):
        return (self.paths, self.statuses) == (other.paths, other.statuses)

    def total(self) -> int:
        return sum(self.paths.values())


def expected_body(path: str) -> bytes | None:
    """The file's bytes, or None if there is no such file (the server answers 404)."""
    try:
        with open(ROOT + path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def client(
    port: int, paths: list[str], bodies: dict[str, bytes | None], tally: Tally, lock: threading.Lock
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    for path in paths:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        if bodies[path] is not None and body != bodies[path]:
            raise SystemExit(
                f"demo: {path} came back with {len(body)} bytes, the file has {len(bodies[path])}"
            )
        with lock:
            tally.paths[path] += 1
            tally.statuses[answer.status] += 1
    connection.close()


def send_requests(port: int, requests: int, threads: int) -> Tally:
    """Send them all, from `threads` threads at once; returns what the clients counted."""
    tally, lock = Tally(), threading.Lock()
    bodies = {path: expected_body(path) for path in PATHS}
    paths = [PATHS[i % len(PATHS)] for i in range(requests)]
    workers = [
        threading.Thread(target=client, args=(port, paths[k::threads], bodies, tally, lock))
        for k in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return tally


def read_histograms(text: str) -> Tally:
    """What latency.d printed, counted: rows of a quantize are `value |@@@ count`, statuses `… status CODE COUNT`."""
    tally, path = Tally(), None
    for line in text.splitlines():
        if title := re.match(r"\s*latency, microseconds\s+(\S+)\s*$", line):
            path = title[1]
        elif row := re.match(r"\s*-?\d+ \|[@ ]*\s(\d+)\s*$", line):
            tally.paths[path] += int(row[1])
        elif status := re.match(r"\s*answers with status\s+(\d+)\s+(\d+)\s*$", line):
            tally.statuses[int(status[1])] += int(status[2])
    return tally


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--requests", type=int, default=2000)
    options.add_argument("--threads", type=int, default=8)
    options.add_argument(
        "--pydtrace", default=os.path.join(os.path.dirname(sys.executable), "pydtrace")
    )
    chosen = options.parse_args()

    server = f"{sys.executable} {HERE}/httpd.py --requests {chosen.requests}"
    command = [chosen.pydtrace, "-s", f"{HERE}/latency.d", "-c", server]
    print("demo:", " ".join(command[:-1]), f"'{server}'", flush=True)
    tracer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(TIMEOUT, tracer.send_signal, [signal.SIGINT])
    watchdog.start()
    output, asked = [], Tally()
    for line in tracer.stdout:
        print(line, end="", flush=True)
        output.append(line)
        if ready := re.search(r"^serving .* on http://127\.0\.0\.1:(\d+)$", line):
            asked = send_requests(int(ready[1]), chosen.requests, chosen.threads)
    status = tracer.wait()
    watchdog.cancel()

    traced = read_histograms("".join(output))
    print(
        f"demo: {asked.total()} requests sent; traced: {traced.total()} latencies, "
        f"{sum(traced.statuses.values())} statuses; pydtrace's exit status: {status}"
    )
    if status == 0 and asked.total() == chosen.requests and traced == asked:
        print("demo: every count is exact")
        return 0
    print(
        f"demo: NOT exact: sent {asked.paths} {asked.statuses}, traced {traced.paths} {traced.statuses}"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
