"""pydtrace --alert: who is told of what, when, and what is said of what nobody could be told."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.support import harness
from tests.support.servers.alert_receiver import server

pytestmark = pytest.mark.xdist_group(
    "unattended"
)  # ticks, and processes that are named: nothing beside them is seen
SLOW = 'tick-20ms /n++ < 5/ { printf("route=%s took=%d", "/cart", 100 + n); @seen["/cart"] = count(); }'
OVER = "tick-10ms /n >= 5/ { m++; }"


@contextlib.contextmanager
def traced(*options):
    with harness.running([harness.PYDTRACE, "-q", *options]) as process:
        yield process
        process.terminate()
        harness.finish(process, 60)


def notes(heard, *states):
    return [note for _, note in heard if note["state"] in (states or ("firing", "resolved"))]


def test_a_webhook_hears_of_the_beginning_and_of_the_end():
    with (
        server() as found,
        traced("-x", "alertends=300ms", "--alert", f"tick-20ms=webhook:{found.url}", "-n", SLOW),
    ):
        harness.wait_until(lambda: notes(found.heard, "resolved"))
        first, last = notes(found.heard)
    assert (first["state"], first["alert"], first["labels"], first["values"]["took"]) == (
        "firing",
        "tick-20ms",
        {"route": "/cart"},
        101,
    )
    assert (
        first["version"] == 1
        and first["host"] == os.uname().nodename
        and first["probe"].endswith(":tick-20ms")
    )
    assert (last["state"], last["count"], last["began"]) == ("resolved", 5, first["began"])
    assert last["last"] >= first["last"] and found.heard[0][0] == "/hook"


def test_evidence_is_what_was_seen_before():
    script = 'tick-10ms /i++ < 30/ { printf("i=%d", i); @a[i % 2] = sum(i); } tick-10ms /i == 25/ { printf("late=%d", i); }'
    with server() as found, traced("--alert", f"2=webhook:{found.url}", "-n", script):
        harness.wait_until(lambda: found.heard)
        evidence = found.heard[0][1]["evidence"]
    assert [record["values"] for record in evidence["records"]] == [[i] for i in range(6, 26)]
    assert {(row["name"], *row["keys"]): row["value"] for row in evidence["aggregations"]} == {
        ("a", 0): sum(range(2, 25, 2)),
        ("a", 1): sum(range(1, 26, 2)),
    }


def test_the_stacks_of_the_process_where_asked_for(tmp_path):
    program = tmp_path / "app.py"
    program.write_text(
        "import pyusdt, time\ndef spins():\n    pyusdt.p(1)\n    time.sleep(60)\nspins()\n"
    )
    with (
        server() as found,
        traced(
            "-x",
            "alertstacks",
            "--alert",
            f"user_trace-i4s4=webhook:{found.url}",
            "-n",
            'pyusdt$target:::user_trace-i4s4 { printf("late"); }',
            "-c",
            f"{sys.executable} {program}",
        ),
    ):
        harness.wait_until(lambda: found.heard, 60)
        assert "spins (" in found.heard[0][1]["evidence"]["stacks"]


def test_what_lasts_is_told_again():
    with (
        server() as found,
        traced(
            "-x",
            "alertrepeat=100ms",
            "--alert",
            f"tick-10ms=webhook:{found.url}",
            "-n",
            'tick-10ms { printf("on"); }',
        ),
    ):
        harness.wait_until(lambda: len(found.heard) > 3)
        counts = [note["count"] for note in notes(found.heard, "firing")]
    assert counts == sorted(set(counts)) and counts[0] == 1


def test_alerts_that_differ_in_a_text_are_two():
    script = 'BEGIN { printf("route=%s n=%d", "/a", 1); } END { printf("route=%s n=%d", "/b", 2); } tick-1s { exit(0); }'
    with server() as found:
        shown = harness.run(
            [
                harness.PYDTRACE,
                "-qn",
                script,
                "--alert",
                f"BEGIN=webhook:{found.url}",
                "--alert",
                f"END=webhook:{found.url}",
            ]
        )
        assert shown.status == 0, shown
        assert [note["labels"]["route"] for note in notes(found.heard)] == ["/a", "/b"]


def test_each_name_of_a_clause_has_its_receiver():
    """By number, by the probe's name, and by the description as the script writes it."""
    script = 'shop$target:::sold { trace(0); } profile:::tick-20ms { printf("route=%s", "/cart"); }'
    with server() as first, server() as second, server() as third:
        names = {"2": first, "tick-20ms": second, "profile:::tick-20ms": third}
        alerts = [f"--alert={name}=webhook:{found.url}" for name, found in names.items()]
        alerts.append("--alert=shop$target:::sold=exec:true")
        with traced("-Z", *alerts, "-c", "sleep 60", "-n", script):
            harness.wait_until(lambda: first.heard and second.heard and third.heard)
        for name, found in names.items():
            assert {note["alert"] for note in notes(found.heard)} == {name}


