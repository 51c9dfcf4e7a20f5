"""profile-n on the embedded engine: samples of the Python stacks of traced processes, without root, signals or anything in them.

- What is asserted is which functions may be seen, never how often, but for "at least once in a
  program that runs until it was".
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections import Counter

import pytest

from pydtrace.driver import profile_samples
from pydtrace.remote_python.remote_python import ProcessNotFound, StackReadError
from tests.support import harness, python_builds

pytestmark = pytest.mark.own_processes
LONG_TOO = "3.10", "3.12", "3.13", "3.15", "without the GIL"
HOT = os.path.join(harness.ROOT, "examples", "hot.py")
REQUESTS = os.path.join(harness.ROOT, "examples", "two_routes.py")
ONLY_REPORTS = """pyusdt$target:::user_trace-i4s4 /copyinstr(arg6) == "begin"/ { self->path = copyinstr(arg7); }
                  pyusdt$target:::user_trace-i4s4 /copyinstr(arg6) == "end"/ { self->path = 0; }
                  profile-499 /self->path == "/report"/ { @[jstack(20)] = count(); }"""


def stacks(run: harness.Run) -> list[list[str]]:
    assert run.status == 0, run
    return [
        row["keys"][0]
        for row in map(json.loads, run.stdout.splitlines())
        if row["type"] == "aggregation"
    ]


@pytest.fixture
def traced(pydtrace):
    def run(script: str, command: str, *options: str) -> harness.Run:
        return pydtrace("-q", "--json", *options, "-n", script, "-c", command, timeout=60)

    return run


def functions(stack: list[str]) -> list[str]:
    return [frame.partition(" (")[0] for frame in stack]


def test_what_is_hot(traced):
    """Of a program that knows nothing of pyusdt; root, too, has this engine for the stacks of a named process's language."""
    found = stacks(
        traced(
            "profile-499 /pid == $target/ { @[jstack()] = count(); }", f"{sys.executable} {HOT} 1"
        )
    )
    hot = [functions(stack) for stack in found if stack and stack[0].startswith("discount (")]
    assert hot
    assert all(
        stack == ["discount", "price.<locals>.<genexpr>", "price", "<module>"] for stack in hot
    ), hot


def test_while_a_request_runs(traced):
    """The other threads, and the same thread between its requests, are not in it."""
    found = [
        functions(stack) for stack in stacks(traced(ONLY_REPORTS, f"{sys.executable} {REQUESTS} 1"))
    ]
    answering = [stack for stack in found if "answer" in stack]
    assert any(stack[0].startswith(("rows", "total")) for stack in answering), found
    # between the moment of the sample and the look at the stack a request may have ended
    assert len(answering) * 2 > len(found), found


@pytest.mark.parametrize("options", [(), ("-x", "profilewall")])
def test_threads_that_wait(traced, tmp_path, options):
    program = tmp_path / "waits.py"
    program.write_text(
        "import threading, time\n"
        "done = threading.Event()\n"
        "def waits():\n    done.wait()\n"
        "def works():\n    end = time.monotonic() + 1\n    while time.monotonic() < end: pass\n"
        "thread = threading.Thread(target=waits); thread.start(); works(); done.set(); thread.join()\n"
    )
    run = traced(
        "profile-199 { @[jstack()] = count(); }",
        f"{sys.executable} {program}",
        "-x",
        "engine=embedded",
        *options,
    )
    assert run.status == 0, run
    rows = [
        (functions(row["keys"][0]), row["value"])
        for row in map(json.loads, run.stdout.splitlines())
        if row["type"] == "aggregation"
    ]
    works, waits = (
        sum(count for stack, count in rows if name in stack) for name in ("works", "waits")
    )
    assert works > 0, rows
    # as it begins and ends the thread runs; in between it only waits
    assert (waits * 2 > works) == bool(options), (waits, works)


def test_forks_and_threads_that_end(traced, tmp_path):
    """What begins and ends all the time is sampled as far as it is there; nothing fails."""
    program = tmp_path / "forks.py"
    program.write_text(
        "import os, threading, time\nimport pyusdt\n"
        "def busy(n): return sum(range(n))\n"
        "end = time.monotonic() + 2\n"
        "while time.monotonic() < end:\n"
        "    child = os.fork()\n"
        "    if not child:\n        pyusdt.p(1); busy(20000); os._exit(0)\n"
        "    thread = threading.Thread(target=busy, args=(20000,)); thread.start(); thread.join(); os.waitpid(child, 0)\n"
    )
    run = traced(
        "pyusdt*:::user_trace-i4s4 { @n = count(); } profile-997 { @[jstack()] = count(); }",
        f"{sys.executable} -W ignore {program}",
        "-x",
        "engine=embedded",
    )
    assert run.status == 0, run
    assert "Traceback" not in run.stderr, run


