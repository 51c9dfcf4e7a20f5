"""Receivers of notes, metrics and spans that are not what they should be: whatever they answer, each thing that was to be sent was either
taken or is counted, nobody waits for long, and no answer fills the memory.  No engine."""

import contextlib
import json
import random
import socket
import struct
import threading
import time
from itertools import accumulate
from types import SimpleNamespace

import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.sdk.trace import TracerProvider

from pydtrace.sinks.alerts import alert_receivers, alerts_sink
from pydtrace.sinks.http import bounded_http
from pydtrace.sinks.metrics import prometheus_model
from pydtrace.sinks.otel import otlp_exporters, otlp_sink, spans_sink
from pydtrace.sinks.otel.otlp_metrics import MetricsConverter
from tests.support.made_up.made_aggregations import World

pytestmark = pytest.mark.own_processes
OK = b"HTTP/1.1 200 OK\r\n"
PAUSE = 3.0  # s between two pieces of an answer that comes bit by bit


def says(answer, taken=True):
    return lambda connection: connection.sendall(answer), taken


def endless(head, piece, pause=0.0, taken=True):
    """Until the other one has had enough; pause: seconds between two pieces, as the other one's clock shows it."""

    def answer(connection):
        connection.sendall(head)
        while True:
            connection.sent += connection.send(piece)
            connection.server.pass_time(connection, pause)

    return answer, taken


