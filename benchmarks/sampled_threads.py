#!/usr/bin/env python3
"""The processor time that `pyusdt profile` itself takes, beside other samplers', with few and many threads in the program.

Input: sampled_threads.py [ROUNDS [SECONDS]]: 5 rounds of 5 s where nothing is said.
Output: a row for each number of threads and sampler: the median in ms a second, and what pyusdt
takes of it. At the end: pyusdt's worker of `serve` on 20 processes at 19 Hz, as a share of a core.

- All attach to one process at 97 looks a second, in turn, each as its defaults are; the time to
  start is measured by a run of a second, and taken off.
- "busy" threads want the GIL all the time; of "waiting" ones all but one wait for a lock.
- profiling.sampling reads only programs of its own version: its programs run on .ci/pythons' 3.15,
  and so do pyusdt's beside it. Without it, it and austin (which needs a newer libc than Debian 12
  has) are left out.
"""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from sampling import NEWEST, PYTHON_15, PYUSDT, tools

PROGRAM = """
import sys, threading, time
def innermost(n):
    return sum(i * i % 7 for i in range(n))
def middle(n):
    return innermost(n) + 1
def outer():
    while True:
        middle(2000)
def waits(n=8):
    waits(n - 1) if n else lock.acquire()
lock = threading.Lock()
lock.acquire()
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=outer if sys.argv[2] == "busy" else waits, daemon=True).start()
print("ready", flush=True)
if sys.argv[2] != "mostly idle":
    outer()
while True:  # 5 % of a processor
    middle(20000)
    time.sleep(0.03)
"""
WORKER = """
import sys
sys.argv = [sys.argv[0], sys.argv[2], sys.argv[1], *sys.argv[3:]]
from pydtrace.cli.commands.profile_worker import main
main()
"""
AUSTINS_END = 254  # its exit status when the time is over
PROCESSES, PROCESS, HZ = 20, (4, "mostly idle"), 19
CASES = ((1, "busy"), (8, "busy"), (30, "busy"), (8, "waiting"), (30, "waiting"))


def processor_time(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, check=False, capture_output=True)
    assert run.returncode in (0, AUSTINS_END), run
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(pid: int, seconds: float, python: str) -> dict[str, list[str]]:
    """{sampler: its command for a process of this interpreter}."""
    length, out = str(round(seconds)), ["-o", "/dev/null"]
    pyusdt = [PYUSDT, "profile", "--folded", "-d", length, str(pid)]
    if python == PYTHON_15:
        sampling = [PYTHON_15, "-m", "profiling.sampling", "attach", "-r", "97", "-a", "-d", length]
        return {
            "pyusdt": pyusdt,
            "profiling.sampling": [*sampling, "--collapsed", *out, str(pid)],
            "profiling.sampling --blocking": [
                *sampling,
                *("--blocking", "--collapsed", *out, str(pid)),
            ],
        }
    py_spy = [os.path.join(tools(), "py-spy"), "record", "--rate", "97", "--format", "raw", *out]
    found = {"pyusdt": pyusdt, "py-spy": [*py_spy, "-d", length, "-p", str(pid)]}
    if os.path.exists(PYTHON_15):
        loader = [os.path.join(NEWEST, "lib64", "ld-linux-x86-64.so.2"), "--library-path"]
        loader += [os.path.join(NEWEST, "lib", "x86_64-linux-gnu"), os.path.join(tools(), "austin")]
        found["austin"] = [*loader, "-i", "10309", "-x", length, *out, "-p", str(pid)]
    return found


def measure(pid: int, rounds: int, seconds: int, python: str) -> dict[str, float]:
    """{sampler: ms of a processor in a second}."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, command in commands(pid, seconds, python).items():
            short = commands(pid, 1, python)[name]
            took = processor_time(command) - processor_time(short)
            found.setdefault(name, []).append(1000 * took / (seconds - 1))
    return {name: statistics.median(each) for name, each in found.items()}


@contextlib.contextmanager
def running(python: str, threads: int, kind: str) -> Iterator[int]:
    """The id of a process with so many threads."""
    with subprocess.Popen(
        [python, "-c", PROGRAM, str(threads), kind], stdout=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout and program.stdout.readline() == b"ready\n"
            time.sleep(0.2)
            yield program.pid
        finally:
            program.kill()


def compare_samplers(rounds: int, seconds: int, python: str) -> None:
    for threads, kind in CASES:
        with running(python, threads, kind) as pid:
            times = measure(pid, rounds, seconds, python)
        for name, took in times.items():
            ratio = f"  pyusdt takes {times['pyusdt'] / took:.2f}" if name != "pyusdt" else ""
            print(
                f"{os.path.basename(os.path.realpath(python))} {threads:3} {kind:8} {name:30} {took:6.1f} ms/s{ratio}",
                flush=True,
            )


def measure_processes(rounds: int, seconds: int) -> float:
    """The share of a core, in a hundred, that the worker of `serve` takes for PROCESSES processes."""
    worker = [sys.executable, "-c", WORKER, str(HZ)]
    with contextlib.ExitStack() as stack:
        pids = [
            str(stack.enter_context(running(sys.executable, *PROCESS))) for _ in range(PROCESSES)
        ]
        found = [
            processor_time([*worker, str(seconds), *pids]) - processor_time([*worker, "1", *pids])
            for _ in range(rounds)
        ]
    return 100 * statistics.median(found) / (seconds - 1)


def main() -> None:
    rounds, seconds = (int(word) for word in [*sys.argv[1:], *"55"[len(sys.argv) - 1 :]])
    for python in sys.executable, PYTHON_15:
        if os.path.exists(python):
            compare_samplers(rounds, seconds, python)
    share = measure_processes(rounds, 2 * seconds)
    print(f"{PROCESSES} processes at {HZ} Hz, {PROCESS[0]} threads each: {share:.1f} % of a core")


if __name__ == "__main__":
    main()
