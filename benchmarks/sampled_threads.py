#!/usr/bin/env python3
"""The processor time that `pyusdt profile` itself takes, beside py-spy's, with few and many threads in the program.

Input: sampled_threads.py [ROUNDS [SECONDS]]: 5 rounds of 5 s where nothing is said.
Output: a row for each number of threads: both medians, in ms a second, and their ratio.

- Both attach to one process at 97 looks a second, in turn; the time to start is measured by a run
  of a second, and taken off.
- "busy" threads want the GIL all the time; of "waiting" ones all but one wait for a lock.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time

from sampling import PYUSDT, tools

PROGRAM = """
import sys, threading
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
outer()
"""
CASES = ((1, "busy"), (8, "busy"), (30, "busy"), (8, "waiting"), (30, "waiting"))


def processor_time(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(pid: int, seconds: float) -> dict[str, list[str]]:
    py_spy = [os.path.join(tools(), "py-spy"), "record", "--rate", "97", "--format", "raw"]
    return {
        "pyusdt": [PYUSDT, "profile", "--folded", "-d", str(seconds), str(pid)],
        "py-spy": [*py_spy, "-o", "/dev/null", "-d", str(round(seconds)), "-p", str(pid)],
    }


def measure(pid: int, rounds: int, seconds: int) -> dict[str, float]:
    """{profiler: ms of a processor in a second}."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, command in commands(pid, seconds).items():
            short = commands(pid, 1)[name]
            took = processor_time(command) - processor_time(short)
            found.setdefault(name, []).append(1000 * took / (seconds - 1))
    return {name: statistics.median(each) for name, each in found.items()}


def main() -> None:
    rounds, seconds = (int(word) for word in [*sys.argv[1:], *"55"[len(sys.argv) - 1 :]])
    for threads, kind in CASES:
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(threads), kind], stdout=subprocess.PIPE
        ) as program:
            try:
                assert program.stdout and program.stdout.readline() == b"ready\n"
                time.sleep(0.2)
                times = measure(program.pid, rounds, seconds)
            finally:
                program.kill()
        print(
            f"{threads:3} {kind:8} pyusdt {times['pyusdt']:6.1f} ms/s  py-spy {times['py-spy']:6.1f} ms/s  "
            f"ratio {times['pyusdt'] / times['py-spy']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