def test_a_program_reads_the_note(tmp_path):
    """Its arguments are the user's: no value of a traced process is among them, nor is there a shell."""
    program = tmp_path / "told"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nopen({str(tmp_path / 'said')!r}, 'w').write("
        "json.dumps([sys.argv[1:], json.load(sys.stdin)]))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    shown = harness.run(
        [
            harness.PYDTRACE,
            "-qn",
            'BEGIN { printf("x=%s", "$(touch /x); -rf"); exit(0); }',
            "--alert",
            f"BEGIN=exec:{program} 'a b' $HOME",
        ]
    )
    assert shown.status == 0, shown
    arguments, note = json.loads((tmp_path / "said").read_text())
    assert arguments == ["a b", "$HOME"] and note["labels"] == {"x": "$(touch /x); -rf"}


@pytest.mark.parametrize(("answers", "told"), [((500, 429, 200), 3), ((404,), 1), ((302,), 1)])
def test_a_receiver_that_refuses(answers, told):
    """What may pass is tried again; what does not is said with its reason. A redirection is followed nowhere."""
    with server(*answers) as found:
        shown = harness.run(
            [
                harness.PYDTRACE,
                "-qn",
                'BEGIN { printf("x"); } tick-7s { exit(0); }'
                if told > 1
                else 'BEGIN { printf("x"); exit(0); }',
                "--alert",
                f"BEGIN=webhook:{found.url}",
            ]
        )
        assert [path for path, _ in found.heard] == ["/hook"] * told
    said = f"1 notes of alerts could not be delivered; {found.url}: it answered {answers[0]}"
    assert (said in shown.stderr) == (told == 1), shown


