"""examples/two_languages: one D script over a Python front end and its Erlang back end."""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import sys

import pytest

from tests.support import harness

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
        shop = harness.run(
            [sys.executable, f"{EXAMPLE}/shop.py", "--requests", str(REQUESTS)],
            timeout=60,
            env=environment,
        )
        assert shop.status == 0 and shop.stdout == f"{REQUESTS} requests, 4 of them slow\n", shop
        process.send_signal(signal.SIGINT)
        run = harness.finish(process, 30)
    assert run.status == 0 and run.stderr == "", run
    return run.stdout


@pytest.mark.parametrize(
    "missing, said",
    [
        ("probes", "the store has no probes, since erlang_nif is not built"),
        ("erlc", "there is no erlc on PATH"),
    ],
)
def test_what_is_missing_is_told(erlang, tmp_path, missing, said):
    """After `pip install .` alone: a copy without erlang_nif, or without Erlang on PATH."""
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "two_languages")
    environment = {**os.environ, **({"PATH": str(tmp_path)} if missing == "erlc" else {})}
    shop = harness.run(
        [sys.executable, f"{tmp_path}/examples/two_languages/shop.py"], timeout=60, env=environment
    )
    assert (
        (shop.status, shop.stdout) == (1, "")
        and said in shop.stderr
        and "Traceback" not in shop.stderr
    ), shop


def test_a_store_that_is_not_seen_is_not_called_quick(tmp_path):
    """The front end's events alone, those of a slow request."""
    (tmp_path / "shop.py").write_text(
        "import pyusdt, time\npyusdt.put_tag('request-1')\n"
        "pyusdt.pn(1, 1)\ntime.sleep(0.06)\npyusdt.pn(2, 1, 'quince')\n"
    )
    command = f"{sys.executable} {tmp_path}/shop.py"
    run = harness.run(
        [harness.PYDTRACE, "-x", "engine=embedded", "-Zqs", f"{EXAMPLE}/latency.d", "-c", command]
    )
    assert re.search(
        r"^slow: request-1, quince: \d+ ms, the store was not seen$", run.stdout, re.MULTILINE
    ), run


def counts(printed: str) -> dict[str, int]:
    """Title of each histogram: the sum of its rows."""
    tables = re.findall(
        r"^  (\S.*\S), microseconds +\n +value .*\n((?: +-?\d+ \|.*\n)+)", printed, re.MULTILINE
    )
    return {title: sum(int(row.split()[-1]) for row in rows.splitlines()) for title, rows in tables}


def test_every_request_is_seen_on_both_sides(printed):
    assert f"requests seen from end to end: {REQUESTS}\n" in printed, printed
    sides = ("whole request", "store (Erlang)", "front end (Python)")
    assert counts(printed) == dict.fromkeys(sides, REQUESTS), printed


def test_the_slow_requests_are_found_by_tag(printed):
    slow = re.findall(
        r"^slow: request-(\d+), (\w+): (\d+) ms, of which the store (\d+) ms$",
        printed,
        re.MULTILINE,
    )
    found = {int(request) for request, key, whole, store in slow if key == "quince"}
    assert found == {99, 199, 299, 399}, printed
    for _, key, whole, store in slow:
        assert key != "quince" or (60 <= int(store) <= int(whole)), printed
