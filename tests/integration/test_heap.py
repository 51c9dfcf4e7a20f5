"""`pyusdt heap`: leaks of ten kinds are named by one command, amounts are right, and the program stays as it was."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from pydtrace.profile.pprof_schema import load_profile_message
from pydtrace.remote_python.heap_table import HeapTable
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from tests.support import harness, python_builds
from tests.support.paths import TESTS

pytestmark = pytest.mark.xdist_group("integration/test_heap")
PROGRAMS = os.path.join(TESTS, "integration", "programs")
# {the leak: the function in whose stack its blocks are}
KINDS = {
    "cache": "look_up",
    "closure": "closure",
    "cycle": "Node.__init__",
    "traceback": "traceback",
    "task": "waits",
    "thread_local": "thread_local",
    "c_extension": "make_array",
    "view": "view",
    "log": "log",
    "after_fork": "after_fork",
}


def pyusdt(*arguments: object, timeout: float = 60) -> harness.Run:
    return harness.run(
        [sys.executable, "-m", "pydtrace.cli.commands.main", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": python_builds.ROOM},
        timeout=timeout,
    )


@contextlib.contextmanager
def running(python: str, *arguments: object):
    """The id of the process that leaks."""
    command = [python, os.path.join(PROGRAMS, "leaks.py"), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            children = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(process.pid)],
                capture_output=True,
                text=True,
                check=False,
            )
            for pid in [*map(int, children.stdout.split()), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def is_sampled(pid: int) -> bool:
    try:
        return HeapTable(RemotePython(pid)).read().is_on
    except StackReadError:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_is_named_first(kind):
    with running(sys.executable, kind) as pid:
        run = pyusdt("heap", "-d", 2, "--every", 20_000, pid)
        assert (run.status, run.stderr) == (0, ""), run
        rows = re.split(r"\n(?= {0,9}\d)", run.stdout.split("BLOCKS  STACK\n")[1])
        assert re.search(rf"\b{KINDS[kind]} \(", rows[0]), run.stdout
        assert "+" in rows[0].splitlines()[0]  # it grows
        os.kill(pid, 0)


@pytest.mark.parametrize(
    "version",
    [
        version if version in ("3.10", "3.14") else pytest.param(version, marks=pytest.mark.long)
        for version in harness.VERSIONS
    ],
)
def test_on_each_version(other_core, version):
    with running(other_core(version), "closure") as pid:
        for _ in range(2):
            run = pyusdt("heap", "-d", 1, "--every", 20_000, pid)
            if version.endswith("t"):
                assert run.status == 1 and "has no GIL" in run.stderr, run
                return
            assert (run.status, run.stderr) == (0, ""), run
            assert re.search(r"make \(.*leaks.py:\d+\)\n +closure \(.*leaks.py:\d+\)", run.stdout)
        os.kill(pid, 0)


EXACT = """
import os, sys, time
kept = []
def keep(n, size):
    kept.extend(bytes(size) for _ in range(n))
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
keep(2000, 10_000)
keep(20, 1_000_000)
keep(40_000, 500)
garbage = [bytes(10_000) for _ in range(2000)]
del garbage
print("done", flush=True)
while True:
    time.sleep(0.01)
"""


def test_amounts_are_right(tmp_path):
    """60 MB that live, in blocks of three sizes, by one sample in 20 kB: within five times what chance explains."""
    go = tmp_path / "go"
    with subprocess.Popen(
        [sys.executable, "-c", EXACT, str(go)], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            file = tmp_path / "heap.pb.gz"
            page = tmp_path / "heap.html"
            command = [sys.executable, "-m", "pydtrace.cli.commands.main", "heap", "--every"]
            command += ["20000", "-d", "4", "--pprof", file, "--flamegraph", page, "--folded"]
            heap = subprocess.Popen(
                [*map(str, command), str(process.pid)], stdout=subprocess.PIPE, text=True
            )
            harness.wait_until(lambda: is_sampled(process.pid))
            go.touch()
            assert process.stdout.readline() == b"done\n"
            printed, _ = heap.communicate(timeout=60)
        finally:
            process.kill()
    lines = [line for line in printed.splitlines() if ";keep (<string>:5)" in line]
    found = sum(int(line.rpartition(" ")[2]) for line in lines)
    assert abs(found - 61_000_000) < 5 * (61_000_000 * 20_000) ** 0.5, printed
    assert "keep" in page.read_text()
    profile = load_profile_message()()
    profile.ParseFromString(gzip.decompress(file.read_bytes()))
    [kind] = profile.sample_type
    assert [profile.string_table[each] for each in (kind.type, kind.unit)] == [
        "inuse_space",
        "bytes",
    ]
    assert sum(each.value[0] for each in profile.sample) >= found


def test_a_command():
    run = pyusdt(
        "heap", "--every", 10_000, "--", sys.executable, "-c",
        "import time\nkept = []\nfor n in range(300):\n kept.append(bytes(50_000))\n time.sleep(0.01)\nraise SystemExit(3)",
    )  # fmt: skip
    assert run.status == 3 and "<module> (<string>:4)" in run.stdout, run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heap"], "give a process id, or -- and a command"),
        (["heap", "--every", "0", "1"], "a number from 1 to"),
        (["heap", "--pprof", "/nowhere/file", "1"], "there is no such folder"),
        (["heap", str(1 << 22)], "no process"),
    ],
)
def test_misuse(arguments, message):
    run = pyusdt(*arguments)
    assert run.status in (1, 2) and message in run.stderr, run


@pytest.mark.long
def test_two_at_once_and_a_killed_one():
    with running(sys.executable, "closure") as pid:
        command = [sys.executable, "-m", "pydtrace.cli.commands.main", "heap", str(pid)]
        first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            harness.wait_until(lambda: is_sampled(pid))
            run = pyusdt("heap", "-d", "0.1", pid)
            assert run.status == 1 and "another pyusdt samples the heap" in run.stderr, run
        finally:
            first.kill()
            first.communicate()
        os.kill(pid, 0)
        until = time.monotonic() + 60
        while is_sampled(pid):  # it ends by itself when the killed one's time is over
            assert time.monotonic() < until
            time.sleep(0.5)
        run = pyusdt("heap", "-d", "1", "--every", 20_000, pid)
        assert run.status == 0 and "closure" in run.stdout, run


INTERPRETERS = """
import {module} as interpreters
from pyusdt import _core
one = interpreters.create()
try:
    _core.heap_start(None, 10_000, 60.0)
except RuntimeError as error:
    print(error)
interpreters.destroy(one)
_core.heap_start(None, 10_000, 60.0)
one = interpreters.create()  # from here on the hooks stay
_core.heap_stop(None)
interpreters.destroy(one)
print("end", flush=True)
"""


@pytest.mark.parametrize(
    ("version", "module"), [("3.12", "_xxsubinterpreters"), ("3.13", "_interpreters")]
)
def test_beside_other_interpreters(other_core, version, module):
    """They may have locks of their own: the allocators are changed only while there are none."""
    command = [other_core(version), "-c", INTERPRETERS.format(module=module)]
    environment = {**os.environ, "PYTHONPATH": python_builds.ROOM}
    done = harness.run(command, env=environment)
    said = "there are sub-interpreters, which may allocate while the allocators change"
    assert (done.status, done.stdout, done.stderr) == (0, f"{said}\nend\n", ""), done
