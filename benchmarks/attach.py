"""What attaching costs a program, by version of CPython: how long its threads stand, time to the first event, speed afterwards.

`.venv/bin/python benchmarks/attach.py [BIN]`; BIN: the folder of programs of an environment of CPython 3.11 with py-spy and memray,
which are measured in the same run.
Output: the rows of the tables in docs/reference/costs.md, "Attach".

- A stop is seen from outside: the state of the main thread in /proc, looked at all the time. pydtrace's own figure is of its clock.
- Speed: the least of many rounds of small calls, in one process, before attach, with the provider and no tracer, after detach.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.support import harness, python_builds
from tests.support.attach_load import loaded
from tests.support.attach_stress import (
    Account,
    attach_provider,
    detach_provider,
    extensions_of_all_versions,
    timing,
)

STOPS, STARTS, TOOL_RUNS = 200, 5, 10
FIRST = 'python$target::work:function-entry { printf("first\\n"); exit(0); }'
CALLS = """
import select, sys, time
def f(): pass
def look():
    least = 1e9
    for _ in range(300):
        begun = time.thread_time_ns()
        for _ in range(3000): f()
        least = min(least, time.thread_time_ns() - begun)
        time.sleep(0.001)
    return least
look()
while True:
    while not select.select([0], [], [], 0.01)[0]: pass
    if not sys.stdin.readline(): break
    print(look(), flush=True)
"""


def of_shares(values: list[float]) -> str:
    """Median, 99.9th percentile, largest, in milliseconds."""
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.999))]
    return " | ".join(
        f"{each * 1000:.2f}" for each in (statistics.median(ordered), high, ordered[-1])
    )


def measure_stops(python: str) -> list[float]:
    account = Account()
    with loaded(python, "t") as load, timing(account):
        while len(account.stood) < STOPS:
            attach_provider(load.pid, 60)
            detach_provider(load.pid, 60)
        load.end()
    return [each / 1e6 for each in account.stood]


def measure_first_event(python: str) -> float:
    times = []
    with loaded(python, "t") as load:
        for _ in range(STARTS):
            begun = time.monotonic()
            command = [
                *python_builds.pydtrace(),
                "--attach",
                "-q",
                "-n",
                FIRST,
                "-p",
                str(load.pid),
            ]
            with harness.running(command) as tracer:
                assert tracer.stdout.readline() == "first\n", tracer.stderr.read()
                times.append(time.monotonic() - begun)
                tracer.wait(30)
    return statistics.median(times)


def measure_speed(python: str) -> tuple[float, float]:
    """(with the provider and no tracer, after detach), 1: as before."""
    with harness.running([python, "-c", CALLS], stdin=subprocess.PIPE) as process:

        def look() -> int:
            print(file=process.stdin, flush=True)
            return int(process.stdout.readline())

        before = look()
        attach_provider(process.pid, 60)
        within = look()
        detach_provider(process.pid, 60)
        return within / before, look() / before


def watch_stops(pid: int, command: list[str]) -> list[float]:
    """How long the main thread stood, each time, while the command ran."""
    stops, since = [], None
    state = os.open(f"/proc/{pid}/task/{pid}/stat", os.O_RDONLY)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        for _ in range(200):
            stands = os.pread(state, 64, 0).rpartition(b") ")[2][:1] in b"tT"
            now = time.monotonic()
            if stands and since is None:
                since = now
            elif not stands and since is not None:
                stops.append(now - since)
                since = None
    os.close(state)
    assert process.returncode == 0, command
    return stops


def measure_tools(bin_folder: str) -> None:
    python, pyusdt = (
        os.path.join(bin_folder, "python"),
        [sys.executable, "-m", "pydtrace.cli.commands.main"],
    )
    print("| command | stops seen a run | all stops of a run: median, ms | longest run, ms |")
    for name, command, after in [
        ("pyusdt attach", [*pyusdt, "attach", "PID"], [*pyusdt, "detach", "PID"]),
        ("py-spy dump", [f"{bin_folder}/py-spy", "dump", "--pid", "PID"], []),
        ("gdb -p (memray's way in)", ["gdb", "-p", "PID", "--batch", "-nx"], []),
    ]:
        runs = []
        for _ in range(TOOL_RUNS):
            with loaded(python, "t") as load:
                runs.append(
                    watch_stops(load.pid, [each.replace("PID", str(load.pid)) for each in command])
                )
                if after:
                    subprocess.run(
                        [each.replace("PID", str(load.pid)) for each in after], check=True
                    )
        totals = [sum(each) * 1000 for each in runs]
        print(
            f"| {name} | {statistics.median(map(len, runs)):g} | {statistics.median(totals):.2f} | {max(totals):.1f} |",
            flush=True,
        )


def main() -> None:
    print("| CPython | median | 99.9 % | longest | first event, s | no tracer | after detach |")
    with extensions_of_all_versions():
        for version in harness.VERSIONS:
            python = python_builds.find(version)
            python_builds.build(python, only_core=True)
            within, after = measure_speed(python)
            print(
                f"| {version} | {of_shares(measure_stops(python))} | {measure_first_event(python):.2f} | {within:.3f} | {after:.3f} |",
                flush=True,
            )
    if len(sys.argv) > 1:
        measure_tools(sys.argv[1])


if __name__ == "__main__":
    main()
