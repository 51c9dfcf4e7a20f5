"""examples/two_languages: one D script over a Python front end and its Erlang back end."""

from __future__ import annotations

import glob
import os
import re
import signal
import sys

import harness
import pytest

EXAMPLE = os.path.join(harness.ROOT, "examples", "two_languages")
REQUESTS = 400


@pytest.fixture(scope="module")
def printed(erlang, tmp_path_factory) -> str:
    """What the script printed while the shop served its requests, all processes of the user being traced."""
    folder = tmp_path_factory.mktemp("run")
    environment = {**os.environ, "PYUSDT_RUNDIR": str(folder)}
    tracer = [harness.PYDTRACE, "-x", "engine=embedded", "-Zqs", f"{EXAMPLE}/latency.d"]
    with harness.running(tracer, env=environment) as process:
        harness.wait_until(lambda: glob.glob(f"{folder}/*.session"))
        shop = harness.run([sys.executable, f"{EXAMPLE}/shop.py", "--requests", str(REQUESTS)], timeout=60, env=environment)
        assert shop.status == 0 and shop.stdout == f"{REQUESTS} requests, 4 of them slow\n", shop
        process.send_signal(signal.SIGINT)
        run = harness.finish(process, 30)
    assert run.status == 0 and run.stderr == "", run
    return run.stdout


def counts(printed: str) -> dict[str, int]:
    """Title of each histogram: the sum of its rows."""
    tables = re.findall(r"^  (\S.*\S), microseconds +\n +value .*\n((?: +-?\d+ \|.*\n)+)", printed, re.MULTILINE)
    return {title: sum(int(row.split()[-1]) for row in rows.splitlines()) for title, rows in tables}


def test_every_request_is_seen_on_both_sides(printed):
    assert f"requests seen from end to end: {REQUESTS}\n" in printed, printed
    sides = ("whole request", "store (Erlang)", "front end (Python)")
    assert counts(printed) == dict.fromkeys(sides, REQUESTS), printed


def test_the_slow_requests_are_found_by_tag(printed):
    slow = re.findall(r"^slow: request-(\d+), (\w+): (\d+) ms, of which the store (\d+) ms$", printed, re.MULTILINE)
    found = {int(request) for request, key, whole, store in slow if key == "quince"}
    assert found == {99, 199, 299, 399}, printed
    for _, key, whole, store in slow:
        assert key != "quince" or (60 <= int(store) <= int(whole)), printed
