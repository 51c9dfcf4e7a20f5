"""Aggregations as metrics: buckets, what clear() and trunc() leave, the most series, hostile names; and who gets them.  No engine."""

import http.client
import math
import os
import socket
import ssl
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from prometheus_client import exposition
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.driver.cumulative_totals import MAX_LABELS
from pydtrace.driver.sink import TraceInfo
from pydtrace.engine import EngineError
from pydtrace.options import Options
from pydtrace.results.aggregation_values import bucket_bounds
from pydtrace.sinks.metrics import metrics_sink, prometheus_model
from pydtrace.sinks.metrics.metrics_http import MetricsServer
from pydtrace.sinks.output_file import Output
from tests.support.made_up.made_aggregations import World

pytestmark = pytest.mark.own_processes


def text_of(book, lost=None, errors=0, accept=""):
    answers = metrics_sink._SnapshotTexts()
    answers.snapshot = book.take_snapshot(lost or {}, errors)
    return answers.encode_answer(accept)[0].decode("utf-8")


def samples(book, **more):
    """{(name, labels …): value} of what a scrape gets, our own metrics left out."""
    found = {}
    for family in text_string_to_metric_families(text_of(book, **more)):
        for sample in family.samples:
            key = (sample.name, *sorted(sample.labels.items()))
            assert key not in found, "Prometheus would refuse all of it"
            found[key] = sample.value
    return found


def book_of(world, *lines):
    return prometheus_model.MetricStore(
        world.aggregates, "made-up", [("test", line) for line in lines]
    )


# ---- buckets ----