def test_nobody_waits_for_a_receiver_that_does_not_answer():
    """The traced program, the script and the end go on; what waits is counted."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        script = 'tick-1ms /i++ < 300/ { printf("n=%s\\n", lltostr(i)); } tick-10ms /i > 300/ { exit(0); }'
        began = time.monotonic()
        shown = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-x",
                "alertrate=1000",
                "-n",
                script,
                "--alert",
                f"1=webhook:{url}",
            ]
        )
    assert shown.status == 0 and shown.stdout.count("n=") == 300, shown
    assert (
        int(re.search(r"(\d+) notes of alerts could not be delivered", shown.stderr)[1]) == 300
    ), shown
    assert time.monotonic() - began < 40


FIRES = """
import pyusdt
fired = sum(pyusdt.p(n, n % 20, "a" * (n % 5), f"order {n % 20}") for n in range(20000))
print("fired", fired, flush=True)
"""


def test_the_traced_program_never_notices(tmp_path):
    """Nobody who is told of it is there, answers or reads: all fires, all is counted, and what nobody was told of is, too."""
    (tmp_path / "program.py").write_text(FIRES)
    (tmp_path / "slow").write_text("#!/bin/sh\nexec sleep 300\n")
    (tmp_path / "slow").chmod(0o755)
    script = """pyusdt$target:::user_trace-i4s4 { @n = count(); @q[copyinstr(arg7)] = quantize(arg2); }
        pyusdt$target:::user_trace-i4s4 /arg2 < 20/ { printf("begin=%s", copyinstr(arg7)); }
        END { printa("counted %@d\\n", @n); }"""
    with contextlib.ExitStack() as stack:
        deaf, nobody = (
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            stack.enter_context(socket.socket()),
        )
        nobody.bind(("127.0.0.1", 0))  # it does not listen
        at = [f"127.0.0.1:{each.getsockname()[1]}" for each in (deaf, nobody)]
        receivers = [
            f"webhook:http://{at[0]}",
            f"alertmanager:http://{at[0]}",
            f"alertmanager:http://{at[1]}",
            f"exec:{tmp_path}/slow",
        ]
        words = [word for each in receivers for word in ("--alert", f"2={each}")]
        process = stack.enter_context(
            harness.running(
                [
                    harness.PYDTRACE,
                    "-q",
                    "--metrics=0",
                    "-x",
                    "metric=n name=n",
                    "-x",
                    "metric=q name=q labels=x",
                    "-x",
                    "alertrate=1000",
                    *words,
                    "--otlp",
                    f"http://{at[0]}",
                    "-x",
                    "otlpinterval=10ms",
                    "--spans",
                    f"grpc://{at[1]}",
                    "-n",
                    script,
                    "-c",
                    f"{sys.executable} {tmp_path}/program.py",
                ]
            )
        )
        port = int(re.search(r":(\d+)/metrics", process.stderr.readline())[1])
        for _ in range(20):  # they ask for nothing
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        shown = harness.finish(process, 120)
    assert (
        shown.status == 0
        and "fired 20000\n" in shown.stdout
        and "counted 20000\n" in shown.stdout
        and "drop" not in shown.stderr
    ), shown
    assert (
        "80 notes of alerts could not be delivered" in shown.stderr
        and "taken nothing for" in shown.stderr
    ), shown
    assert "--spans: 20 spans have begun and not ended" in shown.stderr, shown


def test_more_than_there_may_be_are_counted():
    script = (
        'tick-1ms /i++ < 50/ { printf("n=%s\\n", lltostr(i)); } tick-10ms /i > 50/ { exit(0); }'
    )
    with server() as found:
        shown = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-x",
                "alertrate=10",
                "-n",
                script,
                "--alert",
                f"1=webhook:{found.url}",
            ]
        )
        told = len(found.heard)
    assert 10 <= told < 50, shown
    assert (
        f"{50 - told} notes of alerts could not be delivered, {50 - told} of them beyond -x alertrate"
        in shown.stderr
    ), shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nosuch=exec:true", "no clause is called 'nosuch'"),
        ("BEGIN", "expected CLAUSE=RECEIVER"),
        ("2=exec:true", "no clause is called '2'"),
        ("BEGIN=exec:/no/such", "there is no such program"),
        ("BEGIN=mail:me", "exec:PROGRAM, webhook:URL or alertmanager:URL is needed"),
        (
            "BEGIN=webhook:file:///etc/passwd",
            "a URL that begins with http:// or https:// is needed",
        ),
        ("BEGIN=exec:'", "there is no such program"),
        ("1=exec:true", "the clause records nothing"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_traced(given, said):
    script = (
        "BEGIN { x = 1; } tick-10ms { exit(0); }"
        if given.startswith("1")
        else 'BEGIN { trace("fired"); exit(0); }'
    )
    shown = harness.run([harness.PYDTRACE, "-qn", script, "--alert", given])
    assert shown.status == 1 and said in shown.stderr and "fired" not in shown.stdout, shown


def test_stacks_are_of_processes_that_are_here():
    """Not of one that has the number of another host's."""
    shown = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--hosts",
            "a",
            "--via",
            f"env HOST={{host}} {harness.PYDTRACE} --serve",
            "-x",
            "alertstacks",
            "-n",
            'BEGIN { printf("x"); exit(0); } made { printf("y"); }',
            "-Z",
            "--alert",
            "1=exec:true",
        ],
        60,
    )
    assert (
        shown.status == 1
        and "-x alertstacks does not work with --hosts and --replay" in shown.stderr
    ), shown


