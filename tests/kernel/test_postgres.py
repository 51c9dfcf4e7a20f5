"""A real server: Debian's PostgreSQL under pgbench."""

import re
import signal

import pytest

from tests.support.kernel_harness import start_pydtrace
from tests.support.servers import postgres

pytestmark = pytest.mark.usefixtures("bpf")


@pytest.fixture(scope="module")
def server():
    """run(PROGRAM, ARG …) as the server's user, on a server of our own."""
    with postgres.server(5433) as (run, _):
        run("pgbench", "-i", "-q")
        yield run


SCRIPT = """
BEGIN { printf("ready\\n"); }
postgresql*:::query-start { @queries[copyinstr(arg0, 7)] = count(); }
postgresql*:::transaction-start { self->start = timestamp; }
postgresql*:::transaction-commit /self->start/ { @latency = quantize(timestamp - self->start); self->start = 0; @commits = count(); }
"""


def test_queries_and_latency_under_pgbench(server):
    tracer = start_pydtrace("-q", "-x", "aggsortkey", "-n", SCRIPT, wait_for="ready")
    done = server("pgbench", "-c", "2", "-j", "2", "-t", "100", "-n").stdout
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=20)
    assert "200/200" in done
    queries = dict(re.findall(r"^  (\S.*?) +(\d+)$", out, re.MULTILINE))
    assert {
        key: int(value) for key, value in queries.items() if key in ("BEGIN;", "END;", "INSERT")
    } == {"BEGIN;": 200, "END;": 200, "INSERT": 200}, (out, err)
    assert queries["UPDATE"] == "600" and queries["SELECT"] >= "200"
    histogram = [int(line.split()[-1]) for line in out.splitlines() if "|" in line]
    assert (
        sum(histogram) == int(out.split()[-1]) >= 200
    )  # pgbench's, and the server's own transactions


def test_the_postmaster_and_the_connections_that_it_forks(server):
    """Each is a process that is over when its one query is."""
    postmaster = server("/bin/cat", "data/postmaster.pid").stdout.split()[0]
    script = 'BEGIN { printf("ready\\n"); } postgresql$target:::query-start { @[pid == $target, ppid == $target, copyinstr(arg0)] = count(); }'
    tracer = start_pydtrace(
        "-q", "-x", "children", "-n", script, "-p", postmaster, wait_for="ready"
    )
    for number in (1, 2, 1):
        assert server("psql", "-Atc", f"SELECT {number}").stdout == f"{number}\n"
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=20)
    assert re.findall(r"^ +(\d) +(\d)  SELECT (\d) +(\d)$", out, re.MULTILINE) == [
        ("0", "1", "2", "1"),
        ("0", "1", "1", "2"),
    ], (out, err)