EDGES = sorted(
    {sign * (2**k + d) for k in range(63) for d in (-1, 0, 1) for sign in (1, -1)}
    | {0, 2**63 - 1, -(2**63), -(2**63) + 1}
)
FUNCTIONS = [
    ("quantize",),
    ("lquantize", 0, 100, 7),
    ("lquantize", -50, 50, 1),
    ("llquantize", 10, 0, 6, 20),
    ("llquantize", 2, 3, 20, 8),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_a_value_is_in_the_first_bucket_that_does_not_end_below_it(function):
    """Exactly, whatever the value; the text of le is what counts, which is no float."""
    values = EDGES + list(range(-110, 110))
    for value in values:
        world = World(keyed=False, a=function)
        world.add("a", value)
        found = {
            key[1][1]: count
            for key, count in samples(book_of(world)).items()
            if key[0] == "dtrace_a_bucket"
        }
        ends = [
            (math.inf if le == "+Inf" else int(le.removesuffix(".0")), count)
            for le, count in found.items()
        ]
        assert ends == sorted(ends) and ends[-1] == (math.inf, 1)
        assert all(count == (value <= end) for end, count in ends), (value, ends)
        low, high = next(
            edge
            for edge in bucket_bounds(AGGREGATIONS[function[0]], function[1:])
            if (edge[0] is None or edge[0] <= value) and (edge[1] is None or value <= edge[1])
        )
        first = next(end for end, count in ends if count)
        assert first == (math.inf if high is None else high)
        assert low in (None, -(2**63)) or any(end == low - 1 for end, _ in ends), (
            "its lower end is there, too"
        )


def test_all_series_of_a_distribution_have_the_same_ends():
    world = World(a=("quantize",))
    world.add("a", 5, "x")
    world.add("a", 1 << 20, "y", times=3)
    found = samples(book_of(world, "a multiplier=1e-9 unit=seconds labels=route"))
    ends = {
        key
        for (name, *labels) in found
        if name == "dtrace_a_seconds_bucket"
        for (label, key) in labels
        if label == "le"
    }
    assert ("dtrace_a_seconds_bucket", ("le", "0.000000007"), ("route", "x")) in found
    assert found["dtrace_a_seconds_bucket", ("le", "0.001048575"), ("route", "y")] == 0
    assert found["dtrace_a_seconds_bucket", ("le", "0.002097151"), ("route", "y")] == 3
    assert sum(name == "dtrace_a_seconds_bucket" for name, *_ in found) == 2 * len(ends)
    assert found["dtrace_a_seconds_count", ("route", "y")] == 3
    assert not any(name == "dtrace_a_seconds_sum" for name, *_ in found), "nobody knows it"


def test_buckets_from_the_beginning():
    world = World(keyed=False, a=("quantize",))
    world.add("a", 100)
    found = samples(book_of(world, "a buckets=8..1000"))
    assert [key[1][1] for key in found if key[0] == "dtrace_a_bucket"] == [
        f"{2**k - 1}.0" for k in range(3, 12)
    ] + ["+Inf"]


def test_the_sum_beside_a_distribution():
    world = World(lat=("quantize",), total=("sum",))
    for number in range(MAX_LABELS + 5):  # those beyond the most series, too
        world.add("lat", number, f"k{number}")
        world.add("total", number, f"k{number}")
    world.maps[1] = dict(reversed(world.maps[1].items()))  # a map has no order
    found = samples(book_of(world, "lat name=x multiplier=0.5 labels=k sum=total"))
    assert found["x_sum", ("k", "k7")] == 3.5
    assert found["x_count", ("overflow", "true")] == 5
    assert found["x_sum", ("overflow", "true")] == sum(range(MAX_LABELS, MAX_LABELS + 5)) / 2
    assert not any(name.startswith("dtrace_total") for name, *_ in found)


# ---- other functions ----


def test_percentiles_are_a_summary():
    world = World(lat=("percentiles",), total=("sum",))
    for value in range(1, 1001):
        world.add("lat", value * 1000, "a")
        world.add("total", value * 1000, "a")
    book = book_of(world, "lat name=took unit=seconds multiplier=1e-6 labels=route sum=total")
    found = samples(book)
    for quantile, exact in (("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99), ("0.999", 0.999)):
        assert found["took_seconds", ("quantile", quantile), ("route", "a")] == pytest.approx(
            exact, rel=0.01
        )
    assert found["took_seconds", ("quantile", "1"), ("route", "a")] == 1
    assert found["took_seconds_count", ("route", "a")] == 1000
    assert found["took_seconds_sum", ("route", "a")] == pytest.approx(500.5)
    assert {
        family.type
        for family in text_string_to_metric_families(text_of(book))
        if family.name == "took_seconds"
    } == {"summary"}


def test_numbers():
    world = World(
        keyed=False,
        n=("count",),
        s=("sum",),
        up=("sum",),
        lo=("min",),
        hi=("max",),
        mean=("avg",),
        dev=("stddev",),
    )
    for name in world.of_name:
        for value in (-4, 10, 2**62):
            world.add(name, value)
    book = book_of(
        world,
        "up type=counter multiplier=1e-9 unit=seconds",
        *[f"{name} name={name}" for name in world.of_name if name != "up"],
    )
    found = {
        key[0]: value for key, value in samples(book).items() if not key[0].startswith("pydtrace")
    }
    assert found == {
        "n_total": 3,
        "s": 2.0**62 + 6,
        "dtrace_up_seconds_total": (2**62 + 6) / 1e9,
        "lo": -4,
        "hi": 2.0**62,
        "mean_count": 3,
        "mean_sum": 2.0**62 + 6,
        "dev": found["dev"],
    }
    kinds = {family.name: family.type for family in text_string_to_metric_families(text_of(book))}
    assert {name: kinds[name] for name in ("n", "s", "lo", "mean", "dev")} == {
        "n": "counter",
        "s": "gauge",
        "lo": "gauge",
        "mean": "summary",
        "dev": "gauge",
    }


def test_what_was_never_is_not_there():
    world = World(a=("count",), b=("max",), c=("quantize",))
    assert {
        name for name, *_ in samples(book_of(world)) if not name.startswith("pydtrace")
    } == set()


# ---- clear() and trunc() ----


@pytest.mark.parametrize(
    "function", [("count",), ("avg",), ("quantize",), ("percentiles",)], ids=str
)
def test_nothing_falls_and_nothing_is_lost(function):
    """However often a script clears and truncates between two looks."""
    world = World(a=function)
    book = book_of(world)
    before = {}
    total = 0
    for step in range(60):
        for _ in range(step % 4):
            world.add("a", step, f"k{step % 3}", times=2)
            total += 2
            if step % 5 == 1:
                world.clear("a")
            elif step % 7 == 2:
                world.trunc("a", 1)
        if step % 11 == 3:
            world.trunc("a")
        if step % 3 == 0:
            found = {
                key: value
                for key, value in samples(book).items()
                if not key[0].startswith("pydtrace")
            }
            assert all(
                found[key] >= value
                for key, value in before.items()
                if "quantile" not in dict(key[1:])
            )
            before = found
    end = "dtrace_a_total" if function == ("count",) else "dtrace_a_count"
    assert sum(value for (name, *_), value in samples(book).items() if name == end) == total > 100


def test_what_holds_only_now_goes():
    world = World(a=("max",), s=("sum",))
    book = book_of(world)
    world.add("a", 9, "x")
    world.add("s", 9, "x")
    world.clear("a")
    world.trunc("s")
    world.add("a", 3, "y")
    assert {
        key: value for key, value in samples(book).items() if key[0] in ("dtrace_a", "dtrace_s")
    } == {("dtrace_a", ("key1", "y")): 3}


# ---- the most series ----


@pytest.mark.parametrize("function", [("count",), ("max",), ("quantize",)], ids=str)
def test_overflow_is_exact_and_counted(function):
    world = World(a=function)
    book = book_of(world)
    for number in range(MAX_LABELS):
        world.add("a", 1, f"first{number}")
    assert ("dtrace_a_total", ("overflow", "true")) not in samples(book)
    for number in range(500):
        world.add("a", 50 + number, f"late{number}", times=2)
    found = samples(book)
    suffix = {"count": "_total", "max": "", "quantize": "_count"}[function[0]]
    series = {
        labels: value
        for (name, *labels), value in ((key, value) for key, value in found.items())
        if name == f"dtrace_a{suffix}"
        for labels in [tuple(labels)]
    }
    assert len(series) == MAX_LABELS + 1
    assert series[("overflow", "true"),] == (549 if function == ("max",) else 1000)
    assert found["pydtrace_overflowed_keys", ("aggregation", "a")] == 500
    world.trunc("a")
    world.add("a", 7, "new")
    found = samples(book)
    if function == ("max",):  # those that have gone make room
        assert found["dtrace_a", ("key1", "new")] == 7
    else:
        assert found[f"dtrace_a{suffix}", ("overflow", "true")] == 1001


# ---- what the standards want ----

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
ONE_OF_EACH = {
    "n": ("count",),
    "grown": ("sum",),
    "mean": ("avg",),
    "least": ("min",),
    "most": ("max",),
    "spread": ("stddev",),
    "q": ("quantize",),
    "line": ("lquantize", -50, 50, 10),
    "log": ("llquantize", 10, 0, 6, 20),
    "p": ("percentiles",),
    "bare": ("quantize",),
    "barep": ("percentiles",),
    "qs": ("sum",),
    "ls": ("sum",),
    "gs": ("sum",),
    "ps": ("sum",),
}
LINES = ["n name=n", "grown name=grown type=counter", "mean name=mean", "q name=q unit=seconds multiplier=1e-9 sum=qs", "line name=line sum=ls",
         "log name=log sum=gs", "p name=p sum=ps"]  # fmt: skip
VALUES = [0, 1, -1, -7, *(2**k + d for k in (1, 10, 62) for d in (-1, 0, 1)), 2**63 - 1, -(2**63)]


def world_of(values):
    world = World(**ONE_OF_EACH)
    for value in values:
        for name in ONE_OF_EACH:
            for key in ("/", *HOSTILE):
                world.add(name, value, key)
    return world


@pytest.mark.parametrize(
    "values", [[value] for value in VALUES] + [VALUES, [0, 1023, 1024]], ids=str
)
def test_strict_readers_take_every_function_of_every_value(values):
    """OpenMetrics: _sum and _count both or none, and nothing negative that may not be; the text of Prometheus has all of them.
    A registry, which does not know what it is asked for, has what both have."""
    book = book_of(world_of(values), *LINES)
    strict, text = text_of(book, accept=OPENMETRICS), text_of(book)
    registry = exposition.generate_latest(
        prometheus_model.Collector(lambda: book.take_snapshot({}, 0))
    ).decode()
    found = list(openmetrics.text_string_to_metric_families(strict))
    assert {family.name for family in found} >= {
        "n",
        "q_seconds",
        "line",
        "log",
        "p",
        "dtrace_bare",
        "dtrace_barep",
    }
    assert sums_and_counts(strict, "dtrace_bare") == [] and len(
        sums_and_counts(text, "dtrace_bare")
    ) == len(series(text, "dtrace_bare"))
    assert len(sums_and_counts(text, "q_seconds")) == 2 * len(series(text, "q_seconds"))
    if (
        0 <= min(values) and max(values) < 2**62
    ):  # names that are shown alike are one, whose sum wraps beyond, as D's does
        assert sums_and_counts(strict, "q_seconds") == sums_and_counts(text, "q_seconds")
    assert sums_and_counts(
        text_of(book, accept=f"{OPENMETRICS},text/plain;q=0.5"), "q_seconds"
    ) == (sums_and_counts(text, "q_seconds")), "whoever takes both loses nothing"
    assert sums_and_counts(registry, "q_seconds") == sums_and_counts(strict, "q_seconds")


def sums_and_counts(text, name):
    return sorted(
        line for line in text.split("\n") if line.startswith((f"{name}_sum{{", f"{name}_count{{"))
    )


def series(text, name):
    return [
        line
        for line in text.split("\n")
        if line.startswith(f"{name}_bucket{{") and 'le="+Inf"' in line
    ]


# ---- names ----

HOSTILE = [
    b'"} 1\nevil 1\n# ',
    b"a\\",
    b'a\\"',
    b"\n",
    b"\r\n",
    b"\xff\xfe",
    b"\\xff\\xfe",
    b"\x1b[2J",
    b"\xed\xa0\x80",
    "\u2028\U0001f600".encode(),
    b"\x01",
]


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text;version=1.0.0"])
def test_hostile_names_are_values(accept):
    world = World(a=("count",))
    for name in HOSTILE:
        world.add("a", 1, name)
    text = text_of(book_of(world), accept=accept)
    lines = [line for line in text.split("\n") if line.startswith("dtrace_a_total{")]
    assert "evil 1" not in text.split("\n") and sum(
        float(line.rpartition(" ")[2]) for line in lines
    ) == len(HOSTILE)
    assert {line.rpartition(" ")[0] for line in lines} >= {
        r'dtrace_a_total{key1="\"} 1\nevil 1\n# "}',
        r'dtrace_a_total{key1="a\\"}',
    }


def test_names_that_are_shown_alike_are_one():
    """Prometheus would refuse all for a series that comes twice: anybody's process could bring that about."""
    world = World(a=("count",))
    world.add("a", 1, b"\xff")
    world.add("a", 1, b"\\xff", times=2)
    assert samples(book_of(world))["dtrace_a_total", ("key1", r"\xff")] == 3


# ---- about the tracing ----


def test_losses_and_errors():
    world = World(a=("count",))
    book = book_of(world)
    found = samples(book)
    assert (
        found["pydtrace_complete",] == 1
        and found["pydtrace_lost_total", ("kind", "principal")] == 0
    )
    assert found["pydtrace_info", ("engine", "made-up")] == 1
    assert abs(found["pydtrace_snapshot_timestamp_seconds",] - time.time()) < 60
    found = samples(book, lost={"principal": 7}, errors=3)
    assert (
        found["pydtrace_complete",] == 0
        and found["pydtrace_lost_total", ("kind", "principal")] == 7
    )
    assert found["pydtrace_errors_total",] == 3


# ---- the sink ----


@pytest.fixture
def begun(tmp_path):
    """begin(options, address) -> a sink that has begun, with what was told."""
    made = []
    writer = os.open(os.devnull, os.O_WRONLY)

    def begin(address=("127.0.0.1", 0), keyed=True, **options):
        told = []
        sink = metrics_sink.MetricsSink(
            Output(writer, "<null>"), lambda text, error=True: told.append(text), address
        )
        sink._formatter = SimpleNamespace()
        world = World(keyed=keyed, a=("count",))
        settings = Options()
        for name, value in options.items():
            settings.set(name, value)
        made.append(sink)
        actions = SimpleNamespace(aggregates=world.aggregates, symbols=None)
        sink.begin(TraceInfo(world.aggregates.program, settings, actions, None, "made-up"))
        return SimpleNamespace(sink=sink, world=world, told=told, port=sink._server.server_port)

    yield begin
    for sink in made:
        sink.close()
    os.close(writer)


def get(port, path="/metrics", context=None, **headers):
    connection = (
        http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
        if context
        else http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    )
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_an_interval_at_a_time(begun):
    page = begun(metric="a name=shop_requests labels=route")
    page.world.add("a", 1, "/")
    assert "shop_requests_total{" not in get(page.port)[1]
    page.sink._take_snapshot(time.monotonic())
    assert 'shop_requests_total{route="/"} 1.0\n' in get(page.port)[1]
    assert page.told == [f"the metrics are at http://127.0.0.1:{page.port}/metrics"]
    page.sink.close()
    with pytest.raises(ConnectionRefusedError):
        get(page.port)


def test_a_scrape_holds_up_nothing(begun):
    """The thread that traces waits for no lock that a scrape has."""
    page = begun()
    with page.sink._answers._lock:
        page.world.add("a", 1, "/")
        page.sink._take_snapshot(time.monotonic())
        assert page.sink._answers.snapshot.series[0][2]["/",] == 1


def test_no_line_of_a_mapping(begun):
    _, told = begun().told
    assert told == (
        "--metrics: no line of a mapping describes @a: the metric has the aggregation's name and the labels key1, key2 …"
        "; see `pyusdt help metrics`"
    )


def test_who_gets_nothing(begun, tmp_path):
    page = begun()
    assert get(page.port, Host="evil.example:80")[0] == 421
    assert get(page.port, "/")[0] == 404
    assert get(page.port, Host=f"localhost:{page.port}")[0] == 200
    (tmp_path / "token").write_text("s3cret\n")
    page = begun(metricstoken=str(tmp_path / "token"))
    assert [
        get(page.port, **headers)[0]
        for headers in (
            {},
            {"Authorization": "Bearer s3cre"},
            {"Authorization": "s3cret"},
            {"Authorization": "Bearer \xe4"},
            {"Authorization": "Bearer s3cret"},
        )
    ] == [401, 401, 401, 401, 200]


def test_tls(begun, tmp_path):
    """Who connects and says nothing keeps nobody waiting."""
    pem = tmp_path / "pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            pem,
            "-out",
            tmp_path / "cert",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    pem.write_bytes(pem.read_bytes() + (tmp_path / "cert").read_bytes())
    page = begun(metricscert=str(pem))
    with socket.create_connection(("127.0.0.1", page.port)):
        assert (
            get(page.port, context=ssl.create_default_context(cafile=str(tmp_path / "cert")))[0]
            == 200
        )
        with pytest.raises((OSError, http.client.HTTPException)):
            get(page.port)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"metricstoken": "/nonexistent"},
            "-x metricstoken=/nonexistent: No such file or directory",
        ),
        (
            {"metricstoken": "/dev/null"},
            "-x metricstoken=/dev/null: the file is to hold one word of printable ASCII",
        ),
        ({"metricscert": "/nonexistent"}, "-x metricscert=/nonexistent: No such file or directory"),
        (
            {"metricscert": "/dev/null"},
            "-x metricscert=/dev/null: the file is to hold a certificate and its key, as PEM",
        ),
        ({"metrics": "/nonexistent"}, "--metrics: /nonexistent: No such file or directory"),
        ({"metric": "b"}, "--metrics: metric 'b': the script has no @b, but @a"),
    ],
)
def test_what_can_not_be(options, why, begun):
    with pytest.raises(EngineError) as error:
        begun(**options)
    assert str(error.value) == why


