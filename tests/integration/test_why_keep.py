"""`pyusdt why --keep`, also in `pyusdt serve`: slow requests of a server leave a file and an alert."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
import threading
import urllib.request

import pytest

from pydtrace.cli.commands.why_keep import EvidenceFolder, FileRate
from pydtrace.sinks.output_file import OutputError
from tests.support import harness
from tests.support.served_folder import put, served
from tests.support.servers.alert_receiver import server

pytestmark = pytest.mark.own_processes

BIN = os.path.dirname(harness.PYDTRACE)
PYUSDT = os.path.join(BIN, "pyusdt")
FLASK = os.path.join(harness.ROOT, "tests", "integration", "programs", "why_flask.py")
SHOP = """
import time
from django.conf import settings
settings.configure(
    ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite"}},
)
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpResponse
from django.urls import path
application = get_wsgi_application()
def item(request, number):
    with connection.cursor() as cursor:
        connection.connection.create_function("pause", 1, time.sleep)
        cursor.execute("select pause(%s)", [0.2 if number % 50 == 49 else 0])
        return HttpResponse("ok")
urlpatterns = [path("item/<int:number>", item)]
"""


def serving_shop(folder, *options):
    """A gunicorn of `pyusdt run`: (the process, its URL)."""
    (folder / "shop.py").write_text(SHOP)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{free.getsockname()[1]}"
    command = [
        os.path.join(BIN, "gunicorn"),
        *(options or ("--threads", "2")),
        "-b",
        url,
        "shop:application",
    ]
    return harness.running([PYUSDT, "run", *command], cwd=folder), f"http://{url}"


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


def test_a_server_that_is_slow_now_and_then(tmp_path):
    """By `pyusdt serve`: a file for the route, an alert with its first line, and no second file soon after."""
    scripts, kept, over = tmp_path / "scripts", tmp_path / "kept", threading.Event()
    scripts.mkdir(mode=0o755)
    shop, url = serving_shop(tmp_path)

    def ask():
        number = 0
        while not over.is_set():
            get(f"{url}/item/{number}")
            number += 1

    with shop, server() as found:
        harness.wait_until(lambda: get(f"{url}/item/0"), 30)
        words = f"--keep {kept} --slo 'p99 < 150ms over 1m' --process gunicorn --alert webhook:{found.url}"
        put(scripts, "shop.why", f"{words}  # a comment\n")
        client = threading.Thread(target=ask)
        client.start()
        try:
            with served(scripts) as supervisor:
                supervisor.wait(r"^shop\.why: traced by process \d+$")
                supervisor.wait(
                    r"^shop\.why:   likely cause: SQL select pause\(%s\) at .*:\d+ item$", 90
                )
                path = supervisor.wait(r"^shop\.why:   kept in (\S+)$")[1]
                harness.wait_until(lambda: found.heard)
                supervisor.wait(r"^shop\.why: GET item/<int:number>: \d+ of \d+ requests")
                assert supervisor.end() == 0
        finally:
            over.set()
            client.join()
    assert [os.path.join(kept, each) for each in os.listdir(kept)] == [path]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    ((_, note),) = found.heard
    first = note["text"].splitlines()
    assert re.match(r"GET item/<int:number>: \d+ of \d+ requests took 150 ms or more", first[0])
    assert first[1].startswith("  likely cause: SQL select pause(%s) at ")
    assert note["labels"] == {"route": "GET item/<int:number>"} and note["state"] == "firing"
    assert note["evidence"] == {"file": path} and note["values"]["slow"] == note["count"]
    again = harness.run([PYUSDT, "why", "--replay", path])
    assert again.stdout.startswith(note["text"]) and "the slowest:" in again.stdout
    other = harness.run([PYUSDT, "why", "--replay", path, "--slower", "60s"])
    assert other.stdout.startswith("no slow requests: ")


def test_a_queue_before_the_worker(tmp_path):
    """One worker that sleeps in each request, and four clients: their connections wait in the kernel."""
    shop, url = serving_shop(tmp_path, "--worker-class", "sync")
    over = threading.Event()

    def ask():
        while not over.is_set():
            get(f"{url}/item/49")

    with shop:
        harness.wait_until(lambda: get(f"{url}/item/0"), 30)
        clients = [threading.Thread(target=ask) for _ in range(4)]
        for each in clients:
            each.start()
        command = [PYUSDT, "why", "--process", "gunicorn", "--duration", "5", "--slower", "150ms"]
        try:
            kept = harness.run([*command, "--keep", str(tmp_path / "kept")], timeout=60)
        finally:
            over.set()
            for each in clients:
                each.join()
    line = rf"{url[7:]}: connections waited to be accepted in \d+ % of \d+ looks, [\d.]+ of them in the mean"
    assert re.search(f"^{line}", kept.stderr, re.MULTILINE), kept
    (name,) = os.listdir(tmp_path / "kept")
    again = harness.run([PYUSDT, "why", "--replay", str(tmp_path / "kept" / name)])
    assert re.search(f"^{line}", again.stdout, re.MULTILINE), again


def test_a_limit_and_a_command(tmp_path):
    """Each request over the limit counts; the end writes what is due. Without a cause to find nothing is kept."""
    program = ["--", sys.executable, FLASK, "30"]
    keep = [PYUSDT, "why", "--keep", str(tmp_path / "kept"), "--slower"]
    run = harness.run([*keep, "100ms", *program, "statement", "usual"], timeout=60)
    assert run.status == 0 and "likely cause: SQL select pause" in run.stderr, run
    (name,) = os.listdir(tmp_path / "kept")
    assert re.fullmatch(r"\d{8}T\d{6}Z-GET-statement-int-number\.why\.json", name)
    quiet = harness.run([*keep, "60s", *program, "usual"], timeout=60)
    assert quiet.status == 0 and os.listdir(tmp_path / "kept") == [name], quiet


@pytest.mark.more
def test_too_much_of_a_processor_ends_it(tmp_path):
    """With the status for which `pyusdt serve` waits a minute."""
    keep = ["--keep", str(tmp_path / "kept"), "--slower", "10s", "--cpu", "1", "--rate", "1000"]
    program = [sys.executable, FLASK, "1000000", "usual"]
    run = harness.run([PYUSDT, "why", *keep, "--duration", "60", "--", *program], timeout=90)
    assert run.status == 4 and "tracing stops: it has taken" in run.stderr, run


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--keep", "x"], 2, "--keep needs --slower TIME, or --slo 'p99 < 300ms over 5m'"),
        (["--slo", "p99", "--keep", "x"], 2, "'p99' is not a objective: 'p99 < 300ms over 5m'"),
        (["--slo", "p99 < 1s over 1m", "1"], 2, "--slo needs --keep FOLDER"),
        (["--every", "3", "1"], 2, "--every needs --keep FOLDER"),
        (["--keep", "x", "--replay", "y", "--slower", "1s"], 2, "--keep takes process ids, or"),
        (["--keep", "x", "--html", "y", "--slower", "1s"], 2, "--html does not work with --keep"),
        (["--keep", "/nothing/x", "--slower", "1s"], 1, "/nothing/x: No such file or directory"),
        (["--keep", "/dev/null", "--slower", "1s"], 1, "--keep /dev/null: Not a directory"),
        (["--keep", "KEPT", "--slower", "1s", "--alert", "x:y"], 1, "--alert 'x:y': exec:PROGRAM"),
        (["--keep", "KEPT", "--slower", "1s", "999999999"], 1, "there is no process 999999999"),
    ],
)
def test_mistakes(arguments, status, message, tmp_path):
    words = [str(tmp_path / "kept") if word == "KEPT" else word for word in arguments]
    run = harness.run([PYUSDT, "why", *words], cwd=tmp_path)
    assert run.status == status and message in run.stderr and "Traceback" not in run.stderr, run


def test_a_folder_that_others_can_change_is_refused(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(0o777)
    run = harness.run([PYUSDT, "why", "--keep", str(tmp_path / "kept"), "--slower", "1s"])
    assert run.status == 1 and "kept can be written by others than root and this user" in run.stderr


def test_serve_needs_a_folder_for_the_files(tmp_path):
    (tmp_path / "scripts").mkdir(mode=0o755)
    put(tmp_path / "scripts", "a.why", "--slower 1s\n")
    put(tmp_path / "scripts", "b.why", "--keep x --slower 1\n")
    with served(tmp_path / "scripts") as found:
        found.wait(r"^a\.why: not traced: .*/a\.why: --keep FOLDER is needed")
        found.wait(r"^b\.why: .*'1' is not a duration: 50ms, 2s")
        found.wait(r"^b\.why: ended with exit status 2: it is started again in 2 s")


def test_the_oldest_files_go(tmp_path):
    """Those of other names stay."""
    folder = EvidenceFolder(str(tmp_path), 3)
    for name in ("20200101T000000Z-a.why.json", "20200102T000000Z-.why.json", "notes.why.json"):
        (tmp_path / name).write_text("")
    folder.add_file("GET /\x1b../<b>", "1")
    assert "20200101T000000Z-a.why.json" in os.listdir(tmp_path)
    path = folder.add_file("GET /other", "2")
    assert re.fullmatch(r".*/\d{8}T\d{6}Z-GET-other\.why\.json", path)
    names = sorted(os.listdir(tmp_path))
    assert (
        len(names) == 4
        and names[0] == "20200102T000000Z-.why.json"
        and names[-1] == "notes.why.json"
    )
    assert any(name.endswith("Z-GET-b.why.json") for name in names)
    (tmp_path / "gone").mkdir()
    gone = EvidenceFolder(str(tmp_path / "gone"), 3)
    (tmp_path / "gone").rmdir()
    with pytest.raises(OutputError, match="gone: No such file"):
        gone.add_file("GET /", "3")


def test_the_rate_of_files():
    rate = FileRate(60.0)
    assert rate.take("a", 0.0) and not rate.take("a", 59.0) and rate.take("a", 60.0)
    assert [rate.take(str(number), 61.0) for number in range(12)] == [True] * 9 + [False] * 3
    assert not rate.take("b", 119.0) and rate.take("b", 120.0), "of all routes"
    for number in range(5000):
        rate.take(str(number), 1000.0 * number)
    assert len(rate._written) <= 1000
