"""pydtrace --otlp: what a receiver of OpenTelemetry's gets, by HTTP and gRPC, all or what is new; and one that is away meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from itertools import pairwise

import pytest

from tests.support import harness
from tests.support.servers.otlp_receiver import Received, by_grpc, by_http

pytestmark = pytest.mark.xdist_group(
    "unattended"
)  # ticks, and processes that are named: nothing beside them is seen
SCRIPT = """
#pragma D metric calls name=shop_requests labels=route help="Requests."
#pragma D metric time name=shop_time unit=seconds multiplier=1e-9 labels=route sum=spent
BEGIN { @calls["/a"] = count(); @time["/a"] = quantize(1000); @spent["/a"] = sum(1000); }
tick-20ms /n < 40/ { n++; @calls["/a"] = count(); @time["/a"] = quantize(n * 100); @spent["/a"] = sum(n * 100); @top = max(n); }
tick-100ms { clear(@calls); trunc(@time); trunc(@spent); }
"""
ENDS = "tick-50ms /n >= 40/ { exit(0); }"
CALLS, SPENT = 41, (1000 + 100 * sum(range(1, 41))) / 1e9


def traced(tmp_path, url, *options, script=SCRIPT + ENDS):
    (tmp_path / "script.d").write_text(script)
    shown = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--otlp",
            url,
            "-x",
            "otlpinterval=200ms",
            *options,
            "-s",
            str(tmp_path / "script.d"),
        ],
        90,
    )
    assert shown.status == 0, shown
    return shown


def histogram(point):
    return dict(zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=True))


@pytest.mark.parametrize("server", [by_http, by_grpc])
def test_all_there_has_been(tmp_path, server):
    """Whatever clear() and trunc() have taken away."""
    with server(found := Received()) as url:
        shown = traced(tmp_path, url)
    calls = [point.as_double for point in found.points("shop_requests")]
    assert calls == sorted(calls) and calls[-1] == CALLS and len(calls) > 1, shown
    metric, [point] = (
        found[-1]["shop_time_seconds"]
        if "shop_time_seconds" in found[-1]
        else found[-1]["shop_time"]
    )
    assert metric.unit == "seconds" and metric.histogram.aggregation_temporality == 2
    assert (
        point.count == CALLS
        and point.sum == pytest.approx(SPENT)
        and {each.key: each.value.string_value for each in point.attributes} == {"route": "/a"}
    )
    values = [1000, *range(100, 4100, 100)]
    below = 0
    for bound, count in sorted(histogram(point).items()):
        below += count
        assert below == sum(value / 1e9 <= bound + 1e-15 for value in values), bound
    assert found.points("dtrace_top")[-1].as_double == 40
    assert (
        found.resource["service.name"].string_value == "pydtrace"
        and found.resource["process.pid"].int_value > 0
    )
    assert found.points("pydtrace_complete")[-1].as_double == 1


@pytest.mark.parametrize("server", [by_http, by_grpc])
def test_what_is_new_adds_up_to_all(tmp_path, server):
    with server(found := Received()) as url:
        traced(tmp_path, url, "-x", "otlptemporality=delta")
    calls, times = (
        found.points("shop_requests"),
        found.points("shop_time_seconds") or found.points("shop_time"),
    )
    assert (
        sum(point.as_double for point in calls) == CALLS
        and sum(point.count for point in times) == CALLS
    )
    assert sum(point.sum for point in times) == pytest.approx(SPENT)
    assert all(
        before.time_unix_nano == after.start_time_unix_nano for before, after in pairwise(calls)
    )


@pytest.mark.parametrize("temporality", ["cumulative", "delta"])
def test_a_receiver_that_was_away_gets_all(tmp_path, temporality):
    found = Received()
    found.status = 404
    (tmp_path / "script.d").write_text(SCRIPT)
    with (
        by_http(found) as url,
        harness.running(
            [
                harness.PYDTRACE,
                "-q",
                "--otlp",
                url,
                "-x",
                "otlpinterval=100ms",
                "-x",
                f"otlptemporality={temporality}",
                "-s",
                str(tmp_path / "script.d"),
            ]
        ) as process,
    ):
        told = process.stderr.readline()
        assert re.match(
            rf"dtrace: --otlp: {url} has taken nothing for \d+ exports: .*404.*; it gets all the same when it is back",
            told,
        ), told
        found.status = 200
        harness.wait_until(lambda: total(found, temporality) == CALLS)
        process.terminate()
        assert harness.finish(process, 60).status == 0


def total(found, temporality):
    calls = [point.as_double for point in found.points("shop_requests")]
    return sum(calls) if temporality == "delta" else max(calls, default=0)


@pytest.mark.parametrize(("server", "unavailable"), [(by_http, 0), (by_grpc, 0), (by_grpc, 1)])
def test_what_a_receiver_refuses_of_a_request_is_told(tmp_path, server, unavailable):
    """Also after a connection was made anew."""
    found = Received()
    found.unavailable, found.rejected = unavailable, {"rejected_data_points": 2}
    with server(found) as url:
        shown = traced(tmp_path, url)
    told = re.findall(
        rf"^dtrace: --otlp: {url} has refused (\d+) points of what it took: not those$",
        shown.stderr,
        re.MULTILINE,
    )
    assert told and int(told[-1]) == 2 * len(found) and not found.unavailable, shown


@pytest.mark.parametrize(
    ("server", "variables"),
    [
        (
            by_http,
            {
                "OTEL_RESOURCE_ATTRIBUTES": "service.name=shop,host.name=there,deployment.environment=test"
            },
        ),
        (
            by_grpc,
            {
                "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,host.name=there",
                "OTEL_SERVICE_NAME": "shop",
            },
        ),
        (by_http, {}),
    ],
)
def test_who_sends(tmp_path, server, variables, monkeypatch):
    """OpenTelemetry's variables have the last word."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with server(found := Received()) as url:
        traced(tmp_path, url, script="BEGIN { @ = count(); exit(0); }")
    said = {
        name: value.string_value for name, value in found.resource.items() if value.string_value
    }
    assert said["service.name"] == ("shop" if variables else "pydtrace")
    assert said["host.name"] == ("there" if variables else os.uname().nodename)
    assert said.get("deployment.environment") == (
        "test" if "deployment" in str(variables) else None
    )
    assert found.resource["process.pid"].int_value > 0


