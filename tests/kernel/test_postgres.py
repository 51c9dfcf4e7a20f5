"""A real server: Debian's PostgreSQL under pgbench."""

import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import pytest
from kernel_harness import start_pydtrace

pytestmark = pytest.mark.usefixtures("bpf")
PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
PORT = "5433"


@pytest.fixture(scope="module")
def server():
    """run(PROGRAM, ARG …) as the server's user, on a server of our own."""
    if not PROGRAMS:
        pytest.skip("no postgresql")
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    owner = pwd.getpwnam("postgres")
    folder = tempfile.mkdtemp(prefix="pyusdt-pg-")
    os.chown(folder, owner.pw_uid, owner.pw_gid)

    def run(program, *arguments):
        return subprocess.run([os.path.join(PROGRAMS[-1], program), *arguments], check=True, capture_output=True, text=True,
                              user=owner.pw_uid, group=owner.pw_gid, cwd=folder, timeout=60,
                              env={**os.environ, "PGHOST": folder, "PGPORT": PORT, "PGDATABASE": "postgres", "PGUSER": "postgres"})

    try:
        run("initdb", "-D", "data", "-A", "trust", "--no-sync")
        run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", f"-k {folder} -p {PORT} -c listen_addresses= -c fsync=off", "start")
        run("pgbench", "-i", "-q")
        yield run
        run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


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
    assert {key: int(value) for key, value in queries.items() if key in ("BEGIN;", "END;", "INSERT")} == {
        "BEGIN;": 200, "END;": 200, "INSERT": 200}, (out, err)
    assert queries["UPDATE"] == "600" and queries["SELECT"] >= "200"
    histogram = [int(line.split()[-1]) for line in out.splitlines() if "|" in line]
    assert sum(histogram) == int(out.split()[-1]) >= 200  # pgbench's, and the server's own transactions
