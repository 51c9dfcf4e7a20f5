"""pydtrace --metrics: what its clauses made of real values, and what a real Prometheus makes of it, by what the load knows."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from itertools import pairwise

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.integration.programs.paced import VALUES, routes
from tests.support import harness
from tests.support.servers import alert_receiver, otlp_receiver

pytestmark = pytest.mark.xdist_group(
    "unattended"
)  # ticks, and processes that are named: nothing beside them is seen
NEEDED = pytest.mark.skipif(
    shutil.which("promtool") is None and "CI" not in os.environ, reason="host: no prometheus"
)
SCRIPT = """
#pragma D metric calls name=shop_requests labels=route help="Requests that ended."
#pragma D metric time name=shop_request_duration unit=seconds multiplier=1e-9 labels=route sum=spent help="Time of a \\"request\\"."
#pragma D metric most name=shop_request_most labels=route
#pragma D metric mean name=shop_request_mean
pyusdt$target:::user_trace-i4s4
{
    @calls[copyinstr(arg6)] = count();
    @time[copyinstr(arg6)] = quantize(arg3);
    @spent[copyinstr(arg6)] = sum(arg3);
    @most[copyinstr(arg6)] = max(arg3);
    @mean = avg(arg3);
}
tick-300ms { clear(@calls); trunc(@time); trunc(@spent); clear(@mean); }
"""


@contextlib.contextmanager
def traced(tmp_path, script, *options):
    """pydtrace --metrics while the block runs: the address that it tells."""
    (tmp_path / "script.d").write_text(script)
    with harness.running(
        [
            harness.PYDTRACE,
            "-q",
            "--metrics=0",
            "--ready",
            "-s",
            str(tmp_path / "script.d"),
            *options,
        ]
    ) as process:
        told = process.stderr.readline()
        found = re.fullmatch(
            r"dtrace: the metrics are at (http://127\.0\.0\.1:\d+/metrics)\n", told
        )
        assert found, told + process.stderr.read()
        assert process.stderr.readline() == "dtrace: ready\n"
        yield found[1]
        process.terminate()
        assert harness.finish(process, 60).status == 0


def text_of(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


def settled(address, line):
    """What a scrape gets, once it has that line."""
    deadline = time.monotonic() + 60
    while f"\n{line}\n" not in (text := text_of(address)):
        assert time.monotonic() < deadline, f"{line} is not there:\n{text}"
        time.sleep(0.1)
    return text


EDGES = sorted({2**k + d for k in range(63) for d in (-1, 0, 1)} | {-(2**k) + d for k in (0, 1, 7, 40, 62) for d in (-1, 0, 1)}
               | {0, 2**63 - 1, -(2**63)})  # fmt: skip


def test_each_value_is_in_its_bucket(tmp_path):
    """From the clause to the text of le: no value is in a bucket that ends below it, or that is not the first."""
    values = "".join(
        f"BEGIN {{ @q[(int64_t){constant(value)}] = quantize({constant(value)}); }}\n"
        for value in EDGES
    )
    with traced(tmp_path, f"#pragma D metric q name=q labels=v\n{values}tick-1s {{ }}") as address:
        text = settled(address, f'q_count{{v="{EDGES[-1]}"}} 1.0')
    buckets = {value: [] for value in EDGES}
    for end, value, count in re.findall(
        r'^q_bucket\{le="(.+)",v="(-?\d+)"\} (\d)\.0$', text, re.MULTILINE
    ):
        buckets[int(value)].append(
            (float("inf") if end == "+Inf" else int(end.removesuffix(".0")), int(count))
        )
    for value, found in buckets.items():
        assert [count for _, count in found] == [int(value <= end) for end, _ in found], value
        first = next(end for end, count in found if count)
        assert value > 0 or first == (
            0 if value == 0 else -(1 << (-value).bit_length() - 1) if value > -(2**63) else first
        )
        assert value <= 0 or first == (1 << value.bit_length()) - 1


def constant(value):
    return "(-9223372036854775807 - 1)" if value == -(2**63) else f"({value})"


@NEEDED
def test_a_real_prometheus(tmp_path):
    follow(tmp_path, "prometheus", routes(2), 35)


@pytest.mark.long
def test_a_prometheus_of_today_for_an_hour(tmp_path):
    """The newest one, with more than a thousand series."""
    follow(tmp_path, newest(), routes(50), 3600, least=1000)


def newest():
    """The path of today's."""
    folder = subprocess.run(
        [os.path.join(harness.ROOT, ".ci", "monitoring")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return f"{folder.strip()}/prometheus"


@pytest.mark.long
def test_native_histograms(tmp_path):
    """What a Prometheus of today makes of ours, with buckets of our bounds: the same quantiles, all that fired, and the sums."""
    names = routes(2)
    with (
        loaded(tmp_path, names) as load,
        traced(tmp_path, SCRIPT, "-p", str(load.pid)) as address,
        prometheus(
            tmp_path,
            newest(),
            address,
            "convert_classic_histograms_to_nhcb: true, ",
            "--enable-feature=native-histograms",
        ) as ask,
    ):
        go_on(load)
        time.sleep(35)
        check_quantiles(ask, names, "shop_request_duration_seconds")
        go_on(load)
        harness.wait_until(lambda: (tmp_path / "log").read_text().endswith("over\n"))
        rounds = int((tmp_path / "log").read_text().split()[-2])
        until(
            lambda: (
                ask("histogram_count(shop_request_duration_seconds)")
                == dict.fromkeys(names, float(rounds * len(VALUES)))
            )
        )
        assert ask("histogram_sum(shop_request_duration_seconds)") == dict.fromkeys(
            names, pytest.approx(rounds * sum(VALUES) / 1e9)
        )


@contextlib.contextmanager
def loaded(tmp_path, names):
    """The program that fires, before it does."""
    with open(tmp_path / "log", "w") as log:
        load = subprocess.Popen(
            [sys.executable, os.path.join(harness.PROGRAMS, "paced.py"), "0.05", str(len(names))],
            stdin=subprocess.PIPE,
            stdout=log,
            text=True,
        )
    try:
        harness.wait_until(lambda: (tmp_path / "log").read_text())
        yield load
    finally:
        load.kill()
        load.wait()
        load.stdin.close()


def follow(tmp_path, server, names, seconds, least=0):
    """A Prometheus that asks each second; then its answers, against what the program says that it did."""
    with (
        loaded(tmp_path, names) as load,
        traced(tmp_path, SCRIPT, "-p", str(load.pid)) as address,
        prometheus(tmp_path, server, address) as ask,
    ):
        go_on(load)
        time.sleep(seconds)
        check_rates(ask, names, tmp_path / "log")
        check_quantiles(ask, names)
        go_on(load)
        check_ends(ask, names, tmp_path / "log")
        assert lint(text_of(address)) == ""
        assert (
            ask("quantile_over_time(0.9, scrape_duration_seconds[1h])")[""] < 1
            and ask("avg_over_time(up[1h])")[""] > 0.9
        ), "of a busy machine"
        assert ask("scrape_samples_scraped")[""] >= least
        print(
            ask("scrape_samples_scraped"),
            ask("avg_over_time(scrape_duration_seconds[1h])"),
            ask("count_over_time(up[1h])"),
        )


def go_on(load):
    load.stdin.write("\n")
    load.stdin.flush()


@contextlib.contextmanager
def prometheus(tmp_path, server, address, job="", *words):
    """A Prometheus that asks there: ask(query) -> {labels: number}.  job, words: more of its configuration, and of its command."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    target = urllib.parse.urlsplit(address).netloc
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs: [{{job_name: d, {job}static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    command = [
        server,
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        "--log.level=warn",
        f"--web.listen-address=127.0.0.1:{port}",
        *words,
    ]
    with open(tmp_path / "prometheus.log", "w") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)

    def ask(query):
        url = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            rows = json.load(answer)["data"]["result"]
        return {row["metric"].get("route", ""): float(row["value"][1]) for row in rows}

    try:
        until(lambda: ask("up == 1"))
        yield ask
    finally:
        process.terminate()
        process.wait(60)


def until(condition):
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError):
            if condition():
                return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def check_rates(ask, names, log):
    """Firings a second, over 30 s: as the program has counted, but for what the ends of the interval leave open (a second of the
    snapshot's age, and one of the scrape's)."""
    found = ask("rate(shop_requests_total[30s])")
    rows = [tuple(map(float, line.split())) for line in log.read_text().splitlines()[:-1]]
    now = rows[-1]
    then = min(rows, key=lambda row: abs(row[0] - (now[0] - 30)))
    expected = (now[1] - then[1]) / (now[0] - then[0]) * len(VALUES)
    assert found == {route: pytest.approx(expected, rel=0.1) for route in names}
    assert ask("rate(shop_request_duration_seconds_sum[30s])") == {
        route: pytest.approx(expected / len(VALUES) * sum(VALUES) / 1e9, rel=0.1) for route in names
    }


def check_quantiles(ask, names, metric="shop_request_duration_seconds_bucket"):
    """Each round has the same values, so the quantile of any time is that of one round: linear within its bucket."""
    for q in (0.1, 0.5, 0.8, 0.95):
        found = ask(f"histogram_quantile({q}, rate({metric}[30s]))")
        assert found == {
            route: pytest.approx(quantile(q), rel=0.01, abs=1e-12) for route in names
        }, q


def quantile(q):
    """Prometheus' way, with buckets (2^(k-1) - 1, 2^k - 1]."""
    ends = [-1, 0, *(2**k - 1 for k in range(1, 64))]
    rank = q * len(VALUES)
    for low, high in pairwise(ends):
        below, within = (
            sum(value <= low for value in VALUES),
            sum(low < value <= high for value in VALUES),
        )
        if below + within >= rank:
            return (low + (high - low) * (rank - below) / within) / 1e9
    raise AssertionError(q)


def check_ends(ask, names, log):
    """When the program fires no more, everything is exact, though the script has cleared and truncated all the time."""
    harness.wait_until(lambda: log.read_text().endswith("over\n"))
    rounds = int(log.read_text().split()[-2])
    total = float(rounds * len(VALUES))
    until(lambda: ask("shop_requests_total") == dict.fromkeys(names, total))
    assert ask("shop_request_duration_seconds_count") == dict.fromkeys(names, total)
    assert ask(
        'shop_request_duration_seconds_bucket{le=~"0.000001023|1.023e-06"}'
    ) == dict.fromkeys(names, rounds * 8.0)
    assert ask("shop_request_duration_seconds_sum") == {
        route: pytest.approx(rounds * sum(VALUES) / 1e9) for route in names
    }
    assert ask("shop_request_most") == dict.fromkeys(names, (1 << 20) + 1)
    assert ask("shop_request_mean_count") == {"": len(names) * total}
    assert ask("resets(shop_requests_total[1h])") == dict.fromkeys(names, 0)
    assert ask("pydtrace_complete") == {"": 1} and ask("sum(pydtrace_lost_total)") == {"": 0}


def lint(text):
    """What promtool has to say."""
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@NEEDED
@pytest.mark.parametrize("value", [0, -7, 1023, 1024])
def test_strict_readers_take_what_is_asked_for(tmp_path, value):
    """prometheus_client's strict parser and promtool, of a histogram with and without sum=, a mean and percentiles."""
    script = (
        "#pragma D option pyusdt\n"
        + "".join(
            f"#pragma D metric {name} name={name} help=h {more}\n"
            for name, more in [
                ("whole", "sum=s"),
                ("bare", ""),
                ("mean", ""),
                ("parts", "sum=t"),
                ("n", ""),
            ]
        )
        + f"BEGIN {{ @whole = quantize({value}); @s = sum({value}); @bare = quantize({value}); @mean = avg({value});"
        f" @parts = percentiles({value}); @t = sum({value}); @n = count(); }}\ntick-1s {{ }}\n"
    )
    with traced(tmp_path, script) as address:
        text = settled(address, "n_total 1.0")
        request = urllib.request.Request(
            address, headers={"Accept": "application/openmetrics-text; version=1.0.0"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            families = {
                family.name: {sample.name for sample in family.samples}
                for family in text_string_to_metric_families(answer.read().decode())
            }
    assert lint(text) == ""
    assert (
        "\nbare_count 1.0\n" in text
        and "\nwhole_count 1.0\n" in text
        and f"\nwhole_sum {value}.0\n" in text
    )
    assert families["bare"] == {"bare_bucket"}
    assert families["whole"] == (
        {"whole_bucket", "whole_count", "whole_sum"} if value >= 0 else {"whole_bucket"}
    )


@NEEDED
def test_hostile_names_are_read(tmp_path):
    """Prometheus' own parser takes all bytes that a program can put into a name."""
    hostile = [bytes([byte]) for byte in range(1, 256)] + [b"\xff\xfe", b'"} 1\nevil 1\n#', b"\\"]
    program = (
        "import pyusdt, sys\n"
        f"for name in {hostile!r}: pyusdt.p(1, 1, name)\nprint('fired', flush=True)\nsys.stdin.read()\n"
    )
    script = (
        "#pragma D metric a name=a labels=x help=h\npyusdt*:::user_trace-i4s4 { @a[copyinstr(arg6)] = count(); @n = count(); }\n"
        "#pragma D metric n name=n help=h\n"
    )
    with (
        traced(tmp_path, script, "-Z") as address,
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as fired,
    ):
        assert fired.stdout.readline() == b"fired\n"
        text = settled(address, f"n_total {len(hostile)}.0")
        fired.stdin.close()
    assert lint(text) == ""
    assert "evil 1" not in text.split("\n") and r'a_total{x="\\xff"} 1.0' in text


def test_what_the_script_prints_goes_on(tmp_path):
    run = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--metrics",
            "0",
            "-n",
            'BEGIN { printf("here\\n"); @a = count(); exit(3); }',
        ]
    )
    assert (run.status, run.stdout) == (3, "here\n\n                1\n")
    assert re.fullmatch(
        r"dtrace: the metrics are at .*\ndtrace: --metrics: no line of a mapping describes @a.*\n",
        run.stderr,
    )


def test_exemplars_lead_to_single_records(tmp_path):
    """In the bucket that their value is in, with what the record says of its trace; to those who ask for OpenMetrics."""
    script = (
        "#pragma D metric t name=took unit=seconds multiplier=1e-3 labels=route sum=s exemplar=ms,trace_id\n"
        "#pragma D metric n name=n labels=route exemplar=ms,trace_id\n"
        'tick-10ms /i < 40/ { i++; @t["/a"] = quantize(i); @s["/a"] = sum(i); @n["/a"] = count(); }\n'
        'tick-10ms /j++ < 60/ { printf("route=%s ms=%d trace_id=%s", "/a", i, i == 40 ? "last" : "early"); }\n'
        'tick-10ms /i < 40/ { printf("route=%s other=%d", "/a", 7); }\n'
    )
    with traced(tmp_path, script) as address:
        settled(address, 'n_total{route="/a"} 40.0')
        request = urllib.request.Request(
            address, headers={"Accept": "application/openmetrics-text; version=1.0.0"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            families = {
                family.name: family
                for family in text_string_to_metric_families(answer.read().decode())
            }
    found = {
        float(sample.labels["le"]): sample.exemplar
        for sample in families["took_seconds"].samples
        if sample.exemplar
    }
    assert found[0.063].labels == {"trace_id": "last"} and found[0.063].value == 0.04
    assert all(
        low < exemplar.value <= le
        for (low, (le, exemplar)) in zip([0, *sorted(found)], sorted(found.items()))
    )
    assert {exemplar.labels["trace_id"] for le, exemplar in found.items() if le < 0.03} == {"early"}
    [counted] = [sample.exemplar for sample in families["n"].samples if sample.name == "n_total"]
    assert counted.value == 40 and abs(float(counted.timestamp) - time.time()) < 600


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("exemplar=ms", "the name of a value and of what goes with it are needed"),
        ("labels=a exemplar=ms,le", "not a label name"),
        ("exemplar=ms,x", "needs labels="),
    ],
)
def test_what_is_no_exemplar(line, said):
    shown = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--metrics=0",
            "-x",
            f"metric=q {line}",
            "-n",
            "BEGIN { @q[1] = quantize(1); exit(0); }",
        ]
    )
    assert shown.status == 1 and said in shown.stderr, shown