def breaks_off(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def never_closes(connection):
    connection.sendall(OK + b"\r\n")
    connection.recv(1)  # until the other one does


def silent(connection):
    connection.recv(1)


ANSWERS = {  # what it says, and whether that says that it has taken what it was sent
    "well": says(OK + b"Content-Length: 0\r\n\r\n"),
    "no content": says(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "another page": says(
        OK + b"Content-Type: text/html\r\nContent-Length: 14\r\n\r\n<p>Log in!</p>"
    ),
    "half a body": says(OK + b"Content-Length: 1000\r\n\r\n{"),
    "a body that is no gzip": says(
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nxxxxx"
    ),
    "chunks that are none": says(OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx"),
    "huge body": endless(OK + b"\r\n", b"x" * 65536),
    "body bit by bit": endless(OK + b"\r\n", b"x", PAUSE),
    "never closes": (never_closes, True),
    "half a head": says(
        OK + b"Content-Le", taken=True
    ),  # http.client takes the end for that of the head
    "status alone": says(b"HTTP/1.1 2", taken=False),
    "nothing": says(b"", taken=False),
    "silence": (silent, False),
    "breaks off": (breaks_off, False),
    "no HTTP": says(b"220 mail.example ESMTP\r\n", taken=False),
    "huge head": endless(OK, b"X: " + b"y" * 60000 + b"\r\n", taken=False),
    "head bit by bit": endless(OK, b"X: y\r\n", PAUSE, taken=False),
    "a line without end": endless(b"", b"x" * 65536, taken=False),
    "wait, wait": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", taken=False),
    "elsewhere": says(
        b"HTTP/1.1 302 Found\r\nLocation: /well\r\nContent-Length: 0\r\n\r\n", taken=False
    ),
    "elsewhere, as it is": says(
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /well\r\nContent-Length: 0\r\n\r\n",
        taken=False,
    ),
    "refused": says(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", taken=False),
    "overloaded": says(
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 100000\r\nContent-Length: 0\r\n\r\n",
        taken=False,
    ),
    "refused, and a huge body": endless(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 65536, taken=False),
}


SHORT = {
    "silence": 0.3,
    "never closes": 2.0,
}  # s for an answer that does not come, or is there at once


class Connection(socket.socket):
    sent, server = 0, None


class Hostile(threading.Thread):
    """Answers each request as choose() says.  taken: the bodies of those that it says to have taken; most: bytes of the longest answer;
    later: seconds that have passed without anybody having waited."""

    def __init__(self, choose):
        super().__init__(daemon=True)
        self.choose, self.taken, self.most, self.later, self.now_served = choose, [], 0, 0.0, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def pass_time(self, connection, seconds):
        if seconds:
            time.sleep(0.001)
            self.later += seconds if connection is self.now_served else 0

    def serve(self, connection):
        connection = Connection(fileno=connection.detach())
        connection.server = self
        with contextlib.suppress(OSError), connection:
            body = request(connection)
            self.now_served = connection
            answer, taken = ANSWERS[self.choose()]
            if taken:
                self.taken.append(body)
            try:
                answer(connection)
                connection.shutdown(socket.SHUT_WR)
            finally:
                self.most = max(self.most, connection.sent)


def request(connection):
    """Its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    [length] = [
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    ]
    while len(body) < length:
        body += received(connection)
    return body


def received(connection):
    data = connection.recv(65536)
    if not data:
        raise ConnectionError
    return data


@pytest.fixture
def hostile(monkeypatch):
    """A server that answers as a name, or what chooses one, says.  No time passes between two tries."""
    servers = []

    def start(choose):
        if isinstance(choose, str):
            monkeypatch.setattr(
                bounded_http, "ANSWER_TIMEOUT", SHORT.get(choose, bounded_http.ANSWER_TIMEOUT)
            )
        servers.append(server := Hostile((lambda: choose) if isinstance(choose, str) else choose))
        monkeypatch.setattr(
            bounded_http, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + server.later)
        )
        server.start()
        return server

    monkeypatch.setattr(otlp_exporters, "TIMEOUT", 0.5)  # too little for another try
    monkeypatch.setattr(alert_receivers, "_RETRY_DELAYS", (0.0, 0.0, 0.0))
    yield start
    for server in servers:
        with server.listener:
            server.listener.shutdown(socket.SHUT_RDWR)
        server.join()


def at_random(chance):
    return lambda: chance.choice([name for name in ANSWERS if name not in SHORT])


def delivered(url, notes):
    """How many could not be."""
    receiver = alert_receivers.open_receiver(url)
    for note in notes:
        receiver.add_note(note)
    receiver.stop_accepting()
    receiver.close(time.monotonic() + 500)
    return receiver.lost_count


NOTE = {
    "state": "firing",
    "alert": "x",
    "host": "h",
    "labels": {"n": "1"},
    "values": {},
    "probe": "p",
    "pid": 1,
    "count": 1,
    "began": 1.0,
    "last": 1.0,
    "sent": 1.0,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_note(name, hostile):
    server = hostile(name)
    lost = delivered(f"webhook:{server.url}/", [NOTE])
    taken = ANSWERS[name][1]
    assert lost == (not taken) and (len(server.taken) == 1) == taken
    assert server.most < 20 << 20, "what the sockets hold"
    assert server.later < 3 * (bounded_http.ANSWER_TIMEOUT + 2 * PAUSE), "three tries"


def test_the_end_waits_once_for_all(monkeypatch):
    """However many receivers do not answer."""
    told = []
    monkeypatch.setattr(
        alert_receivers.Receiver, "stop_accepting", lambda self: told.append("no more")
    )
    monkeypatch.setattr(alert_receivers.Receiver, "close", lambda self, until: told.append(until))
    sink = alerts_sink.AlertsSink(lambda *_: None)
    sink._receivers = {
        "a": [alert_receivers.Receiver(str(number), lambda _: None) for number in range(3)]
    }
    sink.close()
    assert (
        told[:3] == ["no more"] * 3
        and len({*told[3:]}) == 1
        and 0 < told[3] - time.monotonic() <= alert_receivers.CLOSE_TIMEOUT
    )


@pytest.mark.parametrize("kind", ["webhook", "alertmanager"])
@pytest.mark.parametrize("seed", range(3))
def test_notes_are_taken_or_counted(kind, seed, hostile):
    """Whatever a receiver does from one request to the next; one that is taken is taken once."""
    server = hostile(at_random(random.Random(seed)))
    lost = delivered(
        f"{kind}:{server.url}", [{**NOTE, "labels": {"n": str(number)}} for number in range(40)]
    )
    read = [json.loads(body) for body in server.taken]
    taken = [(each[0] if kind == "alertmanager" else each)["labels"]["n"] for each in read]
    assert len({*taken}) == len(taken) and len(taken) + lost == 40 and taken and lost


@pytest.mark.parametrize("name", ANSWERS)
def test_an_export(name, hostile):
    world = World(n=("count",))
    world.add("n", 1, "/")
    book = prometheus_model.MetricStore(world.aggregates, "made-up", [])
    server = hostile(name)
    thread = otlp_sink.MetricsExportThread(
        *otlp_exporters.make_exporter(server.url, "", "metric"), MetricsConverter(True), server.url
    )
    thread.start()
    thread.export_batch(book.take_snapshot({}, 0))
    thread.close()
    taken = ANSWERS[name][1]
    assert (thread.failed, len(server.taken)) == (int(not taken), int(taken))
    # a busy machine sends a few pieces more before it notices that nobody reads
    assert server.most < 20 << 20 and server.later < 4 * (bounded_http.ANSWER_TIMEOUT + 2 * PAUSE)
    assert [
        line.startswith(f"--otlp: {server.url} has taken nothing for 1 exports: ")
        for line in thread.report_losses(time.monotonic())
    ] == [True] * (not taken)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("delta", [True, False])
def test_all_that_was_counted_has_come(seed, delta, hostile):
    """When a receiver is well again it has everything: once, also of differences."""
    chance = random.Random(seed)
    world = World(n=("count",), q=("quantize",))
    book = prometheus_model.MetricStore(world.aggregates, "made-up", [])
    server = hostile(at_random(chance))
    thread = otlp_sink.MetricsExportThread(
        *otlp_exporters.make_exporter(server.url, "", "metric"), MetricsConverter(delta), server.url
    )
    thread.start()
    for number in range(40):
        world.add("n", 1, "/", times=number)
        world.add("q", number, "/")
        if number % 7 == 0:
            world.clear("n")
            world.trunc("q")
        thread.export_batch(book.take_snapshot({}, 0))
    chance.choice = lambda _: "well"
    thread.export_batch(book.take_snapshot({}, 0))
    thread.close()
    counts, times = points(server.taken, "dtrace_n"), points(server.taken, "dtrace_q")
    assert len(counts) < 41, "some were refused"
    if delta:
        assert (
            sum(point.as_double for point in counts) == sum(range(40))
            and sum(point.count for point in times) == 40
        )
        assert min(point.as_double for point in counts) >= 0
    else:
        assert counts[-1].as_double == sum(range(40)) and times[-1].count == 40
        assert list(accumulate((point.as_double for point in counts), max)) == [
            point.as_double for point in counts
        ]


def points(bodies, name):
    found = []
    for body in bodies:
        for metric in (
            metrics_service_pb2.ExportMetricsServiceRequest.FromString(body)
            .resource_metrics[0]
            .scope_metrics[0]
            .metrics
        ):
            if metric.name == name:
                found += getattr(metric, metric.WhichOneof("data")).data_points
    return found


@pytest.mark.parametrize("seed", range(3))
def test_spans_are_taken_or_counted(seed, hostile):
    server = hostile(at_random(random.Random(seed)))
    thread = spans_sink.SpansExportThread(*otlp_exporters.make_exporter(server.url, "", "trace"))
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("x")
    ended = [tracer.start_span(str(number)) for number in range(60)]
    for first in range(0, 60, 3):
        for span in ended[first : first + 3]:
            span.end()
        thread.export_batch(ended[first : first + 3])
    taken = [
        span.name
        for body in server.taken
        for span in trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        .resource_spans[0]
        .scope_spans[0]
        .spans
    ]
    assert len({*taken}) == len(taken) and len(taken) + thread.lost == 60 and taken and thread.lost


def test_a_record_has_its_own_host_but_not_the_alerts_name():
    note = {
        "alert": "slow",
        "host": "here",
        "labels": {"host": "web7", "alertname": "another", "route": "/"},
        "values": {},
        "count": 1,
        "probe": "shop:::sold",
        "pid": 1,
        "began": 1.0,
        "last": 2.0,
        "sent": 2.0,
        "state": "firing",
    }
    assert alert_receivers._to_alertmanager(note)["labels"] == {
        "alertname": "slow",
        "host": "web7",
        "route": "/",
    }