def test_nobody_waits_for_a_receiver_that_does_not_answer(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        shown = traced(
            tmp_path,
            f"http://127.0.0.1:{deaf.getsockname()[1]}",
            script=SCRIPT + ENDS.replace("{", '{ printf("all %d", n); '),
        )
    assert "all 40" in shown.stdout and "it does not answer" in shown.stderr, shown


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "ftp://127.0.0.1", "http://"])
def test_what_is_no_receiver(url):
    shown = harness.run(
        [harness.PYDTRACE, "-qn", 'BEGIN { trace("fired"); exit(0); }', "--otlp", url]
    )
    assert (
        shown.status == 1
        and "a URL that begins with http://" in shown.stderr
        and "fired" not in shown.stdout
    ), shown


HOSTILE = [
    *(bytes([byte]) for byte in range(1, 256)),
    b"\xff\xfe",
    b'"} 1\nevil 1\n#',
    b"\xed\xa0\x80",
    "\u2028\U0001f600".encode(),
]


@pytest.mark.long
def test_victoria_metrics(tmp_path):
    """A receiver of the world: its own answers to queries, also of all bytes that a program can put into a key."""
    folder = subprocess.run(
        [os.path.join(harness.ROOT, ".ci", "monitoring")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with harness.running(
        [
            f"{folder}/victoria-metrics",
            f"-httpListenAddr={address}",
            f"-storageDataPath={tmp_path / 'data'}",
        ]
    ):

        def ask(query):
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(
                    f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': query, 'latency_offset': '1ms'})}",
                    timeout=10,
                ) as answer,
            ):
                return [float(row["value"][1]) for row in json.load(answer)["data"]["result"]]
            return []

        harness.wait_until(lambda: ask("1") == [1])
        traced(tmp_path, f"http://{address}/opentelemetry/v1/metrics")
        harness.wait_until(lambda: ask("shop_requests") == [CALLS], 60)
        [q] = ask("histogram_quantile(0.5, shop_time_seconds_bucket or shop_time_bucket)")
        assert 1.0e-6 < q < 2.1e-6
        (tmp_path / "app.py").write_text(
            f"import pyusdt\nfor name in {HOSTILE!r}: pyusdt.p(1, 1, name)\n"
        )
        traced(
            tmp_path,
            f"http://{address}/opentelemetry/v1/metrics",
            "-c",
            f"{sys.executable} {tmp_path}/app.py",
            script=(
                "#pragma D metric a name=hostile labels=x\npyusdt$target:::user_trace-i4s4 { @a[copyinstr(arg6)] = count(); }\n"
            ),
        )
        count = len({name.decode("utf-8", "backslashreplace") for name in HOSTILE})
        harness.wait_until(lambda: ask("count(hostile)") == [count], 60)