HOSTS_SCRIPT = """
#pragma D metric calls name=shop_requests labels=host help=h
#pragma D metric time name=shop_time labels=host,route help=h sum=spent
pyusdt$target:::user_trace-i4s4 { @calls[host] = count(); @time[host, copyinstr(arg6)] = quantize(arg2); @spent[host, copyinstr(arg6)] = sum(arg2); }
pyusdt$target:::user_trace-i4s4 /arg2 == 99/ { printf("host=%s late=%d", host, arg2); }
tick-300ms { clear(@calls); trunc(@time); trunc(@spent); }
"""
HOSTS_PROGRAM = """
import os, sys, time, pyusdt
for half in ("half", "end"):
    for i in range(100):
        pyusdt.p(i, 0, "/cart")
    while not os.path.exists(os.path.join(sys.argv[1], half)):
        time.sleep(0.01)
"""


def test_hosts_are_one_target(tmp_path):
    """--hosts: all that they have counted, whatever the script clears, as metrics, by OTLP, and as alerts; a host that is gone keeps what it
    had, and that it counts no more is said."""
    (tmp_path / "program.py").write_text(HOSTS_PROGRAM)
    (tmp_path / "via").write_text(
        f"echo $$ >{tmp_path}/$1.new && mv {tmp_path}/$1.new {tmp_path}/$1 && HOST=$1 exec {harness.PYDTRACE} --serve\n"
    )
    with (
        otlp_receiver.by_http(found := otlp_receiver.Received()) as url,
        alert_receiver.server() as hook,
        traced(
            tmp_path,
            HOSTS_SCRIPT,
            "--hosts",
            "web[1-3]",
            "--via",
            f"sh {tmp_path}/via {{host}} --serve",
            "-c",
            f"{sys.executable} {tmp_path}/program.py {tmp_path}",
            "-x",
            "hostwait=60s",
            "--alert",
            f"2=webhook:{hook.url}",
            "--alert",
            f"2=alertmanager:{hook.url}",
            "--otlp",
            url,
            "-x",
            "otlpinterval=200ms",
        ) as address,
    ):
        for name in ("web1", "web2", "web3"):
            settled(address, f'shop_requests_total{{host="{name}"}} 100.0')
        text = settled(address, 'shop_time_count{host="web2",route="/cart"} 100.0')
        assert (
            "\npydtrace_complete 1.0\n" in text
            and '\npydtrace_lost_total{kind="host"} 0.0\n' in text
        )
        harness.wait_until(lambda: len(hook.heard) == 6)
        for kind in (dict, list):
            notes = [
                note[0] if kind is list else note
                for _, note in hook.heard
                if isinstance(note, kind)
            ]
            assert sorted(note["labels"]["host"] for note in notes) == ["web1", "web2", "web3"]
        os.kill(int((tmp_path / "web2").read_text()), signal.SIGKILL)
        settled(address, 'pydtrace_lost_total{kind="host"} 1.0')
        (tmp_path / "half").touch()
        for name, count in (("web1", 200), ("web2", 100), ("web3", 200)):
            text = settled(address, f'shop_requests_total{{host="{name}"}} {count}.0')
            text = settled(
                address,
                f'shop_time_sum{{host="{name}",route="/cart"}} {sum(range(100)) * count // 100}.0',
            )
        assert "\npydtrace_complete 0.0\n" in text
        harness.wait_until(
            lambda: (
                {
                    each.attributes[0].value.string_value: each.as_double
                    for each in found.points("shop_requests")
                }
                == {"web1": 200, "web2": 100, "web3": 200}
            )
        )
        (tmp_path / "end").touch()