def test_no_stranger_is_read(monkeypatch):
    """Whose process another user is, could make the reader wait for ever."""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StackReadError, match="another user's"):
        profile_samples._refuse_other_users(os.getpid())


def test_a_process_that_ends_is_no_trouble(monkeypatch):
    """Its memory is gone before it is."""

    def gone(pid, frames, tasks):
        raise ProcessNotFound.for_pid(pid)

    monkeypatch.setattr(profile_samples, "_Process", gone)
    monkeypatch.setattr(profile_samples, "_RETRY_INTERVAL", 0.0)
    looks = profile_samples.ProfileSampler(None, 10, False)
    assert [looks.sample_process(os.getpid()) for _ in range(3)] == [(0, [])] * 3
    assert looks.warnings(ended=True) == []


def test_why_there_are_none(pydtrace):
    """A process that is no Python is told once."""
    run = pydtrace(
        "-q",
        "-x",
        "engine=embedded",
        "-n",
        "profile-97 { @[jstack()] = count(); }",
        "-c",
        "sleep 1",
    )
    assert run.stderr.count("profile-n has no samples") == 1, run
    assert "is not a CPython process" in run.stderr, run


def test_not_in_a_replay(pydtrace, tmp_path):
    kept = str(tmp_path / "kept")
    made = pydtrace(
        "-q",
        "--record",
        kept,
        "-n",
        "pyusdt$target:::user_trace-i4s4 { }",
        "-c",
        f"{sys.executable} {REQUESTS} 0.1",
    )
    assert made.status == 0, made
    run = pydtrace("-q", "--replay", kept, "-n", "profile-97 { @ = count(); }")
    assert run.status == 1, run
    assert "profile-97" in run.stderr, run


OF_TASKS = """pyusdt$target:::user_trace-i4s4 /copyinstr(arg6) == "begin"/ { task->route = copyinstr(arg7) == "/list" ? 1 : 2; }
              pyusdt$target:::user_trace-i4s4 /copyinstr(arg6) == "end"/ { task->route = 0; }
              profile-499 { @[task->route, jstack(30)] = count(); }"""


@pytest.mark.parametrize(
    "version", ["3.11", "3.14", *(pytest.param(each, marks=pytest.mark.long) for each in LONG_TOO)]
)
def test_while_a_request_of_a_task_runs(version, other):
    """Many tasks share a thread; each sample has the variables of the task that runs there, and of no other."""
    command = f"{other(version)} {os.path.join(harness.PROGRAMS, 'answering_tasks.py')} 2"
    run = harness.run(
        [*python_builds.pydtrace(), "-q", "--json", "-n", OF_TASKS, "-c", command],
        env={**os.environ, "PYTHONPATH": python_builds.ROOM},
        timeout=90,
    )
    found = by_route(run)
    assert set(found[1]) == {"of_list"} and set(found[2]) == {"of_report"}, found
    assert found[0]["of_part"] > 0, found  # those tasks have fired nothing


@pytest.mark.long
def test_while_a_request_to_aiohttp_runs(pydtrace):
    """Connections are kept, so that a task answers many requests, of both routes in turn."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    run = pydtrace(
        "-q",
        "--json",
        "-n",
        OF_TASKS,
        "-c",
        harness.program("answering_aiohttp.py", 20, port),
        timeout=120,
    )
    found = by_route(run)
    wrong, right = (
        found[1]["of_report"] + found[2]["of_list"],
        found[1]["of_list"] + found[2]["of_report"],
    )
    print(f"{right} samples of the right route, {wrong} of the other, {found[0]}: {run.stderr}")
    assert right > 100 and wrong * 100 <= right, (
        found,
        run,
    )  # a request may end between the look at its stack and its time


def by_route(run: harness.Run) -> list[Counter[str]]:
    """{function: samples} of no route, /list, /report."""
    assert run.status == 0, run
    found: list[Counter[str]] = [Counter(), Counter(), Counter()]
    for row in map(json.loads, run.stdout.splitlines()):
        if row["type"] == "aggregation":
            route, stack = row["keys"]
            found[route].update(
                {name: row["value"] for name in functions(stack) if name.startswith("of_")}
            )
    return found
