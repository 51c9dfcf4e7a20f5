"""What the tests of probes with places have in common: pydtrace on places_target.c, and what it printed."""

import os
import re
import signal
import subprocess
import sys
import time

PYDTRACE = [sys.executable, "-c", "from pydtrace.cli.pydtrace.main import main; main()"]


def pydtrace(world, *arguments, status=0, **env):
    got = subprocess.run(
        [*PYDTRACE, *map(str, arguments)],
        env={**world.env, **env},
        capture_output=True,
        timeout=120,
        check=False,
        encoding="utf-8",
        errors="surrogateescape",
    )
    assert got.returncode == status, got
    return got


def target(world, *arguments, variant="plain"):
    return " ".join([world.build.program("places_target", variant), *map(str, arguments)])


def counted(text):
    rows = re.findall(r"^  (m\d+) +(f\d+) +(\S+) +(\d+)$", text, re.MULTILINE)
    return {(module, function, name): int(n) for module, function, name, n in rows}


def expected(functions, n, names=("function-entry", "function-return")):
    return {(f"m{i % 10}", f"f{i}", name): n for i in functions for name in names}


class tracing:
    """pydtrace, which is ready when the block begins, often before any process has such probes: root would get the kernel engine."""

    def __init__(self, world, *arguments):
        self.world, self.arguments = world, arguments

    def __enter__(self):
        command = [*PYDTRACE, "--ready", "-x", "engine=embedded", *self.arguments]
        self.tracer = subprocess.Popen(
            command, env=self.world.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.tracer.stderr.readline() == "dtrace: ready\n"
        return self.tracer

    def __exit__(self, *_):
        self.tracer.kill()
        self.tracer.communicate()


def end(tracer):
    """What it printed."""
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=60)
    assert tracer.returncode == 0, err
    return out


def spoil(path, changes):
    with open(path, "r+b", buffering=0) as file:
        for at, data in changes:
            os.pwrite(file.fileno(), data, at)


def wait_until(condition):
    end_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end_at
        time.sleep(0.005)