def test_a_port_that_is_taken(begun):
    page = begun()
    with pytest.raises(
        EngineError,
        match=f"^--metrics: port {page.port} of 127.0.0.1: Address already in use\nhint: ",
    ):
        begun(("127.0.0.1", page.port))


def test_whoever_reaches_it_is_told(begun):
    assert any(
        "every client that reaches 0.0.0.0 can read them" in text
        for text in begun(("0.0.0.0", 0)).told
    )


def test_too_many_at_once_wait_for_nobody():
    """Connections beyond the most are closed at once, and there is room again when others have gone."""
    server = MetricsServer("127.0.0.1", 0, lambda accept: (b"x\n", "text/plain"))
    server.start()
    idle = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(40)]
    try:
        deadline = time.monotonic() + 30
        own = ("uid", os.geteuid())
        while server._connection_limit.acquire_slot(own):
            server._connection_limit.release_slot(own)
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert threading.active_count() < 40
        for each in idle:
            each.close()
        while True:
            try:
                assert get(server.server_port) == (200, "x\n")
                break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline
                time.sleep(0.01)
    finally:
        server.stop()


@pytest.mark.parametrize(("token", "host", "own"), [
    (b"", "10.0.0.7:9464", True), (b"", "[2001:db8::1]:9464", True), (b"", "[::1]", True), (b"", "LOCALHOST:1", True), (b"", "10.0.0.7", True),
    (b"", socket.gethostname(), True), (b"", "evil.example:9464", False), (b"", "", False), (b"", "10.0.0.7.evil.example", False),
    (b"", "[evil.example]", False), (b"word", "evil.example:9464", True),
])  # fmt: skip
def test_hosts_of_a_public_address(token, host, own):
    from pydtrace.sinks.metrics.metrics_http import MetricsServer

    server = MetricsServer("0.0.0.0", 0, lambda accept: (b"", "text/plain"), token)
    try:
        assert server.is_own_host(host) == own
    finally:
        server.server_close()
