"""What shows a tracing, on many hosts, one of them behind a relay: each looks while it goes on, and has the sum of both at the end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.support import harness
from tests.support.host_namespaces import PATIENT
from tests.support.tmux_terminal import Terminal

pytestmark = pytest.mark.own_processes
VIA = f"env HOST={{host}} {harness.PYDTRACE} --serve"
SCRIPT = """pyusdt*:::user_trace-i4s4 { @n[copyinstr(arg6), host] = count(); @first[host] = min(arg3); @last[host] = max(arg3);
    @lat[host] = quantize(arg2); }
    pyusdt*:::user_trace-i4s4 /arg2 == 7/ { printf("host=%s seven=%d", host, arg2); }"""
PROGRAM = """import pyusdt, sys
print('here', flush=True)
number = 0
for line in sys.stdin:
    for i in range(int(line)):
        pyusdt.p(i, number, 0, 0, 'key')
        number += 1
    print(number, flush=True)
"""
HOSTS = ["--hosts", "web[1-3]", "--relay", "gw[1-2]", "--via", VIA, *PATIENT, "-Z", "-q"]


@pytest.fixture
def fire():
    """fire(N): a program that is there from the beginning fires so often; how often it has in all."""
    with harness.running([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE) as program:
        assert program.stdout.readline() == "here\n"

        def fire(count):
            program.stdin.write(f"{count}\n")
            program.stdin.flush()
            return int(program.stdout.readline())

        yield fire
        program.stdin.close()


def ready(process):
    for line in process.stderr:
        if "ready" in line:
            return
    raise AssertionError(harness.finish(process, 60))


def until(fire, look):
    """Fire until it is seen, since some hosts may begin later."""

    def seen():
        fire(10)
        return look()

    harness.wait_until(seen, 60)


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def test_metrics(fire):
    port = free_port()

    def scraped():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        return [
            {host: int(float(number)) for host, number in re.findall(pattern, text)}
            for pattern in (
                r'dtrace_n_total\{key1="key",key2="(web\d)"\} (\S+)',
                r'dtrace_first\{key1="(web\d)"\} (\S+)',
                r'dtrace_last\{key1="(web\d)"\} (\S+)',
            )
        ]

    with harness.running(
        [harness.PYDTRACE, *HOSTS, "--metrics", f"127.0.0.1:{port}", "--ready", "-n", SCRIPT]
    ) as traced:
        ready(traced)
        until(fire, lambda: len(scraped()[0]) == 3)
        last = fire(1000) - 1
        harness.wait_until(lambda: [*scraped()[2].values()] == [last] * 3, 60)
        counts, firsts, _ = scraped()
        assert (
            counts == {host: last - first + 1 for host, first in firsts.items()}
            and len(counts) == 3
        )
        traced.send_signal(signal.SIGINT)
        assert harness.finish(traced, 120).status == 0


def test_web(fire):
    with harness.running([harness.PYDTRACE, *HOSTS, "--web", "--ready", "-n", SCRIPT]) as traced:
        address = next(
            match[0]
            for line in traced.stderr
            if (match := re.search(r"http://127\.0\.0\.1:\d+/\S+/", line))
        )
        with urllib.request.urlopen(address + "events", timeout=60) as events:
            until(
                fire,
                lambda: all(
                    f"web{i}" in events.readline().decode() + events.readline().decode()
                    for i in (1, 2, 3)
                ),
            )
        traced.send_signal(signal.SIGINT)
        assert harness.finish(traced, 120).status == 0


def test_parquet_and_json(fire, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="host: no pyarrow")
    command = shlex.join(
        [sys.executable, "-c", "import pyusdt\nfor i in range(100): pyusdt.p(i, 0, 0, 0, 'key')"]
    )
    path, words = (
        tmp_path / "o.parquet",
        [harness.PYDTRACE, *HOSTS, "-n", SCRIPT.replace("pyusdt*", "pyusdt$target"), "-c", command],
    )
    done = harness.run([*words, "--parquet", str(path)], 120)
    assert done.status == 0, done
    records = parquet.read_table(path).to_pylist()
    assert sorted((row["host"], row["seven"]) for row in records) == [
        (f"web{i}", 7) for i in (1, 2, 3)
    ]
    rows = [
        row
        for row in parquet.read_table(tmp_path / "o.aggregations.parquet").to_pylist()
        if row["aggregation"] == "n"
    ]
    assert sorted((row["keys"][1], row["value"]) for row in rows) == [
        (f"web{i}", 100) for i in (1, 2, 3)
    ]
    done = harness.run([*words, "--json"], 120)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(line["values"][0] for line in lines if line["type"] == "record") == [
        "web1",
        "web2",
        "web3",
    ]
    assert {(line["name"], line["n"]) for line in lines if line["type"] == "aggregation"} == {
        ("n", 100),
        ("first", 100),
        ("last", 100),
        ("lat", 100),
    }


def test_live(fire, tmp_path):
    if harness.tools("tmux"):
        pytest.skip("host: no tmux")
    (tmp_path / "script.d").write_text(SCRIPT)
    shown = Terminal(tmp_path, 120, 40)
    try:
        shown.type(
            f"PYUSDT_RUNDIR={os.environ['PYUSDT_RUNDIR']} {shlex.join([harness.PYDTRACE, *HOSTS])} --live -s script.d; echo status $?",
            "Enter",
        )
        shown.until("^00:0")
        until(
            fire, lambda: all(re.search(rf"key +web{i}|web{i}", shown.screen()) for i in (1, 2, 3))
        )
        shown.type("q")
        shown.until("status 0")
    finally:
        shown.end()
