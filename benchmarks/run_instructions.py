#!/usr/bin/env python3
"""What `pyusdt run` adds to a request, in machine instructions (callgrind): `benchmarks/run_instructions.py [PATH …]`.

Input: a Flask application with two routes, one of which executes a SQL statement by SQLAlchemy; needs valgrind.
Output: for each route and way the instructions of a request, and their ratio to those without pyusdt.

- Instructions do not depend on the machine's load. A way runs twice, with few requests and with many; the difference counts.
- gc.freeze(): how often the garbage collector reads the modules of pyusdt depends on the moment, not on requests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(sys.executable)
FEW, MANY = 20, 220
PROGRAM = """
import gc, sys
import flask, sqlalchemy
from sqlalchemy.pool import StaticPool
application = flask.Flask("shop")
engine = sqlalchemy.create_engine("sqlite://", poolclass=StaticPool)
@application.route("/item/<int:number>")
def item(number):
    with engine.connect() as connection:
        return connection.execute(sqlalchemy.text("select 'item ' || :n"), {"n": number}).scalar()
@application.route("/hello")
def hello():
    return "hello"
client = application.test_client()
client.get(sys.argv[1]); gc.collect(); gc.freeze()
print(flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    assert client.get(sys.argv[1]).status_code == 200
"""
SCRIPT = "http*:::request-done { @[arg.route] = quantize(arg.duration); } db*:::query-done { @sql[arg.statement] = sum(arg.duration); }"
WAYS = {
    "without pyusdt": (False, False),
    "pyusdt run, no tracer": (True, False),
    "pyusdt run, requests and queries traced": (True, True),
}


def main() -> None:
    for path in sys.argv[1:] or ["/hello", "/item/7"]:
        bare = 0.0
        for way, flags in WAYS.items():
            few, many = (count_instructions(path, requests, *flags) for requests in (FEW, MANY))
            request = (many - few) / (MANY - FEW)
            bare = bare or request
            print(f"{path:10} {way:40} {request:10.0f} {request / bare:8.3f}", flush=True)


def count_instructions(path: str, requests: int, is_run: bool, is_traced: bool) -> int:
    """All instructions of a program with so many requests for this path."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*valgrind, sys.executable, "-c", PROGRAM, path, str(requests)]
    if is_run:
        command = [os.path.join(HERE, "pyusdt"), "run", *command]
    with tempfile.TemporaryDirectory(prefix="pyusdt-run-", dir="/dev/shm") as rundir:
        environment = {**os.environ, "PYUSDT_RUNDIR": rundir, "PYTHONHASHSEED": "0"}
        environment["PYUSDT_CACHE"] = f"{rundir}/cache"
        os.mkdir(environment["PYUSDT_CACHE"])
        os.chmod(environment["PYUSDT_CACHE"], 0o777)  # others may write: no file for kernel tracers
        with subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout and program.stdout.readline() == "\n"
            tracer = start_tracer(program.pid, environment) if is_traced else None
            _, told = program.communicate("\n")
            if tracer:
                tracer.terminate()
                tracer.wait()
    found = re.search(r"Collected : (\d+)", told)
    assert found and program.returncode == 0, told
    return int(found[1])


def start_tracer(pid: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [os.path.join(HERE, "pydtrace"), "-Zq", "-x", "engine=embedded", "--ready"]
    command += ["-p", str(pid), "-n", SCRIPT]
    tracer = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert tracer.stderr
    told = []
    for line in tracer.stderr:
        told.append(line)
        if line == "dtrace: ready\n":
            return tracer
    raise RuntimeError("".join(told))


if __name__ == "__main__":
    main()
