"""pydtrace --spans: what a receiver of OpenTelemetry's gets of two clauses, by HTTP and gRPC; and where nobody takes it."""

from __future__ import annotations

import contextlib
import re
import socket

import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

from tests.support import harness
from tests.support.servers.otlp_receiver import Receiver, by_grpc, by_http

pytestmark = pytest.mark.own_processes
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PROGRAM = f"""
import time, pyusdt
shop = pyusdt.Provider("shop")
start, done = shop.probe("order-start", number=int, trace=str), shop.probe("order-done", number=int, trace=str)
inner, paid = shop.probe("pay", took=int), shop.probe("note", text=str)
for number in range(4):
    start(number, "00-{TRACE}-{PARENT}-01")
    paid("card")
    inner(5)
    done(number, "00-{TRACE}-{PARENT}-01")
"""
SCRIPT = """
shop$target:::order-start { printf("begin=order number=%d tag=%s", arg0, copyinstr(arg1)); }
shop$target:::note { printf("text=%s", copyinstr(arg0)); }
shop$target:::pay { printf("name=pay duration=%d", arg0); }
shop$target:::order-done { printf("end=order status=%d tag=%s", arg0 * 2, copyinstr(arg1)); }
"""


class Received(Receiver):
    """The spans of all requests."""

    path, name = "/v1/traces", "opentelemetry.proto.collector.trace.v1.TraceService"
    response = service.ExportTraceServiceResponse

    def take(self, body):
        for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = {each.key: each.value for each in resource.resource.attributes}
            self.extend(span for scope in resource.scope_spans for span in scope.spans)


def traced(tmp_path, url, *options, script=SCRIPT):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "script.d").write_text(script)
    return harness.run(
        [
            harness.PYDTRACE,
            "-Zq",
            "--spans",
            url,
            *options,
            "-s",
            str(tmp_path / "script.d"),
            "-c",
            f"{harness.program(str(tmp_path / 'program.py'))}",
        ],
        120,
    )


def attributes(span):
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes
    }


@pytest.mark.parametrize("server", [by_http, by_grpc])
@pytest.mark.parametrize("track", ["thread", "tag"])
def test_pairs(tmp_path, server, track):
    """The header's trace, the span within the other one, and what stood beside; times are the wall's."""
    with server(found := Received()) as url:
        run = traced(tmp_path, url, "-x", f"track={track}")
    assert run.status == 0 and run.stderr == "", run
    orders, pays = ([span for span in found if span.name == name] for name in ("order", "pay"))
    assert [(attributes(span)["number"], attributes(span)["status"]) for span in orders] == [
        (each, each * 2) for each in range(4)
    ]
    assert {(span.trace_id.hex(), span.parent_span_id.hex()) for span in orders} == {
        (TRACE, PARENT)
    }
    assert all(1.6e18 < span.start_time_unix_nano < span.end_time_unix_nano for span in orders)
    assert [span.end_time_unix_nano - span.start_time_unix_nano for span in pays] == [5] * 4
    assert found.resource["service.name"].string_value == "pydtrace"
    if track == "thread":
        assert [span.parent_span_id for span in pays] == [span.span_id for span in orders]
        assert [[event.name for event in span.events] for span in orders] == [["note"]] * 4
    else:
        assert {span.parent_span_id for span in pays} == {b""}


def test_what_has_not_ended(tmp_path):
    with by_http(found := Received()) as url:
        run = traced(tmp_path, url, script=SCRIPT.partition("shop$target:::order-done")[0])
    assert (
        len(found) == 4 and "dtrace: --spans: 4 spans have begun and not ended\n" in run.stderr
    ), run


def test_a_receiver_that_takes_nothing(tmp_path):
    """Its answer, or that nobody is there, is told with the number of spans; the script goes on."""
    with by_http(found := Received()) as url:
        found.status = 400
        run = traced(tmp_path, url)
    assert run.status == 0 and f"dtrace: --spans: {url} did not accept 8 spans: " in run.stderr, run


@pytest.mark.parametrize("server", [by_http, by_grpc])
def test_what_a_receiver_refuses_of_a_request_is_told(tmp_path, server):
    found = Received()
    found.rejected = {"rejected_spans": 3}
    with server(found) as url:
        run = traced(tmp_path, url)
    told = re.findall(
        rf"^dtrace: --spans: {url} did not accept (\d+) spans: not those$", run.stderr, re.MULTILINE
    )
    assert run.status == 0 and told and int(told[-1]) % 3 == 0, run


def test_nobody_is_there(tmp_path):
    with contextlib.closing(socket.socket()) as nobody:  # it does not listen
        nobody.bind(("127.0.0.1", 0))
        run = traced(tmp_path, f"http://127.0.0.1:{nobody.getsockname()[1]}")
    assert run.status == 0 and "did not accept 8 spans" in run.stderr, run


@pytest.mark.parametrize("url", ["nowhere", "ftp://127.0.0.1", "http://"])
def test_urls_that_are_none(tmp_path, url):
    run = traced(tmp_path, url)
    assert (run.status, run.stderr) == (
        1,
        f"dtrace: --spans {url}: a URL that begins with http://, https://, grpc:// or grpcs:// is needed\n",
    ), run


def test_a_script_can_not_say_where(tmp_path):
    run = traced(
        tmp_path,
        "http://127.0.0.1:1",
        script='#pragma D option spans="http://127.0.0.1:2"\nBEGIN { exit(0); }',
    )
    assert run.status == 1 and "spans" in run.stderr, run
