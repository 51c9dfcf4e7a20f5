"""Running pydtrace with the kernel engine, and building what it traces."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from tests.support.paths import TESTS

DATA = os.path.join(TESTS, "kernel", "data")
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")


def compile_c(source, out, *options):
    """Compile a C or assembly file into a program."""
    subprocess.run(
        [os.environ.get("CC", "gcc"), "-O2", "-g", "-o", str(out), str(source), *options],
        check=True,
    )
    return str(out)


def compile_cxx(source, out, *options):
    """Compile C++ text into a program; the test is skipped where there is no g++."""
    if not shutil.which("g++"):
        pytest.skip("host: no g++")
    subprocess.run(
        ["g++", "-O1", "-x", "c++", "-o", str(out), "-", *options],
        input=source,
        text=True,
        check=True,
    )
    return str(out)


def pydtrace(*arguments, options=(), timeout=30, **more):
    """(standard output, standard error, exit status) of pydtrace -x engine=kernel."""
    command = [PYDTRACE, "-x", "engine=kernel", *options, *map(str, arguments)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=timeout, **more
    )
    return done.stdout, done.stderr, done.returncode


def start_pydtrace(*arguments, wait_for=None, **more):
    """A pydtrace that runs, and has printed the line `wait_for`."""
    process = subprocess.Popen(
        [PYDTRACE, "-x", "engine=kernel", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )
    while wait_for is not None and wait_for not in (line := process.stdout.readline()):
        assert line, process.communicate()
    return process


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.02)