# ---- a real Alertmanager ----


@contextlib.contextmanager
def alertmanager(tmp_path, hook, program="prometheus-alertmanager"):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "alertmanager.yml"
    config.write_text(
        "route: {receiver: hook, group_by: [alertname, route], group_wait: 0s, group_interval: 1s}\n"
        f"receivers: [{{name: hook, webhook_configs: [{{url: '{hook}', send_resolved: true}}]}}]\n"
    )
    process = subprocess.Popen(
        [
            program,
            f"--config.file={config}",
            f"--storage.path={tmp_path / 'data'}",
            "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        harness.wait_until(lambda: is_ready(url))
        yield url
    finally:
        process.terminate()
        process.wait(60)


def is_ready(url):
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(f"{url}/-/ready", timeout=10) as answer,
    ):
        return answer.status == 200
    return False


NEEDED = pytest.mark.skipif(
    shutil.which("prometheus-alertmanager") is None and "CI" not in os.environ,
    reason="host: no Alertmanager",
)


@NEEDED
def test_a_real_alertmanager(tmp_path):
    """It tells its own webhook that the alert fires, and that it is resolved."""
    with server() as hook, alertmanager(tmp_path, hook.url) as url:
        with traced("-x", "alertends=1s", "--alert", f"tick-20ms=alertmanager:{url}", "-n", SLOW):
            harness.wait_until(lambda: any(told["status"] == "resolved" for _, told in hook.heard))
        first, last = hook.heard[0][1], hook.heard[-1][1]
    assert first["status"] == "firing" and last["status"] == "resolved"
    [alert] = first["alerts"]
    assert {**alert["labels"], "host": ""} == {
        "alertname": "tick-20ms",
        "route": "/cart",
        "host": "",
    }
    assert alert["annotations"]["took"] == "101"
    assert json.loads(alert["annotations"]["evidence"])["aggregations"][0]["name"] == "seen"


HOSTILE = [
    *(bytes([byte]) for byte in (*range(1, 48), *range(127, 160))),
    b"\xff\xfe",
    b'"} 1\nevil 1\n#',
    b"\\",
    "\u2028\U0001f600".encode(),
    b"\xed\xa0\x80",
    b"x" * 255,
]


@NEEDED
def test_hostile_bytes_reach_it(tmp_path):
    alertmanager_takes_hostile_bytes(tmp_path)


@pytest.mark.long
def test_hostile_bytes_reach_that_of_today(tmp_path):
    folder = subprocess.run(
        [os.path.join(harness.ROOT, ".ci", "monitoring")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    alertmanager_takes_hostile_bytes(tmp_path, f"{folder}/prometheus-alertmanager")


def alertmanager_takes_hostile_bytes(tmp_path, *program):
    """Whatever a traced process puts into a text: one alert for each that is shown differently, none refused."""
    (tmp_path / "app.py").write_text(
        f"import pyusdt\nfor name in {HOSTILE!r}: pyusdt.p(1, 1, name)\n"
    )
    script = 'pyusdt$target:::user_trace-i4s4 { printf("route=%s", copyinstr(arg6)); }'
    with server() as hook, alertmanager(tmp_path, hook.url, *program) as url:
        shown = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-x",
                "alertrate=1000",
                "-n",
                script,
                "--alert",
                f"1=alertmanager:{url}",
                "-c",
                f"{sys.executable} {tmp_path}/app.py",
            ],
            120,
        )
        assert shown.status == 0 and shown.stderr == "", shown
        with urllib.request.urlopen(f"{url}/api/v2/alerts", timeout=30) as answer:
            routes = [alert["labels"].get("route") for alert in json.load(answer)]
    assert len(routes) == len({*routes}) == len(HOSTILE), routes
